"""gradir.interop.torch.differentiable: a PyTorch module whose training runs in gradir."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from gradir.cache.memory import Store
from gradir.errors import TraceError
from gradir.frontends.tracing.source_locations import at, place_of_user
from gradir.frontends.tracing.tracing import tracing
from gradir.interop.foreign import hashable_key, refused
from gradir.interop.programs import Differentiable, WrapOptions
from gradir.interop.torch_calls import GradirCall, run_program
from gradir.interop.torch_export import Functions, TorchProgram, require_program
from gradir.interop.torch_lost import require_no_autocast
from gradir.interop.torch_programs import imported, named_state, nested_results, traced_program
from gradir.interop.torch_settings import settings_of
from gradir.packages import folder_of, package

torch: Any = package("torch", "torch")

_EXPECTED = "differentiable: inputs must be tensors, or hashable static values"

Programs = Store[Hashable, tuple[TorchProgram, Differentiable]]
MOST_PROGRAMS = 64
"""Programs of one module that are kept: a forward that counts its calls has one for each."""


def differentiable(
    module: Any,
    *,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    threads: int | None = None,
    custom_vjp: Functions | None = None,
    trust_derivatives: bool = False,
) -> Any:
    """The module, computed and differentiated by gradir: a torch.nn.Module with its parameters.

    Parameters and buffers are the module's own, so that PyTorch's optimizers train it. A program is
    made by torch.export for each kind of inputs, each mode (train, eval), and all else that the
    module's parts have as attributes (numbers, hooks, tensors), when it is called first. Its
    gradients are differentiable to every order, with gradir's policies and memory limits, as `wrap`
    has them. Inputs and results are nested as PyTorch nests them; inputs that are not tensors are
    static. Random numbers are gradir's, of a key that is drawn from PyTorch's generator. A
    torch.export.ExportedProgram has inputs of one kind, and needs `trust_derivatives`.
    """
    require_program(module)
    options = WrapOptions(policy, memory_limit, threads)
    return DifferentiableModule(module, options, custom_vjp or {}, trust_derivatives)


class DifferentiableModule(torch.nn.Module):
    """A module that gradir computes; see `differentiable`."""

    def __init__(
        self, module: Any, options: WrapOptions, functions: Functions, trust_derivatives: bool
    ):
        super().__init__()
        self._options, self._functions, self._trusts = options, functions, trust_derivatives
        self._exported: Any = None
        if isinstance(module, torch.export.ExportedProgram):
            with at(_place()):  # it says what is missing
                imported(module, (), {}, functions, trust_derivatives)
            self._exported, module = module, module.module()
        self.module: Any = module
        self._programs = Programs(MOST_PROGRAMS)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_programs"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._programs = Programs(MOST_PROGRAMS)

    @torch.compiler.disable
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's results, and new values of the buffers that it changes."""
        if tracing() is not None:
            raise refused(
                "a module of PyTorch is called in a function of gradir: use "
                "gradir.interop.torch.functional",
                TraceError,
            )
        require_no_autocast()
        leaves, nesting = torch.utils._pytree.tree_flatten((args, kwargs))
        state = named_state(self.module)
        inputs = [x for x in leaves if isinstance(x, torch.Tensor)]
        rest = tuple(
            (k, hashable_key(x, _EXPECTED))
            for k, x in enumerate(leaves)
            if not isinstance(x, torch.Tensor)
        )
        kinds = tuple((x.shape, x.dtype) for x in (*state.values(), *inputs))
        program, made = self._programs.find_or_make(
            (str(nesting), kinds, rest, settings_of(self.module, state)),
            lambda: self._made(args, kwargs),
        )
        names = (*program.parameters, *program.buffers)
        # changed ones are copied: they are read again by backward, and by its derivative
        changed = set(program.changed)
        given = (state[name].clone() if name in changed else state[name] for name in names)
        tensors = [*given, *inputs]
        if program.has_key:
            tensors.append(torch.randint(-(2**63), 2**63 - 1, (), dtype=torch.int64))
        results = list(run_program(GradirCall, made, tensors))
        return self._returned(program, results, state)

    def _made(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[TorchProgram, Differentiable]:
        with at(_place()), torch.enable_grad():
            module = self.module if self._exported is None else self._exported
            program = imported(module, args, kwargs, self._functions, self._trusts)
            traced = traced_program(program, module)
        return program, Differentiable(traced.module, traced.name, self._options)

    def _returned(self, program: TorchProgram, results: list[Any], state: Mapping[str, Any]) -> Any:
        if not program.changed:
            return nested_results(program, results)
        found, changed = nested_results(program, results)
        with torch.no_grad():
            for name, value in changed.items():
                state[name].copy_(value)
        return found


def _place() -> Any:
    return place_of_user(folder_of(torch))
