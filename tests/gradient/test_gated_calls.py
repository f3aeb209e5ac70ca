"""Cotangents that are 0 by a selection stay 0 across calls, in nested derivatives of all orders.

A derivative of a derivative calls the halves of the first one. Calls stay calls where no mask has
to cross them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

X = np.array([0.0, 4.0, -1.0])


def reverse(f: Callable[[Any], Any], x: Any) -> Any:
    return gradir.grad(lambda u: gnp.sum(f(u)))(x)


def forward(f: Callable[[Any], Any], x: Any) -> Any:
    return gradir.jvp(f, (x,), (gnp.ones_like(x),))[1]


def rows(f: Callable[[Any], Any], x: Any) -> Any:
    return gnp.diagonal(gradir.jacrev(f)(x))


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "a root that is not taken": (
        lambda x: gnp.where(x > 0, gnp.sqrt(x), 0.0),
        [-(4**-1.5) / 4, 3 * 4**-2.5 / 8],
    ),
    "a root of what is not taken": (
        lambda x: gnp.sqrt(gnp.where(x > 0, x, 0.0)),
        [-(4**-1.5) / 4, 3 * 4**-2.5 / 8],
    ),
    "in a jitted function": (
        lambda x: gnp.where(x > 0, gradir.jit(lambda u: gnp.log(u) * u)(x), 0.0),
        [1 / 4, -1 / 16],
    ),
}
ORDERS = [
    (reverse, reverse), (rows, rows), (forward, rows), (rows, forward),
    (reverse, reverse, reverse), (rows, rows, rows), (forward, rows, rows),
]  # fmt: skip


@pytest.mark.parametrize("orders", ORDERS, ids=lambda each: "_".join(f.__name__ for f in each))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_derivatives(name: str, orders: tuple[Callable[..., Any], ...]) -> None:
    f, derivatives = FUNCTIONS[name]
    for order in orders:
        f = partial(order, f)
    want = [0.0, derivatives[len(orders) - 2], 0.0]
    np.testing.assert_allclose(np.asarray(f(X)), want, rtol=1e-12, atol=1e-15)


T = "tensor<3xf64>"
CALLEE = """
func.func @inner(%x: {T}) -> {T} {{
  %y = array.{op} %x : {T}
  func.return %y : {T}
}}
func.func @main(%x: {T}) -> {T} {{
  %zero = array.full {{value = 0.0}} : {T}
  %above = array.greater %x, %zero : {T}, {T} -> tensor<3xi1>
  {start}
  func.return %r : {T}
}}
"""
AROUND = """%y = func.call @inner(%x) : ({T}) -> {T}
  %r = array.where %above, %y, %zero : tensor<3xi1>, {T}, {T} -> {T}"""
AHEAD = """%y = array.where %above, %x, %zero : tensor<3xi1>, {T}, {T} -> {T}
  %r = func.call @inner(%y) : ({T}) -> {T}"""


def program(op: str, start: str) -> gradir.Module:
    return gradir.parse(CALLEE.format(T=T, op=op, start=start.format(T=T)))


def gradient_of(module: gradir.Module, mode: str) -> Any:
    derived, ct = module.gradient("main", mode=mode), np.ones(3)
    if mode == "vjp":
        return derived, gradir.interpret(derived, "main_vjp", X, ct)[1]
    _, *residuals = gradir.interpret(derived, "main_fwd", X)
    return derived, gradir.interpret(derived, "main_bwd", *residuals, ct)[0]


@pytest.mark.parametrize("mode", ["vjp", "split"])
def test_a_mask_that_has_to_cross_a_call_inlines_it(mode: str) -> None:
    module, grad = gradient_of(program("sqrt", AROUND), mode)
    np.testing.assert_array_equal(grad, [0, 0.25, 0])
    # the halves of @inner that the first try made are gone
    assert "@inner_" not in str(module)


@pytest.mark.parametrize("mode", ["vjp", "split"])
@pytest.mark.parametrize(("op", "start"), [("sqrt", AHEAD), ("negative", AROUND)])
def test_calls_stay_where_no_mask_has_to_cross_them(op: str, start: str, mode: str) -> None:
    module, grad = gradient_of(program(op, start), mode)
    np.testing.assert_array_equal(grad, [0, 0.25 if op == "sqrt" else -1, 0])
    assert "call @inner_bwd" in str(module)


def test_masks_cross_several_calls_and_a_loop() -> None:
    text = """
    func.func @root(%x: T) -> T {
      %y = array.sqrt %x : T
      func.return %y : T
    }
    func.func @twice(%x: T, %n: index) -> T {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r = scf.for %k = %zero to %n step %one iter_args(%c = %x) -> (T) {
        %y = func.call @root(%c) : (T) -> T
        %z = array.multiply %y, %c : T
        scf.yield %z : T
      }
      func.return %r : T
    }
    func.func @main(%x: T, %n: index) -> T {
      %zero = array.full {value = 0.0} : T
      %above = array.greater %x, %zero : T, T -> tensor<3xi1>
      %y = func.call @twice(%x, %n) : (T, index) -> T
      %r = array.where %above, %y, %zero : tensor<3xi1>, T, T -> T
      func.return %r : T
    }
    """.replace("T", T)
    module = gradir.parse(text).gradient("main", mode="vjp")
    _, grad = gradir.interpret(module, "main_vjp", X, np.int64(2), np.ones(3))
    np.testing.assert_allclose(grad, [0, 2.25 * 4**1.25, 0])
