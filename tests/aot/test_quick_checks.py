"""The quick checks of a call, by themselves: they find each fault, and nothing in right calls.

They are called at their places in the library, at each level that this processor has.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahead_of_time import symbols
from aot_harness import RUNNABLE

import gradir
from gradir.aot.loader import ArrayStruct, Function, Library, load_library
from gradir.aot.quick_checks import DIFFER, in_fours
from gradir.codegen.text.target import host_is_arm
from gradir.runtime.native_blocks import DTYPES

COUNTS = ((0, 1), (1, 0), (1, 1), (2, 3), (3, 4), (4, 2), (5, 5), (7, 9), (9, 1), (13, 6))
"""Of inputs and results: fours that are full, and those with one, two and three arrays."""
KINDS = ("2x3xf64", "4xf32", "f64", "5xi8", "1x2x3xf32", "3xi64")
pytestmark = pytest.mark.skipif(host_is_arm(), reason="finds a record by an instruction of x86-64")


def function_of(inputs: int, results: int) -> str:
    """A function with arrays of many kinds, and a parameter for each result."""
    kinds = [f"tensor<{KINDS[k % len(KINDS)]}>" for k in range(inputs)]
    made = [f"tensor<{KINDS[(k + 1) % len(KINDS)]}>" for k in range(results)]
    taken = ", ".join(f"%x{k}: {kind}" for k, kind in enumerate(kinds))
    lines = [f"func.func @f{inputs}_{results}({taken}) -> ({', '.join(made)}) {{"]
    for k, kind in enumerate(made):
        element = kind.removesuffix(">").split("x")[-1].removeprefix("tensor<")
        one = "1.0" if element[0] == "f" else "1"
        lines.append(f"  %y{k} = arith.constant dense<{one}> : {kind}")
    names = ", ".join(f"%y{k}" for k in range(results))
    lines.append(f"  func.return {names} : {', '.join(made)}" if results else "  func.return")
    return "\n".join([*lines, "}"])


class Checks:
    """The quick checks of a function at a level, on arrays of this process."""

    def __init__(self, library: Library, path: Path, name: str, level: str):
        self.function: Function = getattr(library, name)
        places = symbols(path)
        code = ctypes.cast(ctypes.CDLL(str(path))[name], ctypes.c_void_p).value
        assert code is not None
        text = ctypes.string_at(code, 7)
        assert text[:3] == b"\x4c\x8d\x05"  # lea r8, [rip + record]
        self.record = code + 7 + int.from_bytes(text[3:], "little", signed=True)
        place = code - places[name] + places[f"gradir.{level}.{DIFFER}"]
        self.differ = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)(place)
        self.kept: list[Any] = []
        infos = self.function.inputs, self.function.outputs
        self.inputs, self.results = (
            (ArrayStruct * len(each))(*(self.array(info) for info in each)) for each in infos
        )
        size = max(self.function.workspace_bytes, 1)
        self.workspace = self.memory(size + 64)
        self.workspace += -self.workspace % 64

    def memory(self, size: int) -> int:
        """Memory that nothing else has, and its begin: not in the first bytes of 4 GiB."""
        data = np.zeros(size + 64, np.uint8)
        self.kept.append(data)
        return data.ctypes.data + -data.ctypes.data % 16

    def array(self, info: Any) -> ArrayStruct:
        """A right array, with extents of its own."""
        extents = (ctypes.c_int64 * max(len(info.shape), 1))(*info.shape)
        self.kept.append(extents)
        size = int(np.prod(info.shape, dtype=np.int64))
        place = self.memory(size * info.dtype.itemsize)
        shape = ctypes.addressof(extents) if info.shape else None
        number = DTYPES.index(info.dtype.name)
        return ArrayStruct(place, shape, size, len(info.shape), number, 1, 7)

    def run(self) -> int:
        inputs, results = (
            ctypes.addressof(each) if len(each) else None for each in (self.inputs, self.results)
        )
        return int(self.differ(self.record, inputs, results, self.workspace))

    def with_field(self, array: Any, field: str, value: Any) -> int:
        """The answer with another value of a field of an array, which has its own again after."""
        before = getattr(array, field)
        setattr(array, field, value)
        found = self.run()
        setattr(array, field, before)
        return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = gradir.parse("\n".join(function_of(*counts) for counts in COUNTS))
    made = tmp_path_factory.mktemp("quick") / "libquick.so"
    gradir.export_library(module, made, functions=module.functions, targets=RUNNABLE)
    return made


@pytest.fixture(params=RUNNABLE)
def every(request: pytest.FixtureRequest, path: Path) -> list[Checks]:
    library = load_library(path)
    return [Checks(library, path, f"f{i}_{r}", request.param) for i, r in COUNTS]


def test_right_calls(every: list[Checks]) -> None:
    for checks in every:
        assert checks.run() == 0, checks.function


def test_fields(every: list[Checks]) -> None:
    for checks in every:
        for kind, arrays in (("in", checks.inputs), ("out", checks.results)):
            for array in arrays:
                itemsize = np.dtype(DTYPES[array.dtype]).itemsize
                wrong: dict[str, list[Any]] = {
                    "data": [None, *([array.data + itemsize // 2] if itemsize > 1 else [])],
                    "size": [array.size + 1, array.size + (1 << 32), 0],
                    "rank": [array.rank + 1, array.rank - 1, -array.rank - 1],
                    "dtype": [array.dtype + 1, -1],
                    "request": [0, 2, 1 + (1 << 16)] if kind == "out" else [],
                }
                if array.rank:
                    wrong["shape"] = [None]
                for field, values in wrong.items():
                    for value in values:
                        assert checks.with_field(array, field, value), (kind, field, value)
                for axis in range(array.rank):
                    extents = (ctypes.c_int64 * array.rank).from_address(array.shape)
                    extents[axis] += 1 << 32
                    assert checks.run(), (kind, axis)
                    extents[axis] -= 1 << 32
                if kind == "in":  # which nobody looks at
                    assert checks.with_field(array, "request", 2) == 0
                assert checks.with_field(array, "reserved", -1) == 0
        assert checks.run() == 0


def with_bytes(checks: Checks) -> list[tuple[Any, int]]:
    """All arrays, and how many bytes they have."""
    infos = *checks.function.inputs, *checks.function.outputs
    arrays = *checks.inputs, *checks.results
    return [
        (array, np.empty(info.shape, info.dtype).nbytes)
        for array, info in zip(arrays, infos, strict=True)
    ]


def meeting(other: int, other_size: int, size: int) -> list[int]:
    """Places of a memory that meets another one, aligned to 8 bytes."""
    last = other + (other_size - 1) // 8 * 8
    return [other, last, *([other - (size - 1) // 8 * 8] if size > 8 else [])]


def test_overlaps(every: list[Checks]) -> None:
    for checks in every:
        arrays = with_bytes(checks)
        memories = [(array.data, size) for array, size in arrays] + [(checks.workspace, 64)]
        for k, (array, size) in enumerate(arrays):
            is_result = k >= len(checks.inputs)
            others = memories[:k] + memories[k + 1 :] if is_result else memories[-1:]
            for other, other_size in others:
                for data in meeting(other, other_size, size):
                    assert checks.with_field(array, "data", data), (k, data)


def test_neighbours_do_not_meet(path: Path) -> None:
    """Arrays side by side in some order, across borders of 2 and 4 GiB."""
    library = load_library(path)
    random = np.random.default_rng(0)
    for level in RUNNABLE:
        for inputs, results in COUNTS:
            checks = Checks(library, path, f"f{inputs}_{results}", level)
            arrays = with_bytes(checks)
            for border in (1 << 36, 1 << 31, 3 << 32):
                order = random.permutation(len(arrays))
                sizes = [(arrays[k][1] + 7) // 8 * 8 for k in order]
                at = border - sum(sizes[: len(order) // 2]) - 8 * int(random.integers(2))
                for k, size in zip(order, sizes, strict=True):
                    arrays[k][0].data = at
                    at += size
                # such a memory may be looked at again
                is_odd = any(
                    a.data % (1 << 32) + size >= 1 << 32 or a.data % (1 << 32) == 0
                    for a, size in arrays
                )
                assert is_odd or checks.run() == 0, (level, border)


def test_inputs_may_be_one_memory(every: list[Checks]) -> None:
    for checks in every:
        same = [a for a in checks.inputs if a.dtype == checks.inputs[0].dtype]
        for array in same:
            array.data = same[0].data
        assert checks.run() == 0


def test_numbers_of_arrays() -> None:
    assert in_fours(0) == [] and in_fours(1) == [0] * 4 and in_fours(5) == [0, 1, 2, 3, 4, 4, 4, 4]
