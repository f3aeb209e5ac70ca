"""Native functions that gradir cannot call, and tracebacks of Python functions."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentTypeError, HostCallError, NativeFunctionError


def test_a_name_with_a_nul_is_refused():
    with pytest.raises(NativeFunctionError, match="expected the name of a function"):
        gradir.native(ctypes.CDLL(None), "abs\0lute")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")
def test_data_is_no_function():
    with pytest.raises(NativeFunctionError, match="where this process has no code"):
        gradir.native(ctypes.CDLL(None), "environ")
    held = np.zeros(64)
    with pytest.raises(NativeFunctionError, match="where this process has no code"):
        gradir.native(SimpleNamespace(address=np.uint64(held.ctypes.data)))


@pytest.mark.parametrize("data", [-1, 1 << 64, True, 1.5, "x", np.int64(-1)])
def test_data_that_is_no_address(data: Any):
    with pytest.raises(ArgumentTypeError, match="data: expected"):
        gradir.native(ctypes.CDLL(None), "getpid", data=data)


@pytest.mark.parametrize(
    "types",
    [
        (ctypes.c_double, ctypes.c_void_p),
        (None, ctypes.c_void_p),
        (ctypes.c_int32,),
        (ctypes.c_int32, ctypes.c_double),
        (ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p),
    ],
)
def test_a_pointer_of_another_prototype_is_refused(types: Any):
    def function(*given: Any) -> int:
        return 0

    with pytest.raises(NativeFunctionError, match="from a pointer, to a gradir_call, to int32"):
        gradir.native(ctypes.CFUNCTYPE(*types)(function))


def test_the_traceback_of_a_future_is_that_of_the_user():
    def fails(x: Any) -> None:
        raise KeyError("here")

    with ThreadPoolExecutor(1) as pool:

        def forward(inputs: Any, outputs: Any, req: Any) -> Any:
            return pool.submit(fails, inputs[0])

        def like(x: Any) -> Any:
            return x

        op = gradir.custom_op(forward, like, exec="async")
        with pytest.raises(HostCallError) as caught:
            gradir.jit(op)(np.ones(2))
    lines = str(caught.value).splitlines()
    files = [line for line in lines if line.lstrip().startswith("File ")]
    assert len(files) == 1 and "in fails" in files[0]
