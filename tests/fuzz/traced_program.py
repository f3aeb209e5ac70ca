"""Random programs of level 1: stages, control flow and derivatives in derivatives, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from fuzz.programs import Body, Statement, Value, kinds_in, smaller_body
from fuzz.traced_forms import (
    BOOL,
    FLOATS,
    FORMS,
    FREE,
    INTEGER,
    PLACES,
    A,
    Form,
    P,
    V,
    by_result,
)  # fmt: skip
from fuzz.traced_writer import PythonWriter

INPUTS = (P, V, A, INTEGER, PLACES, BOOL)
POLICIES = ("?", "?", "?keep_all", "?keep_none", "?keep_matmuls", "?auto")
MAKERS, FREE_MAKERS = by_result(FORMS), by_result(FREE)
DERIVATIVES = ("grad", "vjp", "jvp", "custom")


@dataclass(frozen=True)
class TracedProgram:
    """A function @f of arguments of INPUTS; the number N and the type of its floats."""

    body: Body
    size: int
    dtype: str

    def text(self) -> str:
        head, f, rest = PythonWriter().program(self.body).partition("def f(")
        names, end, rest = rest.partition("):\n")
        vector = names.split(", ")[INPUTS.index(V)]
        text = f"{head}{f}{names}{end}    SIZE = {vector}.shape[0]\n{rest}"
        return text.replace("$N", "SIZE").replace("$D", self.dtype)

    @property
    def has_derivatives(self) -> bool:
        """Whether there are derivatives in it, whose sums may come in another order."""
        return any(s.kind in DERIVATIVES for s in kinds_in(self.body))


class Maker:
    """Makes functions; `free`: with ops whose derivative is not the derivative of their values."""

    def __init__(self, choose: Random, free: bool, budget: int) -> None:
        self.choose = choose
        self.free = free
        self.budget = budget
        self.count = 0
        self.used: set[Value] = set()

    def value(self, type_: str) -> Value:
        self.count += 1
        return Value(self.count, type_)

    def values(self, types: tuple[str, ...]) -> tuple[Value, ...]:
        return tuple(self.value(t) for t in types)

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

    def picks(self, scope: list[Value], types: tuple[str, ...]) -> tuple[Value, ...]:
        return tuple(self.pick(scope, t) for t in types)

    def unused(self, scope: list[Value], least: int, most: int) -> tuple[Value, ...]:
        """So many floats that nothing has used yet; any, where there are none."""
        fresh = [v for v in scope if v.type in FLOATS and v not in self.used]
        if not fresh:
            return self.picks(scope, self.types(most))
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
            found.append(self.nested(scope, depth) if flow else self.op(scope))
        return tuple(found)

    def op(self, scope: list[Value]) -> Statement:
        type_ = self.choose.choice((*FLOATS, *FLOATS, *FLOATS, INTEGER, PLACES, BOOL))
        forms: tuple[Form, ...] = MAKERS[type_]
        if self.free and type_ in FREE_MAKERS and self.choose.random() < 0.1:
            forms = FREE_MAKERS[type_]
        form = self.choose.choice(forms)
        operands, result = self.picks(scope, form.operands), self.value(type_)
        scope.append(result)
        return Statement("op", (result,), operands, (form.text,))

    def nested(self, scope: list[Value], depth: int) -> Statement:
        kinds: list[Callable[[list[Value], int], Statement]] = [
            self.stage, self.stage, self.stage, self.branch, self.counted, self.repeated,
            self.scanned, self.jitted, self.custom, self.gradient, self.pulled, self.pushed,
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
        """A block that ends in values of the types, or in some that nothing has used yet.

        These are any that it sees, also from outside, perhaps several times.
        """
        inner = [*scope, *taken]
        statements = self.statements(inner, depth)
        ends = self.unused(inner, 1, 3) if types is None else self.picks(inner, types)
        return Body(taken, statements, ends)

    def stage(self, scope: list[Value], depth: int) -> Statement:
        given = self.types()
        body = self.block(scope, depth, None, self.values(given))
        note = (self.choose.choice(POLICIES), self.choose.randint(0, 1))
        types = types_of(body.ends)
        return Statement("stage", self.values(types), self.picks(scope, given), note, (body,))

    def jitted(self, scope: list[Value], depth: int) -> Statement:
        given = self.types()
        body = self.block([], depth, None, self.values(given))
        types = types_of(body.ends)
        return Statement("jit", self.values(types), self.picks(scope, given), (), (body,))

    def custom(self, scope: list[Value], depth: int) -> Statement:
        given = self.types(2)
        body = self.block([], min(depth, 1), None, self.values(given))
        types, note = types_of(body.ends), (self.choose.choice(("vjp", "jvp")),)
        return Statement("custom", self.values(types), self.picks(scope, given), note, (body,))

    def branch(self, scope: list[Value], depth: int) -> Statement:
        condition, first = self.pick(scope, BOOL), self.block(scope, depth)
        types = types_of(first.ends)
        blocks = (first, self.block(scope, depth, types))
        return Statement("if", self.values(types), (condition,), (), blocks)

    def policy(self, other: str) -> str:
        number = self.choose.randint(1, 3)
        return self.choose.choice(
            ["?store_all", "?store_all", f"?every={number}", f"?{other}={number}"]
        )

    def loop(self, scope: list[Value]) -> tuple[tuple[str, ...], tuple[Value, ...]]:
        """Types of carried values; initial values and perhaps an integer that bounds the trips."""
        types = self.types()
        bound = (INTEGER,) if self.choose.random() < 0.4 else ()
        return types, self.picks(scope, (*types, *bound))

    def counted(self, scope: list[Value], depth: int) -> Statement:
        types, operands = self.loop(scope)
        body = self.block(scope, depth, types, self.values((INTEGER, *types)))
        note = (self.choose.randint(0, 2), self.choose.randint(0, 4), self.policy("binomial"))
        return Statement("for", self.values(types), operands, note, (body,))

    def repeated(self, scope: list[Value], depth: int) -> Statement:
        types, operands = self.loop(scope)
        body = self.block(scope, depth, types, self.values(types))
        note = (self.choose.randint(0, 4), self.policy("online"))
        return Statement("while", self.values(types), operands, note, (body,))

    def scanned(self, scope: list[Value], depth: int) -> Statement:
        types, (rows, row) = self.types(2), self.choose.choice([(A, V), (V, P)])
        body = self.block(scope, depth, (*types, row), self.values((*types, row)))
        note = (self.policy("binomial"), self.choose.randint(0, 1))
        operands = self.picks(scope, (*types, rows))
        return Statement("scan", self.values((*types, rows)), operands, note, (body,))

    def gradient(self, scope: list[Value], depth: int) -> Statement:
        given = self.types(2)
        body = self.block([], depth, (self.choose.choice(FLOATS),), self.values(given))
        count = self.choose.randint(1, len(given))
        return Statement("grad", self.values(given[:count]), self.picks(scope, given), (), (body,))

    def pulled(self, scope: list[Value], depth: int) -> Statement:
        given, end = self.types(2), self.choose.choice(FLOATS)
        body = self.block([], depth, (end,), self.values(given))
        return Statement("vjp", self.values(given), self.picks(scope, (*given, end)), (), (body,))

    def pushed(self, scope: list[Value], depth: int) -> Statement:
        given, end = self.types(2), self.choose.choice(FLOATS)
        body = self.block([], depth, (end,), self.values(given))
        operands = self.picks(scope, (*given, *given))
        return Statement("jvp", self.values((end, end)), operands, (), (body,))


def types_of(values: tuple[Value, ...]) -> tuple[str, ...]:
    """The types of values."""
    return tuple(v.type for v in values)


def random_traced_program(choose: Random, free: bool, dtype: str) -> TracedProgram:
    """A program of 6 to 40 statements."""
    maker = Maker(choose, free, choose.choice([6, 10, 16, 25, 40]))
    depth = choose.choice([1, 2, 2, 3])
    taken = maker.values(INPUTS)
    scope, statements = list(taken), ()
    for _ in range(5):
        statements += maker.statements(scope, depth)
    ends = maker.unused(scope, 6, 6)
    return TracedProgram(Body(taken, statements, ends), choose.choice([1, 2, 3, 3, 4, 5]), dtype)


def smaller_program(program: TracedProgram) -> Iterator[TracedProgram]:
    """Programs with less in them."""
    for body in smaller_body(program.body):
        yield replace(program, body=body)
    ends = program.body.ends
    for at in range(len(ends) if len(ends) > 1 else 0):
        yield _ending(program, (*ends[:at], *ends[at + 1 :]))
    for at, end in enumerate(ends):
        for other in program.body.arguments:
            if other.type == end.type and other != end:
                yield _ending(program, (*ends[:at], other, *ends[at + 1 :]))
    for size in range(1, program.size):
        yield replace(program, size=size)


def _ending(program: TracedProgram, ends: tuple[Value, ...]) -> TracedProgram:
    return replace(program, body=replace(program.body, ends=ends))
