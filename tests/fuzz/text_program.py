"""Random programs of level 2: nested control flow, stages, calls and policies over the ops of
text_forms.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from fuzz.programs import Body, Statement, Value, smaller_body
from fuzz.text_forms import (
    BOOL,
    FLAT,
    FLOATS,
    FORMS,
    INDEX,
    NO_GRAD,
    PLACES,
    READS,
    TABLE,
    A,
    Form,
    P,
    S,
    V,
    by_result,
)
from fuzz.text_writer import TextFunction, TextWriter

INPUTS = (S, P, V, A, INDEX, BOOL, PLACES, TABLE)
POLICIES = ("?", "?", "?keep_all", "?keep_none", "?keep_matmuls", "?auto")
MAKERS = by_result(FORMS)
FREE, FLAT_MAKERS = by_result(NO_GRAD), by_result(FLAT)


@dataclass(frozen=True)
class TextProgram:
    """Functions, the last of them @f, the number N and the element type F of their types."""

    functions: tuple[TextFunction, ...]
    size: int
    element: str

    def text(self, marked: bool) -> str:
        writer = TextWriter(marked)
        for function in self.functions:
            writer.function(function)
        text = "\n".join(writer.lines) + "\n"
        return text.replace("$N", str(self.size)).replace("$F", self.element)


class Maker:
    """Makes functions; `rough`: programs that have no derivative everywhere."""

    def __init__(self, choose: Random, free: bool, budget: int) -> None:
        self.choose = choose
        self.free = free
        self.budget = budget
        self.count = 0
        self.used: set[Value] = set()
        self.callees: list[tuple[str, tuple[str, ...]]] = []

    def value(self, type_: str) -> Value:
        self.count += 1
        return Value(self.count, type_)

    def pick(self, scope: list[Value], type_: str) -> Value:
        """A visible value of a type, often a late one."""
        fitting = [v for v in scope if v.type == type_]
        if not fitting:
            return self.value(type_)
        # rather one that nothing has used, so that little is computed in vain
        fresh = [v for v in fitting if v not in self.used]
        kind = self.choose.random()
        late = fresh if fresh and kind < 0.6 else fitting[-4:] if kind < 0.85 else fitting
        found = self.choose.choice(late)
        self.used.add(found)
        return found

    def unused(self, scope: list[Value], least: int, most: int) -> tuple[Value, ...]:
        """So many floats that nothing has used yet; any, where there are none."""
        fresh = [v for v in scope if v.type in FLOATS and v not in self.used]
        if not fresh:
            return tuple(self.pick(scope, t) for t in self.types(most))
        count = min(self.choose.randint(least, most), len(fresh))
        found = self.choose.sample(fresh, count)
        self.used.update(found)
        # now and then one that is used, comes from outside, or comes twice
        again = [self.pick(scope, v.type) if self.choose.random() < 0.2 else v for v in found]
        return tuple(again)

    def types(self, most: int = 3) -> tuple[str, ...]:
        return tuple(self.choose.choice(FLOATS) for _ in range(self.choose.randint(1, most)))

    # Statements; each adds its results to the scope.

    def statements(self, scope: list[Value], depth: int) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for _ in range(self.choose.randint(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            flow = depth > 0 and self.choose.random() < 0.45
            found.append(self.flow(scope, depth) if flow else self.op(scope))
        return tuple(found)

    def op(self, scope: list[Value]) -> Statement:
        type_ = self.choose.choice((*FLOATS, *FLOATS, *FLOATS, INDEX, BOOL, PLACES))
        forms: tuple[Form, ...] = MAKERS[type_]
        if self.free and type_ in FREE and self.choose.random() < 0.1:
            forms = FREE[type_]
        if self.choose.random() < 0.15:
            forms = READS
        form = self.choose.choice(forms)
        operands = tuple(self.pick(scope, t) for t in form.operands)
        result = self.value(form.result)
        scope.append(result)
        return Statement("op", (result,), operands, (form.text,))

    def flat(self, value: Value) -> Statement:
        """Something of derivative zero, of a value."""
        form = self.choose.choice(FLAT_MAKERS[value.type])
        operands = (value,) * len(form.operands)
        return Statement("op", (self.value(value.type),), operands, (form.text,))

    def flow(self, scope: list[Value], depth: int) -> Statement:
        kinds: list[Callable[[list[Value], int], Statement]] = [
            self.branch, self.switch, self.counted, self.repeated, self.region, self.stage,
            self.stage, self.call,
        ]  # fmt: skip
        statement = self.choose.choice(kinds)(scope, depth - 1)
        scope += statement.results
        return statement

    def block(
        self,
        scope: list[Value],
        depth: int,
        types: tuple[str, ...] | None = None,
        taken: tuple[Value, ...] = (),
    ) -> Body:
        """A block that ends in values of the types, or in some that nothing has used yet."""
        inner = [*scope, *taken]
        statements = self.statements(inner, depth)
        if types is None:
            return Body(taken, statements, self.unused(inner, 1, 3))
        return Body(taken, statements, tuple(self.pick(inner, t) for t in types))

    def results(self, types: tuple[str, ...]) -> tuple[Value, ...]:
        return tuple(self.value(t) for t in types)

    def branch(self, scope: list[Value], depth: int) -> Statement:
        condition, first = self.pick(scope, BOOL), self.block(scope, depth)
        types = types_of(first.ends)
        blocks = (first, self.block(scope, depth, types))
        return Statement("if", self.results(types), (condition,), (), blocks)

    def switch(self, scope: list[Value], depth: int) -> Statement:
        selector, first = self.pick(scope, INDEX), self.block(scope, depth)
        types = types_of(first.ends)
        cases = range(self.choose.randint(1, 2))
        blocks = (first, *(self.block(scope, depth, types) for _ in cases))
        return Statement("switch", self.results(types), (selector,), (), blocks)

    def loop(self, scope: list[Value]) -> tuple[tuple[str, ...], tuple[Value, ...]]:
        """Types of carried values; initial values and perhaps an index that bounds the trips."""
        types = self.types()
        operands = tuple(self.pick(scope, t) for t in types)
        if self.choose.random() < 0.4:
            operands = (*operands, self.pick(scope, INDEX))
        return types, operands

    def policy(self, other: str) -> str:
        number = self.choose.randint(1, 3)
        return self.choose.choice(["?", "?store_all", f"?every = {number}", f"?{other} = {number}"])

    def counted(self, scope: list[Value], depth: int) -> Statement:
        types, operands = self.loop(scope)
        taken = (self.value(INDEX), *self.results(types))
        note = (self.choose.randint(0, 2), self.choose.randint(0, 4), self.choose.choice([0, 0, 1]),
                self.policy("binomial"))  # fmt: skip
        body = self.block(scope, depth, types, taken)
        return Statement("for", self.results(types), operands, note, (body,))

    def repeated(self, scope: list[Value], depth: int) -> Statement:
        types, operands = self.loop(scope)
        before = self.block(scope, 0, types, self.results(types))
        after = self.block(scope, depth, types, self.results(types))
        note = (self.choose.randint(0, 4), self.policy("online"))
        return Statement("while", self.results(types), operands, note, (before, after))

    def region(self, scope: list[Value], depth: int) -> Statement:
        body = self.block(scope, depth)
        return Statement("region", self.results(types_of(body.ends)), (), (), (body,))

    def stage(self, scope: list[Value], depth: int) -> Statement:
        """As a region, or by markers: then what it takes is said."""
        style = self.choose.random() < 0.5
        floats = [v for v in scope if v.type in (P, V, A)]
        taken = self.choose.sample(floats, min(len(floats), self.choose.randint(1, 3)))
        body = self.block([*scope, *taken] if style else scope, depth)
        if style:
            # there are no markers on scalars
            ends = tuple(e for e in body.ends if e.type != S) or (self.pick(scope, P),)
            body = replace(body, ends=ends)
        note = (style, self.choose.choice(POLICIES))
        operands = tuple(dict.fromkeys(taken)) if style else ()
        return Statement("stage", self.results(types_of(body.ends)), operands, note, (body,))

    def call(self, scope: list[Value], depth: int) -> Statement:
        if not self.callees:
            return self.region(scope, depth)
        name, types = self.choose.choice(self.callees)
        operands = tuple(self.pick(scope, t) for t in INPUTS)
        return Statement("call", self.results(types), operands, (name,))

    def function(self, name: str, depth: int, results: int) -> TextFunction:
        scope = list(self.results(INPUTS))
        taken = tuple(scope)
        statements: tuple[Statement, ...] = ()
        for _ in range(6):
            statements += self.statements(scope, depth)
        ends = self.unused(scope, results, results)
        flat = tuple(self.flat(e) for e in ends if self.choose.random() < 0.15)
        statements += flat
        ends = tuple({s.operands[0]: s.results[0] for s in flat}.get(e, e) for e in ends)
        function = TextFunction(name, Body(taken, statements, ends))
        self.callees.append((name, types_of(ends)))
        return function


def types_of(values: tuple[Value, ...]) -> tuple[str, ...]:
    """The types of values."""
    return tuple(v.type for v in values)


def random_text_program(choose: Random, free: bool, element: str) -> TextProgram:
    """A program with one or two callees, of 10 to 30 statements."""
    maker = Maker(choose, free, choose.choice([6, 12, 20, 30, 50]))
    depth = choose.choice([1, 2, 2, 3])
    functions = [maker.function(f"g{k}", max(depth - 2, 0), 2) for k in range(choose.randint(0, 2))]
    maker.budget = max(maker.budget, 6)
    functions.append(maker.function("f", depth, 5))
    return TextProgram(tuple(functions), choose.choice([1, 2, 3, 3, 3, 5]), element)


def smaller_program(program: TextProgram) -> Iterator[TextProgram]:
    """Programs with less in them."""
    for callee in program.functions[:-1]:
        others = [f for f in program.functions if f is not callee]
        rest = tuple(replace(f, body=_inlined(f.body, callee)) for f in others)
        yield replace(program, functions=rest)
    for k, function in reversed([*enumerate(program.functions)]):
        for body in smaller_body(function.body):
            yield _with(program, k, replace(function, body=body))
        for ends in _smaller_ends(function.body, is_last=k == len(program.functions) - 1):
            body = replace(function.body, ends=ends)
            yield _with(program, k, replace(function, body=body))
    yield from _without_arguments(program)
    for size in range(1, program.size):
        yield replace(program, size=size)


def _inlined(body: Body, callee: TextFunction) -> Body:
    """A block with the statements of a function in place of its calls."""
    found: list[Statement] = []
    for statement in body.statements:
        if statement.kind == "call" and statement.note == (callee.name,):
            found.append(Statement("same", callee.body.arguments, statement.operands))
            found += callee.body.statements
            found.append(Statement("same", statement.results, callee.body.ends))
        else:
            blocks = tuple(_inlined(b, callee) for b in statement.blocks)
            found.append(replace(statement, blocks=blocks))
    return replace(body, statements=tuple(found))


def _smaller_ends(body: Body, is_last: bool) -> Iterator[tuple[Value, ...]]:
    """Fewer results, if nothing calls the function, and arguments for them."""
    ends = body.ends
    for at in range(len(ends) if is_last and len(ends) > 1 else 0):
        yield ends[:at] + ends[at + 1 :]
    for at, end in enumerate(ends):
        for other in body.arguments:
            if other.type == end.type and other != end:
                yield (*ends[:at], other, *ends[at + 1 :])


def _without_arguments(program: TextProgram) -> Iterator[TextProgram]:
    last, function = len(program.functions) - 1, program.functions[-1]
    taken = function.body.arguments
    for at in range(len(taken)):
        body = replace(function.body, arguments=taken[:at] + taken[at + 1 :])
        yield _with(program, last, replace(function, body=body))


def _with(program: TextProgram, k: int, function: TextFunction) -> TextProgram:
    functions = (*program.functions[:k], function, *program.functions[k + 1 :])
    return replace(program, functions=functions)
