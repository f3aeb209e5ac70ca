"""Random loops in libraries: trips that data decides, tapes that grow, checkpoint stages, limits.

`python -m pytest tests/aot/test_random_loops.py` runs a few; `check(seed, folder)` any other.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from aot_harness import RUNNABLE, assert_same_bits, exported

import gradir

UNARY, BINARY = ("sin", "tanh", "cos", "square"), ("add", "multiply", "subtract")
POLICIES = ("", "every = 2", "online = 2")


class LoopWriter:
    """Writes `@f(x, w, n)`: a while loop of |limit w[0]| trips, with loops of n and branches in it,
    and stages before and after it."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.size = self.choose.choice([3, 16, 50])
        self.type = f"tensor<{self.size}xf64>"
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def block(self, value: str, other: str, depth: int) -> tuple[list[str], str]:
        """Statements that make a new value, and its name."""
        lines: list[str] = []
        for _ in range(self.choose.randint(1, 4)):
            made, kind = self.name(), self.choose.random()
            if kind < 0.45:
                lines.append(f"{made} = array.{self.choose.choice(UNARY)} {value} : {self.type}")
            elif kind < 0.75:
                op = self.choose.choice(BINARY)
                lines.append(f"{made} = array.{op} {value}, {other} : {self.type}")
            elif depth == 2:
                continue
            elif kind < 0.88:
                lines += self.loop(made, value, other, depth)
            else:
                lines += self.branch(made, value, other)
            value = made
        return lines, value

    def loop(self, made: str, value: str, other: str, depth: int) -> list[str]:
        carried, trips = self.name(), self.choose.choice(["%n", "%three"])
        lines, last = self.block(carried, other, depth + 1)
        return [
            f"{made} = scf.for {self.name()} = %zero to {trips} step %one "
            f"iter_args({carried} = {value}) -> ({self.type}) {{",
            *lines,
            f"scf.yield {last} : {self.type}",
            f"}} {self.policy()}",
        ]

    def policy(self, word: str = "") -> str:
        """What a loop keeps for its gradient, behind a word."""
        policy = self.choose.choice(POLICIES)
        return policy and f"{word}{{grad.loop = #grad.loop<{policy}>}}"

    def branch(self, made: str, value: str, other: str) -> list[str]:
        lines, last = self.block(value, other, 2)
        others, end = self.block(other, value, 2)
        return [
            f"{made}s = tensor.extract {value}[%zero] : {self.type}",
            f"{made}p = arith.cmpf ogt, {made}s, %quarter : f64",
            f"{made} = scf.if {made}p -> ({self.type}) {{",
            *(*lines, f"scf.yield {last} : {self.type}", "} else {"),
            *(*others, f"scf.yield {end} : {self.type}", "}"),
        ]

    def stage(self, value: str) -> tuple[list[str], str]:
        lines, last = self.block(value, "%w", 2)
        made = self.name()
        head = f"{made} = grad.checkpoint -> ({self.type}) {{"
        return [head, *lines, f"grad.yield {last} : {self.type}", "}"], made

    def text(self) -> str:
        before, start = self.stage("%x")
        body, last = self.block("%c", "%w", 0)
        after, end = self.stage("%y")
        limit, policy = self.choose.choice([2.0, 7.0, 33.0]), self.policy("attributes ")
        return "\n".join(
            [
                f"func.func @f(%x: {self.type}, %w: {self.type}, %n: index) -> tensor<f64> {{",
                *(f"%{n} = arith.constant {v} : index" for n, v in _INDICES.items()),
                *(f"%{n} = arith.constant {v} : f64" for n, v in _NUMBERS.items()),
                f"%limit = arith.constant {limit} : f64",
                *before,
                f"%first = tensor.extract %w[%zero] : {self.type}",
                "%size = math.absf %first : f64",
                "%most = arith.mulf %size, %limit : f64",
                f"%y, %t = scf.while (%a = {start}, %s = %none) "
                f": ({self.type}, f64) -> ({self.type}, f64) {{",
                "%go = arith.cmpf olt, %s, %most : f64",
                f"scf.condition(%go) %a, %s : {self.type}, f64",
                f"}} do {{\n^bb0(%c: {self.type}, %k: f64):",
                "%next = arith.addf %k, %unit : f64",
                *body,
                f"scf.yield {last}, %next : {self.type}, f64\n}} {policy}",
                *after,
                f"%z = array.sum {end} : {self.type} -> tensor<f64>",
                "func.return %z : tensor<f64>\n}",
            ]
        )


_INDICES = {"zero": 0, "one": 1, "three": 3}
_NUMBERS = {"quarter": 0.25, "none": 0.0, "unit": 1.0}


def check(seed: int, folder: Path) -> int:
    """Compare the gradient's calls at two levels with gradir.compile's; the number of calls."""
    writer = LoopWriter(seed)
    limit = 1 << 20 if seed % 4 == 3 else None
    module = gradir.parse(writer.text()).gradient("f", mode="grad", memory_limit=limit)
    levels, threads = [RUNNABLE[0], RUNNABLE[-1]], 1 + seed % 2
    f = exported(module, folder, functions="f_grad", targets=levels, threads=threads).f_grad
    random, calls = np.random.default_rng(seed), 0
    for number, level in enumerate(levels, 1):
        with patch.dict(os.environ, {"GRADIR_CPU": level}):
            compiled = gradir.compile(module, "f_grad", threads)
        for trips in (0, 1, 9):
            x, w = random.standard_normal((2, writer.size))
            assert_same_bits(f(x, w, trips, level=number, threads=threads), compiled(x, w, trips))
            calls += 1
    return calls


@pytest.mark.parametrize("seed", range(4))
def test_loops(seed: int, tmp_path: Path) -> None:
    assert check(seed, tmp_path) == 6
