"""The programs that StableHLO's compilers run: gradients of examples and golden files.

`programs_of` a file gives them as text with arguments and gradir's own results; `assert_close`
compares another compiler's results with these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import gradir
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    element_of,
    is_tensor,
    shape_of,
)
from gradir.errors import GradirError
from gradir.passes.analysis.call_graph import functions_by_name

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "filecheck"
SEPARATOR = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)
Array = np.ndarray[Any, np.dtype[Any]]

# Of the largest number that went in or out.
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-2, "bfloat16": 4e-2}

REASONS = re.compile(
    r"has no form in StableHLO|has no op for it|shapes must be known|belongs to ranks|waits for|"
    r"arguments and results must be real"
)


@dataclass(frozen=True)
class Program:
    """A function's StableHLO, arguments for it, and the results that gradir gives for them.

    `name` is that of its file, below tests/filecheck or examples, and of the function.
    """

    name: str
    text: str
    arrays: list[Array]
    wanted: list[Array]

    def compare(self, found: Sequence[Any]) -> None:
        """AssertionError where the results are others."""
        assert_close(found, self.wanted, self._scale())

    def agrees(self, found: Sequence[Any], k: int) -> bool:
        """Whether result k is gradir's."""
        try:
            assert_close(found[k : k + 1], self.wanted[k : k + 1], self._scale())
        except AssertionError:
            return False
        return True

    def _scale(self) -> float:
        sizes = [float(np.max(np.abs(a.astype(float)), initial=0)) for a in self.arrays]
        return max([1.0, *sizes])


def paths() -> Iterator[Path]:
    """The examples, and the golden files that differentiate."""
    yield from sorted((ROOT / "examples").glob("*.mlir"))
    for path in sorted(GOLDEN.rglob("*.mlir")):
        if "gradir-gradient" in path.read_text(encoding="utf-8") and "_invalid" not in path.name:
            yield path


def programs_of(path: Path) -> Iterator[Program]:
    """The functions of a file that have StableHLO, and results for random arguments."""
    folder = ROOT if path.parent.name == "examples" else GOLDEN
    file = path.relative_to(folder).with_suffix("").as_posix()
    counts: Counter[str] = Counter()
    for module, function in _derivatives(path):
        counts[function] += 1
        try:
            text = module.to_stablehlo(function)
        except GradirError as error:
            assert REASONS.search(str(error)), error
            continue
        arrays = arrays_for(module, function)
        try:
            wanted = _results(path, module, function, arrays)
        except GradirError:
            continue  # an index out of range, which is an error there
        if any(not hasattr(each, "dtype") for each in wanted):
            continue  # tapes and row slices are several arrays there
        number = f" {counts[function]}" if counts[function] > 1 else ""
        yield Program(f"{file} @{function}{number}", text, arrays, [np.asarray(x) for x in wanted])


def _derivatives(path: Path) -> Iterator[tuple[gradir.Module, str]]:
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


def _results(
    path: Path, module: gradir.Module, function: str, arrays: Sequence[Array]
) -> Sequence[Any]:
    """Native code's for the examples; tests/whole/test_goldens_execute.py holds it against the
    interpreter for golden programs, which it compiles in many times the time."""
    if path.parent.name == "examples":
        return gradir.compile(module, function)(*arrays)
    return gradir.interpret(module, function, *arrays)


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
    """AssertionError where results differ by more than the elements' tolerance."""
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
