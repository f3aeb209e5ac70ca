"""Loop nests as text, and random ones: any accesses, pads, combiners, inits and bodies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from gradir.dialects.base.access import Access, Row
from gradir.dialects.loopnest.text import subscripts

UNARY = ("math.sin", "math.tanh", "math.cos", "arith.negf", "math.exp2", "math.atan")
BINARY = ("arith.addf", "arith.mulf", "arith.subf", "arith.maximumf", "arith.minimumf")


def tensor(shape: Sequence[int], element: str = "f64") -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def nest_text(types: Sequence[str], results: Sequence[str], nest: str) -> str:
    """@f of arguments %a0, %a1, ... that returns the results of one nest."""
    arguments = ", ".join(f"%a{k}: {t}" for k, t in enumerate(types))
    names = ", ".join(f"%z{k}" for k in range(len(results)))
    listed = ", ".join(results)
    return f"""
func.func @f({arguments}) -> ({listed}) {{
  {names} = loopnest.nest {nest}
  func.return {names} : {listed}
}}"""


@dataclass
class RandomNest:
    """A random nest of float64 tensors; without combiner each element is written once."""

    random: random.Random
    shapes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    lines: list[str] = field(default_factory=list[str])

    def text(self) -> str:
        pick = self.random
        rank = pick.choice([0, 1, 1, 2, 2, 2, 3])
        self.bounds = [pick.choice([0, 1, 2, 3, 3, 4, 4, 5]) for _ in range(rank)]
        if pick.random() < 0.8:
            self.bounds = [max(n, 1) for n in self.bounds]
        reads = [self._read(k) for k in range(pick.randint(1, 4))]
        values = [f"%x{k}" for k in range(len(reads))]
        for k in range(pick.randint(1, 6)):
            values.append(self._operation(f"%v{k}", values))
        outputs = [self._output() for _ in range(pick.choice([1, 1, 2]))]
        ends = [pick.choice(values[-3:]) for _ in outputs]
        types = [tensor(s) for s in self.shapes]
        body = "\n    ".join(self.lines)
        end = f"loopnest.yield {', '.join(ends)} : {', '.join('f64' for _ in ends)}"
        header = f"{self.bounds} ({', '.join(reads)}) -> ({', '.join(o for o, _ in outputs)})"
        return nest_text(
            types, [t for _, t in outputs], f"{header} {{\n    {body}\n    {end}\n  }}"
        )

    def arguments(self, seed: int) -> list[Any]:
        numbers = np.random.default_rng(seed)
        return [numbers.standard_normal(s) for s in self.shapes]

    # Accesses.

    def _row(self) -> Row:
        pick, rank = self.random, len(self.bounds)
        coefficients = [0] * rank
        for _ in range(pick.choice([0, 1, 1, 1, 1, 2])):
            if rank:
                coefficients[pick.randrange(rank)] = pick.choice([1, 1, 1, 1, 2, -1, 3])
        return Row(tuple(coefficients))

    def _placed(self, row: Row, shift: int) -> tuple[Row, int]:
        """The row from `shift` on, and the extent that it needs."""
        low, high = row.interval([max(n, 1) for n in self.bounds])
        return Row(row.coefficients, shift - low), high - low + 1 + shift

    def _read(self, k: int) -> str:
        pick, rank = self.random, len(self.bounds)
        padded = pick.random() < 0.4
        known = [n for n, s in enumerate(self.shapes) if s and padded]
        if known and pick.random() < 0.5:  # the same tensor elsewhere
            place = pick.choice(known)
            rows = [Row(self._row().coefficients, pick.randint(-2, 2)) for _ in self.shapes[place]]
        else:
            place = len(self.shapes)
            rows: list[Row] = []
            shape: list[int] = []
            for _ in range(pick.choice([rank, rank, 1, 0, 2])):
                row, extent = self._placed(self._row(), pick.choice([0, 0, 1]))
                if padded:
                    row = Row(row.coefficients, row.constant + pick.randint(-2, 2))
                    extent = max(extent + pick.randint(-2, 1), 1)
                rows.append(row)
                shape.append(extent)
            self.shapes.append(tuple(shape))
        access = subscripts(Access(rank, tuple(rows)))
        pad = f" pad 0.{pick.randint(1, 9)} : f64" if padded else ""
        return f"%x{k} = %a{place}{access}{pad} : {tensor(self.shapes[place])}"

    def _output(self) -> tuple[str, str]:
        pick, rank = self.random, len(self.bounds)
        bounds = [max(n, 1) for n in self.bounds]
        placed = [self._placed(self._row(), 0) for _ in range(pick.choice([rank, 1, 2]))]
        access = Access(rank, tuple(row for row, _ in placed))
        shape = tuple(n for _, n in placed)
        if pick.random() < 0.4:  # each element once
            order = pick.sample(range(rank), rank)
            access, shape = Access.of_dims(rank, order), tuple(self.bounds[d] for d in order)
        is_plain = access.is_injective(bounds) and pick.random() < 0.7
        starts = pick.random() < 0.3 or (is_plain and prod(shape) != prod(self.bounds))
        start = f" init %a{len(self.shapes)}" if starts else ""
        if starts:
            self.shapes.append(shape)
        combiner = "" if is_plain else "add "
        return f"{combiner}{subscripts(access)}{start} : {tensor(shape)}", tensor(shape)

    # Bodies.

    def _operation(self, name: str, values: Sequence[str]) -> str:
        pick = self.random
        x, y = pick.choice(values), pick.choice(values)
        kind = pick.randrange(6)
        if kind < 2:
            self.lines.append(f"{name} = {pick.choice(UNARY)} {x} : f64")
        elif kind < 4:
            self.lines.append(f"{name} = {pick.choice(BINARY)} {x}, {y} : f64")
        elif kind == 4:
            self.lines.append(f"{name}c = arith.cmpf olt, {x}, {y} : f64")
            self.lines.append(f"{name}s = math.sin {y} : f64")
            self.lines.append(f"{name} = arith.select {name}c, {x}, {name}s : f64")
        elif self.bounds:
            self.lines.append(f"{name}i = loopnest.index {pick.randrange(len(self.bounds))}")
            self.lines.append(f"{name}f = arith.sitofp {name}i : i64 to f64")
            self.lines.append(f"{name} = arith.mulf {name}f, {x} : f64")
        else:
            self.lines.append(f"{name}f = arith.constant 0.7 : f64")
            self.lines.append(f"{name} = arith.mulf {name}f, {x} : f64")
        return name
