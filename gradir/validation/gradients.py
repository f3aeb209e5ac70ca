"""A derivative against the function that it is of: its results, and its numbers by differences.

A random projection of all gradients is held against central differences along a random direction,
in float64, at random arguments where these differences are reliable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from gradir.dialects.base.diagnostics import ValidationError
from gradir.dialects.base.shapes import element_of, is_complex_tensor, is_float, is_tensor
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.passes.analysis.arguments import in_out_results, state_results
from gradir.passes.differentiate.selectors import resolve_wrt
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.validation.compare import ROUNDING, first_difference
from gradir.validation.differences import reliable_difference
from gradir.validation.report import Report, new_report
from gradir.validation.runs import (
    DRAWS,
    Array,
    needed,
    outcome_of,
    outcome_or_reason,
    random_arguments,
    unfit,
)

TOLERANCE = 1e-5
"""Between a derivative and reliable differences, relative to the larger one, at least 1."""
LARGEST = 1e4
"""Beyond numbers of this size differences of them say little."""


@dataclass(frozen=True)
class Derivative:
    """A derivative of `source`, in the same module: its functions, two of mode split.

    `wrt` are numbers of arguments, `of` of results.
    """

    module: ModuleOp
    source: FuncOp
    functions: Sequence[FuncOp]
    mode: str
    wrt: Sequence[int]
    of: Sequence[int]

    @property
    def results(self) -> int:
        """The number of results of the source."""
        return len(self.source.function_type.outputs)

    def call(self, arguments: Sequence[Any], seeds: Sequence[Array]) -> list[Any] | None:
        """The results of the source and the gradients, or tangents; None where a run fails."""
        first, *rest = self.functions
        given = [*arguments] if self.mode in ("grad", "split") else [*arguments, *seeds]
        made = self._run(first, given)
        if made is None or not rest:
            return made
        ahead, kept = made[: self.results], made[self.results :]
        gradients = self._run(rest[0], [*kept, *seeds])
        return None if gradients is None else [*ahead, *gradients]

    def _run(self, function: FuncOp, arguments: Sequence[Any]) -> list[Any] | None:
        outcome = outcome_of(self.module, function.sym_name.data, arguments)
        return None if outcome.error is not None else list(outcome.results)


def validate_gradient(
    module: ModuleOp, request: DerivativeRequest, functions: Sequence[FuncOp]
) -> None:
    """Hold a requested derivative against its function; ValidationError where it is wrong."""
    name = request.function
    report = new_report(f"derivative of @{name}, mode {request.mode}")
    source = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
    why = unfit(needed(module, name), source) or _unplain(source, request)
    if why is not None:
        report.left_out("values, and differences", why)
        return
    derivative = _derivative(module, source, functions, request)
    if isinstance(derivative, str):
        report.left_out("values, and differences", derivative)
        return
    for draw in range(DRAWS):
        _validate(derivative, report, draw)


def _unplain(source: FuncOp, request: DerivativeRequest) -> str | None:
    """Why what a derivative returns is more than gradients of arguments; None if it is not."""
    if any(form != "write" for _, form in request.requests):
        return "gradients are requested in other forms"
    if request.of is not None and not all(isinstance(k, int) for k in request.of):
        return "results are chosen by name"
    if in_out_results(source):
        return "results are added to arrays"
    if any(map(is_complex_tensor, (*source.function_type.inputs, *source.function_type.outputs))):
        return "numbers are complex"
    targets = resolve_wrt(source, request.wrt)
    if not all(isinstance(t.value, BlockArgument) for t in targets):
        return "gradients of intermediate values"
    return None


def _derivative(
    module: ModuleOp, source: FuncOp, functions: Sequence[FuncOp], request: DerivativeRequest
) -> Derivative | str:
    values, of = [t.value for t in resolve_wrt(source, request.wrt)], request.of
    numbers = [v.index for v in values if isinstance(v, BlockArgument)]
    state = set(state_results(source).values())
    types = source.function_type.outputs.data
    floating = [k for k, t in enumerate(types) if _is_floating(t) and k not in state]
    if request.mode == "grad":
        floating = floating[:1] if 0 in floating else []
    chosen = floating if of is None else [k for k in of if isinstance(k, int)]
    if not chosen or not numbers or len(set(chosen)) != len(chosen):
        return "no result has a derivative by an argument, or one is chosen twice"
    return Derivative(module, source, functions, request.mode, numbers, chosen)


def _is_floating(type_: Any) -> bool:
    return is_float(element_of(type_) if is_tensor(type_) else type_)


def _validate(derivative: Derivative, report: Report, draw: int) -> None:
    """Hold the values at a draw of arguments, and the numbers of the derivative."""
    module, name = derivative.module, derivative.source.sym_name.data
    arguments = random_arguments(derivative.source, draw)
    expected = outcome_or_reason(lambda: outcome_of(module, name, arguments))
    if isinstance(expected, str) or expected.error is not None:
        why = expected if isinstance(expected, str) else f"it fails there: {expected.error}"
        report.left_out(f"draw {draw}", why)
        return
    generator = np.random.default_rng(100 + draw)
    seeds = _seeds(derivative, expected.results, arguments, generator)
    made = derivative.call(arguments, seeds)
    if made is None:
        raise _wrong(derivative, "it fails where the function does not")
    count = derivative.results
    broken = first_difference(expected.results, made[:count], ROUNDING)
    if broken is not None:
        raise _wrong(derivative, f"its results are not those of the function: {broken}")
    report.done(f"results, draw {draw}", ROUNDING)
    why = _rough(derivative, [*expected.results, *made[count:]])
    if why is None:
        _hold_differences(derivative, report, draw, arguments, seeds, made[count:])
    else:
        report.left_out(f"differences, draw {draw}", why)


def _seeds(
    derivative: Derivative,
    results: Sequence[Any],
    arguments: Sequence[Array],
    generator: np.random.Generator,
) -> list[Array]:
    """Cotangents of the results, ones of mode grad; or tangents of the arguments."""
    if derivative.mode == "jvp":
        like = [arguments[k] for k in derivative.wrt]
    else:
        like = [results[k] for k in derivative.of]
    if derivative.mode == "grad":
        return [np.ones_like(a) for a in like]
    return [np.asarray(generator.uniform(-1, 1, a.shape)).astype(a.dtype) for a in like]


def _rough(derivative: Derivative, numbers: Sequence[Any]) -> str | None:
    """Why differences say nothing of a derivative; None where they may."""
    source = derivative.source
    types = [source.function_type.inputs.data[k] for k in derivative.wrt]
    types += [source.function_type.outputs.data[k] for k in derivative.of]
    if any((element_of(t) if is_tensor(t) else t) != f64 for t in types):
        return "they need float64"
    if any(isinstance(op, CustomVjpOp) for op in derivative.module.ops):
        return "there are derivatives in the program"
    for function in needed(derivative.module, source.sym_name.data):
        for op in function.walk():
            if isinstance(op, HostCallOp | NoGradOp):
                return f"{op.name} has another derivative than its values"
    floats = [a for a in map(np.asarray, numbers) if a.dtype.kind == "f"]
    if not all(np.isfinite(a).all() and np.abs(a).max(initial=0) < LARGEST for a in floats):
        return "numbers are not finite, or large"
    return None


def _hold_differences(
    derivative: Derivative,
    report: Report,
    draw: int,
    arguments: Sequence[Array],
    seeds: Sequence[Array],
    made: Sequence[Array],
) -> None:
    """Hold the derivative along a direction in each argument against differences."""
    weights: Sequence[Array] = seeds
    generator = np.random.default_rng(200 + draw)
    if derivative.mode == "jvp":
        weights = [generator.uniform(-1, 1, a.shape) for a in made]

    def projected(*moved: Array) -> float:
        outcome = outcome_of(derivative.module, derivative.source.sym_name.data, moved)
        if outcome.error is not None:
            return np.nan
        pairs = zip(derivative.of, weights, strict=True)
        return sum(float(np.sum(outcome.results[k] * w)) for k, w in pairs)

    if derivative.mode == "jvp":
        _hold_tangents(derivative, report, draw, arguments, seeds, made, weights, projected)
        return
    for index, gradient in zip(derivative.wrt, made, strict=True):
        direction = generator.uniform(0.5, 1, np.shape(gradient))
        got = float(np.sum(gradient * direction))
        expected = reliable_difference(projected, arguments, index, direction)
        _hold_number(derivative, report, f"argument {index}, draw {draw}", expected, got)


def _hold_tangents(
    derivative: Derivative,
    report: Report,
    draw: int,
    arguments: Sequence[Array],
    tangents: Sequence[Array],
    made: Sequence[Array],
    weights: Sequence[Array],
    projected: Any,
) -> None:
    """Hold the projected tangents of the results against the sum of differences."""
    parts = [
        reliable_difference(projected, arguments, k, t)
        for k, t in zip(derivative.wrt, tangents, strict=True)
    ]
    expected = None if None in parts else sum(p for p in parts if p is not None)
    got = sum(float(np.sum(t * w)) for t, w in zip(made, weights, strict=True))
    _hold_number(derivative, report, f"tangents, draw {draw}", expected, got)


def _hold_number(
    derivative: Derivative, report: Report, what: str, expected: float | None, got: float
) -> None:
    if expected is None:
        report.left_out(f"differences, {what}", "there is a kink, or a steep place")
        return
    if not abs(got - expected) <= TOLERANCE * max(abs(expected), abs(got), 1.0):
        raise _wrong(
            derivative, f"{what}: differences give {expected:.12g}, the derivative {got:.12g}"
        )
    report.done(f"differences, {what}", f"within {TOLERANCE:g}")


def _wrong(derivative: Derivative, how: str) -> ValidationError:
    name = derivative.source.sym_name.data
    return ValidationError(
        f"the derivative of @{name}, mode {derivative.mode}: {how}", derivative.source
    )
