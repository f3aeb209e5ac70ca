"""The structures of gradir_abi.h, and the records that a library's own code reads.

A test compares the first with the header, as a C compiler lays it out.
"""

from __future__ import annotations

from gradir.codegen.text.structs import Struct

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

ARRAY = Struct.of(
    "gradir_array",
    data="ptr", shape="ptr", size="i64", rank="i32", dtype="i32", request="i32", reserved="i32",
)  # fmt: skip
ALLOCATOR = Struct.of("gradir_allocator", resize="ptr", context="ptr")
STATUS = Struct.of(
    "gradir_status",
    abi="i32", threads="i32", level="i32", stop="i32", workspace_bytes="i64", allocator="ptr",
    code="i32", used_level="i32", argument="i32", line="i32", column="i32", reserved="i32",
    op="ptr", file="ptr", message=f"[{MESSAGE_BYTES} x i8]",
)  # fmt: skip
ARRAY_INFO = Struct.of(
    "gradir_array_info",
    name="ptr", shape="ptr", size="i64", bytes="i64", rank="i32", dtype="i32", request="i32",
    alignment="i32",
)  # fmt: skip
INFO = Struct.of(
    "gradir_info",
    **{"abi": "i32", "threads": "i32", "version": "ptr", "name": "ptr", "in": "ptr", "out": "ptr"},
    n_in="i32", n_out="i32", n_levels="i32", grows="i32", workspace_bytes="i64", levels="ptr",
    level_bytes="ptr",
)  # fmt: skip
PUBLIC = ARRAY, ALLOCATOR, STATUS, ARRAY_INFO, INFO
"""The structures of the headers."""

# A function: its `programs` are by their levels, the highest first; `grow` starts threads, or is
# null in a library without them. quick_checks.py looks at its arrays in fours, those of inputs and
# then those of results. For each array of a four `wanted` has what it must be, and there are i32s:
# `places` of arrays, `masks` of bits that are 0 in an aligned address, `ends`, which are added to
# addresses, as `workspace_end` of the largest level is. `meetings` is the number of overlaps that
# is right. `extents` are those of inputs, and then those of results.
FUNCTION = Struct.of(
    "function",
    info="ptr", programs="ptr", grow="ptr", wanted="ptr", places="ptr", masks="ptr", ends="ptr",
    meetings="i64", in_fours="i64", out_fours="i64", results="i64", extents="ptr",
    in_extents="i64", out_extents="i64", workspace_end="i32",
)  # fmt: skip
# The words of an array behind its address: `shape` is where the extents are, `kind` the rank, and
# in the upper half the dtype.
WANTED = Struct.of("wanted", shape="ptr", size="i64", kind="i64", request="i64")
# An extent: the place of the array's `shape` among the arrays, of the extent there, and its value.
EXTENT = Struct.of("extent", shape="i32", axis="i32", extent="i64")
# A function at a level, for processors of `least` (the numbers of the psABI's levels), with the
# quick checks of the level. The table of `words` words begins the workspace; `arena` is the place
# of the arena there, 0 for none. The words from `first` on take the addresses of inputs and
# results; the last ones, from byte `requests` on, are the requests of collectives (mpi_code.py).
PROGRAM = Struct.of(
    "program",
    entry="ptr", differ="ptr", least="i64", workspace_bytes="i64", words="i64", first="i64",
    arena="i64", constants="ptr", n_constants="i64", growing="ptr", n_growing="i64", messages="ptr",
    is_parallel="i64", requests="i64", n_requests="i64",
)  # fmt: skip
CONSTANT = Struct.of("constant", word="i64", data="ptr")
# Memory that grows: its first word in the table, the bytes of a record, and the place in the
# workspace of a block for the first one.
GROWING = Struct.of("growing", word="i64", stride="i64", place="i64")
# A message of a program, and its place: null and 0 where they are not known.
MESSAGE = Struct.of("message", text="ptr", file="ptr", op="ptr", line="i64", column="i64")
# What stands before memory that grows: who gives it, and all its bytes; 0 in a workspace.
BLOCK = Struct.of("block", allocator="ptr", bytes="i64")
BLOCK_BYTES = 16
