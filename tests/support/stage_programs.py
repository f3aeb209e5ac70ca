"""Random programs of nested regions that hand back what they did not make: captured values, their
own arguments, what inner regions handed back, one value several times; many results have no reader.

A program is written as text with its stages as `grad.checkpoint` or without them, and runs as a
Python function with any wrapper around its stages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradir
import gradir.numpy as gnp

TYPE = "tensor<2xf64>"
ARGUMENTS = ("x", "y")
HEADER = f"%x: {TYPE}, %y: {TYPE}, %c: i1, %n: index"
CONSTANTS = ("%one = arith.constant 1 : index", "%zero = arith.constant 0 : index")
KINDS = ("stage", "stage", "stage", "region", "for", "while", "if", "switch", "call")
UNARY = ("sin", "tanh", "exp", "cos")
BINARY = ("add", "multiply", "subtract", "divide")
# cotangents end here
STEPS = ("floor_divide",)


@dataclass
class Node:
    """A statement: an op on `operands`, or one with blocks, whose operands they take."""

    kind: str
    operands: list[str]
    results: list[str]
    blocks: list[Block] = field(default_factory=list["Block"])


@dataclass
class Block:
    """Statements between the arguments and the values handed back."""

    arguments: list[str]
    nodes: list[Node]
    returned: list[str]


class Maker:
    """Draws programs; `kinds` are the statements with blocks that it may use."""

    def __init__(self, seed: int, kinds: Sequence[str] = KINDS, steps: bool = False):
        self.choose = random.Random(seed)
        self.kinds = kinds
        self.ops = (*BINARY, *STEPS) if steps else BINARY
        self.count = 0

    def program(self, depth: int = 3) -> Block:
        nodes, visible = self.nodes([*ARGUMENTS], depth, least=3)
        return Block([*ARGUMENTS], nodes, self.some(visible, 2, 3))

    def names(self, count: int) -> list[str]:
        self.count += count
        return [f"v{self.count - k}" for k in range(count)]

    def some(self, visible: Sequence[str], least: int, most: int) -> list[str]:
        """Any of the values that can be read, late ones more often; a value may come twice."""
        count = self.choose.randint(least, most)
        late = visible[-4:]
        return [self.choose.choice(self.choose.choice([visible, late])) for _ in range(count)]

    def nodes(self, visible: list[str], depth: int, least: int = 1) -> tuple[list[Node], list[str]]:
        made: list[Node] = []
        for _ in range(self.choose.randint(least, 4)):
            is_op = depth == 0 or self.choose.random() < 0.4
            node = self.op(visible) if is_op else self.nested(visible, depth - 1)
            made.append(node)
            visible = [*visible, *node.results]
        return made, visible

    def op(self, visible: Sequence[str]) -> Node:
        if self.choose.random() < 0.5:
            return Node(self.choose.choice(UNARY), self.some(visible, 1, 1), self.names(1))
        return Node(self.choose.choice(self.ops), self.some(visible, 2, 2), self.names(1))

    def block(self, visible: list[str], depth: int, arguments: int, least: int, most: int) -> Block:
        taken = self.names(arguments)
        nodes, inside = self.nodes([*visible, *taken], depth)
        return Block(taken, nodes, self.some(inside, least, most))

    def nested(self, visible: list[str], depth: int) -> Node:
        kind = self.choose.choice(self.kinds)
        width = self.choose.randint(1, 3)
        operands = self.some(visible, width, width)
        if kind in ("if", "switch"):
            count = 2 if kind == "if" else 3
            blocks = [self.block(visible, depth, 0, width, width) for _ in range(count)]
            return Node(kind, [], self.names(width), blocks)
        if kind == "for":
            blocks = [self.block(visible, depth, width, width, width)]
        elif kind == "while":
            before = self.block(visible, depth, width, 1, 3)
            after = self.block(visible, depth, len(before.returned), width, width)
            return Node(kind, operands, self.names(len(before.returned)), [before, after])
        else:
            seen = [] if kind == "call" else visible
            blocks = [self.block(seen, depth, width, 1, 4)]
        return Node(kind, operands, self.names(len(blocks[0].returned)), blocks)


class Writer:
    """A program as text; `marked`: with its stages, else with their contents in their place.
    `loops` is written on each loop, and one value is `named` "h"."""

    def __init__(self, marked: bool, loops: str = "", named: str | None = None):
        self.marked = marked
        self.loops = loops
        self.named = named
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.fresh = 0

    def text(self, program: Block) -> str:
        names = {a: f"%{a}" for a in program.arguments}
        self.nodes(program.nodes, names)
        self.end("func.return", [names[r] for r in program.returned])
        types = ", ".join([TYPE] * len(program.returned))
        main = [f"func.func @f({HEADER}) -> ({types}) {{", *CONSTANTS, *self.lines, "}"]
        return "\n".join([*self.functions, *main]) + "\n"

    def nodes(self, nodes: Sequence[Node], names: dict[str, str]) -> None:
        for node in nodes:
            if node.blocks:
                getattr(self, f"write_{node.kind}")(node, names)
                continue
            read = ", ".join(names[o] for o in node.operands)
            (result,) = node.results
            names[result] = f"%{result}"
            self.lines.append(f"%{result} = array.{node.kind} {read} : {TYPE}")
            if result == self.named:
                names[result] = f"%{result}h"
                self.lines.append(f'%{result}h = grad.name %{result} {{name = "h"}} : {TYPE}')

    def inside(self, block: Block, given: Mapping[str, str], names: dict[str, str]) -> list[str]:
        """The statements of a block; returns the names of what it hands back."""
        within = {**names, **given}
        self.nodes(block.nodes, within)
        return [within[r] for r in block.returned]

    def end(self, terminator: str, values: Sequence[str], index: Sequence[str] = ()) -> None:
        types = [*["index"] * len(index), *[TYPE] * len(values)]
        self.lines.append(f"{terminator} {', '.join([*index, *values])} : {', '.join(types)}")

    def begin(self, node: Node, names: dict[str, str]) -> str:
        names.update((r, f"%{r}") for r in node.results)
        return ", ".join(f"%{r}" for r in node.results)

    def types(self, node: Node) -> str:
        return ", ".join([TYPE] * len(node.results))

    def write_stage(self, node: Node, names: dict[str, str], head: str = "grad.checkpoint") -> None:
        (block,) = node.blocks
        given = {a: names[o] for a, o in zip(block.arguments, node.operands, strict=True)}
        if head == "grad.checkpoint" and not self.marked:
            handed_back = self.inside(block, given, names)
            names.update(zip(node.results, handed_back, strict=True))
            return
        place = len(self.lines)
        handed_back = self.inside(block, given, names)
        self.lines.insert(place, f"{self.begin(node, names)} = {head} -> ({self.types(node)}) {{")
        self.end("grad.yield" if head == "grad.checkpoint" else "scf.yield", handed_back)
        self.lines.append("}")

    def write_region(self, node: Node, names: dict[str, str]) -> None:
        self.write_stage(node, names, "scf.execute_region")

    def write_for(self, node: Node, names: dict[str, str]) -> None:
        (block,) = node.blocks
        pairs = zip(block.arguments, node.operands, strict=True)
        carried = ", ".join(f"%{a} = {names[o]}" for a, o in pairs)
        number = f"%i{node.results[0]}"
        place = len(self.lines)
        handed_back = self.inside(block, {a: f"%{a}" for a in block.arguments}, names)
        head = f"scf.for {number} = %zero to %n step %one iter_args({carried})"
        self.lines.insert(place, f"{self.begin(node, names)} = {head} -> ({self.types(node)}) {{")
        self.end("scf.yield", handed_back)
        self.lines.append(f"}}{self.loops}")

    def write_while(self, node: Node, names: dict[str, str]) -> None:
        before, after = node.blocks
        tag = node.results[0]
        pairs = zip(before.arguments, node.operands, strict=True)
        carried = ", ".join([f"%k{tag} = %zero", *(f"%{a} = {names[o]}" for a, o in pairs)])
        outer, place = dict(names), len(self.lines)
        passed = self.inside(before, {a: f"%{a}" for a in before.arguments}, outer)
        taken = ", ".join(["index", *[TYPE] * len(before.arguments)])
        results = self.begin(node, names)
        types = ", ".join(["index", *[TYPE] * len(passed)])
        self.lines.insert(
            place, f"%e{tag}, {results} = scf.while ({carried}) : ({taken}) -> ({types}) {{"
        )
        self.lines.append(f"%t{tag} = arith.cmpi slt, %k{tag}, %n : index")
        self.end(f"scf.condition(%t{tag})", passed, [f"%k{tag}"])
        arguments = ", ".join([f"%j{tag}: index", *(f"%{a}: {TYPE}" for a in after.arguments)])
        self.lines.append(f"}} do {{\n^bb0({arguments}):")
        handed_back = self.inside(after, {a: f"%{a}" for a in after.arguments}, outer)
        self.lines.append(f"%s{tag} = arith.addi %j{tag}, %one : index")
        self.end("scf.yield", handed_back, [f"%s{tag}"])
        loops = self.loops.strip().replace("binomial", "online")
        self.lines.append(f"}} attributes {loops}" if loops else "}")

    def write_if(self, node: Node, names: dict[str, str]) -> None:
        place, outer = len(self.lines), dict(names)
        head = f"{self.begin(node, names)} = scf.if %c -> ({self.types(node)}) {{"
        self.end("scf.yield", self.inside(node.blocks[0], {}, outer))
        self.lines.insert(place, head)
        self.lines.append("} else {")
        self.end("scf.yield", self.inside(node.blocks[1], {}, outer))
        self.lines.append("}")

    def write_switch(self, node: Node, names: dict[str, str]) -> None:
        outer = dict(names)
        self.lines.append(f"{self.begin(node, names)} = scf.index_switch %n -> {self.types(node)}")
        for label, block in zip(("case 0", "case 2", "default"), node.blocks, strict=True):
            self.lines.append(f"{label} {{")
            self.end("scf.yield", self.inside(block, {}, outer))
            self.lines.append("}")

    def write_call(self, node: Node, names: dict[str, str]) -> None:
        (block,) = node.blocks
        inner = Writer(self.marked, self.loops)
        given = {a: f"%{a}" for a in block.arguments}
        handed_back = inner.inside(block, given, {})
        name, types = f"@g{node.results[0]}", self.types(node)
        parameters = ", ".join([*(f"%{a}: {TYPE}" for a in block.arguments), "%c: i1", "%n: index"])
        inner.end("func.return", handed_back)
        body = "\n".join([*CONSTANTS, *inner.lines])
        self.functions += inner.functions
        self.functions.append(f"func.func private {name}({parameters}) -> ({types}) {{\n{body}\n}}")
        read = ", ".join([*(names[o] for o in node.operands), "%c", "%n"])
        taken = ", ".join([*[TYPE] * len(node.operands), "i1", "index"])
        self.lines.append(
            f"{self.begin(node, names)} = func.call {name}({read}) : ({taken}) -> ({types})"
        )


def as_python(program: Block, wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    """The program as a function of its arguments with `wrap` around the functions of its stages.
    Loops run twice, and branches are the last."""

    def run(block: Block, given: Sequence[Any], names: dict[str, Any]) -> Any:
        within = {**names, **dict(zip(block.arguments, given, strict=True))}
        for node in block.nodes:
            values = [within[o] for o in node.operands]
            if node.blocks:
                made = nested(node.kind, node.blocks[-1], values, dict(within))
            else:
                made = [getattr(gnp, node.kind)(*values)]
            within.update(zip(node.results, made, strict=True))
        return tuple(within[r] for r in block.returned)

    def nested(kind: str, block: Block, values: Sequence[Any], names: dict[str, Any]) -> Any:
        if kind == "stage":

            def stage(*given: Any) -> Any:
                return run(block, given, names)

            return wrap(stage)(*values)
        if kind == "for":
            return gradir.fori_loop(0, 2, lambda _, carried: run(block, carried, names),
                                    tuple(values))  # fmt: skip
        return run(block, values, names)

    def main(*given: Any) -> Any:
        return sum(gnp.sum(gnp.sin(r)) for r in run(program, given, {}))

    return main
