"""Integer division of scalars in the interpreter: every rounding, signs, and divisors of 0."""

from __future__ import annotations

from itertools import product

import numpy as np

import gradir

OPS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi")


def expected(a: int, b: int) -> list[int]:
    """By Python's exact integers; what does not fit in 8 bits wraps."""
    if b == 0:
        return [0] * len(OPS)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    unsigned = a % 256, b % 256
    exact = [
        quotient,
        unsigned[0] // unsigned[1],
        a - quotient * b,
        unsigned[0] % unsigned[1],
        a // b,
        -(-a // b),
    ]
    return [(value + 128) % 256 - 128 for value in exact]


def test_integer_division() -> None:
    lines = [f"  %{op} = arith.{op} %a, %b : i8" for op in OPS]
    types, names = ", ".join(["i8"] * len(OPS)), ", ".join(f"%{op}" for op in OPS)
    body = "\n".join([*lines, f"  func.return {names} : {types}"])
    module = gradir.parse(f"func.func @f(%a: i8, %b: i8) -> ({types}) {{\n{body}\n}}")
    for a, b in product([-128, -127, -7, -1, 0, 1, 5, 7, 127], repeat=2):
        found = gradir.interpret(module, "f", np.int8(a), np.int8(b))
        assert [int(value) for value in found] == expected(a, b), (a, b)
