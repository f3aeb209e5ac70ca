"""Native functions for tests: of a C file, where there is a compiler, and of Python callbacks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import gradir
from gradir.dialects.array.creation import numpy_dtype
from gradir.frontends.tracing.spec import element_named
from gradir.runtime.native_blocks import DTYPES, ArrayRecord, CallRecord
from tests.support.custom_ops import first_like, two

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")

Array = np.ndarray[Any, Any]
Structure = Any
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def compiler(name: str = "cc") -> str:
    """A C compiler; skips the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no compiler {name}")
    return found


def build(source: Path, library: Path, *options: str) -> Path:
    """Compile a shared library against gradir_op.h."""
    given = "-O1", "-std=c11", "-shared", "-fPIC", f"-I{gradir.include_dir()}", *FLAGS, *options
    subprocess.run([compiler(), *given, source, "-o", library, "-lm"], check=True)
    return library


@cache
def library() -> Path:
    """The compiled C file."""
    folder = tempfile.TemporaryDirectory()
    _folders.append(folder)
    return build(SOURCE, Path(folder.name) / "native_ops.so")


_folders: list[Any] = []


def of(symbol: str, data: Any = None) -> Any:
    """A function of the C file."""
    compiler()
    return gradir.native(library(), symbol, data=data)


def wave(**options: Any) -> Any:
    """sin(x) * w with the first derivative, like the op of custom_ops.py."""
    given: dict[str, Any] = {"needs": ("cotangents", "inputs"), "jvp": of("wave_tangent")}
    return gradir.custom_op(of("wave"), first_like, of("wave_back"), **(given | options))


def smooth_wave(**options: Any) -> Any:
    """sin(x) * w, whose backward is an op as well."""
    given: dict[str, Any] = {"needs": ("cotangents", "inputs"), **options}
    slope = gradir.custom_op(
        of("slopes"), two, of("slopes_back"), jvp=of("slopes_tangent"), **given
    )
    return gradir.custom_op(of("wave"), first_like, slope, jvp=of("wave_tangent"), **given)


def calls_back(function: Callable[[Structure], int | None], data: Any = None) -> Any:
    """A native function that hands its gradir_call to Python; returns 0 for None."""

    def wrapper(address: int) -> int:
        return function(CallRecord.from_address(address)) or 0

    return gradir.native(CALLBACK(wrapper), data=data)


def view(array: ArrayRecord) -> Array:
    """The memory of an array."""
    dtype = numpy_dtype(element_named(DTYPES[cast(int, array.dtype)]))
    shape = tuple(array.shape[: array.rank])
    if array.size == 0:
        return np.empty(shape, dtype)
    assert array.data % dtype.itemsize == 0
    memory: Any = (ctypes.c_char * (array.size * dtype.itemsize)).from_address(array.data)
    return np.ndarray(shape, dtype, memory)


def kinds(arrays: Any, count: int) -> list[str | None]:
    """What a function sees of a group: dtype and shape, "-" where it has no data, None for none."""
    if not arrays:
        return []
    return [
        None
        if arrays[k].dtype == 0
        else f"{'' if arrays[k].data else '-'}{DTYPES[arrays[k].dtype]}"
        f"{arrays[k].shape[: arrays[k].rank]}"
        for k in range(count)
    ]
