"""Timestamps in a driver that is compiled for a profile: when thread 0 is in which kernel.

Each timed thing has two words of the table: how often it ran, and its nanoseconds. At its start the
clock is taken from the second word, at its end it is added. One more word has the nanoseconds of
all things, so that a loop of the function knows which of its time is not its kernels'.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation

from gradir.codegen.driver.report import Timed
from gradir.codegen.driver.table import TableWords
from gradir.codegen.driver.threads import SharedWork
from gradir.codegen.text.clock import CLOCK, now_function
from gradir.dialects.base.diagnostics import file_locations, location_of
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp, YieldOp
from gradir.passes.recompute.costs import kernel_cost

NOW = f"""
declare i32 @{CLOCK}(i32, ptr)
{now_function("gradir_now", "noinline")}
"""

_NOT_SHOWN = (arith.ConstantOp, memref.ViewOp, scf.YieldOp, scf.ConditionOp, YieldOp)


class Stopwatch:
    """Writes the timestamps of one driver, which call a `function` in its module.

    `timed` are the things that have some.
    """

    function = NOW

    def __init__(self, work: SharedWork, table: TableWords):
        self.work, self.text, self.table = work, work.text, table
        self._all = table.take()
        self._timed: dict[Hashable, Timed] = {}

    @property
    def timed(self) -> tuple[Timed, ...]:
        return tuple(self._timed.values())

    def kernel(self, op: KernelOp, name: str) -> Timed:
        """The entry of a kernel's calls at the source lines of one op."""
        cost = kernel_cost(op)
        flops = None if isinstance(op, ForallOp) else cost.flops
        inner = [i for i in op.walk() if not isinstance(i, _NOT_SHOWN)]
        is_wide = any(isinstance(r.type, Float64Type) for i in inner for r in i.results)
        is_wide |= any(isinstance(a.type, Float64Type) for r in op.regions for a in r.block.args)
        return self._entry(
            "kernel", name, _names(inner), _lines(inner), flops, cost.bytes, 64 if is_wide else 32
        )

    def host(self, op: HostInvokeOp) -> Timed:
        return self._entry("host call", f"@{op.callee.data}", (), _lines([op]))

    def loop(self, op: Operation) -> Timed:
        """The entry of control flow of the function: its time less the time of other entries."""
        kernels = (k for k in op.walk() if isinstance(k, KernelOp))
        hidden = {inner for kernel in kernels for inner in kernel.walk()}
        own = [i for i in op.walk() if i not in hidden and not isinstance(i, _NOT_SHOWN)]
        return self._entry("loop", op.name, _names(own[1:]), _lines(own))

    def waiting(self) -> Timed:
        return self._entry("wait", "barriers", (), ())

    def _entry(
        self,
        kind: str,
        name: str,
        ops: tuple[str, ...],
        lines: tuple[tuple[str, int], ...],
        flops: int | None = None,
        size: int = 0,
        bits: int = 32,
    ) -> Timed:
        key = kind, name, lines
        if key not in self._timed:
            self._timed[key] = Timed(
                kind, name, ops, lines, flops, size, bits, self.table.take(), self.table.take()
            )
        return self._timed[key]

    @contextmanager
    def around(self, timed: Timed, counts: bool = True) -> Generator[None]:
        """The time of code written inside belongs to an entry; `counts`: it is a run of it."""
        with self._on_thread_zero():
            now = self._now()
            self._add(timed.nanoseconds, "sub", now)
            self._add(self._all, "sub", now)
        yield
        with self._on_thread_zero():
            now = self._now()
            self._add(timed.nanoseconds, "add", now)
            self._add(self._all, "add", now)
            if counts:
                self._add(timed.calls, "add", "1")

    @contextmanager
    def apart(self, timed: Timed) -> Generator[None]:
        """The time of code written inside belongs to an entry, less the time of other entries."""
        for sign in ("sub", "add"):
            with self._on_thread_zero():
                others = self.text.load("i64", 1, self.table.pointer(self._all))
                now = self.text.emit(f"sub i64 {self._now()}, {others}")
                self._add(timed.nanoseconds, sign, now)
                if sign == "add":
                    self._add(timed.calls, "add", "1")
            if sign == "sub":
                yield

    def _on_thread_zero(self) -> AbstractContextManager[None]:
        """Code written inside runs on thread 0, wherever the others are."""
        return nullcontext() if self.work.threads == 1 else self.text.when("%first", "clock")

    def _now(self) -> str:
        return self.text.call("i64", "@gradir_now", "", "now")

    def _add(self, word: int, sign: str, value: str) -> None:
        pointer = self.table.pointer(word)
        before = self.text.load("i64", 1, pointer)
        self.text.store("i64", 1, pointer, self.text.binary(sign, "i64", 1, before, value))


def _names(ops: Sequence[Operation]) -> tuple[str, ...]:
    """The names of ops, each once: `mulf` for arith.mulf, `contract` for loopnest.contract."""
    return tuple(dict.fromkeys(op.name.rpartition(".")[2] for op in ops))


def _lines(ops: Sequence[Operation]) -> tuple[tuple[str, int], ...]:
    """The source lines of ops, each once, in order."""
    places = (place for op in ops for place in file_locations(location_of(op)))
    return tuple(sorted({(p.filename.data, p.line.data) for p in places}))
