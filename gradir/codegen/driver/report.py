"""The report on a compiled program: its text, and the facts that a caller needs to run it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    FixedBitwidthType,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute

from gradir.codegen.driver.entry import ENTRY
from gradir.dialects.grad.tape import TapeType
from gradir.dialects.loopnest.host_invoke import HostInvokeOp

BufferType = MemRefType[Attribute]


@dataclass(frozen=True)
class Parameter:
    """One argument of the function: its name and type."""

    name: str
    type: BufferType


@dataclass(frozen=True)
class Constant:
    """A tensor that the caller keeps in memory; word `word` of the table points to it."""

    name: str
    type: BufferType
    data: bytes
    word: int


@dataclass(frozen=True)
class HostCallSite:
    """A call of a registered function: its name, how errors name the call, and the buffers' types.

    `outputs` are the types of all results; those in `unread` have no buffer.
    """

    callee: str
    place: str
    inputs: tuple[BufferType, ...]
    outputs: tuple[BufferType, ...]
    unread: frozenset[int] = frozenset()
    of: FunctionType | None = None
    is_async: bool = False
    is_started: bool = False

    @classmethod
    def of_op(cls, op: HostInvokeOp) -> HostCallSite:
        types: dict[int, Any] = op.without_buffer
        written = (cast(BufferType, value.type) for value in op.outputs)
        count = len(op.outputs) + len(types)
        outputs: list[BufferType] = [types.get(k) or next(written) for k in range(count)]
        inputs = [cast(BufferType, value.type) for value in op.inputs]
        name, place = op.callee.data, op.message.data
        return cls(
            *(name, place, tuple(inputs), tuple(outputs)),
            *(frozenset(types), op.of, op.is_async, op.is_started),
        )


@dataclass(frozen=True)
class PhaseReport:
    """How one phase of a kernel is run."""

    items: int
    cost: float
    is_shared: bool


@dataclass
class KernelReport:
    """The kernel of a loop op, and how often it is called."""

    name: str
    op: str
    phases: tuple[PhaseReport, ...]
    calls: int = 0


@dataclass(frozen=True)
class Timed:
    """One entry of a profile: a kernel at some source lines, a host call, a loop, the barriers.

    `ops` are the names of its ops, `lines` its files and line numbers. One call takes `flops`
    operations (None where its data decides) on floats of `bits`, and touches `bytes` of memory.
    `calls` and `nanoseconds` are the words of the table that count.
    """

    kind: str
    name: str
    ops: tuple[str, ...]
    lines: tuple[tuple[str, int], ...]
    flops: int | None
    bytes: int
    bits: int
    calls: int
    nanoseconds: int


@dataclass(frozen=True)
class CompiledProgram:
    """One function as LLVM text, and what a caller must know to run `entry(ptr table)`.

    The arena must be aligned to 64 bytes. A failed index check leaves a number in the error record
    that counts `messages` from 1. `growing` are the first words of memory that grows, the bytes of
    its records, and the result that it belongs to or -1; the caller frees the memory, and does not
    use a table again after an error. Where an input or result is a tape, `input_tapes` or
    `result_tapes` has an entry for each; a tape is handed over as several buffers. A call that
    `can_stop` comes back to Python while it runs. Only programs for a profile have `timed` things.
    """

    name: str
    text: str
    arena_bytes: int | None
    inputs: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    messages: tuple[str, ...]
    table_words: int
    is_parallel: bool
    growing: tuple[tuple[int, int, int], ...]
    input_tapes: tuple[TapeType | None, ...]
    result_tapes: tuple[TapeType | None, ...]
    barriers: int
    kernels: tuple[KernelReport, ...]
    host_calls: tuple[HostCallSite, ...] = ()
    can_stop: bool = False
    timed: tuple[Timed, ...] = ()
    entry: str = ENTRY
    sizes_word: int | None = None


def byte_size(type_: BufferType) -> int:
    """The bytes of a contiguous buffer; a bool takes one, an index eight."""
    element = type_.element_type
    if isinstance(element, IndexType):
        size = 8
    elif isinstance(element, IntegerType):
        size = max(cast(IntegerType, element).width.data, 8) // 8
    elif isinstance(element, FixedBitwidthType):
        size = element.size
    else:
        raise ValueError(f"no memory layout for elements of type {element}")
    return size * prod(type_.get_shape())
