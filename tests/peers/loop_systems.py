"""The programs of tests/conformance/loops in JAX, PyTorch and Enzyme-JAX, and what comes out.

JAX has the loops as they are. PyTorch has Python's loops, run as it goes, and its own vmap.
Enzyme-JAX differentiates the program that JAX lowers; it has orders and modes through JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from conformance.loops.derivatives import Derivatives
from conformance.loops.gradir_flow import GradirFlow
from conformance.loops.outcomes import outcomes_of
from conformance.loops.plain import PlainFlow, leaves_of, mapped
from conformance.loops.program import Program

Function = Callable[..., Any]


# JAX.


class JaxFlow:
    """`flow` of jax.lax."""

    def __init__(self, jax: Any):
        lax = jax.lax
        self.cond, self.while_loop, self.fori_loop = lax.cond, lax.while_loop, lax.fori_loop
        self.scan, self.checkpoint, self.jit = lax.scan, jax.checkpoint, jax.jit
        self.grad, self.vmap = jax.grad, jax.vmap

    def set(self, x: Any, i: Any, v: Any) -> Any:
        return x.at[i].set(v)

    def add(self, x: Any, i: Any, v: Any) -> Any:
        return x.at[i].add(v)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)


def jax_derivatives(program: Program) -> Derivatives:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return _OfArrays(program, jax.numpy, JaxFlow(jax), jax)


class _OfArrays(Derivatives):
    """Derivatives at arrays of the system."""

    @property
    def point(self) -> list[Any]:
        return [self.xp.asarray(a) for a in self.program.arguments]


# Enzyme-JAX.


def enzyme_derivatives(program: Program) -> Derivatives:
    """The program as one call that Enzyme differentiates."""
    made = jax_derivatives(program)
    made.value = import_module("enzyme_ad.jax").enzyme_jax_ir()(made.value)
    return made


# PyTorch.


class TorchFlow(PlainFlow):
    """Python's loops on tensors; stages and rows are PyTorch's own."""

    def __init__(self, torch: Any):
        super().__init__(lambda f, x: torch.func.grad(f)(x))
        self.torch = torch

    def _lifted(self, tree: Any) -> Any:
        return mapped(self.torch.as_tensor, tree)

    def while_loop(self, condition: Function, body: Function, init: Any) -> Any:
        return super().while_loop(condition, body, self._lifted(init))

    def fori_loop(self, lower: Any, upper: Any, body: Function, init: Any) -> Any:
        c = self._lifted(init)
        for i in range(int(lower), int(upper)):
            c = body(self.torch.tensor(i), c)
        return c

    def scan(
        self, function: Function, init: Any, xs: Any, length: int | None = None,
        reverse: bool = False,
    ) -> Any:  # fmt: skip
        count = length if length is not None else len(leaves_of(xs)[0])
        init, ys = self._lifted(init), [None] * count
        for k in reversed(range(count)) if reverse else range(count):
            init, ys[k] = function(init, mapped(lambda a, k=k: a[k], xs))
        return init, self._stacked(ys)

    def _stacked(self, trees: list[Any]) -> Any:
        if not trees:
            return self.torch.zeros(0)
        tree_map = import_module("torch.utils._pytree").tree_map
        if trees[0] is None:
            return None
        return tree_map(lambda *rows: self.torch.stack(rows), *trees)

    def vmap(self, function: Function, in_axes: int = 0) -> Function:
        return self.torch.func.vmap(function)

    def checkpoint(self, function: Function) -> Function:
        made = import_module("torch.utils.checkpoint").checkpoint
        return lambda *args: made(function, *args, use_reentrant=False)

    def jit(self, function: Function) -> Function:
        return function

    def set(self, x: Any, i: Any, v: Any) -> Any:
        return self.torch.index_put(x, (self.torch.as_tensor(i),), v)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(self.torch, dtype))


class TorchArrays:
    """NumPy's names for PyTorch's functions."""

    def __init__(self, torch: Any):
        self.torch = torch

    def _pair(self, function: Function, x: Any, y: Any) -> Any:
        return function(self.torch.as_tensor(x), self.torch.as_tensor(y))

    def maximum(self, x: Any, y: Any) -> Any:
        return self._pair(self.torch.maximum, x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        return self._pair(self.torch.minimum, x, y)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)


def torch_derivatives(program: Program) -> Derivatives:
    """Reverse mode by autograd, forward mode by torch.func.jvp."""
    torch: Any = import_module("torch")
    torch.set_default_dtype(torch.float64)

    def grad(function: Function, argnums: tuple[int, ...]) -> Function:
        return lambda *args: with_value(function, argnums)(*args)[1]

    def with_value(function: Function, argnums: tuple[int, ...]) -> Function:
        def wrapper(*args: Any) -> Any:
            # an outer derivative's own are kept, so that it goes on through this one
            given = [
                a.detach().requires_grad_() if k in argnums and not a.requires_grad else a
                for k, a in enumerate(args)
            ]
            value = function(*given)
            wanted = [given[k] for k in argnums]
            if not value.requires_grad:
                return value, tuple(torch.zeros_like(w) for w in wanted)
            found = torch.autograd.grad(
                value, wanted, create_graph=True, allow_unused=True, materialize_grads=True
            )
            return value, found

        return wrapper

    g = SimpleNamespace(grad=grad, value_and_grad=with_value, jvp=torch.func.jvp)
    return _OfArrays(program, TorchArrays(torch), TorchFlow(torch), g)


# All of them.


def gradir_derivatives(program: Program) -> Derivatives:
    gradir: Any = import_module("gradir")
    return Derivatives(program, gradir.numpy, GradirFlow(), gradir)


class System(NamedTuple):
    """`package` is its name on PyPI; `compiled` is the package whose jit it takes, if any."""

    package: str
    derivatives: Callable[[Program], Derivatives]
    compiled: str | None


SYSTEMS = {
    "gradir": System("gradir", gradir_derivatives, "gradir"),
    "JAX": System("jax", jax_derivatives, "jax"),
    "PyTorch": System("torch", torch_derivatives, None),
    "Enzyme-JAX": System("enzyme-ad", enzyme_derivatives, "jax"),
}


def outcomes_in(system: str, program: Program, reference: dict[str, Any]) -> dict[str, str]:
    """What the system makes of a program."""
    made = SYSTEMS[system]
    compiled = made.compiled
    jit: Any = (lambda f: f) if compiled is None else import_module(compiled).jit
    return outcomes_of(made.derivatives(program), reference, numbers, lambda f, args: jit(f)(*args))


def numbers(found: Any) -> list[Any]:
    """The arrays of a system as NumPy's, in float64."""
    parts = found if isinstance(found, (tuple, list)) else [found]
    return [_number(p) for p in parts]


def _number(part: Any) -> Any:
    if hasattr(part, "detach"):
        part = part.detach().double().numpy()
    return np.asarray(part, np.float64)
