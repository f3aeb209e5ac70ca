"""Host calls of native code: calls of registered functions, of Python's and native ones.

Native code runs without the GIL; `gradir_host` takes it for a Python function, on the thread that
made the call, and stores exceptions. Native functions it calls by itself. An async call runs on a
worker thread, on arrays of its own, which are copied when it is started and waited for: so one that
is late, or never done, harms nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gradir.codegen.driver.report import CompiledProgram, HostCallSite
from gradir.codegen.text.callback_functions import ACTIONS, WAIT
from gradir.dialects.comm.worlds import WorldError
from gradir.dialects.grad.host_functions import HostFunction, host_function
from gradir.errors import CommError, ExecutionError, HostCallError, HostRecursionError
from gradir.runtime.arrays import Array, ArraySpec, spec_of
from gradir.runtime.collectives import Collective, check_programs, group_of, is_collective
from gradir.runtime.host_calls import HostCall, run
from gradir.runtime.host_errors import late
from gradir.runtime.mpi import end_all_ranks
from gradir.runtime.native_blocks import HostRecord, NativeBlock
from gradir.runtime.stack import has_room
from gradir.runtime.workers import Job, start


class HostCalls:
    """The host calls of one program; its code calls this object, which must outlive the code.

    `functions` has the functions that the program names but does not hold itself.
    At `address` begins an array with a record for each call.
    """

    def __init__(self, program: CompiledProgram, functions: Mapping[str, HostFunction]):
        self._program = program
        # collectives of `comm`, by number; they are made ready by the first call of their group
        self._collectives: dict[int, Collective | None] = {
            k: None for k, site in enumerate(program.host_calls) if is_collective(site)
        }
        self._calls = [
            _call(site, HostFunction(site.callee, None))
            if is_collective(site)
            else host_call_at(site, functions)
            for site in program.host_calls
        ]
        self._blocks = [_block(call) for call in self._calls]
        records = [HostRecord(id(self)) if b is None else b.record(self) for b in self._blocks]
        self._records: Any = (HostRecord * len(records))(*records)
        self.address = ctypes.addressof(self._records)
        # by the table of the run, and the number of the call
        self._jobs: dict[int, dict[int, Job]] = {}

    def __call__(self, code: int, buffers: int, table: int) -> None:
        """Run one call on the arrays with the addresses at `buffers`, on the stack.

        Of a native call that has failed `buffers` is the block; its error is raised.
        """
        number, action = divmod(code, ACTIONS)
        call, block = self._calls[number], self._blocks[number]
        if number in self._collectives:
            self._collective(number, buffers)
            return
        if block is not None:
            raise HostCallError(f"{call.place}: {block.failure(buffers)}")
        addresses = _Addresses(buffers)
        if action == WAIT:
            made = _result(self._taken(number, table), call)
            for array, spec in zip(made, call.outputs, strict=True):
                if array is not None:
                    np.copyto(addresses.next(spec), array)
        elif call.is_async:
            inputs = [addresses.next(spec).copy() for spec in call.inputs]
            self._jobs.setdefault(table, {})[number] = start(partial(_run_on_copies, call, inputs))
        elif has_room(buffers):
            run(call, *addresses.arrays(call), is_lent=True)
        else:
            raise HostRecursionError(f"{call.place}: the stack has no room for one more call")

    def _collective(self, number: int, buffers: int) -> None:
        """The first call of a collective; of one that has failed `buffers` is the block."""
        made, place = self._collectives[number], self._calls[number].place
        if made is not None:
            code = ctypes.c_int64.from_address(buffers).value
            raise CommError(f"{place}: {made.failure(code)}")
        group = group_of(self._program.host_calls[number])
        if group is not None:
            try:
                check_programs(self._program, group)
            except (CommError, WorldError) as error:
                raise CommError(f"{place}: {error}") from None
        for k, site in enumerate(self._program.host_calls):
            if k in self._collectives and group_of(site) == group:
                self._make_ready(k, site)
        block, made = self._blocks[number], self._collectives[number]
        assert block is not None and made is not None
        call = self._calls[number]
        inputs, outputs = _Addresses(buffers).arrays(call)
        if code := block.call(inputs, [a for a in outputs if a is not None]):
            raise CommError(f"{place}: {made.failure(code)}")

    def _make_ready(self, number: int, site: HostCallSite) -> None:
        made = Collective(site)
        call = _call(site, made.function)
        block = _block(call)
        assert block is not None
        self._collectives[number], self._calls[number], self._blocks[number] = made, call, block
        self._records[number] = block.record(self)

    def _taken(self, number: int, table: int) -> Job:
        jobs = self._jobs[table]
        job = jobs.pop(number)
        if not jobs:
            del self._jobs[table]
        return job

    def drop(self, table: int, failure: BaseException) -> None:
        """After a run that failed: no further call of it is begun.

        A collective that is under way cannot be taken back, and its memory is about to be freed: so
        all ranks end.
        """
        if any(each is not None and each.is_pending for each in self._collectives.values()):
            end_all_ranks(failure)
        for job in self._jobs.pop(table, {}).values():
            job.drop()


def _block(call: HostCall) -> NativeBlock | None:
    """The block of a call that Python does not make."""
    if call.operator is None or call.operator.operator.debug or call.is_async:
        return None
    return call.operator.native


def _result(job: Job, call: HostCall) -> list[Array | None]:
    """The results of an async call; HostCallError where it fails or is late."""
    try:
        return job.result(call.timeout)
    except TimeoutError:
        raise late(call.place, call.timeout) from None


def _run_on_copies(call: HostCall, inputs: list[Array]) -> list[Array | None]:
    """The results of a call on arrays of its own; None for those that nobody reads."""
    made = [
        None if k in call.unread else np.empty(spec.shape, spec.dtype)
        for k, spec in enumerate(call.outputs)
    ]
    lent = [None if array is None else array.view() for array in made]
    is_native = call.operator is not None and call.operator.native is not None
    run(call, [array.view() for array in inputs], lent, is_lent=not is_native)
    return made


class _Addresses:
    """The addresses of buffers on the stack, one after another."""

    def __init__(self, buffers: int):
        self._place = buffers

    def next(self, spec: ArraySpec) -> Array:
        """The next buffer as an array."""
        address = ctypes.c_void_p.from_address(self._place).value
        self._place += ctypes.sizeof(ctypes.c_void_p)
        return _array(address or 0, spec)

    def arrays(self, call: HostCall) -> tuple[list[Array], list[Array | None]]:
        """The inputs and outputs; None for outputs that nobody reads, which have no buffer."""
        inputs = [self.next(spec) for spec in call.inputs]
        outputs = [
            None if k in call.unread else self.next(spec) for k, spec in enumerate(call.outputs)
        ]
        return inputs, outputs


def _array(address: int, spec: ArraySpec) -> Array:
    """The memory at an address as an array, for as long as the call runs."""
    if spec.nbytes == 0:
        return np.empty(spec.shape, spec.dtype)
    memory: Any = (ctypes.c_char * spec.nbytes).from_address(address)
    return np.ndarray(spec.shape, spec.dtype, memory)


def host_call_at(site: HostCallSite, functions: Mapping[str, HostFunction]) -> HostCall:
    """The call of a program at a site, which fits its function; ExecutionError if it does not."""
    function = functions.get(site.callee) or host_function(site.callee)
    if function is None:
        raise ExecutionError(f"{site.place}: is not registered any more")
    made = _call(site, function)
    _ = made.operator  # refused here if it does not fit
    return made


def _call(site: HostCallSite, function: HostFunction) -> HostCall:
    inputs, outputs = (
        tuple(spec_of(str(k), t) for k, t in enumerate(types))
        for types in (site.inputs, site.outputs)
    )
    return HostCall(
        *(function, site.place, inputs, outputs, site.unread, site.of), is_async=site.is_async
    )
