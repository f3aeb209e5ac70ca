"""Programs of level 2 as MLIR text, with their marks (stages, policies) and without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.programs import Body, Scope, Statement, Value
from fuzz.text_forms import filled

CONSTANTS = {
    "index": "arith.constant 1 : index",
    "i1": "arith.constant true",
    "$F": "arith.constant 0.5 : $F",
    "tensor<$Nxi64>": "array.full {value = 1} : tensor<$Nxi64>",
}


NAME = re.compile(r"%v\d+")


@dataclass(frozen=True)
class TextFunction:
    """A function by its name."""

    name: str
    body: Body


def reaching(body: Body, taken: Sequence[Value]) -> tuple[list[Value], set[int]]:
    """Which of the values that a stage takes reach an end of it, and which ends they reach."""
    found: list[Value] = []
    ends: set[int] = set()
    for value in taken:
        below = {value.number}
        for statement in body.statements:
            if below & {v.number for v in used_by(statement)}:
                below |= {r.number for r in statement.results}
        reached = below & {e.number for e in body.ends}
        if reached:
            found.append(value)
            ends |= reached
    return found, ends


def names_in(lines: Sequence[str]) -> set[str]:
    """The names of values in a text, without the numbers of results."""
    return {name for line in lines for name in NAME.findall(line)}


def used_by(statement: Statement) -> list[Value]:
    """The operands of a statement and of all that is in it."""
    inner = [v for b in statement.blocks for s in b.statements for v in used_by(s)]
    return [*statement.operands, *inner, *(e for b in statement.blocks for e in b.ends)]


class TextWriter:
    """Writes functions; `marked`: with stages and policies of loops, else without any."""

    def __init__(self, marked: bool) -> None:
        self.marked = marked
        self.lines: list[str] = []
        self.count = 0
        # The names of values of the stage by markers that is being written; None outside of one.
        self.staged: set[str] | None = None

    def function(self, function: TextFunction) -> None:
        scope, body = Scope(), function.body
        taken = self.arguments(scope, body)
        types = ", ".join(e.type for e in body.ends)
        self.lines.append(f"func.func @{function.name}({taken}) -> ({types}) {{")
        self.statements(scope, body)
        self.end(scope, "func.return", body.ends)
        self.lines.append("}")

    def arguments(self, scope: Scope, body: Body) -> str:
        names = [scope.define(a, self.name()) for a in body.arguments]
        return ", ".join(f"{n}: {a.type}" for n, a in zip(names, body.arguments, strict=True))

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def use(self, scope: Scope, value: Value) -> str:
        """The name of a value, or of a constant where there is none of its type."""
        found = scope.find(value)
        if found is not None:
            return found
        name = self.name()
        default = f"array.full {{value = 0.5}} : {value.type}"
        self.lines.append(f"{name} = {CONSTANTS.get(value.type, default)}")
        return scope.define(value, name)

    def uses(self, scope: Scope, values: Sequence[Value]) -> list[str]:
        return [self.use(scope, v) for v in values]

    def end(self, scope: Scope, word: str, ends: Sequence[Value]) -> None:
        names = ", ".join(self.uses(scope, ends))
        self.lines.append(f"{word} {names} : {', '.join(e.type for e in ends)}" if ends else word)

    def statements(self, scope: Scope, body: Body) -> None:
        for statement in body.statements:
            first = len(self.lines)
            getattr(self, f"write_{statement.kind}")(scope, statement)
            is_marked = statement.kind == "stage" and statement.note[0]
            if self.staged and not is_marked and self.staged & names_in(self.lines[first:]):
                self.staged |= names_in(self.uses(scope, statement.results))

    def block(self, scope: Scope, body: Body, word: str) -> None:
        inner, staged = scope.inner(), self.staged
        self.staged = None
        self.statements(inner, body)
        self.end(inner, word, body.ends)
        self.staged = staged

    def left(self, scope: Scope, results: Sequence[Value]) -> str:
        """The left side of an op with results, which come into scope."""
        name = self.name()
        for k, result in enumerate(results):
            scope.define(result, f"{name}#{k}" if len(results) > 1 else name)
        if not results:
            return ""
        return f"{name}:{len(results)} = " if len(results) > 1 else f"{name} = "

    # Statements.

    def write_same(self, scope: Scope, statement: Statement) -> None:
        names = self.uses(scope, statement.operands)
        for result, name in zip(statement.results, names, strict=True):
            scope.define(result, name)

    def write_op(self, scope: Scope, statement: Statement) -> None:
        (template,) = statement.note
        names = self.uses(scope, statement.operands)
        result = self.name()
        self.lines += filled(template, names, result).split("\n")
        scope.define(statement.results[0], result)

    def write_call(self, scope: Scope, statement: Statement) -> None:
        names = ", ".join(self.uses(scope, statement.operands))
        inputs = ", ".join(o.type for o in statement.operands)
        outputs = ", ".join(r.type for r in statement.results)
        left = self.left(scope, statement.results)
        self.lines.append(
            f"{left}func.call @{statement.note[0]}({names}) : ({inputs}) -> ({outputs})"
        )

    def write_if(self, scope: Scope, statement: Statement) -> None:
        condition = self.use(scope, statement.operands[0])
        outer = scope.inner()
        left = self.left(scope, statement.results)
        types = ", ".join(r.type for r in statement.results)
        self.lines.append(f"{left}scf.if {condition} -> ({types}) {{")
        self.block(outer, statement.blocks[0], "scf.yield")
        self.lines.append("} else {")
        self.block(outer, statement.blocks[1], "scf.yield")
        self.lines.append("}")

    def write_switch(self, scope: Scope, statement: Statement) -> None:
        selector = self.use(scope, statement.operands[0])
        outer = scope.inner()
        left = self.left(scope, statement.results)
        types = ", ".join(r.type for r in statement.results)
        self.lines.append(f"{left}scf.index_switch {selector} -> {types}")
        labels = [f"case {k}" for k in range(len(statement.blocks) - 1)] + ["default"]
        for label, body in zip(labels, statement.blocks, strict=True):
            self.lines.append(f"{label} {{")
            self.block(outer, body, "scf.yield")
            self.lines.append("}")

    def write_region(self, scope: Scope, statement: Statement) -> None:
        outer = scope.inner()
        left = self.left(scope, statement.results)
        types = ", ".join(r.type for r in statement.results)
        self.lines.append(f"{left}scf.execute_region -> ({types}) {{")
        self.block(outer, statement.blocks[0], "scf.yield")
        self.lines.append("}")

    def write_stage(self, scope: Scope, statement: Statement) -> None:
        """A region with a policy, or values between markers."""
        style, policy = statement.note
        if not self.marked:
            self.inlined(scope, statement)
        elif style:
            self.markers(scope, statement)
        else:
            outer = scope.inner()
            left = self.left(scope, statement.results)
            types = ", ".join(r.type for r in statement.results)
            given = f' policy "{policy[1:]}"' if policy != "?" else ""
            self.lines.append(f"{left}grad.checkpoint{given} -> ({types}) {{")
            self.block(outer, statement.blocks[0], "grad.yield")
            self.lines.append("}")

    def inlined(self, scope: Scope, statement: Statement) -> None:
        inner = scope.inner()
        body = statement.blocks[0]
        self.statements(inner, body)
        names = self.uses(inner, body.ends)
        for result, name in zip(statement.results, names, strict=True):
            scope.define(result, name)

    def markers(self, scope: Scope, statement: Statement) -> None:
        """What the stage takes goes through a start, what it hands on through an end.

        Markers nest where what starts the inner stage is computed from the start of the outer one;
        others stay as they are.
        """
        inner, around = scope.inner(), self.staged
        body = statement.blocks[0]
        taken = [(value, self.use(scope, value)) for value in statement.operands]
        if around is not None:
            taken = [(value, name) for value, name in taken if names_in([name]) & around]
        inside, ended_too = reaching(body, [value for value, _ in taken])
        self.staged = set()
        for value, name in taken:
            if value in inside:
                started = self.name()
                self.lines.append(f"{started} = grad.start_checkpoint {name} : {value.type}")
                self.staged.add(inner.define(value, started))
        self.statements(inner, body)
        self.staged = around
        for result, end in zip(statement.results, body.ends, strict=True):
            if end.number not in ended_too:
                scope.define(result, self.use(inner, end))
                continue
            ended = self.name()
            self.lines.append(f"{ended} = grad.end_checkpoint {self.use(inner, end)} : {end.type}")
            scope.define(result, ended)
            if around is not None:
                around.add(ended)

    def policy(self, word: str) -> str:
        if word == "?" or not self.marked:
            return ""
        return f" {{grad.loop = #grad.loop<{word[1:]}>}}"

    def write_for(self, scope: Scope, statement: Statement) -> None:
        """Operands are the carried values, then perhaps an index for the upper bound."""
        lower, trips, step, policy = statement.note
        count = len(statement.results)
        initial = self.uses(scope, statement.operands[:count])
        first, last, by = self.name(), self.name(), self.name()
        self.lines.append(f"{first} = arith.constant {lower} : index")
        self.lines.append(f"{by} = arith.constant {step + 1} : index")
        if len(statement.operands) > count:
            self.bounded(last, self.use(scope, statement.operands[count]), trips + 1)
        else:
            self.lines.append(f"{last} = arith.constant {lower + trips * (step + 1)} : index")
        outer, body = scope.inner(), statement.blocks[0]
        index, *names = [outer.define(a, self.name()) for a in body.arguments]
        pairs = ", ".join(f"{a} = {i}" for a, i in zip(names, initial, strict=True))
        types = ", ".join(r.type for r in statement.results)
        carried = f" iter_args({pairs}) -> ({types})" if names else ""
        left = self.left(scope, statement.results)
        self.lines.append(f"{left}scf.for {index} = {first} to {last} step {by}{carried} {{")
        self.block(outer, body, "scf.yield")
        self.lines.append("}" + self.policy(policy))

    def bounded(self, name: str, value: str, bound: int) -> None:
        """An index as one below a bound."""
        constant = self.name()
        self.lines.append(f"{constant} = arith.constant {bound} : index")
        self.lines.append(f"{name} = arith.remui {value}, {constant} : index")

    def write_while(self, scope: Scope, statement: Statement) -> None:
        """Carried values and a count; the first block gives what the condition passes on."""
        trips, policy = statement.note
        count = len(statement.results)
        types = ", ".join([*(r.type for r in statement.results), "index"])
        initial = self.uses(scope, statement.operands[:count])
        zero, one, limit = self.name(), self.name(), self.name()
        self.lines.append(f"{zero} = arith.constant 0 : index")
        self.lines.append(f"{one} = arith.constant 1 : index")
        if len(statement.operands) > count:
            self.bounded(limit, self.use(scope, statement.operands[count]), trips + 1)
        else:
            self.lines.append(f"{limit} = arith.constant {trips} : index")
        before, after = statement.blocks
        outer = scope.inner()
        name = self.name()
        for k, result in enumerate(statement.results):
            scope.define(result, f"{name}#{k}")
        inner, number = outer.inner(), self.name()
        names = [inner.define(a, self.name()) for a in before.arguments]
        pairs = [f"{a} = {i}" for a, i in zip(names, initial, strict=True)]
        self.lines.append(
            f"{name}:{count + 1} = scf.while ({', '.join([*pairs, f'{number} = {zero}'])})"
            f" : ({types}) -> ({types}) {{"
        )
        self.statements(inner, before)
        passed = ", ".join([*self.uses(inner, before.ends), number])
        more = self.name()
        self.lines.append(f"{more} = arith.cmpi slt, {number}, {limit} : index")
        self.lines.append(f"scf.condition({more}) {passed} : {types}")
        self.lines.append("} do {")
        inner, number = outer.inner(), self.name()
        taken = [f"{inner.define(a, self.name())}: {a.type}" for a in after.arguments]
        self.lines.append(f"^bb0({', '.join([*taken, f'{number}: index'])}):")
        self.statements(inner, after)
        following = self.name()
        self.lines.append(f"{following} = arith.addi {number}, {one} : index")
        values = ", ".join([*self.uses(inner, after.ends), following])
        self.lines.append(f"scf.yield {values} : {types}")
        policy = self.policy(policy)
        self.lines.append(f"}} attributes{policy}" if policy else "}")
