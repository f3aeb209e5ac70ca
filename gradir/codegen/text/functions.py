"""The text of one LLVM function: names, blocks, branches, loops, calls, integers of addresses.

The lowering writes LLVM IR as text (3 us an instruction; any object layer costs ten times that).
One writer does it, in three layers; all code generation uses the last:

    FunctionText        this file
    Instructions        arithmetic and conversions of kinds: instructions.py
    FunctionWriter      loads and stores: writer.py

Intrinsics need no `declare`: LLVM's parser (19 and later) supplies them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gradir.dialects.base.traced_sizes import is_traced

# What marks stores that go past the caches, and branches that are hardly ever taken; their
# definitions in the module.
STREAMED, UNLIKELY = "!nontemporal !0", "!prof !1"
METADATA = '!0 = !{i32 1}\n!1 = !{!"branch_weights", i32 1, i32 1048575}'

# One way to a block: a value, and the label of the block that it comes from.
Way = tuple[str, str]


@dataclass
class Needs:
    """The functions and messages that emitted text needs; fields as in `Kernel`."""

    functions: set[tuple[str, int, int]] = field(default_factory=set[tuple[str, int, int]])
    messages: list[str] = field(default_factory=list[str])

    def message_code(self, message: str) -> int:
        """The code that a failing index check stores for this message: 1, 2, ..."""
        if message not in self.messages:
            self.messages.append(message)
        return 1 + self.messages.index(message)


class FunctionText:
    """The body of one LLVM function, written top to bottom.

    `emit` appends an instruction that has a result and returns the result's name; `line` appends
    one that has none. `current_label` is the block that is being written (what a phi needs).
    `needs` gathers what the text refers to.
    """

    def __init__(self, needs: Needs | None = None) -> None:
        self.needs = needs or Needs()
        self._count = 0
        self.begin()

    def begin(self) -> None:
        """Forget the written code; its names stay taken."""
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self.current_label = "entry"

    def fresh(self, hint: str = "v") -> str:
        """A name without sigil that no other value or block of this function has."""
        self._count += 1
        return f"{hint}.{self._count}"

    def emit(self, instruction: str, hint: str = "v") -> str:
        """Append `%name = instruction`; return `%name`."""
        self._count += 1
        name = f"%{hint}.{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def line(self, instruction: str) -> None:
        self.lines.append("  " + instruction)

    @contextmanager
    def early(self) -> Generator[None]:
        """Code written inside stands before all other code, and dominates it."""
        later, self.lines = self.lines, self.prologue
        yield
        self.lines = later

    def ret(self, value: str = "void") -> None:
        """The end of the function, with its value and type."""
        self.line(f"ret {value}")

    def text(self) -> str:
        return "\n".join([*self.prologue, *self.lines])

    def define(
        self,
        name: str,
        parameters: str,
        attributes: str,
        linkage: str = "internal ",
        result: str = "void",
    ) -> str:
        """The definition of `@name(parameters)` with this text, which has its ends."""
        head = f"define {linkage}{result} @{name}({parameters}) {attributes}"
        return f"{head} {{\nentry:\n{self.text()}\n}}\n"

    # Blocks.

    def label(self, name: str) -> None:
        """Begin block `name`; the block before must have ended with a terminator."""
        self.lines.append(f"{name}:")
        self.current_label = name

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, then: str, other: str, weights: str = "") -> None:
        """Go to one of two blocks by an i1; `weights` is `UNLIKELY`, or nothing."""
        weights = weights and f", {weights}"
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{other}{weights}")

    def switch(self, value: str, default: str, cases: Iterable[tuple[int, str]]) -> None:
        """Go to the block of the case that an i64 equals, else to the default one."""
        table = " ".join(f"i64 {number}, label %{label}" for number, label in cases)
        self.line(f"switch i64 {value}, label %{default} [ {table} ]")

    def leave_if(self, stopped: str, leave: str, on: str | None = None) -> None:
        """Go to block `leave` if an i64 is not 0, which is unlikely; else on, in block `on`."""
        leaving = self.emit(f"icmp ne i64 {stopped}, 0")
        on = on or self.fresh("on")
        self.branch(leaving, leave, on, UNLIKELY)
        self.label(on)

    def call(self, result: str, function: str, arguments: str, hint: str = "v") -> str:
        """A call, with the types of its result and arguments; nothing is given by a void one."""
        instruction = f"call {result} {function}({arguments})"
        if result == "void":
            self.line(instruction)
            return ""
        return self.emit(instruction, hint)

    def phi(self, type_: str, ways: Sequence[Way], hint: str = "v") -> str:
        """The value of the way that control has come."""
        return self.emit(f"phi {type_} {_incoming(ways)}", hint)

    def reserve_phis(self, count: int) -> int:
        """Lines for phis of values that are written later; gives the first of them."""
        first = len(self.lines)
        self.lines += [""] * count
        return first

    def fill_phi(self, line: int, name: str, type_: str, ways: Sequence[Way]) -> None:
        self.lines[line] = f"  {name} = phi {type_} {_incoming(ways)}"

    @contextmanager
    def loop(
        self,
        start: str,
        stop: str,
        step: str | int | Callable[[], str] = 1,
        hint: str = "i",
        at_least_once: bool = False,
    ) -> Generator[str]:
        """`for (i = start; i < stop; i += step)` over i64; yields the name of i.

        `at_least_once` leaves out the test before the first trip. One trip is no loop: i is
        `start`. A step that differs from trip to trip is asked for after each.
        """
        if self._is_one_trip(start, stop, step):
            yield start
            return
        head, body, latch, done = (
            self.fresh(f"{hint}.{part}") for part in ("head", "body", "latch", "done")
        )
        entry, first = self.current_label, body if at_least_once else head
        index, following = "%" + self.fresh(hint), "%" + self.fresh(f"{hint}.next")
        self.jump(first)
        self.label(first)
        self.line(f"{index} = phi i64 {_incoming([(start, entry), (following, latch)])}")
        if not at_least_once:
            self.branch(self.emit(f"icmp slt i64 {index}, {stop}"), body, done)
            self.label(body)
        yield index
        self.jump(latch)
        self.label(latch)
        self.line(f"{following} = add nsw i64 {index}, {step() if callable(step) else step}")
        if at_least_once:
            self.branch(self.emit(f"icmp slt i64 {following}, {stop}"), body, done)
        else:
            self.jump(head)
        self.label(done)

    def _is_one_trip(self, start: str, stop: str, step: str | int | Callable[[], str]) -> bool:
        if callable(step) or not (is_number(start) and is_number(stop) and is_number(str(step))):
            return False
        return 0 < int(stop) - int(start) <= int(step)

    def carry(
        self,
        stop: str,
        step: int,
        initial: Sequence[tuple[str, str]],
        trip: Callable[[str, list[str]], list[str]],
    ) -> list[str]:
        """Values through trip(k, values) for k = 0, step, ... below `stop`, once at least.

        `initial` are their types and what they are before; gives what they are after.
        """
        entry, body, done = self.current_label, self.fresh("k.body"), self.fresh("k.done")
        index, following = "%" + self.fresh("k"), "%" + self.fresh("k.next")
        carried = ["%" + self.fresh("acc") for _ in initial]
        self.jump(body)
        self.label(body)
        first = self.reserve_phis(1 + len(initial))
        results = trip(index, carried)
        # where the loop ends, which is not where it begins if there are others in it
        latch = self.current_label
        self.fill_phi(first, index, "i64", [("0", entry), (following, latch)])
        for k, (type_, value) in enumerate(initial):
            self.fill_phi(first + 1 + k, carried[k], type_, [(value, entry), (results[k], latch)])
        self.line(f"{following} = add nuw nsw i64 {index}, {step}")
        self.branch(self.emit(f"icmp slt i64 {following}, {stop}"), body, done)
        self.label(done)
        return results

    @contextmanager
    def items(self, count: int, hint: str = "item") -> Generator[str]:
        """The items [%begin, %end) of a kernel's call; the only one of a kernel has no loop."""
        if not is_traced(count) and count == 1:
            yield "0"
            return
        with self.loop("%begin", "%end", hint=hint) as item:
            yield item

    @contextmanager
    def when(self, condition: str | None, hint: str = "when") -> Generator[None]:
        """`if (condition) { ... }` for an i1 value; None: always."""
        if condition is None or condition == "true":
            yield
            return
        then, done = self.fresh(f"{hint}.then"), self.fresh(f"{hint}.done")
        self.branch(condition, then, done)
        self.label(then)
        yield
        self.jump(done)
        self.label(done)

    # Integers of addresses, i64 that do not overflow. Constants are folded.

    def add(self, left: str, right: str | int) -> str:
        right = str(right)
        if left == "0" or right == "0":
            return right if left == "0" else left
        if is_number(left) and is_number(right):
            return str(int(left) + int(right))
        return self.emit(f"add nsw i64 {left}, {right}")

    def subtract(self, left: str, right: str | int) -> str:
        right = str(right)
        if right == "0":
            return left
        if is_number(left) and is_number(right):
            return str(int(left) - int(right))
        return self.emit(f"sub nsw i64 {left}, {right}")

    def multiply(self, value: str, factor: int) -> str:
        if not is_traced(factor) and factor in (0, 1):
            return value if factor else "0"
        if is_number(value):
            return str(int(value) * factor)
        return self.emit(f"mul nsw i64 {value}, {factor}")

    def minimum(self, left: str, right: str | int) -> str:
        return self._extreme("smin", min, left, str(right))

    def maximum(self, left: str, right: str | int) -> str:
        return self._extreme("smax", max, left, str(right))

    def _extreme(self, name: str, fold: Callable[[int, int], int], left: str, right: str) -> str:
        if is_number(left) and is_number(right):
            return str(fold(int(left), int(right)))
        return self.emit(f"call i64 @llvm.{name}.i64(i64 {left}, i64 {right})")

    def divide(self, value: str, divisor: int) -> tuple[str, str]:
        """(remainder, quotient) of a value that is not negative."""
        if not is_traced(divisor) and divisor == 1:
            return "0", value
        remainder = self.emit(f"urem i64 {value}, {divisor}")
        return remainder, self.emit(f"udiv i64 {value}, {divisor}")

    def share_of(self, total: int, number: str, shares: int | str) -> tuple[str, str]:
        """The begin and the end of share `number`, where `total` items are cut into `shares`."""
        ends = number, self.add(number, 1)
        begin, end = (self.emit(f"udiv i64 {self.multiply(n, total)}, {shares}") for n in ends)
        return begin, end

    def digits(self, number: str, extents: Sequence[int]) -> list[str]:
        """The index in each dimension of a row-major number, the last changing fastest."""
        found: list[str] = []
        outer = [extent for extent in extents if is_traced(extent) or extent != 1]
        for extent in reversed(extents):
            if not is_traced(extent) and extent == 1:
                found.append("0")
            elif len(outer) == 1:
                found.append(number)
            else:
                index, number = self.divide(number, extent)
                found.append(index)
                outer.pop()
        return found[::-1]


def is_number(text: str) -> bool:
    """The text is a constant, not the name of a value."""
    return text.lstrip("-").isdigit()


def _incoming(ways: Sequence[Way]) -> str:
    return ", ".join(f"[ {value}, %{label} ]" for value, label in ways)
