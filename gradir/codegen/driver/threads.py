"""Several threads running one driver: who does which phase, and where they wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import inf

from gradir.codegen.costs import EVEN_COST, PHASE_COST, PROGRAM_COST
from gradir.codegen.driver.pool import BARRIER, is_alone
from gradir.codegen.text.kernel import KernelPhase
from gradir.codegen.text.polls import LEAVE
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import cost_of, is_traced

# How many times as long the longest run of code for many sizes takes as the shortest.
COST_CLASS = 8
# Block where threads return after a barrier.
RETURN = "return"


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

    A phase that is not shared is done by thread 0, inside a block that consecutive ones have in
    common. From a barrier threads may return: all, if the call ends before its time (`can_stop`),
    or all but thread 0, which then does all shares.
    """

    def __init__(self, text: FunctionWriter, threads: int):
        self.text = text
        self.threads = threads
        self.can_stop = False
        self.around_waits: Callable[[], AbstractContextManager[None]] = nullcontext
        self.barriers = 0
        self.shared_phases = 0
        self._shares: dict[int, tuple[str, str]] = {}
        # what was touched since the last barrier: by all threads, and by thread 0 alone
        self._shared: list[Use] = []
        self._single: list[Use] = []
        self._single_exit: str | None = None
        self._is_alone = False
        # nanoseconds that thread 0 worked alone since the last barrier
        self._single_cost = 0.0

    def is_shared(self, phase: KernelPhase) -> bool:
        has_several = is_traced(phase.items) or phase.items >= 2
        return self.threads > 1 and has_several and cost_of(phase.cost) > PHASE_COST

    def is_shared_anywhere(self, phases: Iterable[KernelPhase]) -> bool:
        return any(map(self.is_shared, phases))

    def is_worth_waking(self, phases: Iterable[tuple[KernelPhase, int | None]]) -> bool:
        """Whether shared phases, at their numbers of executions, outweigh waking other threads."""
        shared = ((p, trips) for p, trips in phases if self.is_shared(p))
        return any(
            trips is None or cost_of(p.cost) * cost_of(trips) > PROGRAM_COST for p, trips in shared
        )

    def hold_cost(self, total: float) -> None:
        """Keep code for many sizes to those whose runs cost about as much as this call's.

        By a power of a number, so that phases, which have costs of their own, do not each part the
        sizes that code holds for.
        """
        limit = PHASE_COST
        while total >= limit:
            limit *= COST_CLASS

    def phase(
        self,
        phase: KernelPhase,
        arguments: Callable[[], str],
        uses: Sequence[Use],
        around: AbstractContextManager[None] | None = None,
    ) -> None:
        """Call one phase; `arguments` writes what stands before the first and last item.

        `around` writes what stands around the call.
        """
        around = around or nullcontext()
        if not is_traced(phase.items) and phase.items == 0:
            return

        def call(begin: str, end: str) -> None:
            handed_on = f"{arguments()}, i64 {begin}, i64 {end}"
            self.text.call("void", f"@{phase.symbol}", handed_on)

        if not self.is_shared(phase):
            self.on_thread_zero(uses, phase.cost)
            with around:
                call("0", str(phase.items))
            return
        self.on_all_threads(uses)
        begin, end = self._share(phase.items)
        with around, self.text.when(self.text.emit(f"icmp slt i64 {begin}, {end}"), "share"):
            call(begin, end)
        self.shared_phases += 1

    def on_thread_zero(self, uses: Sequence[Use], cost: float = inf) -> None:
        """Code written next runs on thread 0 alone, for `cost` nanoseconds."""
        if self.threads == 1 or self._is_alone:
            return
        if _any_conflict(uses, self._shared):
            self.barrier()
        self._single += uses
        self._single_cost += cost_of(cost)
        if self._single_exit is None:
            inside, self._single_exit = self.text.fresh("one"), self.text.fresh("all")
            self.text.branch("%first", inside, self._single_exit)
            self.text.label(inside)

    def on_all_threads(self, uses: Sequence[Use] = ()) -> None:
        """Code written next runs on all threads."""
        if self._is_alone:
            return
        if _any_conflict(uses, self._shared) or _any_conflict(uses, self._single):
            self.barrier()
        self.join()
        if self.threads > 1:
            self._shared += uses

    def barrier(self) -> None:
        """All threads wait until all have come here."""
        if self._is_alone:
            return
        self.join()
        if self.threads > 1:
            with self.around_waits():
                met = self._meet()
            self.text.leave_if(met, RETURN)
            self.barriers += 1
        self._shared, self._single, self._single_cost = list[Use](), list[Use](), 0.0

    def _meet(self) -> str:
        """Whether this thread is to leave, after all have come here."""
        even = int(self._single_cost < EVEN_COST)
        arguments = f"ptr %barrier, i64 %thread, i64 %threads, i64 {even}"
        return self.text.call("i64", f"@{BARRIER}", arguments)

    def synchronize(self) -> None:
        """A barrier if anything was touched since the last one: before and after control flow."""
        if self._is_alone:
            return
        if self._shared or self._single:
            self.barrier()
        self.join()

    def synchronize_writes(self) -> None:
        """A barrier if anything was written since the last one: before control flow that reads."""
        if self._is_alone:
            return
        if any(use.writes for use in (*self._shared, *self._single)):
            self.barrier()
        self.join()

    @contextmanager
    def keep_on_thread_zero(self, uses: Sequence[Use]) -> Generator[None]:
        """Code written inside, control flow too, runs on thread 0; no phase of it is shared."""
        assert not self._is_alone
        self.on_thread_zero(uses)
        self._is_alone = True
        yield
        self._is_alone = False

    @property
    def is_alone(self) -> bool:
        """Whether one thread runs the code written now, and waits for no other."""
        return self.threads == 1 or self._is_alone

    def end(self, on_time: str = "void", early: str = "void") -> None:
        """The end of a function, and the blocks where it ends before its time."""
        text = self.text
        text.ret(on_time)
        if self.can_stop:
            text.label(LEAVE)
            if self.barriers:
                self._meet()
            text.jump(RETURN)
        if self.can_stop or self.barriers:
            text.label(RETURN)
            text.ret(early)

    def new_function(self) -> None:
        """Code written next is in another function, which is empty yet."""
        self.text.begin()
        self._shares.clear()

    def finish(self) -> None:
        """Nothing follows. The pool waits for all threads."""
        self.join()
        if self.shared_phases and self.can_stop:
            # where a thread that leaves meets those that have come to the end
            self.barrier()

    def join(self) -> None:
        """End the block of thread 0, if there is one."""
        if self._single_exit is not None:
            self.text.jump(self._single_exit)
            self.text.label(self._single_exit)
            self._single_exit = None

    def _share(self, items: int) -> tuple[str, str]:
        """Names of this thread's first item and of the end of its items."""
        if items not in self._shares:
            with self.text.early():
                self._shares[items] = self.text.share_of(items, "%thread", "%threads")
        begin, end = self._shares[items]
        alone, text = is_alone(self.text, "%barrier"), self.text
        everything = text.select("i64", 1, alone, "0", begin)
        return everything, text.select("i64", 1, alone, str(items), end)


def _any_conflict(uses: Sequence[Use], earlier: Sequence[Use]) -> bool:
    return any(use.conflicts(other) for use in uses for other in earlier)
