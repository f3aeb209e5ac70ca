"""What array's elementary functions and reductions give where a convention decides.

At kinks, of zeros, of infinities, of nan; by the interpreter and natively.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, nan
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import PassError

Row = tuple[str, str, Sequence[Any], Any, Sequence[Any]]

SMALLEST = 5e-324

# Op, attributes, operands, value, gradients for cotangents of ones (None: not looked at).
ROWS: tuple[Row, ...] = (
    ("pow", "", [[0.0, 0, 0], [0.0, 1, 2]], [1, 0, 0], [[0, 1, 0], [0, 0, 0]]),
    ("pow", "", [[0.0, 0], [0.5, -1]], [0, inf], [[inf, -inf], [0, -inf]]),
    ("pow", "", [[-2.0, -2, SMALLEST], [3.0, 0, 0]], [-8, 1, 1], [[12, 0, 0], None]),
    ("hypot", "", [[0.0, 3e300, inf], [0.0, 4e300, nan]], [0, 5e300, inf], [[0, 0.6, nan], None]),
    ("atan2", "", [[0.0, 0, -0.0], [-1.0, 1, -1]], [np.pi, 0, -np.pi], [[-1, 1, -1], None]),
    ("logaddexp", "", [[1e4, -inf, -inf, 800], [1e4, -inf, 3, 0]], [1e4 + log(2), -inf, 3, 800],
     [[0.5, 0, 0, 1], [0.5, 0, 1, 0]]),
    ("remainder", "", [[5.0, -5, 5, -5], [3.0, 3, -3, -3]], [2, 1, -1, -2],
     [[1] * 4, [-1, 2, 2, -1]]),
    ("remainder", "", [[-1.0, 5], [inf, 0]], [inf, nan], [None, None]),
    ("floor_divide", "", [[-1.0, 5, 1], [inf, 0, 0.1]], [-1, inf, 9], [[0] * 3, [0] * 3]),
    ("copysign", "", [[2.0, -2, 0], [-0.0, 1, -1]], [-2, 2, -0.0], [[-1, -1, 0], [0, 0, 0]]),
    ("clip", "{min = 0, max = 1}", [[-1, 0, 0.5, 1, 2, nan]], [0, 0, 0.5, 1, 1, nan],
     [[0, 0.5, 1, 0.5, 0, nan]]),
    ("round", "", [[0.5, 1.5, 2.5, -0.5]], [0, 2, 2, -0.0], [[0] * 4]),
    ("asin", "", [[1.0, 2]], [np.pi / 2, nan], [[inf, nan]]),
    ("asinh", "", [[1e200]], [log(2e200)], [[1e-200]]),
    ("acosh", "", [[1.0, 1e200]], [0, log(2e200)], [[inf, 1e-200]]),
    ("atanh", "", [[1.0, 0]], [inf, 0], [[inf, 1]]),
    ("lgamma", "", [[1.0, 2, 0, -2, inf, SMALLEST]], [0, 0, inf, inf, inf, -log(SMALLEST)],
     [[-0.5772156649015329, 0.42278433509846714, -inf, -inf, inf, -inf]]),
    ("prod", "", [[2.0, 0, 3]], 0, [[0, 6, 0]]),
    ("prod", "", [[0.0, 0, 3]], 0, [[0, 0, 0]]),
    ("prod", "", [[1e-200, 1e-200]], 0, [[1e-200, 1e-200]]),
    ("var", "{correction = 1}", [[3.0]], nan, [[nan]]),
    ("var", "", [[3.0]], 0, [[0]]),
    ("var", "", [[1e8 + 1, 1e8 + 3]], 1, [[-1, 1]]),
    ("std", "", [[2.0, 2, 2]], 0, [[0, 0, 0]]),
    ("norm", "", [[0.0, 0]], 0, [[0, 0]]),
    ("norm", "", [[3e300, -4e300]], 5e300, [[0.6, -0.8]]),
    ("norm", "{ord = 1}", [[0.0, -2, 3]], 5, [[0, -1, 1]]),
    ("norm", '{ord = "inf"}', [[2.0, -2, 1, 0]], 2, [[0.5, -0.5, 0, 0]]),
    ("norm", '{ord = "inf"}', [[0.0, 0]], 0, [[0, 0]]),
)  # fmt: skip


def run(module: gradir.Module, name: str, *arrays: Any) -> Any:
    return gradir.compile(module, name)(*arrays)


def module_of(op: str, attributes: str, arrays: Sequence[Any], result: str) -> gradir.Module:
    types = [f"tensor<{a.size}xf64>" for a in arrays]
    names = [f"%x{k}" for k in range(len(arrays))]
    parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    call = f'"array.{op}"({", ".join(names)}) {attributes} : ({", ".join(types)}) -> {result}'
    body = f"  %y = {call}\n  func.return %y : {result}\n"
    return gradir.parse(f"func.func @f({parameters}) -> {result} {{\n{body}}}\n")


@pytest.mark.parametrize(("op", "attributes", "operands", "value", "grads"), ROWS)
def test_convention(
    op: str, attributes: str, operands: Sequence[Any], value: Any, grads: Sequence[Any]
) -> None:
    arrays = [np.array(o, np.float64) for o in operands]
    wanted = np.array(value, np.float64)
    result = f"tensor<{wanted.size}xf64>" if wanted.ndim else "tensor<f64>"
    module = module_of(op, attributes, arrays, result).gradient("f", mode="vjp")
    for call in (gradir.interpret, run):
        found, *cotangents = call(module, "f_vjp", *arrays, np.ones_like(wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        np.testing.assert_array_equal(
            np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0])
        )
        for cotangent, expected in zip(cotangents, grads, strict=True):
            if expected is not None:
                np.testing.assert_allclose(cotangent, expected, rtol=1e-12)


def test_mixed_second_derivative_of_a_product_with_two_zeros() -> None:
    """d2 (x y z) / dx dy is z, also where x and y are 0."""
    module = module_of("prod", "", [np.zeros(3)], "tensor<f64>").gradient("f", mode="grad")
    second = module.gradient("f_grad", of=[1], mode="vjp")
    x, ct = np.array([0.0, 0, 3]), np.array([1.0, 0, 0])
    for call in (gradir.interpret, run):
        *_, found = call(second, "f_grad_vjp", x, ct)
        np.testing.assert_array_equal(found, [0, 3, 0])


def test_derivatives_of_lgamma_end() -> None:
    call = "  %y = grad.polygamma %x {order = 20} : tensor<f64>\n  func.return %y : tensor<f64>\n"
    module = gradir.parse(f"func.func @f(%x: tensor<f64>) -> tensor<f64> {{\n{call}}}\n")
    with pytest.raises(PassError, match=r"grad\.polygamma: no derivative beyond order 20"):
        module.gradient("f")
