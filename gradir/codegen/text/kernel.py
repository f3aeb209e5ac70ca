"""The code of one loop op: functions in LLVM text, and how to call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradir.codegen.text.functions import Needs


@dataclass(frozen=True)
class KernelPhase:
    """One function of a kernel; all threads must have finished a phase before the next begins.

    `symbol` has the signature `void (ptr... inputs, ptr... outputs, ptr scratch, ptr error, i64
    begin, i64 end)` and does the work items begin ... end - 1 of `items`. Items are independent
    of each other, so any split gives the same bits. `cost` estimates the nanoseconds of the
    whole phase on one thread; it decides whether to use several.
    """

    symbol: str
    items: int
    cost: float


@dataclass(frozen=True)
class Kernel:
    """The code of one loop op. `text` defines the functions of `phases` and constants they use.

    `functions` are (name, bits, lanes) requests for vector math; `messages` are the error texts
    that loopnest.check_index reports, by the code that is stored (see `ERROR_*`). If it `polls`,
    its functions take the table behind the error record, and may return before their time.
    """

    text: str
    phases: tuple[KernelPhase, ...]
    functions: frozenset[tuple[str, int, int]] = frozenset()
    messages: tuple[str, ...] = ()
    polls: bool = False

    @classmethod
    def of(
        cls, text: str, phases: Sequence[KernelPhase], needs: Needs, polls: bool = False
    ) -> Kernel:
        """The kernel of finished text."""
        return cls(text, tuple(phases), frozenset(needs.functions), tuple(needs.messages), polls)


# The error record that every phase is handed: three i64. A failing index check stores its message
# code (1, 2, ...; 0 is no error) by compare-and-swap from 0, and then the index and the bound.
ERROR_CODE, ERROR_INDEX, ERROR_BOUND = 0, 1, 2
ERROR_RECORD_BYTES = 24
# In place of a bound: the message is followed by what was got, or stands alone.
NO_BOUND, PLAIN = -1, -2
