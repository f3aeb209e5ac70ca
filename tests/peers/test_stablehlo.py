"""StableHLO on XLA: golden programs, examples, all ops and loops, beside gradir's native code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import ml_dtypes
from op_cases import CASES
from stablehlo_run import run_on_xla
from xdsl.dialects.builtin import f32, f64

import gradir
from gradir.checking.case import OpCase
from gradir.checking.programs import CompiledTogether, function, is_active
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    element_of,
    is_tensor,
    shape_of,
)
from gradir.errors import GradirError
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.stablehlo.to_stablehlo import REFUSED

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "filecheck"
SEPARATOR = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)
Array = np.ndarray[Any, np.dtype[Any]]

# Of the largest number that went in or out.
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-2, "bfloat16": 4e-2}


def arrays_for(module: gradir.Module, name: str) -> list[Array]:
    """Random arguments of a function."""
    made: list[Array] = []
    types = functions_by_name(module.op)[name].function_type.inputs
    for number, type_ in enumerate(types):
        generator = np.random.default_rng(number)
        shape = shape_of(type_) if is_tensor(type_) else ()
        element = element_of(type_) if is_tensor(type_) else type_
        dtype = NUMPY_NAMES.get(element, "int64")
        if "float" in dtype:
            kind = getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype
            made.append(np.asarray(0.3 * generator.normal(size=shape)).astype(kind))
        else:
            made.append(np.asarray(generator.integers(0, 2, shape)).astype(dtype))
    return made


def assert_close(found: Sequence[Any], wanted: Sequence[Any], scale: float = 1.0) -> None:
    for one, other in zip(found, wanted, strict=True):
        expected = np.asarray(other)
        assert one.dtype == expected.dtype and one.shape == expected.shape
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(one, expected)
            continue
        bound = TOLERANCE[str(expected.dtype)]
        wide = expected.astype(np.float64)
        most = max(float(np.max(np.abs(wide), where=np.isfinite(wide), initial=0)), scale)
        np.testing.assert_allclose(one.astype(np.float64), wide, bound, bound * most)


# Golden programs and examples.


def programs() -> Iterator[Path]:
    yield from sorted((ROOT / "examples").glob("*.mlir"))
    for path in sorted(GOLDEN.rglob("*.mlir")):
        if "gradir-gradient" in path.read_text(encoding="utf-8") and "_invalid" not in path.name:
            yield path


def derivatives(path: Path) -> Iterator[tuple[gradir.Module, str]]:
    """The functions of a file with their gradients, or alone where they have none."""
    for text in SEPARATOR.split(path.read_text(encoding="utf-8")):
        try:
            module = gradir.parse(text, str(path))
        except GradirError:
            continue
        for name in module.functions:
            try:
                yield module.gradient(name, mode="grad"), f"{name}_grad"
            except GradirError:
                yield module, name


def results_of(path: Path) -> Callable[..., Sequence[Any]]:
    """Native code for the examples; tests/whole/test_goldens_execute.py holds it against the
    interpreter for golden programs, which it compiles in many times the time."""
    if path.parent.name == "examples":
        return lambda module, name, *arrays: gradir.compile(module, name)(*arrays)
    return gradir.interpret


REASONS = re.compile(
    r"has no form in StableHLO|has no op for it|shapes must be known|belongs to ranks|waits for"
)


@pytest.mark.parametrize("path", list(programs()), ids=lambda path: path.stem)
def test_programs(path: Path) -> None:
    for module, name in derivatives(path):
        try:
            text = module.to_stablehlo(name)
        except GradirError as error:
            assert REASONS.search(str(error)), error
            continue
        arrays = arrays_for(module, name)
        try:
            wanted = results_of(path)(module, name, *arrays)
        except GradirError:
            continue  # an index out of range, which is an error there
        if any(not hasattr(each, "dtype") for each in wanted):
            continue  # tapes and row slices are several arrays there
        scale = max((float(np.max(np.abs(a.astype(float)), initial=0)) for a in arrays), default=1)
        assert_close(run_on_xla(text, arrays), wanted, max(scale, 1.0))


# Ops.


class OnXla(CompiledTogether):
    """The functions on XLA in place of native code."""

    def found(self) -> list[tuple[Array, ...]]:
        counts = self.add_driver()
        arrays = [a for _, arrays in self.calls for a in arrays]
        text = gradir.Module(self.module).to_stablehlo("driver")
        values = iter(run_on_xla(text, arrays))
        return [tuple(next(values) for _ in range(count)) for count in counts]

    def compare(self, scaled: bool = True) -> None:
        for (_, arrays), expected, found in zip(self.calls, self.expected(), self.found(),
                                                strict=True):  # fmt: skip
            sizes = [float(np.max(np.abs(a.astype(float)), initial=0)) for a in arrays]
            assert_close(found, expected, max([1.0, *(s for s in sizes if np.isfinite(s))]))


def cases_of() -> dict[str, list[OpCase]]:
    found: dict[str, list[OpCase]] = {}
    for case in CASES:
        found.setdefault(case.op, []).append(case)
    return found


BY_OP = cases_of()
# Of each op; they are taken evenly from its rows.
MOST_CASES = 8


@pytest.mark.parametrize("op", sorted(BY_OP))
def test_ops(op: str) -> None:
    """Values in f32 and f64, and first derivatives in f64, of the rows of the op table."""
    if op in REFUSED:
        pytest.skip(REFUSED[op])
    together = OnXla()
    cases = BY_OP[op]
    for number, case in enumerate(cases[:: -(-len(cases) // MOST_CASES)]):
        for element in (f32, f64):
            arrays = case.arrays(element)
            made = function(case, arrays, element, f"f{number}_{element}")
            together.add(made, arrays)
            if element == f64 and is_active(case):
                made = function(case, arrays, element, f"g{number}")
                together.add(made, arrays, case.wrt, 1)
    try:
        together.compare()
    except GradirError as error:
        assert REASONS.search(str(error)), error
        pytest.skip(str(error).splitlines()[0])
