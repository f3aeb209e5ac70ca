"""Random programs that read a table by rows: in loops under each policy, branches, stages, calls.

@f has the arguments %w (the table, 60 rows of 2), %i and %j (places of 3 and of 2 rows), %n (an
index up to 3), %c (i1) and %x (a number); its result is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

TABLE, NUMBER = "tensor<60x2xf64>", "tensor<f64>"
ARGUMENTS = f"%w: {TABLE}, %i: tensor<3xi64>, %j: tensor<2xi64>, %n: index, %c: i1, %x: {NUMBER}"
POLICIES = ("", "", "every = 2", "every = 1", "binomial = 1", "binomial = 2")


class _Writer:
    """Writes chains of statements on one number, %x at first."""

    def __init__(self, choose: Random, callees: list[str]):
        self.choose = choose
        self.callees = callees
        self.lines: list[str] = []
        self.count = 0
        self.table = "%w"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def block(self, x: str, depth: int, least: int = 1) -> str:
        """Statements; returns the number after them."""
        for _ in range(self.choose.randint(least, 3)):
            x = self.statement(x, depth)
        return x

    def statement(self, x: str, depth: int) -> str:
        simple: list[Callable[[str], str]] = [self.read, self.read, self.read, self.other]
        if self.callees:
            simple.append(self.call)
        nested: list[Callable[[str, int], str]] = [
            self.counted, self.counted, self.repeated, self.branch, self.switch, self.stage
        ]  # fmt: skip
        if depth and self.choose.random() < 0.5:
            return self.choose.choice(nested)(x, depth - 1)
        return self.choose.choice(simple)(x)

    def read(self, x: str) -> str:
        """x plus the sine of x times the rows, summed."""
        ids, count = self.choose.choice([("%i", 3), ("%j", 2)])
        rows, type_ = self.name(), f"tensor<{count}x2xf64>"
        op = self.choose.choice([f"array.take {self.table}, {ids} {{axis = 0}}",
                                 f"nn.embedding {self.table}, {ids}"])  # fmt: skip
        self.line(f"{rows} = {op} : {TABLE}, tensor<{count}xi64> -> {type_}")
        wide, product, sine, total, y = (self.name() for _ in range(5))
        self.line(f"{wide} = array.broadcast_to {x} : {NUMBER} -> {type_}")
        self.line(f"{product} = array.multiply {rows}, {wide} : {type_}")
        self.line(f"{sine} = array.sin {product} : {type_}")
        self.line(f"{total} = array.mean {sine} : {type_} -> {NUMBER}")
        self.line(f"{y} = array.add {total}, {x} : {NUMBER}")
        return y

    def other(self, x: str) -> str:
        """A function of x; now and then of the whole table too."""
        y = self.name()
        if self.choose.random() < 0.85:
            self.line(f"{y} = array.tanh {x} : {NUMBER}")
            return y
        whole = self.name()
        self.line(f"{whole} = array.mean {self.table} : {TABLE} -> {NUMBER}")
        self.line(f"{y} = array.multiply {whole}, {x} : {NUMBER}")
        return y

    def call(self, x: str) -> str:
        y, name = self.name(), self.choose.choice(self.callees)
        self.line(
            f"{y} = func.call @{name}({self.table}, %i, %j, %n, %c, {x}) : ({TYPES}) -> {NUMBER}"
        )
        return y

    def counted(self, x: str, depth: int) -> str:
        """A loop of constant or unknown length; it may carry the table, unchanged."""
        low, step, high, k, y, a = (self.name() for _ in range(6))
        self.line(f"{low} = arith.constant {self.choose.randint(0, 1)} : index")
        self.line(f"{step} = arith.constant {self.choose.randint(1, 2)} : index")
        self.line(f"{high} = arith.constant {self.choose.randint(0, 4)} : index")
        high = "%n" if self.choose.random() < 0.15 else high
        carries, outer = self.choose.random() < 0.2, self.table
        carried, types = f"{a} = {x}", NUMBER
        if carries:
            self.table = self.name()
            carried, types = f"{a} = {x}, {self.table} = {outer}", f"{NUMBER}, {TABLE}"
        results = f"{y}:2" if carries else y
        bounds = f"{k} = {low} to {high} step {step}"
        self.line(f"{results} = scf.for {bounds} iter_args({carried}) -> ({types}) {{")
        end = self.block(a, depth)
        self.line(f"scf.yield {end}{f', {self.table}' if carries else ''} : {types}")
        policy = self.choose.choice(POLICIES)
        self.line("}" + (f" {{grad.loop = #grad.loop<{policy}>}}" if policy else ""))
        # behind the loop the table may go by the name of the loop's result
        self.table = f"{y}#1" if carries and self.choose.random() < 0.5 else outer
        return f"{y}#0" if carries else y

    def repeated(self, x: str, depth: int) -> str:
        """A scf.while that counts to a number."""
        zero, one, high, y, k, a, b, more, following = (self.name() for _ in range(9))
        for name, number in ((zero, 0), (one, 1), (high, self.choose.randint(0, 3))):
            self.line(f"{name} = arith.constant {number} : index")
        inner = f"{b}i"
        types = f"(index, {NUMBER})"
        self.line(f"{y}:2 = scf.while ({k} = {zero}, {a} = {x}) : {types} -> {types} {{")
        self.line(f"{more} = arith.cmpi slt, {k}, {high} : index")
        self.line(f"scf.condition({more}) {k}, {a} : index, {NUMBER}")
        self.line("} do {")
        self.line(f"^bb0({inner}: index, {b}: {NUMBER}):")
        table = self.table
        end = self.block(b, depth)
        self.table = table
        self.line(f"{following} = arith.addi {inner}, {one} : index")
        self.line(f"scf.yield {following}, {end} : index, {NUMBER}")
        policy = self.choose.choice(["", "", "every = 2", "online = 2"])
        self.line("}" + (f" attributes {{grad.loop = #grad.loop<{policy}>}}" if policy else ""))
        return f"{y}#1"

    def branch(self, x: str, depth: int) -> str:
        y = self.name()
        self.line(f"{y} = scf.if %c -> ({NUMBER}) {{")
        self.ended(x, depth)
        self.line("} else {")
        self.ended(x, depth)
        self.line("}")
        return y

    def switch(self, x: str, depth: int) -> str:
        y = self.name()
        self.line(f"{y} = scf.index_switch %n -> {NUMBER}")
        for case in ("case 0", "case 2", "default"):
            self.line(f"{case} {{")
            self.ended(x, depth)
            self.line("}")
        return y

    def ended(self, x: str, depth: int) -> None:
        table = self.table
        self.line(f"scf.yield {self.block(x, depth, least=0)} : {NUMBER}")
        self.table = table

    def stage(self, x: str, depth: int) -> str:
        """A stage, which may hand the table on."""
        y, outer = self.name(), self.table
        hands_on = self.choose.random() < 0.3
        types = f"{NUMBER}, {TABLE}" if hands_on else NUMBER
        self.line(f"{y}{':2' if hands_on else ''} = grad.checkpoint -> ({types}) {{")
        end = self.block(x, depth)
        self.line(f"grad.yield {end}{f', {self.table}' if hands_on else ''} : {types}")
        self.line("}")
        self.table = f"{y}#1" if hands_on else outer
        return f"{y}#0" if hands_on else y

    def function(self, name: str, depth: int) -> None:
        self.table = "%w"
        self.line(f"func.func @{name}({ARGUMENTS}) -> {NUMBER} {{")
        self.line(f"func.return {self.block('%x', depth, least=2)} : {NUMBER}")
        self.line("}")
        self.callees.append(name)


TYPES = ", ".join(part.split(": ")[1] for part in ARGUMENTS.split(", "))


def random_table_program(seed: int) -> str:
    """The text of a program with @f, and perhaps callees."""
    choose = Random(seed)
    writer = _Writer(choose, [])
    for k in range(choose.randint(0, 2)):
        writer.function(f"g{k}", choose.randint(0, 2))
    writer.function("f", choose.randint(1, 3))
    return "\n".join(writer.lines)
