"""Host calls of native code: calls of registered Python functions.

Native code runs without the GIL; `gradir_host` takes it, on the thread that made the call, and
stores exceptions.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gradir.codegen.driver.program import CompiledProgram, HostCallSite
from gradir.dialects.grad.host_functions import host_function
from gradir.errors import ExecutionError, HostRecursionError
from gradir.runtime.arrays import Array, ArraySpec, spec_of
from gradir.runtime.host_calls import HostCall, called
from gradir.runtime.stack import has_room


class HostCalls:
    """The host calls of one program; its code calls this object, which must outlive the code."""

    def __init__(self, program: CompiledProgram):
        self._calls = [_resolved(site) for site in program.host_calls]

    def __call__(self, number: int, buffers: int, table: int) -> None:
        """Run one call on the arrays with the addresses at `buffers`, on the stack."""
        del table
        call = self._calls[number]
        if not has_room(buffers):
            raise HostRecursionError(f"{call.place}: the stack has no room for one more call")
        count = len(call.inputs) + len(call.outputs)
        addresses = (ctypes.c_void_p * count).from_address(buffers)
        specs = (*call.inputs, *call.outputs)
        arrays = [_array(a or 0, s) for a, s in zip(addresses, specs, strict=True)]
        inputs, outputs = arrays[: len(call.inputs)], arrays[len(call.inputs) :]
        for target, value in zip(outputs, called(call, inputs), strict=True):
            np.copyto(target, value)


def _array(address: int, spec: ArraySpec) -> Array:
    """The memory at an address as an array, for as long as the call runs."""
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
