"""Text of one LLVM function: fresh names, instructions, structured loops and branches.

The lowering writes LLVM IR as text (3 us an instruction; any object layer costs ten times that).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


class FunctionText:
    """The body of one LLVM function, written top to bottom.

    `emit` appends an instruction that has a result and returns the result's name; `line` appends
    one that has none. `current_label` is the block that is being written (what a phi needs).
    """

    def __init__(self) -> None:
        self._count = 0
        self.begin()

    def begin(self) -> None:
        """Forget what is written, but for its names."""
        self.lines: list[str] = []
        self.current_label = "entry"

    def fresh(self, hint: str = "v") -> str:
        """A name without sigil that no other value or block of this function has."""
        self._count += 1
        return f"{hint}.{self._count}"

    def emit(self, instruction: str, hint: str = "v") -> str:
        """Append `%name = instruction`; return `%name`."""
        name = "%" + self.fresh(hint)
        self.lines.append(f"  {name} = {instruction}")
        return name

    def line(self, instruction: str) -> None:
        self.lines.append("  " + instruction)

    def label(self, name: str) -> None:
        """Begin block `name`; the block before must have ended with a terminator."""
        self.lines.append(f"{name}:")
        self.current_label = name

    @contextmanager
    def loop(
        self,
        start: str,
        stop: str,
        step: str | int = 1,
        hint: str = "i",
        at_least_once: bool = False,
    ) -> Generator[str]:
        """`for (i = start; i < stop; i += step)` over i64; yields the name of i.

        `at_least_once` leaves out the test before the first trip. One trip is no loop: i is
        `start`.
        """
        numbers = [str(v) for v in (start, stop, step)]
        if all(map(str.isdigit, numbers)) and 0 < int(stop) - int(start) <= int(step):
            yield start
            return
        head, body, latch, done = (
            self.fresh(f"{hint}.{part}") for part in ("head", "body", "latch", "done")
        )
        entry = self.current_label
        index, following = "%" + self.fresh(hint), "%" + self.fresh(f"{hint}.next")
        if at_least_once:
            self.line(f"br label %{body}")
            self.label(body)
            self.line(f"{index} = phi i64 [ {start}, %{entry} ], [ {following}, %{latch} ]")
            target = body
        else:
            self.line(f"br label %{head}")
            self.label(head)
            self.line(f"{index} = phi i64 [ {start}, %{entry} ], [ {following}, %{latch} ]")
            inside = self.emit(f"icmp slt i64 {index}, {stop}")
            self.line(f"br i1 {inside}, label %{body}, label %{done}")
            self.label(body)
            target = head
        yield index
        self.line(f"br label %{latch}")
        self.label(latch)
        self.line(f"{following} = add nsw i64 {index}, {step}")
        if at_least_once:
            again = self.emit(f"icmp slt i64 {following}, {stop}")
            self.line(f"br i1 {again}, label %{target}, label %{done}")
        else:
            self.line(f"br label %{target}")
        self.label(done)

    @contextmanager
    def items(self, count: int, hint: str = "item") -> Generator[str]:
        """The items [%begin, %end) of a kernel's call; the only one of a kernel has no loop."""
        if count == 1:
            yield "0"
            return
        with self.loop("%begin", "%end", hint=hint) as item:
            yield item

    @contextmanager
    def when(self, condition: str, hint: str = "when") -> Generator[None]:
        """`if (condition) { ... }` for an i1 value."""
        if condition == "true":
            yield
            return
        then, done = self.fresh(f"{hint}.then"), self.fresh(f"{hint}.done")
        self.line(f"br i1 {condition}, label %{then}, label %{done}")
        self.label(then)
        yield
        self.line(f"br label %{done}")
        self.label(done)

    def text(self) -> str:
        return "\n".join(self.lines)
