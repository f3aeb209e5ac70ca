"""tanh and sigmoid through points: the values' bits, exact slopes of two orders, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.dialects.building import points

Array = np.ndarray[Any, Any]
Number = Any

SIZES = [0.0, 1e-30, 1e-8, 0.1, 0.5493, 0.5494, 1.0986, 1.0987, 3.0, 9.5, 20.0, 43.0, 80.0, 350.0]
NAMES = ["tanh", "sigmoid"]
# Ulps; a slope is made of a part with an error of 2.
MOST = 3.5


def _numbers(dtype: Any) -> Array:
    sizes = np.array([*SIZES, np.inf, 1e300], np.float64)
    with np.errstate(over="ignore"):
        return np.concatenate([sizes, -sizes, [np.nan]]).astype(dtype)


def _function(name: str) -> Callable[[Any], Any]:
    return gnp.tanh if name == "tanh" else nn.sigmoid


def _exact(name: str, order: int, x: Number) -> Number:
    """A derivative by mpmath."""
    half = x if name == "tanh" else x / 2
    value = mp.tanh(half) if name == "tanh" else 1 / (1 + mp.exp(-x))
    slope = mp.sech(half) ** 2 / (1 if name == "tanh" else 4)
    factor = 2 if name == "tanh" else 1
    return [value, slope, -factor * mp.tanh(half) * slope][order]


def _assert_digits(found: Array, name: str, order: int, x: Array) -> None:
    limits = np.finfo(x.dtype)
    for number, got in zip(x, found, strict=True):
        if not np.isfinite(number):
            continue
        with mp.workdps(400):
            wanted = _exact(name, order, mp.mpf(float(number)))
            if abs(wanted) < limits.tiny:
                assert abs(got) < 2 * limits.tiny, number
                continue
            unit = mp.mpf(float(np.spacing(x.dtype.type(abs(wanted)))))
            assert abs(mp.mpf(float(got)) - wanted) <= MOST * unit, (number, got)


def _derivatives(name: str) -> list[Callable[[Any], Any]]:
    function = _function(name)
    first = gradir.grad(lambda x: gnp.sum(function(x)))
    return [function, first, gradir.grad(lambda x: gnp.sum(first(x)))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_digits_of_two_derivatives(name: str, dtype: Any) -> None:
    x = _numbers(dtype)
    for order, function in enumerate(_derivatives(name)):
        for made in (function, gradir.jit(function)):
            found = np.asarray(made(x))
            _assert_digits(found, name, order, x)
            assert np.isnan(found[-1]) and found.dtype == dtype
            ends = found[np.isinf(x)]
            if order:
                assert not ends.any()
            else:
                low = -1 if name == "tanh" else 0
                np.testing.assert_array_equal(ends, np.where(x[np.isinf(x)] > 0, 1, low))


@pytest.mark.parametrize("name", NAMES)
def test_digits_in_forward_mode(name: str) -> None:
    x = _numbers(np.float64)[:-1]
    function = _function(name)
    _, tangent = gradir.jvp(function, (x,), (np.ones_like(x),))
    _assert_digits(np.asarray(tangent), name, 1, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_the_value_beside_a_gradient_has_its_bits(name: str, dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=4096).astype(dtype) * 5
    function = _function(name)
    alone = np.asarray(gradir.jit(function)(x))
    both = gradir.jit(lambda x: gradir.vjp(function, x)[0])
    np.testing.assert_array_equal(np.asarray(both(x)), alone)
    (_, back) = gradir.vjp(function, x)
    np.testing.assert_array_equal(
        np.asarray(back(np.ones_like(x))[0]),
        np.asarray(gradir.jit(gradir.grad(lambda x: gnp.sum(function(x))))(x)),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_hold_both_ends(dtype: Any) -> None:
    x = _numbers(dtype)[:-1]
    for point, at, rest in (
        (points.tanh_point(x), points.tanh_at, lambda x: 2 / (1 + mp.exp(2 * x))),
        (points.sigmoid_point(x), points.half_tanh_at, lambda x: 2 / (1 + mp.exp(x))),
    ):
        sizes = np.abs(point)
        assert point.dtype == dtype and ((sizes < 0.5) | (sizes >= 2)).all()
        np.testing.assert_array_equal(np.signbit(point), np.signbit(x))
        near = 1 - np.array([float(rest(mp.mpf(abs(float(v))))) for v in x])
        np.testing.assert_allclose(at(point), np.copysign(near, x), rtol=1e-6, atol=1e-7)


LAYERS = """
func.func @f(%x: tensor<8x16x!T>, %w: tensor<16x16x!T>) -> tensor<!T> {
  %a = array.matmul %x, %w : tensor<8x16x!T>, tensor<16x16x!T> -> tensor<8x16x!T>
  %b = OP %a : tensor<8x16x!T>
  %c = array.matmul %b, %w : tensor<8x16x!T>, tensor<16x16x!T> -> tensor<8x16x!T>
  %d = OP %c : tensor<8x16x!T>
  %y = array.sum %d : tensor<8x16x!T> -> tensor<!T>
  func.return %y : tensor<!T>
}
"""


@pytest.mark.parametrize("op", ["array.tanh", "nn.sigmoid"])
def test_one_array_is_kept_for_a_layer(op: str) -> None:
    module = gradir.parse(LAYERS.replace("OP", op).replace("!T", "f32"))
    made = str(module.gradient("f", mode="split"))
    [line] = [line for line in made.splitlines() if "@f_fwd" in line]
    # x, w, and a point of each layer
    assert line.split("->")[1].count("tensor<8x16xf32>") == 3


@pytest.mark.parametrize("op", ["array.tanh", "nn.sigmoid"])
def test_halves_and_what_a_loop_hands_on_read_the_result(op: str) -> None:
    halves = gradir.parse(LAYERS.replace("OP", op).replace("!T", "bf16"))
    assert "_point" not in str(halves.gradient("f", mode="vjp"))
    loop = f"""
    func.func @f(%h: tensor<4xf64>, %n: index) -> tensor<4xf64> {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y = scf.for %i = %zero to %n step %one iter_args(%c = %h) -> (tensor<4xf64>) {{
        %t = {op} %c : tensor<4xf64>
        scf.yield %t : tensor<4xf64>
      }}
      func.return %y : tensor<4xf64>
    }}
    """
    text = str(gradir.parse(loop).gradient("f", mode="split"))
    assert "_point" not in text
    # one tape, of one array
    assert text.count("grad.tape_new") == 1 and "tape<tensor<4xf64>>" in text


def test_thousands_of_views_behind_a_value() -> None:
    lines, value, shape = ["  %t = array.tanh %x : tensor<2x3xf64>"], "%t", ("2x3", "3x2")
    for k in range(2000):
        old, new = (f"tensor<{s}xf64>" for s in shape)
        lines.append(f"  %v{k} = array.permute_dims {value} {{axes = [1, 0]}} : {old} -> {new}")
        value, shape = f"%v{k}", shape[::-1]
    lines.append(f"  %y = array.sum {value} : tensor<2x3xf64> -> tensor<f64>")
    text = "\n".join(lines)
    module = gradir.parse(f"""func.func @f(%x: tensor<2x3xf64>) -> tensor<f64> {{
{text}
  func.return %y : tensor<f64>
}}""")
    assert str(module.gradient("f", mode="split")).count("grad.tanh_slope_at") == 1
