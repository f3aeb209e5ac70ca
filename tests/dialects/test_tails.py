"""First and second derivatives where a function is nearly constant: all digits, not a difference.

The formulas here are those that do not cancel, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.scipy import special

Array = np.ndarray[Any, Any]
Function = Callable[[Any], Any]
Table = dict[str, tuple[Function, Function, Function]]


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def bump(x: Array) -> Array:
    """The derivative of the logistic function."""
    return np.exp(-abs(x)) / (1 + np.exp(-abs(x))) ** 2


def bump_slope(x: Array) -> Array:
    return -np.tanh(x / 2) * bump(x)


def density(x: Array) -> Array:
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def lines_of(x: Any) -> Any:
    """x beside 0, in lines of two."""
    return gnp.stack([x, gnp.zeros_like(x)], axis=-1)


def first(name: str) -> Function:
    return lambda x: getattr(nn, name)(lines_of(x))[:, 0]


def entropy(x: Any) -> Any:
    return nn.cross_entropy(lines_of(x), np.zeros(x.shape, np.int64), reduction="none")


def bce(x: Any) -> Any:
    return nn.bce_with_logits(x, gnp.ones_like(x), reduction="none")


def gate(x: Any) -> Any:
    return nn.glu(gnp.stack([gnp.ones_like(x), x], axis=-1))[:, 0]


# The function, its first and second derivative; tails of erf and its like are shorter.
LONG: Table = {
    "expm1": (lambda x: gnp.expm1(-abs(x)), lambda x: -np.sign(x) * np.exp(-abs(x)),
              lambda x: np.exp(-abs(x))),
    "softplus": (nn.softplus, logistic, bump),
    "logsigmoid": (nn.logsigmoid, lambda x: logistic(-x), lambda x: -bump(x)),
    "glu": (gate, bump, bump_slope),
    "silu": (nn.silu, lambda x: logistic(x) + x * bump(x),
             lambda x: 2 * bump(x) + x * bump_slope(x)),
    "softmax": (first("softmax"), bump, bump_slope),
    "cross_entropy": (entropy, lambda x: -logistic(-x), bump),
    "bce_with_logits": (bce, lambda x: -logistic(-x), bump),
    "logaddexp": (lambda x: gnp.logaddexp(x, gnp.zeros_like(x)), logistic, bump),
}  # fmt: skip
SHORT: Table = {
    "gelu": (nn.gelu, lambda x: np.where(x < 0, 0, 1) + np.where(x < 0, mills(x), -mills(-x))
             + x * density(x), lambda x: (2 - x * x) * density(x)),
    "erf": (lambda x: special.erf(x / 2), lambda x: np.exp(-x * x / 4) / np.sqrt(np.pi),
            lambda x: -x / 2 * np.exp(-x * x / 4) / np.sqrt(np.pi)),
    "ends": (lambda x: gnp.asin(x / 64), lambda x: (64**2 - x * x) ** -0.5,
             lambda x: x * (64**2 - x * x) ** -1.5),
}  # fmt: skip


def mills(x: Array) -> Array:
    """The normal distribution function of x <= -5, by its continued fraction."""
    rest = -x
    for k in range(60, 0, -1):
        rest = -x + k / rest
    return density(x) / rest


def _derivatives(functions: list[Function]) -> Function:
    def run(x: Any) -> list[Any]:
        made: list[Any] = []
        for function in functions:
            once = gradir.grad(lambda x, f=function: gnp.sum(f(x)))
            twice = gradir.grad(lambda x, g=once: gnp.sum(g(x)))
            made += [function(x), once(x), twice(x)]
        return made

    return gradir.jit(run)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("table", [LONG, SHORT], ids=["long", "short"])
def test_no_digit_is_lost(table: Table, dtype: Any) -> None:
    if table is LONG:
        size = np.array([6, 15, 20, 40] if dtype is np.float32 else [6, 15, 20, 40, 100, 340])
    else:
        size = np.array([5, 6, 8, 10] if dtype is np.float32 else [5, 8, 16, 30])
    x = np.concatenate([-size, size]).astype(np.float64)
    found = _derivatives([row[0] for row in table.values()])(x.astype(dtype))
    for n, (name, (_, slope, curvature)) in enumerate(table.items()):
        for got, formula in ((found[3 * n + 1], slope), (found[3 * n + 2], curvature)):
            wanted = formula(x)
            error = abs(got - wanted) / np.spacing(abs(wanted).astype(dtype))
            assert error.max() <= 12, f"{name}: {error} ulp, got {got}, not {wanted}"


def test_values_of_log_softmax() -> None:
    x = np.array([20.0, 37.43, 300.0])
    found = gradir.jit(first("log_softmax"))(x)
    np.testing.assert_allclose(found, -np.log1p(np.exp(-x)), rtol=1e-15)
    ties = np.array([[3.0, 3.0, 3.0, -40.0]])
    np.testing.assert_allclose(nn.log_softmax(ties)[0, :3], -np.log(3), rtol=1e-15)


def test_a_leading_share() -> None:
    """`softmax([37.43, 0])[0]` has the slopes (t, -t), t = 5.55e-17."""
    x, small = np.array([37.43, 0.0]), np.exp(-37.43)
    for ct in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([3.0, 5.0])):
        wanted = (ct[0] - ct[1]) * small * np.array([1, -1])
        grad = gradir.grad(lambda x, ct=ct: gnp.sum(nn.softmax(x) * ct))(x)
        np.testing.assert_allclose(grad, wanted, rtol=1e-14)
        _, tangent = gradir.jvp(nn.softmax, (x,), (ct,))
        np.testing.assert_allclose(tangent, wanted, rtol=1e-14)


NUMBERS: dict[str, Function] = {
    "math.expm1": np.exp,
    "math.erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "math.atan": lambda x: 1 / (1 + x * x),
}


@pytest.mark.parametrize("op", NUMBERS)
@pytest.mark.parametrize("type_", ["f64", "tensor<f64>"])
def test_ops_on_numbers(op: str, type_: str) -> None:
    body = f"%y = {op} %x : {type_} func.return %y : {type_}"
    text = f"func.func @f(%x: {type_}) -> {type_} {{ {body} }}"
    module = gradir.parse(text).gradient("f", mode="vjp")
    native = gradir.compile(module, "f_vjp")
    for x in (-24.0, -8.0, 8.0, 20.0):
        number = np.float64(x)
        for run in (native, lambda *a: gradir.interpret(module, "f_vjp", *a)):
            _, grad = run(number, np.float64(1))
            np.testing.assert_allclose(float(grad), NUMBERS[op](number), rtol=2e-15, err_msg=op)
