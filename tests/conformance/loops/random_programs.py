"""Random programs in the suite's form, which mix what its groups have.

A program is a list of statements, made from a seed before it runs. Each adds a value to an
environment of numbers, of rows of three and of integers below three; blocks of loops and branches
see those around them. Numbers stay small, so that no choice is near its edge by growth.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from conformance.loops.program import Program, spread

Function = Callable[..., Any]
ROWS = 3


@dataclass(frozen=True)
class Scope:
    """The values that a statement may read, also from captured loops."""

    xp: Any
    flow: Any
    numbers: tuple[Any, ...]
    rows: tuple[Any, ...]
    integers: tuple[Any, ...]

    def number(self, k: int) -> Any:
        return self.numbers[-1 - k % len(self.numbers)]

    def row(self, k: int) -> Any:
        return self.rows[-1 - k % len(self.rows)]

    def integer(self, k: int) -> Any:
        return self.integers[-1 - k % len(self.integers)]

    def adding(self, number: Any = None, row: Any = None, integer: Any = None) -> Scope:
        """With further values, that are read rather than others."""
        return replace(
            self,
            numbers=self.numbers + (() if number is None else (number,)),
            rows=self.rows + (() if row is None else (row,)),
            integers=self.integers + (() if integer is None else (integer,)),
        )

    def carried(self, carry: Any) -> Scope:
        return self.adding(*carry)

    def end(self, k: int) -> tuple[Any, Any, Any]:
        """What a block hands back."""
        return self.number(k), self.row(k // 3), self.integer(k // 9)


Statement = Callable[[Scope], Scope]


class Writer:
    """Makes statements; every choice is `random`'s."""

    def __init__(self, seed: int, has_inner: bool = True):
        self.random = random.Random(seed)
        self.has_inner = has_inner

    def pick(self) -> int:
        """The number of a value: most often a late one."""
        return self.random.choice([0, 0, 0, 1, 1, 2, 3, 5, 8])

    def block(self, depth: int, count: int = 3) -> Statement:
        made = [self.statement(depth) for _ in range(self.random.randint(1, count))]

        def run(scope: Scope) -> Scope:
            for statement in made:
                scope = statement(scope)
            return scope

        return run

    def region(self, depth: int) -> Function:
        """A block as a function of a scope and of what it carries: it hands the same back."""
        block, k = self.block(depth), self.random.randint(0, 26)
        swaps = self.random.random() < 0.2

        def run(scope: Scope, carry: Any) -> Any:
            inner = block(scope.carried(carry))
            number, row, integer = inner.end(k)
            if swaps:
                number, row = scope.xp.sum(row) * 0.3, carry[1] * 0.9
            return number, row, integer

        return run

    def statement(self, depth: int) -> Statement:
        plain = [self.unary, self.binary, self.reads, self.writes, self.counts]
        deep = [self.fori, self.while_, self.scan, self.cond, self.stage, self.call, self.vmap]
        if self.has_inner:
            deep.append(self.slope)
        if depth > 0 and self.random.random() < 0.6:
            return self.random.choice(deep)(depth - 1)
        return self.random.choice(plain)()

    # Without blocks.

    def unary(self) -> Statement:
        name, k, is_row = self.random.choice(["sin", "tanh", "cos"]), self.pick(), self.coin()
        if is_row:
            return lambda s: s.adding(row=getattr(s.xp, name)(s.row(k)))
        return lambda s: s.adding(number=getattr(s.xp, name)(s.number(k)))

    def binary(self) -> Statement:
        k, m = self.pick(), self.pick()
        match self.random.randint(0, 4):
            case 0:
                return lambda s: s.adding(number=s.number(k) * s.number(m) * 0.7)
            case 1:
                return lambda s: s.adding(row=0.6 * s.row(k) - 0.5 * s.row(m))
            case 2:
                return lambda s: s.adding(row=s.row(k) * s.number(m) * 0.8)
            case 3:
                return lambda s: s.adding(number=s.xp.sum(s.row(k) * s.row(m)) * 0.4)
            case _:
                return lambda s: s.adding(number=s.xp.exp(-s.number(k) * s.number(k)))

    def reads(self) -> Statement:
        k, m = self.pick(), self.pick()
        return lambda s: s.adding(number=s.row(k)[s.integer(m)])

    def writes(self) -> Statement:
        k, m, n, adds = self.pick(), self.pick(), self.pick(), self.coin()

        def run(s: Scope) -> Scope:
            write = s.flow.add if adds else s.flow.set
            return s.adding(row=write(s.row(k), s.integer(m), s.number(n) * 0.5))

        return run

    def counts(self) -> Statement:
        k, m = self.pick(), self.random.randint(1, 2)
        return lambda s: s.adding(integer=(s.integer(k) * 2 + m) % ROWS)

    def coin(self) -> bool:
        return self.random.random() < 0.5

    # With blocks.

    def init(self) -> Function:
        k = self.random.randint(0, 26)
        return lambda s: s.end(k)

    def fori(self, depth: int) -> Statement:
        init, region, low = self.init(), self.region(depth), self.random.randint(0, 1)
        trips, k, is_traced = self.random.randint(0, 3), self.pick(), self.coin()

        def run(s: Scope) -> Scope:
            high = s.integer(k) + low if is_traced else trips
            body: Any = lambda i, c: region(s.adding(integer=i % ROWS), c)  # noqa: E731
            return s.carried(s.flow.fori_loop(low, high, body, init(s)))

        return run

    def while_(self, depth: int) -> Statement:
        init, region, limit = self.init(), self.region(depth), self.random.uniform(0.2, 0.9)
        most = self.random.randint(0, 4)

        def run(s: Scope) -> Scope:
            def goes_on(c: Any) -> Any:
                return s.xp.logical_and(c[1] < most, c[0][0] < limit)

            def body(c: Any) -> Any:
                return region(s, c[0]), c[1] + 1

            return s.carried(s.flow.while_loop(goes_on, body, (init(s), 0))[0])

        return run

    def scan(self, depth: int) -> Statement:
        init, region, reverse = self.init(), self.region(depth), self.coin()
        k, m = self.pick(), self.pick()

        def run(s: Scope) -> Scope:
            def body(c: Any, x: Any) -> Any:
                after = region(s.adding(number=x), c)
                return after, after[0] * x

            c, ys = s.flow.scan(body, init(s), s.row(k), reverse=reverse)
            return s.carried(c).adding(row=ys, number=ys[m % ROWS])

        return run

    def cond(self, depth: int) -> Statement:
        init, one, other = self.init(), self.region(depth), self.region(depth)
        k, on_number = self.pick(), self.coin()

        def run(s: Scope) -> Scope:
            chosen = s.number(k) < 0.31 if on_number else s.integer(k) == 1
            branches = [lambda c, r=r: r(s, c) for r in (one, other)]
            return s.carried(s.flow.cond(chosen, *branches, init(s)))

        return run

    def stage(self, depth: int) -> Statement:
        init, region = self.init(), self.region(depth)

        def run(s: Scope) -> Scope:
            staged = s.flow.checkpoint(lambda n, r, i: region(s, (n, r, i)))
            return s.carried(staged(*init(s)))

        return run

    def call(self, depth: int) -> Statement:
        """A compiled function, called twice."""
        init, region = self.init(), self.region(depth)

        def run(s: Scope) -> Scope:
            called = s.flow.jit(lambda n, r, i: region(s, (n, r, i)))
            return s.carried(called(*called(*init(s))))

        return run

    def vmap(self, depth: int) -> Statement:
        init, region, k = self.init(), self.region(depth), self.pick()

        def run(s: Scope) -> Scope:
            number, row, integer = init(s)

            def one(x: Any) -> Any:
                after = region(s, (x, row * x, integer))
                return after[0] + s.xp.sum(after[1]) * 0.2

            ys = s.flow.vmap(one)(s.row(k))
            return s.adding(row=0.5 * ys, number=number * 0.9)

        return run

    def slope(self, depth: int) -> Statement:
        init, region, k = self.init(), self.region(depth), self.pick()

        def run(s: Scope) -> Scope:
            _, row, integer = init(s)
            of: Any = lambda x: s.xp.sin(region(s, (x, row * x, integer))[0])  # noqa: E731
            return s.adding(number=s.xp.tanh(s.flow.grad(of)(s.number(k))))

        return run


def random_program(seed: int, depth: int = 2, has_inner: bool = True) -> Program:
    """A program of a number, two rows and an integer, by its seed."""
    block = Writer(seed, has_inner).block(depth, 4)

    def function(xp: Any, flow: Any, x: Any, v: Any, w: Any, n: Any) -> Any:
        scope = block(Scope(xp, flow, (x,), (w, v), (n * 0, n)))
        total = sum(scope.numbers[1:], scope.numbers[0])
        for row in scope.rows:
            total = total + xp.sum(row * w)
        return total

    at = float(seed % 97)
    given = (spread(1, seed=at)[0], spread(ROWS, seed=at + 0.3), spread(ROWS, seed=at + 0.6))
    arguments = (*map(np.asarray, given), np.array(seed % ROWS))
    return Program(f"random{seed}", "random", function, arguments, has_inner=has_inner)
