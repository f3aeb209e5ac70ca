"""Where earlier systems went wrong: one test for each, on native code and on the interpreter.

Each program is a function @f, and each test says what its value and its gradients are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, nan
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import Module
from gradir.errors import GradirError, IndexOutOfRange

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[..., tuple[Array, ...]]


def native(module: Module, name: str, *arrays: Any) -> tuple[Array, ...]:
    return gradir.compile(module, name)(*arrays)


@pytest.fixture(params=[native, gradir.interpret], ids=["native", "interpreted"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param


def program(signature: str, *lines: str, returns: str) -> Module:
    body = "\n".join(f"  {line}" for line in (*lines, f"func.return {returns}"))
    return gradir.parse(f"func.func @f({signature}) -> {returns.partition(': ')[2]} {{\n{body}\n}}")


def check(
    run: Run, module: Module, arrays: Sequence[Any], value: Any, *grads: Any, ct: Any = None
) -> None:
    """The value of @f and its gradients for a cotangent (of ones)."""
    seed = np.ones(np.shape(value)) if ct is None else np.asarray(ct, np.float64)
    arrays = [np.asarray(a) for a in arrays]
    found = run(module.gradient("f", mode="vjp"), "f_vjp", *arrays, seed)
    for one, expected in zip(found, (value, *grads), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-300)


def test_take_along_a_negative_axis(run: Run) -> None:
    module = program(
        "%x: tensor<2x3xf64>, %i: tensor<2xi64>",
        "%y = array.take %x, %i {axis = -1} : tensor<2x3xf64>, tensor<2xi64> -> tensor<2x2xf64>",
        returns="%y : tensor<2x2xf64>",
    )
    x, i = np.arange(6.0).reshape(2, 3), np.array([2, -3])
    check(run, module, [x, i], [[2, 0], [5, 3]], [[1, 0, 1], [1, 0, 1]])


@pytest.mark.parametrize("index", [3, -4, 2**62, -(2**63)])
def test_take_out_of_range(run: Run, index: int) -> None:
    """An error that names the op, never a wild read."""
    module = program(
        "%x: tensor<3xf64>, %i: tensor<1xi64>",
        "%y = array.take %x, %i : tensor<3xf64>, tensor<1xi64> -> tensor<1xf64>",
        returns="%y : tensor<1xf64>",
    )
    message = rf"2:3: array\.take: index {index} is out of range for a size of 3"
    with pytest.raises(IndexOutOfRange, match=message):
        run(module, "f", np.zeros(3), np.array([index]))


def test_repeated_indices_add_up(run: Run) -> None:
    module = program(
        "%x: tensor<2xf64>, %i: tensor<4xi64>",
        "%y = array.take %x, %i : tensor<2xf64>, tensor<4xi64> -> tensor<4xf64>",
        returns="%y : tensor<4xf64>",
    )
    check(run, module, [[5.0, 6.0], [1, 1, -1, 0]], [6, 6, 6, 5], [8, 7], ct=[1, 2, 4, 8])


def test_where_takes_one_shape() -> None:
    """Broadcasting is written, so that no rule gets a shape wrong."""
    with pytest.raises(GradirError, match=r"array\.where: "):
        program(
            "%c: tensor<2xi1>, %x: tensor<2xf64>, %y: tensor<f64>",
            "%z = array.where %c, %x, %y "
            ": tensor<2xi1>, tensor<2xf64>, tensor<f64> -> tensor<2xf64>",
            returns="%z : tensor<2xf64>",
        )


def test_where_with_a_broadcast_operand(run: Run) -> None:
    module = program(
        "%c: tensor<2xi1>, %x: tensor<2xf64>, %y: tensor<f64>",
        "%b = array.broadcast_to %y : tensor<f64> -> tensor<2xf64>",
        "%z = array.where %c, %x, %b : tensor<2xi1>, tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>",
        returns="%z : tensor<2xf64>",
    )
    check(run, module, [[True, False], [3.0, 4.0], 5.0], [3, 5], [1, 0], 1)


@pytest.mark.parametrize("ignored", [-1, 255, 2**40])
def test_ignored_classes_outside_of_the_classes(run: Run, ignored: int) -> None:
    module = program(
        "%x: tensor<2x3xf64>, %t: tensor<2xi64>",
        f"%y = nn.nll_loss %x, %t {{ignore_index = {ignored}}} "
        ": tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>",
        returns="%y : tensor<f64>",
    )
    x = np.arange(6.0).reshape(2, 3)
    check(run, module, [x, [ignored, 1]], -4, [[0, 0, 0], [0, -1, 0]])


def test_all_targets_ignored(run: Run) -> None:
    module = program(
        "%x: tensor<2x3xf64>, %t: tensor<2xi64>",
        "%y = nn.nll_loss %x, %t : tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>",
        returns="%y : tensor<f64>",
    )
    check(run, module, [np.ones((2, 3)), [-100, -100]], nan, np.zeros((2, 3)))


def test_integers_through_astype(run: Run) -> None:
    """An integer has no gradient, and none is truncated on the way to one."""
    module = program(
        "%n: tensor<2xi64>, %w: tensor<2xf64>",
        "%x = array.astype %n : tensor<2xi64> -> tensor<2xf64>",
        "%y = array.multiply %x, %w : tensor<2xf64>",
        returns="%y : tensor<2xf64>",
    )
    check(run, module, [[3, -2], [0.5, 0.25]], [1.5, -0.5], [1.5, -1], ct=[0.5, 0.5])


def test_pow_at_base_0(run: Run) -> None:
    """The gradient in the exponent is 0 there, not nan."""
    module = program(
        "%x: tensor<3xf64>, %e: tensor<3xf64>",
        "%y = array.pow %x, %e : tensor<3xf64>",
        returns="%y : tensor<3xf64>",
    )
    check(
        run, module, [[0.0, 0.0, 2.0], [2.0, 1.0, 3.0]], [0, 0, 8], [0, 1, 12], [0, 0, 8 * log(2)]
    )


def test_sqrt_at_0_under_where(run: Run) -> None:
    """Not inf times 0 where the root is not taken: a selection's 0 stays 0."""
    module = program(
        "%x: tensor<2xf64>",
        "%zero = array.full {value = 0.0} : tensor<2xf64>",
        "%positive = array.greater %x, %zero : tensor<2xf64>, tensor<2xf64> -> tensor<2xi1>",
        "%root = array.sqrt %x : tensor<2xf64>",
        "%y = array.where %positive, %root, %zero "
        ": tensor<2xi1>, tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>",
        returns="%y : tensor<2xf64>",
    )
    check(run, module, [[0.0, 4.0]], [0, 2], [0, 0.25])


def test_norm_of_0(run: Run) -> None:
    module = program(
        "%x: tensor<2x2xf64>",
        "%y = array.norm %x {axis = 1} : tensor<2x2xf64> -> tensor<2xf64>",
        returns="%y : tensor<2xf64>",
    )
    check(run, module, [[[0.0, 0.0], [3.0, 4.0]]], [0, 5], [[0, 0], [0.6, 0.8]])


def test_one_operand_used_twice(run: Run) -> None:
    module = program(
        "%x: tensor<2xf64>",
        "%y = array.multiply %x, %x : tensor<2xf64>",
        "%z = array.add %y, %x : tensor<2xf64>",
        returns="%z : tensor<2xf64>",
    )
    check(run, module, [[3.0, -2.0]], [12, 2], [7, -3])


def test_nothing_and_one_number(run: Run) -> None:
    """Sizes of 0 and tensors of rank 0 go through every stage."""
    module = program(
        "%x: tensor<0x3xf64>, %w: tensor<f64>",
        "%s = array.sum %x : tensor<0x3xf64> -> tensor<f64>",
        "%y = array.multiply %s, %w : tensor<f64>",
        "%z = array.add %y, %w : tensor<f64>",
        returns="%z : tensor<f64>",
    )
    check(run, module, [np.zeros((0, 3)), 2.5], 2.5, np.zeros((0, 3)), 1)


def test_softmax_of_large_numbers_and_of_none(run: Run) -> None:
    module = program(
        "%x: tensor<3x2xf64>",
        "%y = nn.softmax %x {axis = 1} : tensor<3x2xf64> -> tensor<3x2xf64>",
        returns="%y : tensor<3x2xf64>",
    )
    x = [[1e308, 1e308], [-1e308, 0.0], [-inf, -inf]]
    value, grad = run(
        module.gradient("f", mode="vjp"), "f_vjp", np.array(x), np.array([[1.0, 0]] * 3)
    )
    np.testing.assert_array_equal(value, [[0.5, 0.5], [0, 1], [nan, nan]])
    np.testing.assert_array_equal(grad[:2], [[0.25, -0.25], [0, 0]])


def test_logsumexp_of_large_numbers_and_of_none(run: Run) -> None:
    module = program(
        "%x: tensor<3x2xf64>",
        "%y = array.logsumexp %x {axis = 1} : tensor<3x2xf64> -> tensor<3xf64>",
        returns="%y : tensor<3xf64>",
    )
    x = [[1e4, 1e4], [-1e308, 0.0], [-inf, -inf]]
    check(run, module, [x], [1e4 + log(2), 0, -inf], [[0.5, 0.5], [0, 1], [0, 0]])


def test_variance_of_one_number(run: Run) -> None:
    module = program(
        "%x: tensor<2x1xf64>",
        "%y = array.var %x {axis = 1} : tensor<2x1xf64> -> tensor<2xf64>",
        returns="%y : tensor<2xf64>",
    )
    check(run, module, [[[3.0], [-1e200]]], [0, 0], [[0], [0]])
