"""How the programs with branches and loops are written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
"""


@dataclass(frozen=True)
class Program:
    """A function @f in text; shapes of its float tensor arguments, in front of other arguments."""

    text: str
    shapes: Sequence[tuple[int, ...]]
    others: Sequence[Any] = ()

    def arguments(self, seed: int = 0) -> list[Any]:
        generator = np.random.default_rng(seed)
        return [*(generator.uniform(0.4, 1.1, s) for s in self.shapes), *self.others]


def program(
    arguments: str, result: str, body: str, shapes: Sequence[tuple[int, ...]], *others: Any,
    before: str = "",
) -> Program:  # fmt: skip
    """A function of one result %y; lower-case letters of types stand for vectors and scalars."""
    text = f"{before}\nfunc.func @f({arguments}) -> {result} {{{CONSTANTS}{body}\n"
    text += f"  func.return %y : {result}\n}}\n"
    for short, type_ in (("!s", "tensor<f64>"), ("!v", "tensor<4xf64>"), ("!m", "tensor<4x4xf64>")):
        text = text.replace(short, type_)
    return Program(text, shapes, others)
