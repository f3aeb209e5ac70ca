"""Several threads running one driver: who does which phase, and where they wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradir.lowering.kernel import ERROR_RECORD_BYTES, Phase
from gradir.lowering.llvm_text import FunctionText
from gradir.lowering.target import Target

# A phase that one thread finishes in less than this many nanoseconds is not worth a barrier.
PARALLEL_COST = 6000.0
# Pauses (of about 30 ns) before a waiting thread starts to offer its core to others.
SPIN_TRIPS = 200
BARRIER_BYTES = 128

# The functions that the module leaves to be resolved when it is loaded.
PARALLEL_SYMBOL = "gradir_omp_parallel"
THREAD_SYMBOL = "gradir_omp_thread"
THREADS_SYMBOL = "gradir_omp_threads"
YIELD_SYMBOL = "gradir_yield"


@dataclass(frozen=True)
class Use:
    """Bytes `low` ... `high` - 1 of one allocation (`root`), read or written."""

    root: int
    low: int
    high: int
    writes: bool

    def conflicts(self, other: Use) -> bool:
        return (
            (self.writes or other.writes)
            and self.root == other.root
            and self.low < other.high
            and other.low < self.high
        )


class SharedWork:
    """Writes the calls of a driver that `threads` threads run together.

    `prologue` is text that stands before `text` and dominates all of it. A phase that is not shared
    is done by thread 0, inside a block that consecutive ones have in common.
    """

    def __init__(self, text: FunctionText, threads: int):
        self.text = text
        self.threads = threads
        self.prologue: list[str] = []
        self.barriers = 0
        self.shared_phases = 0
        self._shares: dict[int, tuple[str, str, str]] = {}
        # what was touched since the last barrier: by all threads, and by thread 0 alone
        self._shared: list[Use] = []
        self._single: list[Use] = []
        self._single_exit: str | None = None

    def early(self, instruction: str, hint: str = "v") -> str:
        """Append `%name = instruction` to the prologue; return `%name`."""
        name = "%" + self.text.fresh(hint)
        self.prologue.append(f"  {name} = {instruction}")
        return name

    def is_shared(self, phase: Phase) -> bool:
        return self.threads > 1 and phase.items >= 2 and phase.cost > PARALLEL_COST

    def phase(self, phase: Phase, arguments: str, uses: Sequence[Use]) -> None:
        """Call one phase; `arguments` is everything before the first and last item."""
        if phase.items == 0:
            return
        call = f'call void @"{phase.symbol}"({arguments}, i64 '
        if not self.is_shared(phase):
            self.by_one(uses)
            self.text.line(f"{call}0, i64 {phase.items})")
            return
        self.by_all(uses)
        begin, end, some = self._share(phase.items)
        with self.text.when(some, "share"):
            self.text.line(f"{call}{begin}, i64 {end})")
        self.shared_phases += 1

    def by_one(self, uses: Sequence[Use]) -> None:
        """What is written next runs on thread 0 alone."""
        if self.threads == 1:
            return
        if _any_conflict(uses, self._shared):
            self.barrier()
        self._single += uses
        if self._single_exit is None:
            inside, self._single_exit = self.text.fresh("one"), self.text.fresh("all")
            self.text.line(f"br i1 %first, label %{inside}, label %{self._single_exit}")
            self.text.label(inside)

    def by_all(self, uses: Sequence[Use] = ()) -> None:
        """What is written next runs on all threads."""
        if _any_conflict(uses, self._shared) or _any_conflict(uses, self._single):
            self.barrier()
        self._join()
        if self.threads > 1:
            self._shared += uses

    def barrier(self) -> None:
        """All threads wait until all have come here."""
        self._join()
        if self.threads > 1:
            self.text.line("call void @gradir_barrier(ptr %barrier, i64 %threads)")
            self.barriers += 1
        self._shared, self._single = [], []

    def settle(self) -> None:
        """A barrier if anything was touched since the last one: before and after control flow."""
        if self._shared or self._single:
            self.barrier()
        self._join()

    def finish(self) -> None:
        """Nothing follows."""
        self._join()
        if self.shared_phases:
            # the runtime makes all threads meet again, but lets them spin for longer before the
            # core goes to a thread that is late
            self.barrier()

    def _join(self) -> None:
        if self._single_exit is not None:
            self.text.line(f"br label %{self._single_exit}")
            self.text.label(self._single_exit)
            self._single_exit = None

    def _share(self, items: int) -> tuple[str, str, str]:
        """Names of this thread's first item, the end of its items, and whether there are any."""
        if items not in self._shares:
            early = self.early
            following = early("add i64 %thread, 1")
            begin, end = (
                early(f"udiv i64 {early(f'mul i64 {index}, {items}')}, %threads")
                for index in ("%thread", following)
            )
            self._shares[items] = begin, end, early(f"icmp slt i64 {begin}, {end}")
        return self._shares[items]


def _any_conflict(uses: Sequence[Use], earlier: Sequence[Use]) -> bool:
    return any(use.conflicts(other) for use in uses for other in earlier)


def entry_text(
    entry: str,
    threads_word: int,
    records: Sequence[tuple[int, int]],
    target: Target,
    is_shared: bool,
) -> str:
    """`@entry(ptr %table)`, which runs `@gradir_driver` on as many threads as the table asks for.

    `records` are the kernels' error records: their word in the table, and what to add to the code.
    """
    errors = _error_text(records, target)
    if not is_shared:
        return f"""
define internal void @gradir_barrier(ptr %barrier, i64 %threads) {target.attributes} {{
  ret void
}}

define void @{entry}(ptr %table) {target.attributes} {{
  call void @gradir_driver(ptr %table, i64 0, i64 1, ptr null)
  call void @gradir_errors(ptr %table)
  ret void
}}
{errors}"""
    return f"""
declare void @{PARALLEL_SYMBOL}(ptr, ptr, i32, i32)
declare i32 @{THREAD_SYMBOL}()
declare i32 @{THREADS_SYMBOL}()
declare i32 @{YIELD_SYMBOL}()

define void @{entry}(ptr %table) {target.attributes} {{
  %data = alloca {{ ptr, ptr }}, align 8
  %barrier = alloca [{BARRIER_BYTES} x i8], align 64
  %generation = getelementptr i8, ptr %barrier, i64 64
  store i64 0, ptr %barrier, align 64
  store i64 0, ptr %generation, align 64
  store ptr %table, ptr %data, align 8
  %second = getelementptr i8, ptr %data, i64 8
  store ptr %barrier, ptr %second, align 8
  %word = getelementptr i64, ptr %table, i64 {threads_word}
  %threads = load i64, ptr %word, align 8
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %fork, label %direct
fork:
  %count = trunc i64 %threads to i32
  call void @{PARALLEL_SYMBOL}(ptr @gradir_region, ptr %data, i32 %count, i32 0)
  br label %done
direct:
  call void @gradir_driver(ptr %table, i64 0, i64 1, ptr %barrier)
  br label %done
done:
  call void @gradir_errors(ptr %table)
  ret void
}}

define internal void @gradir_region(ptr %data) {target.attributes} {{
  %table = load ptr, ptr %data, align 8
  %second = getelementptr i8, ptr %data, i64 8
  %barrier = load ptr, ptr %second, align 8
  %thread = call i32 @{THREAD_SYMBOL}()
  %threads = call i32 @{THREADS_SYMBOL}()
  %t = sext i32 %thread to i64
  %n = sext i32 %threads to i64
  call void @gradir_driver(ptr %table, i64 %t, i64 %n, ptr %barrier)
  ret void
}}
{_barrier_text(target)}{errors}"""


def _error_text(records: Sequence[tuple[int, int]], target: Target) -> str:
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


def _barrier_text(target: Target) -> str:
    """A counter of arrivals, and on another cache line a generation that the last arrival bumps."""
    declaration, pause = "", ""
    if "sse2" in target.features:
        declaration = "declare void @llvm.x86.sse2.pause()"
        pause = "call void @llvm.x86.sse2.pause()"
    return f"""
{declaration}
define internal void @gradir_barrier(ptr %barrier, i64 %threads) noinline {target.attributes} {{
entry:
  %generation = getelementptr i8, ptr %barrier, i64 64
  %before = load atomic i64, ptr %generation acquire, align 8
  %arrived = atomicrmw add ptr %barrier, i64 1 acq_rel
  %others = sub i64 %threads, 1
  %is_last = icmp eq i64 %arrived, %others
  br i1 %is_last, label %open, label %spin
open:
  store atomic i64 0, ptr %barrier monotonic, align 8
  %after = add i64 %before, 1
  store atomic i64 %after, ptr %generation release, align 8
  ret void
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
  call i32 @{YIELD_SYMBOL}()
  br label %spin
leave:
  ret void
}}
"""
