"""The blocks of calls of native functions: the structures of gradir_op.h, filled for a layout.

Compiled code copies a block's template and stores addresses into it, see
codegen/text/native_operators.py; `NativeBlock.run` does the same for calls that Python makes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gradir.codegen.text.native_operators import CALL_PLACE, HOST_RECORD
from gradir.runtime.arrays import Array, ArraySpec
from gradir.runtime.native_functions import NativeFunction
from gradir.runtime.operator_layout import NativeOperator, OperatorLayout, Places

ABI = 1
ROLES = "forward", "backward", "jvp"
DTYPES = (
    "none", "bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "int16", "uint16", "uint32", "uint64",
)  # fmt: skip
NULL, WRITE = 0, 1
MESSAGE_BYTES = 1024

_C_TYPES: Mapping[str, Any] = {"i64": ctypes.c_int64, "ptr": ctypes.c_void_p}


class HostRecord(ctypes.Structure):
    """What a program knows of a host call."""

    _fields_ = [(name, _C_TYPES[type_]) for name, type_ in HOST_RECORD.fields]


class ArrayRecord(ctypes.Structure):
    """gradir_array of gradir_op.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("size", ctypes.c_int64),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("request", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class CallRecord(ctypes.Structure):
    """gradir_call of gradir_op.h."""

    _fields_ = [
        ("abi", ctypes.c_int32),
        ("role", ctypes.c_int32),
        ("n_inputs", ctypes.c_int32),
        ("n_outputs", ctypes.c_int32),
        ("inputs", ctypes.POINTER(ArrayRecord)),
        ("outputs", ctypes.POINTER(ArrayRecord)),
        ("cotangents", ctypes.POINTER(ArrayRecord)),
        ("grads", ctypes.POINTER(ArrayRecord)),
        ("tangents", ctypes.POINTER(ArrayRecord)),
        ("out_tangents", ctypes.POINTER(ArrayRecord)),
        ("data", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class BlockContents:
    """What a record says of a call: its template, where that points to which shapes, the pairs of
    `moved` and the words of `buffers`, the size of the block, and where the message is in it."""

    template: bytes
    shapes: Mapping[int, tuple[int, ...]]
    moved: Sequence[int]
    buffers: Sequence[int]
    block_size: int
    message: int


class NativeBlock:
    """The block of one call in a program, ready but for the addresses of its arrays."""

    def __init__(
        self,
        operator: NativeOperator,
        layout: OperatorLayout,
        inputs: Sequence[ArraySpec],
        outputs: Sequence[ArraySpec],
        unread: frozenset[int],
    ):
        self.function: NativeFunction = operator.function
        self._unread = unread
        self._arrays: list[ArrayRecord] = []
        # the words of the block that point into it, and where to
        self._moved: list[tuple[int, int]] = []
        read: dict[int, int] = {}
        for name, places in layout.read:
            read |= self._add(name, places, [(spec, NULL) for spec in inputs])
        asked = [(spec, NULL if k in unread else WRITE) for k, spec in enumerate(outputs)]
        written = self._add(*layout.written, asked)
        self._message = self._end
        self._moved.append((_word_of("message"), self._message))
        self._size = self._message + MESSAGE_BYTES
        counts = {name: len(places) for name, places in (*layout.read, layout.written)}
        call = CallRecord(ABI, ROLES.index(operator.role), counts["inputs"], counts["outputs"])
        call.data, call.message_size = self.function.data, MESSAGE_BYTES
        # an empty message behind the arrays
        parts = [bytes(CALL_PLACE), bytes(call), *map(bytes, self._arrays), bytes(8)]
        self._template = np.frombuffer(b"".join(parts), np.int64)
        self._moves = np.array(self._moved, np.int64)
        buffers = [read[k] for k in range(len(inputs))]
        buffers += [written[k] for k in range(len(outputs)) if k not in unread]
        self._buffers = np.array(buffers, np.int64)

    def _add(
        self, name: str, places: Places, specs: Sequence[tuple[ArraySpec, int]]
    ) -> dict[int, int]:
        """Add a group of arrays, with their requests; returns the words for data, by place."""
        self._moved.append((_word_of(name), self._end))
        words: dict[int, int] = {}
        for place in places:
            if place is not None:
                words[place] = self._end
            self._arrays.append(ArrayRecord() if place is None else _array(*specs[place]))
        return words

    @property
    def _end(self) -> int:
        """Where the arrays end."""
        return (
            CALL_PLACE + ctypes.sizeof(CallRecord) + len(self._arrays) * ctypes.sizeof(ArrayRecord)
        )

    @property
    def contents(self) -> BlockContents:
        """The block as data that is at home in no process: without addresses."""
        template = bytearray(self._template.tobytes())
        shapes: dict[int, tuple[int, ...]] = {}
        for k, array in enumerate(self._arrays):
            if array.shape:
                word = CALL_PLACE + ctypes.sizeof(CallRecord) + k * ctypes.sizeof(ArrayRecord)
                word += ArrayRecord.shape.offset
                shapes[word] = tuple(array.shape[axis] for axis in range(array.rank))
                template[word : word + 8] = bytes(8)
        moves = [int(n) for n in self._moves.ravel()]
        buffers = [int(n) for n in self._buffers]
        return BlockContents(bytes(template), shapes, moves, buffers, self._size, self._message)

    def record(self, calls: object) -> HostRecord:
        """The record for compiled code, which must not outlive this."""
        parts: list[Any] = [id(calls), self.function.address, self.function.finish]
        parts += [self._template.ctypes.data, self._template.nbytes, self._size]
        for table in (self._moves, self._buffers):
            parts += [table.ctypes.data, len(table)]
        return HostRecord(*parts)

    def run(self, given: Sequence[Array], made: Sequence[Array]) -> str | None:
        """Call the function on arrays; the text of its error, or None after success."""
        written = [array for k, array in enumerate(made) if k not in self._unread]
        block = self._call_block([*given, *written])
        return self.failure(block.ctypes.data) if block[0] else None

    def call(self, given: Sequence[Array], written: Sequence[Array]) -> int:
        """Call the function on the arrays that it reads and writes; returns what it returns."""
        return int(self._call_block([*given, *written])[0])

    def _call_block(self, arrays: Sequence[Array]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The block of a call on arrays, after the call."""
        block = np.zeros(self._size // 8, np.int64)
        start = block.ctypes.data
        block[: len(self._template)] = self._template
        block[self._moves[:, 0] // 8] = self._moves[:, 1] + start
        block[self._buffers // 8] = [array.ctypes.data for array in arrays]
        block[0] = _FUNCTION(self.function.address)(start + CALL_PLACE)
        return block

    def failure(self, block: int) -> str:
        """What is wrong, by the block of a call that has failed."""
        text = ctypes.string_at(block + self._message, MESSAGE_BYTES).partition(b"\0")[0]
        code = ctypes.c_int64.from_address(block).value
        return text.decode(errors="replace") or f"the function returned {code}"


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def _word_of(name: str) -> int:
    """The place of a field of the call."""
    return CALL_PLACE + getattr(CallRecord, name).offset


def _array(spec: ArraySpec, request: int) -> ArrayRecord:
    """An array without its data; it keeps its shape alive."""
    shape = (ctypes.c_int64 * len(spec.shape))(*spec.shape)
    dtype, size = DTYPES.index(spec.dtype.name), prod(spec.shape)
    return ArrayRecord(None, shape, size, len(spec.shape), dtype, request)
