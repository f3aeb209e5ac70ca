"""A zero that a selection puts into a cotangent stays zero behind infinite and undefined slopes.

Each program is smooth at its point, where some value that it does not take has no finite slope.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir.dialects.base.support import Mask, either
from gradir.dialects.base.value import Value
from gradir.testing import check_grads

Function = Callable[[Any], Any]

# 0 has an infinite slope in sqrt and log, -1 an undefined one.
EDGES = np.array([0.0, 0.5, 4.0, -1.0])
POSITIVE = np.array([0.0, 0.5, 4.0])
# Before and behind the edges of what selects before a steep function, at none.
AWAY = np.array([-1.0, 0.4, 4.0])
ROWS = np.array([[True], [False]])


def taken(x: Any, function: Function) -> Any:
    return gnp.where(x > 0.1, function(x), 0.0)


SELECTIONS: dict[str, tuple[Function, Any]] = {
    "where": (lambda x: taken(x, gnp.sqrt), EDGES),
    "where of the other branch": (lambda x: gnp.where(x < 0.1, 0.0, gnp.log(x)), EDGES),
    "two selections": (
        lambda x: taken(x, gnp.sqrt) + gnp.where(x < -0.5, gnp.sqrt(x + 1.5), x),
        EDGES,
    ),
    "chain": (lambda x: taken(x, lambda x: gnp.exp(gnp.log(x) * 0.5) / gnp.sqrt(x)), EDGES),
    "where in where": (lambda x: taken(x, lambda u: taken(u * 2, lambda v: gnp.log(v / 2))), EDGES),
    "overflow": (lambda x: gnp.where(x < 3, gnp.exp(x * 1000 - 900), 0.0), POSITIVE),
    "power": (lambda x: taken(x, lambda x: x**0.3 / x), EDGES),
    "atan2 and hypot": (
        lambda x: taken(x, lambda x: gnp.arctan2(x, x * x) * gnp.hypot(x, 0 * x)),
        EDGES,
    ),
    "maximum": (lambda x: gnp.maximum(gnp.log(x * x), -3.0), POSITIVE),
    "norm under a maximum": (lambda x: gnp.maximum(gnp.sqrt(gnp.sum(x * x)), 1e-2), np.zeros(3)),
    "clip": (lambda x: gnp.clip(1 / (x * x), -9.0, 9.0), POSITIVE),
    "relu": (lambda x: nn.relu(gnp.log(x * x)), POSITIVE),
    "largest": (lambda x: gnp.max(gnp.sqrt(x * x)), POSITIVE),
    "sorted": (lambda x: gnp.sort(gnp.log(x * x))[1:], POSITIVE),
    "slice": (lambda x: gnp.sqrt(x)[1:], POSITIVE),
    "element": (lambda x: gnp.log(x)[2], POSITIVE),
    "taken": (lambda x: gnp.sqrt(x)[np.array([1, 2, 2])], POSITIVE),
    "triangle": (lambda x: gnp.tril(gnp.sqrt(gnp.outer(x, x)), -1)[2, 1], POSITIVE),
    "trace": (lambda x: gnp.trace(gnp.log(gnp.outer(x + 1, x) + gnp.eye(3))), POSITIVE),
    "update": (lambda x: gnp.sqrt(x).at[0].set(1.0) * x, POSITIVE),
    "concatenated": (lambda x: gnp.concatenate([gnp.sqrt(x), x])[1:], POSITIVE),
    "stacked": (lambda x: gnp.stack([gnp.sqrt(x), x])[:, 1:], POSITIVE),
    "padded": (lambda x: gnp.pad(gnp.sqrt(x), 1)[2:], POSITIVE),
    "rolled": (lambda x: gnp.roll(gnp.sqrt(x), 1)[2:], POSITIVE[::-1]),
    "summed up": (lambda x: gnp.cumsum(gnp.log(x)[::-1])[1], POSITIVE),
    "broadcast": (
        lambda x: gnp.where(x[:, None] > 0.1, gnp.log(x)[:, None] * np.ones((3, 2)), 0.0),
        POSITIVE,
    ),
    "behind a clip": (lambda x: gnp.sqrt(gnp.clip(x, 0.0, 2.0)), AWAY),
    "behind two": (lambda x: gnp.arcsin(gnp.minimum(gnp.maximum(x, -1.0), 1.0)), AWAY * 2),
    "behind a maximum": (lambda x: gnp.maximum(x, 0.0) ** 0.3 * gnp.fmin(x, 2.0), AWAY),
    "behind a relu": (lambda x: gnp.arccosh(nn.relu(x) + 1) + gnp.sqrt(nn.relu6(x * 4)), AWAY),
    "behind a threshold": (lambda x: gnp.sqrt(nn.hardtanh(x) + 1), AWAY * 3),
    "behind a largest": (lambda x: gnp.sqrt(gnp.max(gnp.stack([x, np.zeros(3)]), axis=0)), AWAY),
    "input": (lambda x: gnp.sqrt(gnp.where(x > 0.1, x, 0.0)), EDGES),
    "entropy": (lambda p: gnp.where(p > 0.1, p * gnp.log(p), 0.0), np.array([0.0, 0.75, 0.25])),
    "softmax of a mask": (
        lambda x: gnp.where(
            POSITIVE > 0, gnp.log(nn.softmax(gnp.where(POSITIVE > 0, x, -inf))), 0.0
        ),
        POSITIVE,
    ),
    "ignored targets": (
        lambda x: nn.nll_loss(gnp.log(gnp.stack([x, x + 1])), np.array([2, -100])),
        POSITIVE,
    ),
    "branch": (
        lambda x: (
            gradir.cond(gnp.sum(x) > 9, gnp.sum, lambda u: 1.0 * gnp.size(u), gnp.sqrt(x)) + x
        ),
        POSITIVE,
    ),
}

LINES: dict[str, tuple[Function, Any]] = {
    "matmul": (
        lambda x: gnp.where(ROWS, gnp.log(x).reshape(2, 2) @ np.ones((2, 2)), 0.0),
        [1, 2, 0, 0],
    ),
    "factor": (lambda w: gnp.where(ROWS, np.array([[1.0, 2.0], [nan, inf]]) @ w, 0.0), np.eye(2)),
    "vectors": (lambda x: gnp.where(x[0] > 9, gnp.log(x) @ x, gnp.sum(x)), [0, 2, 3]),
    "tensordot": (
        lambda x: gnp.where(ROWS, gnp.tensordot(gnp.log(x).reshape(2, 2), np.ones((2, 2)), 1), 0.0),
        [1, 2, 0, 0],
    ),
    "einsum": (
        lambda x: gnp.where(ROWS, gnp.einsum("ij,kj->ik", gnp.log(x), x + 1), 0.0),
        [[1, 2], [0, 0]],
    ),
    "linear": (
        lambda w: gnp.where(ROWS, nn.linear(np.array([[1.0, 2.0], [nan, inf]]), w, w[0]), 0.0),
        np.eye(2),
    ),
    "norms": (
        lambda x: gnp.where(ROWS[:, 0], gnp.linalg.norm(gnp.log(x), axis=1), 0.0),
        [[1, 2], [0, 0]],
    ),
    "product": (lambda x: gnp.where(ROWS[:, 0], gnp.prod(1 / x, axis=1), 0.0), [[1, 2], [0, 0]]),
    "cumulative product": (
        lambda x: gnp.where(ROWS, gnp.cumprod(1 / x, axis=1), 0.0),
        [[1, 2], [0, 0]],
    ),
    "softmax": (lambda x: gnp.where(ROWS, nn.softmax(gnp.log(x)), 0.0), [[1, 2], [0, 0]]),
    "layer norm": (
        lambda x: gnp.where(ROWS, nn.layer_norm(gnp.log(x), np.ones(2)), 0.0),
        [[1, 2], [0, 0]],
    ),
    "loss of each": (
        lambda x: gnp.where(ROWS, nn.mse_loss(gnp.log(x), np.ones((2, 2)), reduction="none"), 0.0),
        [[1, 2], [0, 0]],
    ),
    "cholesky": (
        lambda x: gnp.where(ROWS[..., None], gnp.linalg.cholesky(x * np.eye(2) + 0.1 * x), 0.0),
        [[[2]], [[-1]]],
    ),
    "log of determinants": (
        lambda x: gnp.where(ROWS[:, 0], gnp.linalg.slogdet(x)[1], 0.0),
        [[[2, 1], [1, 3]], [[1, 1], [1, 1]]],
    ),
    "inverse under one condition": (
        lambda x: gnp.where(
            gnp.sum(x) > 100, gnp.linalg.inv(gnp.outer(x, x))[0, 0], gnp.sum(x * x)
        ),
        [1, 2, 3],
    ),
    "convolution": (
        lambda w: gnp.where(
            ROWS[..., None], nn.conv1d(np.array([[[1.0, 2, 3]], [[nan, inf, 1]]]), w), 0.0
        ),
        [[[1, 2]]],
    ),
}

FLOW: dict[str, tuple[Function, Any]] = {
    "stage": (gradir.checkpoint(lambda x: taken(x, gnp.log)), EDGES),
    "behind a stage": (
        lambda x: gradir.checkpoint(lambda u: taken(u, gnp.log))(gnp.sqrt(x)),
        POSITIVE,
    ),
    "stage behind a stage": (
        lambda x: gradir.checkpoint(lambda u: gnp.where(u > 0.1, u, 0.0) * 2)(
            gradir.checkpoint(gnp.log)(x)
        ),
        POSITIVE,
    ),
    "called": (
        lambda x: gnp.where(x > 0.1, gradir.jit(lambda u: gnp.log(gnp.sqrt(u)))(x), 0.0),
        EDGES,
    ),
    "condition of each row": (
        gradir.vmap(lambda u: gradir.cond(u > 0.1, gnp.sqrt, lambda u: 0 * u, u)),
        POSITIVE,
    ),
}

# In loops and calls reverse mode twice does not see selections; forward over reverse does.
ONCE: dict[str, tuple[Function, Any]] = {
    "scan": (
        lambda x: gradir.scan(lambda c, _: (taken(c, gnp.sqrt) * 0.9, None), x, None, length=3)[0],
        EDGES,
    ),
    "fori_loop": (lambda x: gradir.fori_loop(0, 3, lambda i, c: taken(c, gnp.sqrt), x), EDGES),
    "while_loop": (
        lambda x: gradir.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, taken(s[1], gnp.sqrt)), (0, x)
        )[1],
        EDGES,
    ),
    "numbers in a loop": (
        lambda x: gradir.fori_loop(0, 3, lambda i, s: s + taken(x[i], gnp.sqrt), 0.0),
        POSITIVE,
    ),
    "rows": (gradir.vmap(lambda u: taken(u, gnp.sqrt)), EDGES),
}


def total(function: Function) -> Function:
    """A number that has other weights for all results."""

    def loss(x: Any) -> Any:
        y = gnp.ravel(function(x))
        return gnp.sum(y * gnp.arange(1.0, 1.0 + y.size))

    return loss


def tangents_of_units(function: Function, x: Any) -> Any:
    units = np.eye(x.size).reshape(-1, *x.shape)
    return np.reshape([gradir.jvp(function, (x,), (unit,))[1] for unit in units], x.shape)


@pytest.mark.parametrize("name", [*SELECTIONS, *LINES, *FLOW])
def test_derivatives(name: str) -> None:
    """First and second derivatives equal differences; forward mode agrees."""
    function, x = (SELECTIONS | LINES | FLOW)[name]
    loss, x = total(function), np.array(x, float)
    gradir.testing.check_grads(loss, [x])
    np.testing.assert_allclose(
        tangents_of_units(loss, x), gradir.grad(loss)(x), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", ONCE)
def test_derivatives_in_loops(name: str) -> None:
    function, x = ONCE[name]
    loss = total(function)
    gradir.testing.check_grads(loss, [x], order=1)
    slope = gradir.grad(loss)
    np.testing.assert_allclose(tangents_of_units(loss, x), slope(x), rtol=1e-10, atol=1e-12)
    step = 1e-5
    differences = [(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(x.size)]
    np.testing.assert_allclose(gradir.hessian(loss)(x), differences, rtol=1e-5, atol=1e-8)


def test_taken_infinities_stay() -> None:
    """What is taken has its slope, infinite or not; so has a zero that was computed."""
    slope = gradir.grad(lambda x: gnp.sum(gnp.where(x > -1, gnp.sqrt(x), 0.0)))
    np.testing.assert_array_equal(slope(np.array([0.0, 4.0])), [inf, 0.25])
    product = gradir.grad(lambda x: gnp.sum(gnp.sqrt(x) * gnp.array([0.0, 1.0])))
    np.testing.assert_array_equal(product(np.array([0.0, 4.0])), [nan, 0.25])
    square = gradir.grad(lambda x: gnp.sum(gnp.sqrt(x) ** 2))
    assert np.isnan(square(np.array([0.0]))).all()


def test_nan_that_is_not_taken() -> None:
    slope = gradir.grad(lambda x: gnp.sum(gnp.where(gnp.isnan(x), 0.0, gnp.tanh(x) * x)))
    found = slope(np.array([nan, 0.0, 40.0]))
    np.testing.assert_array_equal(found, [0.0, 0.0, 1.0])


def test_nan_of_a_maximum_stays() -> None:
    slope = gradir.grad(lambda x: gnp.sum(gnp.maximum(gnp.log(x), 0.0)))
    np.testing.assert_array_equal(slope(np.array([-1.0, 0.5, 2.0])), [nan, 0.0, 0.5])


def test_slices_that_leave_nothing_out_have_no_gate() -> None:
    """The supports of slices that cover a value are everywhere."""
    module = gradir.trace(lambda x: _jump(gnp.sqrt(x)), gradir.Spec((8,)))
    assert "gate" not in str(module.gradient("main", mode="grad"))


def _jump(x: Any) -> Any:
    return gnp.sum((x[1:] - x[:-1]) ** 2)


def test_networks_have_no_gates_but_their_own() -> None:
    """Products of a network with relu are as they were: a relu gates what it does not take."""

    def network(w: Any, v: Any, x: Any) -> Any:
        return gnp.sum(nn.relu(nn.relu(x @ w) @ v) ** 2)

    specs = [gradir.Spec(shape) for shape in ((4, 5), (5, 3), (2, 4))]
    text = str(gradir.trace(network, *specs).gradient("network", mode="grad"))
    assert text.count("grad.gate") == 2
    assert "array.any" not in text


def test_branches_that_meet_have_no_gate() -> None:
    """What each case of a choice contributes is together everywhere, in cases of cases too."""

    def choice(x: Any) -> Any:
        root = gnp.sqrt(x)
        inner = gnp.where(x > 2, gnp.sin(root), gnp.cos(root))
        return gnp.sum(gnp.where(x > 1, inner, gnp.exp(root)))

    text = str(gradir.trace(choice, gradir.Spec((4,))).gradient("choice", mode="grad"))
    assert "grad.gate" not in text
    assert "logical" not in text
    x = np.array([0.5, 0.9, 1.5, 3.0])
    check_grads(choice, (x,), order=2)


def test_wide_sums_and_long_chains() -> None:
    """The supports of hundreds of parts, and of long chains, are not followed."""

    def parts(x: Any) -> Any:
        y = gnp.exp(x)
        return gnp.sum(gnp.stack([gnp.maximum(y[i], y[i - 1]) ** 2 for i in range(300)]))

    def chain(x: Any) -> Any:
        y = gnp.exp(x)
        for _ in range(300):
            y = gnp.roll(y, 1)
        return gnp.sum(gnp.where(y > 1, y, 0.0))

    for function, size in ((parts, 300), (chain, 3)):
        module = gradir.trace(function, gradir.Spec((size,)))
        text = str(module.gradient(function.__name__, mode="grad"))
        assert text.count("\n") < 50 * 300


def test_boxes_cover() -> None:
    def of(*sides: tuple[int, int, int]) -> Mask:
        return Mask(_no_value, (tuple(sides),))

    assert either(of((0, 3, 5)), of((2, 5, 5))) is None
    assert either(of((0, 2, 5)), of((3, 5, 5))) is not None
    assert either(of((0, 3, 3), (0, 2, 4)), of((0, 3, 3), (2, 4, 4))) is None
    assert either(of((0, 2, 3), (0, 2, 4)), of((2, 3, 3), (2, 4, 4))) is not None


def _no_value(emitter: object) -> Value:
    raise NotImplementedError


@pytest.mark.parametrize("op", ["maximumf", "maxnumf"])
def test_forward_mode_behind_a_maximum_of_numbers(op: str) -> None:
    """The half of a tie is a finite factor: a tangent that was not taken stays 0 behind it."""
    module = gradir.parse(f"""
func.func @f(%x: f64) -> f64 {{
  %zero = arith.constant 0.0 : f64
  %y = arith.{op} %x, %zero : f64
  %z = math.sqrt %y : f64
  func.return %z : f64
}}""").gradient("f", mode="jvp")
    tangent = gradir.compile(module, "f_jvp")
    assert [tangent(x, 1.0)[1] for x in (-1.0, 4.0)] == [0.0, 0.25]
