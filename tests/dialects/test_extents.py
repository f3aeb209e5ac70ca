"""Extents with names: arithmetic, comparisons, text, and values from shapes."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from op_cases import CASES, ELEMENTS, OP_CLASSES, Case
from xdsl.dialects.builtin import f64
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import attribute
from gradir.dialects.base.extent_values import (
    holds,
    read_condition,
    read_extent,
    value_of,
    values_of_shapes,
)
from gradir.dialects.base.extents import (
    Condition,
    Extent,
    ExtentError,
    assuming,
    is_same,
    symbol,
)
from gradir.dialects.base.shapes import AnyTensor, element_of, shape_of, tensor
from gradir.errors import TraceError

VALUES = [{"n": n, "m": m} for n, m in product(range(5), repeat=2)]


def random_extent(choose: Random, depth: int) -> tuple[Any, str]:
    """An extent, and Python's text of the same numbers."""
    if depth == 0 or choose.random() < 0.2:
        name = choose.choice(("n", "m"))
        number = choose.randint(-3, 4)
        return choose.choice(((symbol(name), name), (number, str(number))))
    (one, left), (other, right) = (random_extent(choose, depth - 1) for _ in range(2))
    kind = choose.randrange(5)
    if kind == 0:
        return one + other, f"({left} + {right})"
    if kind == 1:
        return one - other, f"({left} - {right})"
    if kind == 2:
        return one * other, f"({left} * {right})"
    divisor = choose.choice((1, 2, 3, -2))
    if kind == 3:
        return one // divisor, f"({left} // {divisor})"
    return one % divisor, f"({left} % {divisor})"


def test_arithmetic_and_text():
    choose = Random(0)
    for _ in range(150):
        extent, text = random_extent(choose, 4)
        assert is_same(read_extent(str(extent)), extent)
        for values in VALUES:
            assert value_of(extent, values) == eval(text, {}, values), (text, values)


def test_comparisons_hold_where_their_conditions_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gradir.dialects.base.extents._is_asked_by_user", lambda: False)
    choose = Random(1)
    decided = 0
    for _ in range(150):
        (one, left), (other, right) = (random_extent(choose, 3) for _ in range(2))
        for relation in ("<", "<=", ">", ">=", "=="):
            conditions: list[Condition] = []
            if relation == "==" and (is_same(one, -1) or is_same(other, -1)):
                continue  # a dynamic extent
            with assuming(conditions):
                try:
                    found = eval(f"one {relation} other", {}, {"one": one, "other": other})
                except (ExtentError, TraceError):
                    continue
            decided += not conditions
            for values in VALUES:
                if all(holds(c, values) for c in map(read_condition, map(str, conditions))):
                    assert found == eval(f"{left} {relation} {right}", {}, values)
    assert decided > 50


def named(type_: AnyTensor, extent: int, name: Any) -> AnyTensor:
    """A type with a name for all axes of an extent."""
    return tensor([name if n == extent else n for n in shape_of(type_)], element_of(type_))


def test_types_with_names_are_those_of_each_size():
    for case in CASES[::4]:
        check_types(case)


def check_types(case: Case) -> None:
    op = OP_CLASSES[case.op]
    shapes = [o if isinstance(o, tuple) else o.shape for o in case.operands]
    kinds = [f64 if isinstance(o, tuple) else ELEMENTS[o.dtype.name] for o in case.operands]
    types = [tensor(s, k) for s, k in zip(shapes, kinds, strict=True)]
    attributes = {name: attribute(value) for name, value in case.attributes.items()}
    for extent in {n for shape in shapes for n in shape if n > 1}:
        conditions: list[Condition] = []
        try:
            with assuming(conditions):
                found = op.infer_types([named(t, extent, symbol("n")) for t in types], attributes)
        except (VerifyException, TraceError):
            continue  # other extents must be equal to it, or it cannot be told
        for size in (0, 1, 2, extent, extent + 3):
            values = {"n": size}
            if found is None or not all(holds(c, values) for c in conditions):
                continue
            try:
                wanted = op.infer_types([named(t, extent, size) for t in types], attributes)
            except VerifyException:
                continue  # and so when the symbols have their values
            assert wanted is not None
            sizes = [[value_of(n, values) for n in shape_of(t)] for t in found]
            assert sizes == [[*shape_of(t)] for t in wanted], (case, extent, size)


def test_products_divide():
    n, m = symbol("n"), symbol("m")
    assert is_same((6 * n * m) // (2 * m), 3 * n) and (6 * n * m) % (2 * m) == 0
    assert n - n // 2 >= 0 and (n // 2) * 2 <= n and not n + 1 <= 0


@pytest.mark.parametrize(
    "text", ["", "n m", "n**2", "n / 2", "n // m", "n // 0", "f(n)", "1.5", "True", "_", "n +", "é"]
)
def test_other_text_is_refused(text: str):
    with pytest.raises(VerifyException, match="an extent must be names and integers with"):
        read_extent(text)


def test_no_expression_is_too_large():
    with pytest.raises(VerifyException, match="at most 256 terms"):
        read_extent("*".join(["(a + b + c + d)"] * 20))
    with pytest.raises(VerifyException):
        read_extent("(" * 5000 + "n" + ")" * 5000)


def test_values_from_shapes():
    n, m = symbol("n"), symbol("m")
    found = values_of_shapes([("a", (2 * n + 1, n * m), (7, 12)), ("b", (m,), (4,))])
    assert found == {"n": 3, "m": 4}
    with pytest.raises(
        ExtentError, match=r"a has shape \(6,\), expected \(2\*n \+ 1,\) with n = 3"
    ):
        values_of_shapes([("a", (2 * n + 1,), (6,)), ("b", (n,), (3,))])
    with pytest.raises(ExtentError, match="no argument says what m is"):
        values_of_shapes([("a", (n * m,), (6,)), ("b", (n,), (3,))])


def test_what_needs_a_number():
    n: Any = symbol("n")
    for use in ("int(n)", "float(n)", "range(n)", "[0][n]", "10 // n", "n // (n * n)"):
        with pytest.raises((ExtentError, TypeError)):
            eval(use, {"n": n})
    assert isinstance(n, Extent) and repr(2 * n - 1) == "2*n - 1"
