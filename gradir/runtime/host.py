"""Host calls of native code: the callback that runs registered Python functions.

Native code runs without the GIL; the callback takes it, on the thread that made the call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradir.dialects.host_functions import host_function
from gradir.errors import ExecutionError
from gradir.host_calls import HostCall, called
from gradir.lowering.program import TABLE_ERROR, HostCallSite, Program
from gradir.runtime.arrays import Array, ArraySpec, spec_of

# In the error record: no message of the program, but an exception that is kept here.
FAILED = -1

_Callback: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class HostCalls:
    """The host calls of one program. `address` is what its code calls; this object must outlive it.

    What a function raises is kept, by the table of the call, until that call is over.
    """

    def __init__(self, program: Program):
        self._calls = [_resolved(site) for site in program.host_calls]
        self._failures: dict[int, BaseException] = {}
        self._callback = _Callback(self._run)
        self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)

    def failure(self, table: int) -> BaseException | None:
        """What a host call of the call that is over has raised, if one has."""
        return self._failures.pop(table, None)

    def _run(self, number: int, buffers: int, table: int) -> int:
        call = self._calls[number]
        count = len(call.inputs) + len(call.outputs)
        addresses = (ctypes.c_void_p * count).from_address(buffers)
        specs = (*call.inputs, *call.outputs)
        arrays = [_array(a or 0, s) for a, s in zip(addresses, specs, strict=True)]
        inputs, outputs = arrays[: len(call.inputs)], arrays[len(call.inputs) :]
        if table not in self._failures:
            try:
                _store(outputs, called(call, inputs))
                return 0
            except BaseException as error:  # it must not pass through native code
                self._failures[table] = error
                ctypes.c_int64.from_address(table + 8 * TABLE_ERROR).value = FAILED
        _store(outputs, [np.zeros(s.shape, s.dtype) for s in call.outputs])
        return 1


def _store(targets: Sequence[Array], values: Sequence[Array]) -> None:
    for target, value in zip(targets, values, strict=True):
        np.copyto(target, value)


def _array(address: int, spec: ArraySpec) -> Array:
    """The memory at an address as an array, for as long as the callback runs."""
    if spec.nbytes == 0:
        return np.empty(spec.shape, spec.dtype)
    memory: Any = (ctypes.c_char * spec.nbytes).from_address(address)
    return np.frombuffer(memory, np.uint8).view(spec.dtype).reshape(spec.shape)


def _resolved(site: HostCallSite) -> HostCall:
    function = host_function(site.callee)
    if function is None:
        raise ExecutionError(f"{site.place}: is not registered any more")
    inputs, outputs = (
        tuple(spec_of(str(k), t) for k, t in enumerate(types))
        for types in (site.inputs, site.outputs)
    )
    return HostCall(function, site.place, inputs, outputs)
