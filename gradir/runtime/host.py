"""Host calls of native code: calls of registered functions, of Python's and native ones.

Native code runs without the GIL; `gradir_host` takes it for a Python function, on the thread that
made the call, and stores exceptions. Native functions it calls by itself.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gradir.codegen.driver.program import CompiledProgram, HostCallSite
from gradir.dialects.grad.host_functions import host_function
from gradir.errors import ExecutionError, HostCallError, HostRecursionError
from gradir.runtime.arrays import Array, ArraySpec, spec_of
from gradir.runtime.host_calls import HostCall, run
from gradir.runtime.native_blocks import HostRecord, NativeBlock
from gradir.runtime.stack import has_room


class HostCalls:
    """The host calls of one program; its code calls this object, which must outlive the code.

    `address` is that of an array with a record for each call.
    """

    def __init__(self, program: CompiledProgram):
        self._calls = [_resolved(site) for site in program.host_calls]
        self._blocks = [_block(call) for call in self._calls]
        records = [HostRecord(id(self)) if b is None else b.record(self) for b in self._blocks]
        self._records: Any = (HostRecord * len(records))(*records)
        self.address = ctypes.addressof(self._records)

    def __call__(self, number: int, buffers: int, table: int) -> None:
        """Run one call on the arrays with the addresses at `buffers`, on the stack.

        Of a native call that has failed `buffers` is the block; its error is raised.
        """
        del table
        call, block = self._calls[number], self._blocks[number]
        if block is not None:
            raise HostCallError(f"{call.place}: {block.failure(buffers)}")
        if not has_room(buffers):
            raise HostRecursionError(f"{call.place}: the stack has no room for one more call")
        run(call, *_arrays(call, buffers), is_lent=True)


def _block(call: HostCall) -> NativeBlock | None:
    """The block of a call that Python does not make."""
    if call.operator is None or call.operator.operator.debug:
        return None
    return call.operator.native


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
