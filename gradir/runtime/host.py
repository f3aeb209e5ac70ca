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
from gradir.runtime.host_calls import HostCall, run
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
        run(call, *_arrays(call, buffers), is_lent=True)


def _arrays(call: HostCall, buffers: int) -> tuple[list[Array], list[Array | None]]:
    """The inputs and outputs; None for outputs that nobody reads, which have no buffer."""
    count = len(call.inputs) + len(call.outputs) - len(call.unread)
    addresses = iter((ctypes.c_void_p * count).from_address(buffers))
    inputs = [_array(next(addresses) or 0, spec) for spec in call.inputs]
    outputs = [
        None if k in call.unread else _array(next(addresses) or 0, spec)
        for k, spec in enumerate(call.outputs)
    ]
    return inputs, outputs


def _array(address: int, spec: ArraySpec) -> Array:
    """The memory at an address as an array, for as long as the call runs."""
    if spec.nbytes == 0:
        return np.empty(spec.shape, spec.dtype)
    memory: Any = (ctypes.c_char * spec.nbytes).from_address(address)
    return np.ndarray(spec.shape, spec.dtype, memory)


def _resolved(site: HostCallSite) -> HostCall:
    function = host_function(site.callee)
    if function is None:
        raise ExecutionError(f"{site.place}: is not registered any more")
    inputs, outputs = (
        tuple(spec_of(str(k), t) for k, t in enumerate(types))
        for types in (site.inputs, site.outputs)
    )
    made = HostCall(function, site.place, inputs, outputs, site.unread, site.of)
    _ = made.operator  # refused here if it does not fit
    return made
