"""Memory that grows while a driver runs: what `loopnest.records` and `loopnest.reserve` become.

Each has words of its own in the driver's table: the pointer, how many records there is room for,
the row that was reserved last, and whether a reservation failed. The caller gives an address with
room for one record, which is where code that has failed reads and writes, and frees the memory.
Small memory is left to the next run with the same table, since fresh pages are slow.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_INDEX
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter

POINTER, CAPACITY, ROW, FAILED = 0, 1, 2, 3
RECORDS_WORDS = 4

# Symbol in the text: function of the C library.
GROWING_SYMBOLS = {"gradir_realloc": "realloc"}

# The first records take about this much.
FIRST_BYTES = 1 << 16

# Up to this size memory that has grown stays with its table, if it belongs to no result.
KEPT_BYTES = 1 << 26

# What all records come to may not reach more, so that it does not overflow.
MOST_BYTES = 1 << 62

# In place of a bound in the error record: -4 and below is a limit of bytes, -3 that no memory is.
NO_MEMORY = -3


def as_limit(number: int) -> int:
    """A limit of bytes as the code in place of a bound, or back."""
    return -number - 4


def limit_of_machine() -> int:
    """The limit of a tape without one: the memory of the machine, in whole GiB.

    A few pages more or less, from one start of the system to the next, make no other code.
    """
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return -(-found >> 30) << 30


def grow_function(target: MachineTarget) -> str:
    """`@gradir_grow`: room for record `count`; `size` of its `stride` bytes count to the limit."""
    return f"""
declare ptr @gradir_realloc(ptr, i64)

define internal void @gradir_grow(ptr %records, i64 %count, i64 %stride, i64 %size, i64 %limit,
    i64 %code, ptr %error) noinline {target.attributes} {{
entry:
  %place = getelementptr i64, ptr %records, i64 {CAPACITY}
  %row = getelementptr i64, ptr %records, i64 {ROW}
  %failed = getelementptr i64, ptr %records, i64 {FAILED}
  %index = getelementptr i64, ptr %error, i64 {ERROR_INDEX}
  %bound = getelementptr i64, ptr %error, i64 {ERROR_BOUND}
  %old = load ptr, ptr %records, align 8
  %capacity = load i64, ptr %place, align 8
  %wanted = add i64 %count, 1
  %counted = call i64 @llvm.umax.i64(i64 %size, i64 1)
  %most = udiv i64 %limit, %counted
  %exceeds = icmp ugt i64 %wanted, %most
  %addressable = udiv i64 {MOST_BYTES}, %stride
  %countable = udiv i64 {2**63 - 1}, %counted
  %shown = call i64 @llvm.umin.i64(i64 %wanted, i64 %countable)
  %needed = mul i64 %shown, %size
  br i1 %exceeds, label %refuse, label %address
address:
  %uncountable = icmp ugt i64 %wanted, %addressable
  br i1 %uncountable, label %refuse, label %grow
grow:
  %double = shl i64 %capacity, 1
  %first = udiv i64 {FIRST_BYTES}, %stride
  %larger = call i64 @llvm.umax.i64(i64 %double, i64 %first)
  %largest = call i64 @llvm.umax.i64(i64 %larger, i64 %wanted)
  %allowed = call i64 @llvm.umin.i64(i64 %largest, i64 %most)
  %new = call i64 @llvm.umin.i64(i64 %allowed, i64 %addressable)
  ; realloc would free memory for none; a limit of 0 leaves room for one, as at the start
  %room = call i64 @llvm.umax.i64(i64 %new, i64 1)
  %bytes = mul i64 %room, %stride
  %memory = call ptr @gradir_realloc(ptr %old, i64 %bytes)
  %got = icmp ne ptr %memory, null
  br i1 %got, label %keep, label %refuse
keep:
  store ptr %memory, ptr %records, align 8
  store i64 %new, ptr %place, align 8
  ret void
{_refuse_growth()}
}}
"""


def _refuse_growth() -> str:
    """Blocks of `@gradir_grow` without room: row 0 is reserved, and the first failure reported."""
    none = as_limit(NO_MEMORY)
    return f"""refuse:
  %kind = phi i64 [ %limit, %entry ], [ {none}, %address ], [ {none}, %grow ]
  store i64 0, ptr %row, align 8
  store i64 1, ptr %failed, align 8
  %pair = cmpxchg ptr %error, i64 0, i64 %code monotonic monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %report, label %done
report:
  %negative = sub i64 0, %kind
  %stored = sub i64 %negative, 4
  store i64 %needed, ptr %index, align 8
  store i64 %stored, ptr %bound, align 8
  br label %done
done:
  ret void"""


def trim_function(target: MachineTarget, growing: Sequence[tuple[int, int, int]]) -> str:
    """`@gradir_trim(ptr %table)`: memory that has grown large is given back but for one record.

    `growing` as in `CompiledProgram`; what belongs to a result is left to the caller.
    """
    f = FunctionWriter()
    for word, stride, kept in growing:
        if kept >= 0:
            continue
        records = f.address("i64", "%table", word)
        place = f.address("i64", records, CAPACITY)
        capacity = f.load("i64", 1, place)
        with f.when(f.compare("ugt", "i64", 1, capacity, str(KEPT_BYTES // stride))):
            old = f.load("ptr", 1, records)
            new = f.call("ptr", "@gradir_realloc", f"ptr {old}, i64 {stride}")
            failed = f.compare("eq", "ptr", 1, new, "null")
            f.store("ptr", 1, records, f.select("ptr", 1, failed, old, new))
            f.store("i64", 1, place, "0")
    f.ret()
    return f.define("gradir_trim", "ptr %table", target.attributes)
