"""Random programs of loops in loops, in stages and with stages in them, as text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

TYPE = "tensor<5xf64>"


@dataclass
class _Writer:
    random: random.Random
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append(text)

    def arithmetic(self, value: str) -> str:
        name = self.name()
        if self.random.random() < 0.6:
            op = self.random.choice(["array.sin", "array.tanh"])
            self.emit(f"{name} = {op} {value} : {TYPE}")
        else:
            op = self.random.choice(["array.multiply", "array.add"])
            self.emit(f"{name} = {op} {value}, %x : {TYPE}")
        return name

    def chain(self, value: str, depth: int) -> str:
        """Statements one after the other; the value of the last."""
        for _ in range(self.random.randint(1, 3)):
            kinds = [self.arithmetic]
            if depth:
                kinds += [self.for_loop(depth), self.while_loop(depth), self.stage(depth)]
            value = self.random.choice(kinds)(value)
        return value

    def for_loop(self, depth: int) -> Callable[[str], str]:
        def write(value: str) -> str:
            name, index, carried = self.name(), self.name(), self.name()
            count = self.random.choice(["%c4", "%c7", "%c12", "%n"])
            self.emit(
                f"{name} = scf.for {index} = %c0 to {count} step %c1 "
                f"iter_args({carried} = {value}) -> ({TYPE}) {{"
            )
            self.emit(f"scf.yield {self.chain(carried, depth - 1)} : {TYPE}")
            self.emit("}")
            return name

        return write

    def while_loop(self, depth: int) -> Callable[[str], str]:
        """As many iterations as the argument says."""

        def write(value: str) -> str:
            name, carried, counter, more = (self.name() for _ in range(4))
            taken, at, following = (self.name() for _ in range(3))
            types = f"{TYPE}, index"
            self.emit(f"{name}:2 = scf.while ({carried} = {value}, {counter} = %c0)"
                      f" : ({types}) -> ({types}) {{")  # fmt: skip
            self.emit(f"{more} = arith.cmpi slt, {counter}, %n : index")
            self.emit(f"scf.condition({more}) {carried}, {counter} : {types}")
            self.emit("} do {")
            self.emit(f"^bb0({taken}: {TYPE}, {at}: index):")
            made = self.chain(taken, depth - 1)
            self.emit(f"{following} = arith.addi {at}, %c1 : index")
            self.emit(f"scf.yield {made}, {following} : {types}")
            self.emit("}")
            return f"{name}#0"

        return write

    def stage(self, depth: int) -> Callable[[str], str]:
        def write(value: str) -> str:
            begun, ended = self.name(), self.name()
            self.emit(f"{begun} = grad.start_checkpoint {value} : {TYPE}")
            made = self.arithmetic(self.chain(begun, depth - 1))
            self.emit(f"{ended} = grad.end_checkpoint {made} : {TYPE}")
            return ended

        return write


def random_loops(seed: int, depth: int = 2) -> str:
    """A module with a function @f of a tensor and an index."""
    writer = _Writer(random.Random(seed))
    writer.emit(f"func.func @f(%x: {TYPE}, %n: index) -> {TYPE} {{")
    for k in (0, 1, 4, 7, 12):
        writer.emit(f"%c{k} = arith.constant {k} : index")
    value = writer.for_loop(depth)("%x")
    writer.emit(f"func.return {writer.chain(value, depth)} : {TYPE}")
    writer.emit("}")
    return "\n".join(writer.lines)
