"""Programs of level 1 as Python source."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.programs import Body, Scope, Statement, Value
from fuzz.traced_forms import BOOL, INTEGER, PLACES, A, P, V

HEADER = """\
import gradir
import gradir.nn as nn
import gradir.numpy as gnp
import gradir.scipy as scipy
from gradir import random

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


"""
CONSTANTS = {
    P: "gnp.asarray(0.5, dtype=gnp.$D)",
    V: "gnp.ones($N, dtype=gnp.$D)",
    A: "gnp.eye($N, dtype=gnp.$D)",
    INTEGER: "gnp.asarray(1)",
    PLACES: "gnp.arange($N)",
    BOOL: "gnp.asarray(True)",
}


class PythonWriter:
    """Writes one function; a statement is an assignment behind the functions that it needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0

    def program(self, body: Body) -> str:
        self.define("f", Scope(), body)
        return HEADER + "\n".join(self.lines) + "\n"

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def use(self, scope: Scope, value: Value) -> str:
        found = scope.find(value)
        if found is not None:
            return found
        name = self.name()
        self.put(f"{name} = {CONSTANTS[value.type]}")
        return scope.define(value, name)

    def uses(self, scope: Scope, values: Sequence[Value]) -> list[str]:
        return [self.use(scope, v) for v in values]

    def define(
        self, name: str, scope: Scope, body: Body, *, leading: str = "", packed: str = "",
        result: str = "{}", skip: int = 0,
    ) -> None:  # fmt: skip
        """A Python function for a block: `packed` is the name of a tuple with the arguments behind
        the first `skip`, `result` a form for what it returns."""
        inner = scope.inner()
        names = [inner.define(a, self.name()) for a in body.arguments]
        direct, rest = (names[:skip], names[skip:]) if packed else (names, [])
        taken = ", ".join([*([leading] if leading else []), *direct, *([packed] if packed else [])])
        self.put(f"def {name}({taken}):")
        self.depth += 1
        if rest:
            self.put(f"{', '.join(rest)}, = {packed}")
        for statement in body.statements:
            getattr(self, f"write_{statement.kind}")(inner, statement)
        ends = self.uses(inner, body.ends)
        self.put(f"return {result.format(*ends) if result != '{}' else _several(ends)}")
        self.depth -= 1

    def assign(self, scope: Scope, results: Sequence[Value], text: str, more: str = "") -> None:
        names = [scope.define(r, self.name()) for r in results]
        self.put(f"{', '.join(names)}{more} = {text}")

    # Statements.

    def write_same(self, scope: Scope, statement: Statement) -> None:
        names = self.uses(scope, statement.operands)
        for result, name in zip(statement.results, names, strict=True):
            scope.define(result, name)

    def write_op(self, scope: Scope, statement: Statement) -> None:
        names = self.uses(scope, statement.operands)
        self.assign(scope, statement.results, statement.note[0].format(*names))

    def write_stage(self, scope: Scope, statement: Statement) -> None:
        policy, as_tree = statement.note
        name, operands = self.name("stage"), self.uses(scope, statement.operands)
        word = f"stage({name}, {(policy[1:] or 'keep_none')!r})"
        self.define_and_call(scope, statement, name, word, operands, bool(as_tree))

    def define_and_call(
        self, scope: Scope, statement: Statement, name: str, word: str, operands: list[str],
        as_tree: bool = False,
    ) -> None:  # fmt: skip
        """A function for the block, and the results of a call."""
        body = statement.blocks[0]
        if as_tree and operands:
            self.define(name, scope, body, packed="tree")
            self.assign(scope, statement.results, f"{word}(({', '.join(operands)},))")
        else:
            self.define(name, scope, body)
            self.assign(scope, statement.results, f"{word}({', '.join(operands)})")

    def write_jit(self, scope: Scope, statement: Statement) -> None:
        name, operands = self.name("inner"), self.uses(scope, statement.operands)
        self.define(name, Scope(), statement.blocks[0])
        self.assign(scope, statement.results, f"gradir.jit({name})({', '.join(operands)})")

    def write_custom(self, scope: Scope, statement: Statement) -> None:
        """A derivative of its own that is the same one."""
        name, operands = self.name("custom"), self.uses(scope, statement.operands)
        self.define(f"{name}_plain", Scope(), statement.blocks[0])
        (mode,) = statement.note
        self.put(f"{name} = gradir.custom_{mode}({name}_plain)")
        if mode == "jvp":
            self.put(f"{name}.defjvp(lambda p, t: gradir.jvp({name}_plain, p, t))")
        else:
            self.put(f"{name}.defvjp(lambda *a: ({name}_plain(*a), a), "
                     f"lambda a, ct: gradir.vjp({name}_plain, *a)[1](ct))")  # fmt: skip
        self.assign(scope, statement.results, f"{name}({', '.join(operands)})")

    def write_if(self, scope: Scope, statement: Statement) -> None:
        condition = self.use(scope, statement.operands[0])
        names = [self.name("branch") for _ in statement.blocks]
        for name, body in zip(names, statement.blocks, strict=True):
            self.define(name, scope, body)
        self.assign(scope, statement.results, f"gradir.cond({condition}, {', '.join(names)})")

    def write_for(self, scope: Scope, statement: Statement) -> None:
        lower, trips, policy = statement.note
        count, name = len(statement.results), self.name("body")
        initial = self.uses(scope, statement.operands[:count])
        upper = str(lower + trips)
        if len(statement.operands) > count:
            upper = f"{self.use(scope, statement.operands[count])} % {trips + 1}"
        self.define(
            name, scope, statement.blocks[0], packed="carried", skip=1, result=_tuple(count)
        )
        text = f"gradir.fori_loop({lower}, {upper}, {name}, ({', '.join(initial)},)"
        self.assign(scope, statement.results, f"{text}, policy=loop({policy[1:]!r}))", ",")

    def write_while(self, scope: Scope, statement: Statement) -> None:
        trips, policy = statement.note
        count, name = len(statement.results), self.name("body")
        initial = self.uses(scope, statement.operands[:count])
        limit = str(trips)
        if len(statement.operands) > count:
            limit = f"({self.use(scope, statement.operands[count])} % {trips + 1})"
        (body,) = statement.blocks
        self.define(f"{name}_step", scope, body, packed="carried", result=_tuple(count))
        self.put(f"def {name}(state):")
        self.put(f"    return (*{name}_step(state[:-1]), state[-1] + 1)")
        text = f"gradir.while_loop(lambda s: s[-1] < {limit}, {name}, ({', '.join(initial)}, 0)"
        self.assign(scope, statement.results, f"{text}, policy=loop({policy[1:]!r}))", ", _")

    def write_scan(self, scope: Scope, statement: Statement) -> None:
        """Carried values, then the rows that it reads and those that it makes."""
        policy, backward = statement.note
        count, name = len(statement.results) - 1, self.name("body")
        *initial, rows = self.uses(scope, statement.operands)
        form = "((" + "".join(f"{{{k}}}, " for k in range(count)) + f"), {{{count}}})"
        (body,) = statement.blocks
        inner = Body((body.arguments[-1], *body.arguments[:-1]), body.statements, body.ends)
        self.define(f"{name}_step", scope, inner, packed="carried", skip=1, result=form)
        *carried, last = [scope.define(r, self.name()) for r in statement.results]
        left = f"({''.join(f'{c}, ' for c in carried)}), {last}"
        given = "".join(f"{i}, " for i in initial)
        self.put(f"{left} = gradir.scan(lambda c, x: {name}_step(x, c), ({given}), "
                 f"{rows}, reverse={bool(backward)}, policy=loop({policy[1:]!r}))")  # fmt: skip

    def write_grad(self, scope: Scope, statement: Statement) -> None:
        """The gradient of the sum of the first end, in some of the operands."""
        name, operands = self.name("inner"), self.uses(scope, statement.operands)
        self.define(name, Scope(), statement.blocks[0], result="gnp.sum({0})")
        wrt = tuple(range(len(statement.results)))
        text = f"gradir.grad({name}, argnums={wrt})({', '.join(operands)})"
        self.assign(scope, statement.results, text, ",")

    def write_vjp(self, scope: Scope, statement: Statement) -> None:
        """Cotangents of the operands but the last, which is the one of the end."""
        name, (*operands, ct) = self.name("inner"), self.uses(scope, statement.operands)
        self.define(name, Scope(), statement.blocks[0], result="{0}")
        text = f"gradir.vjp({name}, {', '.join(operands)})[1]({ct})"
        self.assign(scope, statement.results, text, ",")

    def write_jvp(self, scope: Scope, statement: Statement) -> None:
        """The results and the tangent of the end; the second half of the operands are tangents."""
        name, operands = self.name("inner"), self.uses(scope, statement.operands)
        half = len(operands) // 2
        self.define(name, Scope(), statement.blocks[0], result="{0}")
        primals, tangents = (f"({', '.join(part)},)" for part in (operands[:half], operands[half:]))
        self.assign(scope, statement.results, f"gradir.jvp({name}, {primals}, {tangents})")


def _several(names: Sequence[str]) -> str:
    return ", ".join(names)


def _tuple(count: int) -> str:
    return "(" + "".join(f"{{{k}}}, " for k in range(count)) + ")"
