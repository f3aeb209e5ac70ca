"""The structures of gradir_abi.h, and the records that a library's own code reads.

A test compares the first with the header, as a C compiler lays it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from gradir.aot.elf import aligned

ABI = 1
WORKSPACE_ALIGNMENT = 64
MESSAGE_BYTES = 440

CODES = (
    "ok", "bad_abi", "bad_cpu", "null_pointer", "bad_dtype", "bad_shape", "bad_alignment",
    "bad_request", "overlap", "bad_workspace", "stopped", "out_of_range", "failed", "no_memory",
    "operator_failed",
)  # fmt: skip
"""The results of a function, by number: GRADIR_OK, ..."""

NULL, WRITE, ADD = 0, 1, 2
"""Requests of arrays to write."""

SIZES: Mapping[str, int] = MappingProxyType({"i32": 4, "i64": 8, "ptr": 8, "text": MESSAGE_BYTES})


@dataclass(frozen=True)
class Struct:
    """A structure of C: its fields and their types, as LLVM has them; `text` is its message."""

    name: str
    fields: tuple[tuple[str, str], ...]

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """The place of each field in bytes."""
        found: dict[str, int] = {}
        end = 0
        for name, type_ in self.fields:
            place = aligned(end, min(SIZES[type_], 8))
            found[name], end = place, place + SIZES[type_]
        return found

    @cached_property
    def types(self) -> Mapping[str, str]:
        return dict(self.fields)

    @cached_property
    def size(self) -> int:
        last, type_ = self.fields[-1]
        return aligned(self.offsets[last] + SIZES[type_], 8)


def _struct(name: str, /, **fields: str) -> Struct:
    return Struct(name, tuple(fields.items()))


ARRAY = _struct(
    "gradir_array",
    data="ptr", shape="ptr", size="i64", rank="i32", dtype="i32", request="i32", reserved="i32",
)  # fmt: skip
ALLOCATOR = _struct("gradir_allocator", resize="ptr", context="ptr")
STATUS = _struct(
    "gradir_status",
    abi="i32", threads="i32", level="i32", stop="i32", workspace_bytes="i64", allocator="ptr",
    code="i32", used_level="i32", argument="i32", line="i32", column="i32", reserved="i32",
    op="ptr", file="ptr", message="text",
)  # fmt: skip
ARRAY_INFO = _struct(
    "gradir_array_info",
    name="ptr", shape="ptr", size="i64", bytes="i64", rank="i32", dtype="i32", request="i32",
    alignment="i32",
)  # fmt: skip
INFO = _struct(
    "gradir_info",
    **{"abi": "i32", "threads": "i32", "version": "ptr", "name": "ptr", "in": "ptr", "out": "ptr"},
    n_in="i32", n_out="i32", n_levels="i32", grows="i32", workspace_bytes="i64", levels="ptr",
    level_bytes="ptr",
)  # fmt: skip
PUBLIC = ARRAY, ALLOCATOR, STATUS, ARRAY_INFO, INFO
"""The structures of the headers."""

# A function: `grow` starts threads, or is null in a library without them.
FUNCTION = _struct("function", info="ptr", programs="ptr", grow="ptr")
# A function at a level, for processors of `least` (the numbers of the psABI's levels). The table of
# `words` words begins the workspace; `arena` is the place of the arena there, 0 for none. The words
# from `first` on take the addresses of inputs and results.
PROGRAM = _struct(
    "program",
    entry="ptr", least="i64", workspace_bytes="i64", words="i64", first="i64", arena="i64",
    constants="ptr", n_constants="i64", growing="ptr", n_growing="i64", messages="ptr",
    is_parallel="i64",
)  # fmt: skip
CONSTANT = _struct("constant", word="i64", data="ptr")
# Memory that grows: its first word in the table, the bytes of a record, and the place in the
# workspace of a block for the first one.
GROWING = _struct("growing", word="i64", stride="i64", place="i64")
# A message of a program, and its place: null and 0 where they are not known.
MESSAGE = _struct("message", text="ptr", file="ptr", op="ptr", line="i64", column="i64")
# What stands before memory that grows: who gives it, and all its bytes; 0 in a workspace.
BLOCK = _struct("block", allocator="ptr", bytes="i64")
BLOCK_BYTES = 16
