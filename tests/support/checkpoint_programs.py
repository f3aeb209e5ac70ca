"""Random programs with and without checkpoint stages, as text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TYPE = "tensor<6x6xf64>"
UNARY = ("array.sin", "array.tanh", "nn.sigmoid", "array.square", "nn.relu")
BINARY = ("array.add", "array.multiply", "array.subtract")


@dataclass(frozen=True)
class Statement:
    """`%v<result> = <op> ...`; operands are numbers of values, the arguments first."""

    op: str
    operands: tuple[int, ...]

    def text(self, result: str, names: Sequence[str]) -> list[str]:
        given = ", ".join(names)
        if self.op == "array.matmul":
            return [f"{result} = array.matmul {given} : {TYPE}, {TYPE} -> {TYPE}"]
        if self.op == "norm":
            return [
                f"{result}s = array.sum {given} {{axis = 1, keepdims = true}}"
                f" : {TYPE} -> tensor<6x1xf64>",
                f"{result}b = array.broadcast_to {result}s : tensor<6x1xf64> -> {TYPE}",
                f"{result} = array.multiply {given}, {result}b : {TYPE}",
            ]
        return [f"{result} = {self.op} {given} : {TYPE}"]


@dataclass(frozen=True)
class RandomProgram:
    """Statements over two arguments; the last value is summed, and some are returned too."""

    statements: tuple[Statement, ...]
    returned: tuple[int, ...]

    def text(self, stages: Sequence[tuple[int, int]] = ()) -> str:
        """The program with a stage around each range of statements; ranges nest or are disjoint."""
        writer = _Writer(self, sorted(stages, key=lambda s: (s[0], -s[1])))
        return writer.function()


ARGUMENTS = 2


def random_statements(choose: random.Random, count: int) -> RandomProgram:
    statements: list[Statement] = []
    for k in range(count):
        recent = range(max(0, k + ARGUMENTS - 4), k + ARGUMENTS)
        kind = choose.choice(["unary", "unary", "binary", "array.matmul", "norm"])
        if kind in ("unary", "norm"):
            op = choose.choice(UNARY) if kind == "unary" else kind
            statements.append(Statement(op, (choose.choice(recent),)))
        else:
            op = choose.choice(BINARY) if kind == "binary" else kind
            other = choose.choice([*recent, 0, 1])
            statements.append(Statement(op, (choose.choice(recent), other)))
    returned = tuple(choose.sample(range(ARGUMENTS, ARGUMENTS + count), min(1, count)))
    return RandomProgram(tuple(statements), returned)


def random_stages(
    choose: random.Random, begin: int, end: int, depth: int = 0
) -> list[tuple[int, int]]:
    """Ranges that nest or are disjoint."""
    stages: list[tuple[int, int]] = []
    place = begin
    while place < end:
        length = choose.randint(1, max(1, (end - place)))
        if choose.random() < 0.6 and (depth == 0 or length < end - begin):
            stages.append((place, place + length))
            if depth < 2:
                stages += random_stages(choose, place, place + length, depth + 1)
        place += length
    return stages


class _Writer:
    def __init__(self, program: RandomProgram, stages: Sequence[tuple[int, int]]):
        self.program = program
        self.stages = stages
        self.lines: list[str] = []
        self.markers = 0
        uses = [(o, k) for k, s in enumerate(program.statements) for o in s.operands]
        count = len(program.statements)
        self.last_use = {v: count for v in (*program.returned, ARGUMENTS + count - 1)}
        for value, place in uses:
            self.last_use[value] = max(self.last_use.get(value, -1), place)

    def function(self) -> str:
        count = len(self.program.statements)
        names = {0: "%x0", 1: "%x1"}
        self.span(0, count, list(self.stages), names)
        last = names[ARGUMENTS + count - 1]
        self.lines.append(f"%loss = array.sum {last} : {TYPE} -> tensor<f64>")
        values = ["%loss", *(names[v] for v in self.program.returned)]
        types = ["tensor<f64>", *[TYPE] * len(self.program.returned)]
        self.lines.append(f"func.return {', '.join(values)} : {', '.join(types)}")
        body = "\n".join(f"  {line}" for line in self.lines)
        header = f"func.func @f(%x0: {TYPE}, %x1: {TYPE}) -> ({', '.join(types)})"
        return f"{header} {{\n{body}\n}}\n"

    def span(
        self, begin: int, end: int, stages: list[tuple[int, int]], names: dict[int, str]
    ) -> None:
        place = begin
        while place < end:
            if stages and stages[0][0] == place:
                stop = stages.pop(0)[1]
                inner = [s for s in stages if s[1] <= stop]
                del stages[: len(inner)]
                self.stage(place, stop, inner, names)
                place = stop
                continue
            statement = self.program.statements[place]
            result = f"%v{place}"
            self.lines += statement.text(result, [names[o] for o in statement.operands])
            names[place + ARGUMENTS] = result
            place += 1

    def stage(
        self, begin: int, end: int, stages: list[tuple[int, int]], names: dict[int, str]
    ) -> None:
        inside: dict[int, str] = {}
        made = range(begin + ARGUMENTS, end + ARGUMENTS)
        for statement in self.program.statements[begin:end]:
            for operand in statement.operands:
                if operand not in inside and operand not in made:
                    inside[operand] = self.marker("start", names[operand])
        self.span(begin, end, stages, inside)
        for value in made:
            # what nobody reads is ended too: each start needs an end
            if self.last_use.get(value, end) >= end:
                names[value] = self.marker("end", inside[value])

    def marker(self, kind: str, name: str) -> str:
        self.markers += 1
        result = f"%m{self.markers}"
        self.lines.append(f"{result} = grad.{kind}_checkpoint {name} : {TYPE}")
        return result
