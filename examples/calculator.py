"""A frontend of 190 lines of code: a calculator language with functions, loops and branches.

    python examples/calculator.py                 # the program below
    python examples/calculator.py FILE f 2.0      # @f of a file at 2.0, with its first derivatives

The parser writes gradir's ops by `gradir.build` as it reads. The rest is gradir's: errors with
places in the program, native code, and derivatives of every order, through its loops too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import gradir
from gradir.build import FunctionBuilder, ModuleBuilder, Value, body, location

PROGRAM = """\
# Newton's method, for as many steps as it takes
fn root(a) {
  x = a
  while abs(x * x - a) > 1e-12 { x = (x + a / x) / 2 }
  return x
}

# what a loan costs: interest each year, and a bonus above a limit
fn cost(rate, loan) {
  rest = loan
  repeat 10 {
    rest = rest * (1 + rate)
    if rest > 2 * loan { rest = rest - root(rate) } else { rest = rest + 0 }
  }
  return rest
}
"""

TOKEN = re.compile(r"\s+|#.*|(\d+\.?\d*(?:[eE][-+]?\d+)?|\w+|[<>=!]=|[-+*/(){}=<>,])|(.)")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": body.absolute, "sin": body.sin, "cos": body.cos, "exp": body.exp,
    "log": body.log, "sqrt": body.sqrt, "tanh": body.tanh,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a.equal(b), "!=": lambda a, b: a.not_equal(b),
}  # fmt: skip


class Calculator:
    """Reads a program and writes its functions."""

    def __init__(self, text: str, file: str = "<calculator>"):
        self.file, self.builder = file, ModuleBuilder({file: text})
        self.tokens: list[tuple[str, int, int]] = []
        for number, line in enumerate(text.split("\n"), 1):
            for match in TOKEN.finditer(line):
                if match[1] or match[2]:
                    self.tokens.append((match[0], number, match.start() + 1))
        self.tokens.append(("", text.count("\n") + 1, 1))
        self.place = 0
        self.names: dict[str, Value] = {}

    def module(self) -> gradir.Module:
        """The functions of the program."""
        while self.next:
            self.take("fn")
            self.function()
        return self.builder.module()

    # Tokens.

    @property
    def next(self) -> str:
        return self.tokens[self.place][0]

    def take(self, wanted: str = "") -> str:
        if not self.next or (wanted and self.next != wanted):
            self.refuse(f"expected {wanted or 'more'}, got {self.next or 'the end'}")
        self.place += 1
        return self.tokens[self.place - 1][0]

    def refuse(self, message: str) -> NoReturn:
        _, line, column = self.tokens[self.place]
        raise SystemExit(f"{self.file}:{line}:{column}: error: {message}")

    # Statements.

    def function(self) -> None:
        _, line, column = self.tokens[self.place]
        name = self.take()
        self.take("(")
        parameters = [self.take()]
        while self.next == ",":
            self.take(",")
            parameters.append(self.take())
        self.take(")")
        place = location(self.file, line, column)
        with self.builder.function(name, dict.fromkeys(parameters, "f64"), place) as made:
            self.code: FunctionBuilder = made
            self.names = dict(made.arguments)
            self.take("{")
            self.statements("return")
            self.take("return")
            made.returns(self.expression())
            self.take("}")

    def statements(self, end: str = "}") -> None:
        while self.next != end:
            _, line, column = self.tokens[self.place]
            self.code.at(location(self.file, line, column))
            word = self.take()
            if word == "repeat":
                self.repeat(int(self.take()))
            elif word == "while":
                self.loop_while()
            elif word == "if":
                self.branch()
            else:
                self.take("=")
                self.names[word] = self.expression().named(word)

    def block(self, carried: list[str]) -> list[Value]:
        """A block of statements; the values of the carried names behind it."""
        outer = dict(self.names)
        self.take("{")
        self.statements()
        self.take("}")
        found, self.names = [self.names[name] for name in carried], outer
        return found

    def assigned(self, start: int) -> list[str]:
        """The names from around a block that it assigns to; its first brace follows `start`."""
        place, depth, found = start, 0, dict[str, None]()
        while self.tokens[place][0] != "{":
            place += 1
        while place < len(self.tokens) - 1:
            word = self.tokens[place][0]
            depth += {"{": 1, "}": -1}.get(word, 0)
            if self.tokens[place + 1][0] == "=" and word in self.names:
                found[word] = None
            if depth == 0 and self.tokens[place + 1][0] != "else":
                break
            place += 1
        return list(found)

    def inside(self, carried: list[str], values: tuple[Value, ...], start: int) -> None:
        """Read from a place again, with values of a region's own for the carried names."""
        self.names.update(zip(carried, values, strict=True))
        self.place = start

    def repeat(self, count: int) -> None:
        start, carried = self.place, self.assigned(self.place)

        def once(_: Value, *values: Value) -> list[Value]:
            self.inside(carried, values, start)
            return self.block(carried)

        found = self.code.repeat(count, [self.names[n] for n in carried], once)
        self.names.update(zip(carried, found, strict=True))

    def loop_while(self) -> None:
        start, carried, outer = self.place, self.assigned(self.place), dict(self.names)

        def goes_on(*values: Value) -> Value:
            self.inside(carried, values, start)
            return self.comparison()

        def once(*values: Value) -> list[Value]:
            self.names.update(zip(carried, values, strict=True))
            return self.block(carried)

        found = self.code.repeat_while([self.names[n] for n in carried], goes_on, once)
        self.names = outer | dict(zip(carried, found, strict=True))

    def branch(self) -> None:
        condition, carried = self.comparison(), self.assigned(self.place)

        def otherwise() -> list[Value]:
            self.take("else")
            return self.block(carried)

        found = self.code.choose(condition, lambda: self.block(carried), otherwise)
        self.names.update(zip(carried, found, strict=True))

    # Expressions.

    def comparison(self) -> Value:
        left = self.expression()
        if self.next not in COMPARISONS:
            self.refuse(f"expected a comparison, got {self.next}")
        return COMPARISONS[self.take()](self.code.here(left), self.expression())

    def expression(self) -> Value:
        value = self.term()
        while self.next in ("+", "-"):
            sign = self.take()
            other = self.term()
            value = value + other if sign == "+" else value - other
        return value

    def term(self) -> Value:
        value = self.factor()
        while self.next in ("*", "/"):
            sign = self.take()
            other = self.factor()
            value = value * other if sign == "*" else value / other
        return value

    def factor(self) -> Value:
        word = self.take()
        if word == "-":
            return -self.factor()
        if word == "(":
            value = self.expression()
            self.take(")")
            return value
        if word[0].isdigit():
            return self.code.number(float(word), next(iter(self.code.arguments.values())))
        if self.next == "(":
            return self.call(word)
        if word not in self.names:
            self.place -= 1
            self.refuse(f"no value {word}; values: {', '.join(self.names)}")
        return self.code.here(self.names[word])

    def call(self, name: str) -> Value:
        self.take("(")
        given = [self.expression()]
        while self.next == ",":
            self.take(",")
            given.append(self.expression())
        self.take(")")
        if name in FUNCTIONS:
            return self.code.here(FUNCTIONS[name](*given))
        return self.code.call(name, *given)[0]


def main() -> None:
    """Run a function of a program, with its derivatives by all arguments."""
    file, name, *numbers = sys.argv[1:] or ["", "cost", "0.05", "100"]
    text = Path(file).read_text() if file else PROGRAM
    module = Calculator(text, file or "<calculator>").module().gradient(name, mode="grad")
    value, *slopes = gradir.compile(module, f"{name}_grad")(*map(np.float64, numbers))
    print(f"{name}({', '.join(numbers)}) = {value:.10g}")
    print("slopes:", *(f"{slope:.10g}" for slope in slopes))


if __name__ == "__main__":
    main()
