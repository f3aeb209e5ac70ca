"""Calls of the functions of custom ops, on views of the arrays of a program.

Checks what a function does with its arrays: it writes all that are asked for, leaves the others,
and keeps none. In debug mode it gets copies, so that all of its mistakes are found and none does
harm.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import ref

import numpy as np

from gradir.errors import HostCallError, HostRecursionError
from gradir.runtime.arrays import Array, ArraySpec
from gradir.runtime.host_errors import failure, late
from gradir.runtime.margins import between_margins, margins_written
from gradir.runtime.native_blocks import NativeBlock
from gradir.runtime.native_functions import NativeFunction
from gradir.runtime.operator_layout import NativeOperator, OperatorLayout, Places
from gradir.runtime.poison import (
    debug_poison,
    debug_unwritten,
    is_floating,
    poison,
    unwritten,
)


@dataclass(frozen=True)
class OperatorCall:
    """A call of an operator in a program: its name in errors, and what it writes."""

    operator: NativeOperator
    layout: OperatorLayout
    place: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    unread: frozenset[int]

    @cached_property
    def native(self) -> NativeBlock | None:
        """The block of the call of a native function; None for one of Python's."""
        if not isinstance(self.operator.function, NativeFunction):
            return None
        return NativeBlock(self.operator, self.layout, self.inputs, self.outputs, self.unread)

    @cached_property
    def _requests(self) -> tuple[str, ...]:
        return self.layout.requests(self.unread)

    @cached_property
    def _read(self) -> list[Places | None]:
        """The tuples that are read; None for one that could have entries, and has none."""
        return [p if not p or any(k is not None for k in p) else None for _, p in self.layout.read]

    @cached_property
    def _poison(self) -> list[Any]:
        of_dtype = debug_poison if self.operator.debug else poison
        return [of_dtype(spec.dtype) for spec in self.outputs]

    def run(self, inputs: list[Array], outputs: list[Array | None], is_lent: bool) -> None:
        """Write the results into `outputs`, which has None for those that nobody reads.

        `is_lent`: the arrays are views of a program's memory that nobody else holds, and the lists
        are emptied. Else the function gets copies.
        """
        is_private = self.operator.debug or not is_lent
        given = [self._copied(a) for a in inputs] if is_private else [*inputs]
        made = self._poisoned_results([None] * len(outputs) if is_private else outputs)
        guards = [ref(array) for array in given + made]
        try:
            self._call(given, made)
            self._require_written(given, made)
            if is_private:
                self._require_equal(given, inputs)
                _copy(made, outputs)
        except BaseException as error:
            if not is_private:
                _forget_locals(error)
            raise
        finally:
            for arrays in (given, made, inputs, outputs):
                arrays.clear()
        for guard in guards:
            if guard() is not None:
                self._require_dropped(guards, is_private)

    def _new(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        return (np.empty if self.native is None else between_margins)(shape, dtype)

    def _copied(self, array: Array) -> Array:
        made = self._new(array.shape, array.dtype)
        np.copyto(made, array)
        return made

    def _poisoned_results(self, outputs: Sequence[Array | None]) -> list[Array]:
        """The arrays to write, full of poison; new ones for None."""
        made: list[Array] = []
        for k, out in enumerate(outputs):
            spec = self.outputs[k]
            array = self._new(spec.shape, spec.dtype) if out is None else out
            if k not in self.unread:
                array.fill(self._poison[k])
            made.append(array)
        return made

    def _call(self, given: Sequence[Array], made: Sequence[Array]) -> None:
        for array in given:
            array.setflags(write=False)
        if self.native is not None:
            self._call_native(self.native, given, made)
            return
        name, places = self.layout.written
        arrays = [None if at is None else _chosen(given, at) for at in self._read]
        try:
            returned: Any = self.operator.function(*arrays, _chosen(made, places), self._requests)
            if self.operator.is_async and isinstance(returned, Future):
                returned = self._completed(returned)
        except HostCallError:
            raise  # its message is complete; nested calls would repeat it
        except Exception as error:
            failed = failure(self.place, error, self._hint(error))
            raise failed from (None if isinstance(failed, HostRecursionError) else error)
        if returned is not None:
            got, hint = type(returned).__name__, ""
            if isinstance(returned, Future):
                hint = '; exec="async" waits for a Future'
            raise HostCallError(
                f"{self.place}: must write into {name} and return None, got {got}{hint}"
            )

    def _completed(self, future: Any) -> Any:
        """What a function has that completes later."""
        limit = self.operator.timeout
        try:
            error = future.exception(limit)
        except TimeoutError:
            raise late(self.place, limit) from None
        if error is not None:
            raise error
        return future.result()

    def _call_native(
        self, native: NativeBlock, given: Sequence[Array], made: Sequence[Array]
    ) -> None:
        message = native.run(given, made)
        names = self.layout.operands, self.layout.results
        for arrays, name in zip((given, made), names, strict=True):
            for k, array in enumerate(arrays):
                if margins_written(array):
                    raise HostCallError(f"{self.place}: must not write beyond {name[k]}")
        if message is not None:
            raise HostCallError(f"{self.place}: {message}")

    def _hint(self, error: Exception) -> str:
        """What to do where an array was read that the op does not need, as declared."""
        absent = [name for name, places in self.layout.read if None in places]
        is_likely = isinstance(error, TypeError | ValueError | AttributeError)
        if self.operator.role != "backward" or not (is_likely and absent):
            return ""
        return f"; None is for what needs={self.operator.needs!r} leaves out of {', '.join(absent)}"

    def _require_written(self, given: Sequence[Array], made: Sequence[Array]) -> None:
        count_of = debug_unwritten if self.operator.debug else unwritten
        for k, array in enumerate(made):
            spec = self.outputs[k]
            if array.shape != spec.shape or array.dtype != spec.dtype:
                raise HostCallError(
                    f"{self.place}: must not change the type of {self.layout.results[k]}, "
                    f"{spec.dtype}{list(spec.shape)}, got {array.dtype}{list(array.shape)}"
                )
            if k not in self.unread and (count := count_of(array)):
                self._require_inputs_written(given)
                raise HostCallError(
                    f"{self.place}: {self.layout.results[k]} is not written, in {count} of "
                    f'{array.size} elements; its request is "write"'
                )

    def _require_inputs_written(self, given: Sequence[Array]) -> None:
        """HostCallError where an input has elements that the op before it left unwritten."""
        for k, array in enumerate(given):
            if is_floating(array.dtype) and (count := debug_unwritten(array)):
                raise HostCallError(
                    f"{self.place}: {self.layout.operands[k]} comes with {count} of {array.size} "
                    "elements that the op which made it has not written; debug=True names that op"
                )

    def _require_equal(self, given: Sequence[Array], inputs: Sequence[Array]) -> None:
        for k, (array, before) in enumerate(zip(given, inputs, strict=True)):
            if array.tobytes() != before.tobytes():
                raise HostCallError(f"{self.place}: must not write into {self.layout.operands[k]}")

    def _require_dropped(self, guards: Sequence[Callable[[], Any]], is_private: bool) -> None:
        gc.collect()  # it may be held by a cycle only
        kept = [k for k, guard in enumerate(guards) if guard() is not None]
        if not kept:
            return
        names, count = self.layout.operands, len(guards) - len(self.outputs)
        names |= {count + k: name for k, name in self.layout.results.items()}
        danger = "" if is_private else ", whose memory is the program's"
        raise HostCallError(
            f"{self.place}: must not keep {', '.join(names[k] for k in kept)}{danger}; keep a copy"
        )


def _chosen(arrays: Sequence[Array], places: Places) -> tuple[Array | None, ...]:
    return tuple([None if place is None else arrays[place] for place in places])


def _copy(made: Sequence[Array], outputs: Sequence[Array | None]) -> None:
    for out, array in zip(outputs, made, strict=True):
        if out is not None:
            np.copyto(out, array)


def _forget_locals(error: BaseException) -> None:
    """Drop the views of memory in the frames of an error, which outlives the memory."""
    pending: list[BaseException | None] = [error]
    seen: list[BaseException] = []
    while pending:
        found = pending.pop()
        if found is not None and found not in seen:
            seen.append(found)
            traceback.clear_frames(found.__traceback__)
            pending += [found.__cause__, found.__context__]
