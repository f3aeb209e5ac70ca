"""The functions around a driver: the entry, the parallel region, the barrier, the error record.

They are text with the names of C functions left open (`REGION_SYMBOLS`), which whoever loads the
code resolves to an OpenMP runtime and the C library.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gradir.codegen.text.callback_functions import POLL_SYMBOL
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.kernel import ERROR_RECORD_BYTES
from gradir.codegen.text.table import TABLE_STOP, TABLE_THREADS
from gradir.codegen.text.target import MachineTarget

ENTRY = "gradir_entry"

# Symbol in the text: function of the OpenMP runtime, or of the C library.
OPENMP_SYMBOLS = {
    "gradir_parallel": "GOMP_parallel",
    "gradir_thread": "omp_get_thread_num",
    "gradir_threads": "omp_get_num_threads",
}
HAS_AFFINITY = sys.platform.startswith("linux")
LIBRARY_SYMBOLS = {"gradir_yield": "sched_yield"} | (
    {
        "gradir_cpu": "sched_getcpu",
        "gradir_get_affinity": "sched_getaffinity",
        "gradir_set_affinity": "sched_setaffinity",
    }
    if HAS_AFFINITY
    else {}
)

# Pauses (of about 30 ns) before a waiting thread starts to offer its core to others.
SPIN_TRIPS = 200
BARRIER_BYTES = 128
# Where the barrier has the table.
BARRIER_TABLE = 8
AFFINITY_BYTES = 128


def serial_entry(
    target: MachineTarget, records: Sequence[tuple[int, int]], ends: Sequence[str] = ()
) -> str:
    """`@gradir_entry(ptr %table)` for a driver that never shares work.

    `records` are the kernels' error records: their word in the table, and what to add to the code.
    `ends` are functions of the table that are called after the driver.
    """
    return f"""
define internal i1 @gradir_barrier(ptr %barrier, i64 %threads) {target.attributes} {{
  ret i1 false
}}

define void @{ENTRY}(ptr %table) {target.attributes} {{
  call void @gradir_driver(ptr %table, i64 0, i64 1, ptr null)
  {_calls(ends)}
  ret void
}}
{_errors(target, records)}"""


def parallel_entry(
    target: MachineTarget,
    records: Sequence[tuple[int, int]],
    ends: Sequence[str] = (),
    polls: bool = False,
) -> str:
    """`@gradir_entry(ptr %table)`, with as many threads as the table asks for.

    `polls`: whether the call can be ended from outside, so that a thread that waits has to look.
    """
    return f"""
declare void @gradir_parallel(ptr, ptr, i32, i32)
declare i32 @gradir_yield()

define void @{ENTRY}(ptr %table) {target.attributes} {{
  %data = alloca [3 x i64], align 8
  %barrier = alloca [{BARRIER_BYTES} x i8], align 64
  %generation = getelementptr i8, ptr %barrier, i64 64
  store i64 0, ptr %barrier, align 64
  store i64 0, ptr %generation, align 64
  %barrier.table = getelementptr i8, ptr %barrier, i64 {BARRIER_TABLE}
  store ptr %table, ptr %barrier.table, align 8
  store ptr %table, ptr %data, align 8
  %second = getelementptr i64, ptr %data, i64 1
  store ptr %barrier, ptr %second, align 8
  %word = getelementptr i64, ptr %table, i64 {TABLE_THREADS}
  %threads = load i64, ptr %word, align 8
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %fork, label %direct
fork:
  {_store_cpu()}
  %count = trunc i64 %threads to i32
  call void @gradir_parallel(ptr @gradir_region, ptr %data, i32 %count, i32 0)
  br label %done
direct:
  call void @gradir_driver(ptr %table, i64 0, i64 1, ptr %barrier)
  br label %done
done:
  {_calls(ends)}
  ret void
}}
{_region(target)}
{_spread(target)}
{_barrier(target, polls)}
{_errors(target, records)}"""


def _calls(ends: Sequence[str]) -> str:
    return "\n  ".join(f"call void @{name}(ptr %table)" for name in ("gradir_errors", *ends))


def _region(target: MachineTarget) -> str:
    """What each thread of the region runs."""
    return f"""
declare i32 @gradir_thread()
declare i32 @gradir_threads()

define internal void @gradir_region(ptr %data) {target.attributes} {{
  %table = load ptr, ptr %data, align 8
  %second = getelementptr i64, ptr %data, i64 1
  %barrier = load ptr, ptr %second, align 8
  %thread.32 = call i32 @gradir_thread()
  %threads.32 = call i32 @gradir_threads()
  %thread = sext i32 %thread.32 to i64
  %threads = sext i32 %threads.32 to i64
  call void @gradir_spread(ptr %data, i64 %thread)
  call void @gradir_driver(ptr %table, i64 %thread, i64 %threads, ptr %barrier)
  ret void
}}"""


def _store_cpu() -> str:
    if not HAS_AFFINITY:
        return ""
    return """%cpu.32 = call i32 @gradir_cpu()
  %cpu = sext i32 %cpu.32 to i64
  %third = getelementptr i64, ptr %data, i64 2
  store i64 %cpu, ptr %third, align 8"""


def _spread(target: MachineTarget) -> str:
    """`@gradir_spread`: a thread that woke up on the first thread's core goes to another one.

    The system likes to wake a thread where its waker runs. On a busy machine the two then stay
    there and take turns, each waiting for the other to finish spinning: a region took 3 to 100
    times as long. Affinity is narrowed for a moment, which makes the thread move at once.
    """
    if not HAS_AFFINITY:
        return f"""
define internal void @gradir_spread(ptr %data, i64 %thread) {target.attributes} {{
  ret void
}}"""
    return f"""
declare i32 @gradir_cpu()
declare i32 @gradir_get_affinity(i32, i64, ptr)
declare i32 @gradir_set_affinity(i32, i64, ptr)

define internal void @gradir_spread(ptr %data, i64 %thread) {target.attributes} {{
  %third = getelementptr i64, ptr %data, i64 2
  %first = load i64, ptr %third, align 8
  %cpu.32 = call i32 @gradir_cpu()
  %cpu = sext i32 %cpu.32 to i64
  %same = icmp eq i64 %cpu, %first
  %other = icmp ne i64 %thread, 0
  %crowded = and i1 %same, %other
  %known = icmp ult i64 %cpu, {8 * AFFINITY_BYTES}
  %wanted = and i1 %crowded, %known
  br i1 %wanted, label %read, label %done
read:
  %mask = alloca [{AFFINITY_BYTES} x i8], align 8
  %failed = call i32 @gradir_get_affinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  %is.read = icmp eq i32 %failed, 0
  br i1 %is.read, label %narrow, label %done
narrow:
  %index = lshr i64 %cpu, 6
  %shift = and i64 %cpu, 63
  %place = getelementptr i64, ptr %mask, i64 %index
  %word = load i64, ptr %place, align 8
  %bit = shl i64 1, %shift
  %others = xor i64 %bit, -1
  %narrowed = and i64 %word, %others
  store i64 %narrowed, ptr %place, align 8
  %refused = call i32 @gradir_set_affinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  %is.narrow = icmp eq i32 %refused, 0
  br i1 %is.narrow, label %widen, label %done
widen:
  store i64 %word, ptr %place, align 8
  call i32 @gradir_set_affinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  br label %done
done:
  ret void
}}"""


def _barrier(target: MachineTarget, polls: bool) -> str:
    """A counter of arrivals, and on another cache line a generation that the last arrival bumps.

    It returns whether the call is to end: what the last arrival found, the same for all threads,
    in the lowest bit of the generation.
    """
    poll = f"call i64 @{POLL_SYMBOL}(ptr %table)" if polls else ""
    declaration, pause = "", ""
    if target.streaming:
        declaration = "declare void @llvm.x86.sse2.pause()"
        pause = "call void @llvm.x86.sse2.pause()"
    return f"""
{declaration}
define internal i1 @gradir_barrier(ptr %barrier, i64 %threads) noinline {target.attributes} {{
entry:
  %place = getelementptr i8, ptr %barrier, i64 {BARRIER_TABLE}
  %table = load ptr, ptr %place, align 8
  %generation = getelementptr i8, ptr %barrier, i64 64
  %before = load atomic i64, ptr %generation acquire, align 8
  %arrived = atomicrmw add ptr %barrier, i64 1 acq_rel
  %others = sub i64 %threads, 1
  %is_last = icmp eq i64 %arrived, %others
  br i1 %is_last, label %open, label %spin
open:
  store atomic i64 0, ptr %barrier monotonic, align 8
  %stop.place = getelementptr i64, ptr %table, i64 {TABLE_STOP}
  %stop = load atomic i64, ptr %stop.place monotonic, align 8
  %following = add i64 %before, 2
  %after = or i64 %following, %stop
  store atomic i64 %after, ptr %generation release, align 8
  br label %leave
spin:
  %trips = phi i64 [ 0, %entry ], [ %more, %wait ], [ %more, %yield ]
  %now = load atomic i64, ptr %generation acquire, align 8
  %is_open = icmp ne i64 %now, %before
  br i1 %is_open, label %leave, label %wait
wait:
  {pause}
  %more = add i64 %trips, 1
  %is_patient = icmp ult i64 %more, {SPIN_TRIPS}
  br i1 %is_patient, label %spin, label %yield
yield:
  call i32 @gradir_yield()
  {poll}
  br label %spin
leave:
  %seen = phi i64 [ %after, %open ], [ %now, %spin ]
  %ends = trunc i64 %seen to i1
  ret i1 %ends
}}
"""


def _errors(target: MachineTarget, records: Sequence[tuple[int, int]]) -> str:
    """`@gradir_errors(ptr %table)` moves the first error of the program to the table's start."""
    f = FunctionText()
    for word, base in records:
        record = f.emit(f"getelementptr i64, ptr %table, i64 {word}")
        code = f.emit(f"load i64, ptr {record}, align 8")
        with f.when(f.emit(f"icmp ne i64 {code}, 0")):
            f.line(f"store i64 0, ptr {record}, align 8")
            earlier = f.emit("load i64, ptr %table, align 8")
            with f.when(f.emit(f"icmp eq i64 {earlier}, 0")):
                f.line(f"store i64 {f.emit(f'add i64 {code}, {base}')}, ptr %table, align 8")
                for offset in range(1, ERROR_RECORD_BYTES // 8):
                    here = f.emit(f"getelementptr i64, ptr {record}, i64 {offset}")
                    there = f.emit(f"getelementptr i64, ptr %table, i64 {offset}")
                    value = f.emit(f"load i64, ptr {here}, align 8")
                    f.line(f"store i64 {value}, ptr {there}, align 8")
    return (
        f"define internal void @gradir_errors(ptr %table) {target.attributes} {{\nentry:\n"
        f"{f.text()}\n  ret void\n}}\n"
    )
