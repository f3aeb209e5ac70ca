"""Random programs around an op: loops, branches, stages, rows, calls and selections of it, nested.

Each is a function of the op's operands and of a number, by which the operands are scaled a little.
Native code is held against the interpreter, derivatives to second order against central
differences, and the gradient with all stages recomputed against the one that keeps all, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64

import gradir.frontends.functions.numpy as gnp
from gradir.api import Module, compile, interpret
from gradir.checking.case import Array, OpCase
from gradir.checking.gradients import check_grads
from gradir.checking.programs import bits_of, function, is_active, module_of
from gradir.frontends.functions.parts import is_complex_array
from gradir.frontends.tracing.trace import trace
from gradir.frontends.transforms.branches import cond
from gradir.frontends.transforms.derivatives import grad
from gradir.frontends.transforms.flow import fori_loop, scan, while_loop
from gradir.frontends.transforms.function_of import function_of
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.markers import checkpoint
from gradir.frontends.transforms.vmap import vmap

Scalar = Callable[[Sequence[Any], Any], Any]
"""A number from operands, floats of which are multiplied by another number."""

MOST_CONTEXTS = 3


def check_random_programs(cases: Sequence[OpCase], count: int, seed: int) -> Iterator[str]:
    """Check programs around the cases in turn; gives each one's name before it is checked."""
    generator = np.random.default_rng(seed)
    for k in range(count):
        case = cases[k % len(cases)]
        depth = int(generator.integers(1, MOST_CONTEXTS + 1))
        names = [str(n) for n in generator.choice([*_CONTEXTS], depth)]
        yield f"program {k} of seed {seed}: {' of '.join(names)} of {case}"
        made = _core(case)
        for name in reversed(names):
            made = _CONTEXTS[name](made, generator)
        _check(_Program(made, case), [*case.arrays(f64), np.array(0.97)])


def _core(case: OpCase) -> Scalar:
    """The op on scaled operands, and all of its results as one number."""
    module, arrays = Module(module_of(function(case, case.arrays(f64), f64))), case.arrays(f64)
    op, values = function_of(module, "f"), interpret(module, "f", *arrays)
    # numbers near 1, since differences of large ones tell little
    size = 1.0 + sum(float(np.sum(np.abs(v.astype(np.complex128)))) for v in values)

    def core(operands: Sequence[Any], scale: Any) -> Any:
        scaled = [x * scale if k in case.wrt else x for k, x in enumerate(operands)]
        results = op(*scaled)
        parts = results if isinstance(results, tuple) else (results,)
        return sum((_as_number(part) / size for part in parts), gnp.asarray(0.0))

    return core


def _as_number(part: Any) -> Any:
    part = gnp.asarray(part)
    if is_complex_array(part):
        part = gnp.real(part) + 2 * gnp.imag(part)
    weights = np.cos(np.arange(part.size, dtype=np.float64)).reshape(part.shape)
    return gnp.sum(gnp.astype(part, "float64") * weights)


@dataclass(frozen=True)
class _Program:
    """A program as a function of the operands and the number, with a name of its own."""

    made: Scalar
    case: OpCase
    __name__ = "program"

    def __call__(self, *args: Any) -> Any:
        return self.made(args[:-1], args[-1])


def _check(program: _Program, arrays: Sequence[Array]) -> None:
    wrt = [*program.case.wrt, len(arrays) - 1] if is_active(program.case) else []
    if not wrt:
        module = trace(program, *arrays)
        [found] = compile(module, "program")(*arrays)
        [wanted] = interpret(module, "program", *arrays)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        return
    if program.case.is_derivative:
        check_grads(program, arrays, order=2, wrt=wrt)
    kept, made = (
        grad(program, tuple(wrt), policy=policy)(*arrays) for policy in ("keep_all", "keep_none")
    )
    for one, other in zip(kept, made, strict=True):
        assert bits_of(np.asarray(one)) == bits_of(np.asarray(other)), "policies have other bits"


# What is put around a function.


def _stage(inner: Scalar, generator: np.random.Generator) -> Scalar:
    return lambda x, t: checkpoint(lambda *given: inner(given[:-1], given[-1]))(*x, t)


def _call(inner: Scalar, generator: np.random.Generator) -> Scalar:
    called = jit(lambda *given: inner(given[:-1], given[-1]))
    return lambda x, t: called(*x, t) + called(*x, 0.99 * t)


def _counted_loop(inner: Scalar, generator: np.random.Generator) -> Scalar:
    trips = int(generator.integers(0, 4))

    def loop(x: Sequence[Any], t: Any) -> Any:
        def step(k: Any, total: Any) -> Any:
            return total + inner(x, t * (1 - 0.01 * gnp.astype(k, "float64")))

        return fori_loop(0, trips, step, gnp.asarray(0.0))

    return loop


def _data_loop(inner: Scalar, generator: np.random.Generator) -> Scalar:
    trips = int(generator.integers(0, 4))

    def loop(x: Sequence[Any], t: Any) -> Any:
        def step(state: Any) -> Any:
            k, factor, total = state
            return k + 1, factor * 0.98, total + inner(x, factor)

        # far from where a difference in t changes the number of trips
        start = gnp.asarray(0), t, gnp.asarray(0.0)
        return while_loop(lambda s: (s[0] < trips) & (s[1] > 0.1), step, start)[2]

    return loop


def _scan(inner: Scalar, generator: np.random.Generator) -> Scalar:
    factors = generator.uniform(0.9, 1.0, int(generator.integers(1, 4)))

    def scanned(x: Sequence[Any], t: Any) -> Any:
        def step(total: Any, factor: Any) -> Any:
            made = inner(x, t * factor)
            return total + made, gnp.sin(made)

        total, rows = scan(step, gnp.asarray(0.0), factors)
        return total + gnp.sum(rows)

    return scanned


def _branch(inner: Scalar, generator: np.random.Generator) -> Scalar:
    border = float(generator.choice([0.1, 2.0]))

    def branch(x: Sequence[Any], t: Any) -> Any:
        return cond(t > border, lambda: inner(x, t), lambda: gnp.sin(t))

    return branch


def _rows(inner: Scalar, generator: np.random.Generator) -> Scalar:
    factors = generator.uniform(0.9, 1.0, 2)
    return lambda x, t: gnp.sum(vmap(lambda factor: inner(x, t * factor))(factors))


def _selection(inner: Scalar, generator: np.random.Generator) -> Scalar:
    border = float(generator.choice([0.1, 2.0]))
    return lambda x, t: gnp.where(t > border, inner(x, t), t)


def _product(inner: Scalar, generator: np.random.Generator) -> Scalar:
    return lambda x, t: gnp.sin(inner(x, t)) * inner(x, 0.98 * t)


_CONTEXTS: Mapping[str, Callable[[Scalar, np.random.Generator], Scalar]] = {
    "stage": _stage,
    "call": _call,
    "counted loop": _counted_loop,
    "loop by data": _data_loop,
    "scan": _scan,
    "branch": _branch,
    "rows": _rows,
    "selection": _selection,
    "product": _product,
}
