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

# A function: `grow` starts threads, or is null in a library without them. For its inputs and then
# its results it has `checks` and `ends`, i32 that are added to addresses (quick_checks.py), and for
# the workspace another one; `meetings` is the number of overlaps that is right. `extents` are those
# of inputs, and then those of results.
FUNCTION = Struct.of(
    "function",
    info="ptr", programs="ptr", grow="ptr", checks="ptr", ends="ptr", meetings="i64",
    extents="ptr", in_extents="i64", out_extents="i64",
)  # fmt: skip
# What an array must be, in pairs of words as an array has them: the bits to look at of its two
# addresses, less 1, and how they must be; its size; its `kind`, the rank, and in the upper half the
# dtype. `shape` is where the extents are, `end` its number of `ends`.
CHECK = Struct.of(
    "check",
    data_bits="i64", shape_bits="i64", data_low="i64", shape_low="i64",
    size="i64", kind="i64", shape="ptr", request="i32", end="i32",
)  # fmt: skip
# An extent: the place of the array's `shape` among the arrays, of the extent there, and its value.
EXTENT = Struct.of("extent", shape="i32", axis="i32", extent="i64")
# A function at a level, for processors of `least` (the numbers of the psABI's levels). The table of
# `words` words begins the workspace; `arena` is the place of the arena there, 0 for none. The words
# from `first` on take the addresses of inputs and results; the last ones, from byte `requests` on,
# are the requests of collectives (mpi_code.py).
PROGRAM = Struct.of(
    "program",
    entry="ptr", least="i64", workspace_bytes="i64", words="i64", first="i64", arena="i64",
    constants="ptr", n_constants="i64", growing="ptr", n_growing="i64", messages="ptr",
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
