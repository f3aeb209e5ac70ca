"""The blocks of calls of native functions: the structures of gradir_op.h, filled for a layout.

Compiled code copies a block's template and stores addresses into it, see
codegen/text/native_operators.py; `NativeBlock.run` does the same for calls that Python makes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from gradir.codegen.text.native_operators import CALL_PLACE, HOST_RECORD
from gradir.runtime.arrays import Array, ArraySpec
from gradir.runtime.native_functions import NativeFunction
from gradir.runtime.operator_layout import Layout, Operator

ABI = 1
ROLES = "forward", "backward", "jvp"
DTYPES = (
    "none", "bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
NULL, WRITE = 0, 1
MESSAGE_BYTES = 1024

_C_TYPES: Mapping[str, Any] = {"i64": ctypes.c_int64, "ptr": ctypes.c_void_p}


class HostRecord(ctypes.Structure):
    """What a program knows of a host call."""

    _fields_ = [(name, _C_TYPES[type_]) for name, type_ in HOST_RECORD.items()]


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


class NativeBlock:
    """The block of one call in a program, ready but for the addresses of its arrays."""

    def __init__(
        self,
        operator: Operator,
        layout: Layout,
        inputs: Sequence[ArraySpec],
        outputs: Sequence[ArraySpec],
        unread: frozenset[int],
    ):
        self.function: NativeFunction = operator.function
        groups = {name: len(places) for name, places in (*layout.read, layout.written)}
        call = CallRecord(ABI, ROLES.index(operator.role), groups["inputs"], groups["outputs"])
        call.data, call.message_size = self.function.data, MESSAGE_BYTES
        # the words of the block that point into it, and where to
        moved: list[tuple[int, int]] = []
        # the words for the data of operands, and of results
        words: tuple[dict[int, int], dict[int, int]] = {}, {}
        arrays: list[ArrayRecord] = []
        for name, places in (*layout.read, layout.written):
            moved.append((_word_of(name), _array_place(len(arrays))))
            is_written = name == layout.written[0]
            for place in places:
                if place is not None:
                    words[is_written][place] = _array_place(len(arrays))
                request = WRITE if is_written and place not in unread else NULL
                spec = None if place is None else (outputs if is_written else inputs)[place]
                arrays.append(_array(spec, request))
        message = _array_place(len(arrays))
        moved.append((_word_of("message"), message))
        self._arrays = arrays  # their shapes live as long
        self._unread = unread
        parts = [bytes(CALL_PLACE), bytes(call), *map(bytes, arrays), bytes(8)]
        self._template = np.frombuffer(b"".join(parts), np.int64)
        self._size = message + MESSAGE_BYTES
        self._message = message
        self._moved = np.array(moved, np.int64)
        written = [words[True][k] for k in range(len(outputs)) if k not in unread]
        self._buffers = np.array(
            [*(words[False][k] for k in range(len(inputs))), *written], np.int64
        )

    def record(self, calls: object) -> HostRecord:
        """The record for compiled code, which must not outlive this."""
        parts: list[Any] = [id(calls), self.function.address]
        parts += [self._template.ctypes.data, self._template.nbytes, self._size]
        for table in (self._moved, self._buffers):
            parts += [table.ctypes.data, len(table)]
        return HostRecord(*parts)

    def run(self, given: Sequence[Array], made: Sequence[Array]) -> str | None:
        """Call the function on arrays; what is wrong after a failure."""
        block = np.zeros(self._size // 8, np.int64)
        start = block.ctypes.data
        block[: len(self._template)] = self._template
        block[self._moved[:, 0] // 8] = self._moved[:, 1] + start
        arrays = [*given, *(a for k, a in enumerate(made) if k not in self._unread)]
        block[self._buffers // 8] = [array.ctypes.data for array in arrays]
        block[0] = _FUNCTION(self.function.address)(start + CALL_PLACE)
        return self.failure(start) if block[0] else None

    def failure(self, block: int) -> str:
        """What is wrong, by the block of a call that has failed."""
        text = ctypes.string_at(block + self._message, MESSAGE_BYTES).partition(b"\0")[0]
        code = ctypes.c_int64.from_address(block).value
        return text.decode(errors="replace") or f"the function returned {code}"


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def _word_of(name: str) -> int:
    """The place of a field of the call."""
    return CALL_PLACE + getattr(CallRecord, name).offset


def _array_place(number: int) -> int:
    """The place of an array of the call."""
    return CALL_PLACE + ctypes.sizeof(CallRecord) + number * ctypes.sizeof(ArrayRecord)


def _array(spec: ArraySpec | None, request: int) -> ArrayRecord:
    """An array without its data; all zero for None."""
    if spec is None:
        return ArrayRecord()
    shape = (ctypes.c_int64 * len(spec.shape))(*spec.shape)
    dtype, size = DTYPES.index(spec.dtype.name), prod(spec.shape)
    return ArrayRecord(None, shape, size, len(spec.shape), dtype, request)
