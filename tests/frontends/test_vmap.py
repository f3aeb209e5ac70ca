"""gradir.vmap against a Python loop over the rows, alone and with every other transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp

ROWS = 3
NUMBERS = np.random.default_rng(3)
X, W = NUMBERS.normal(size=(ROWS, 4)), NUMBERS.normal(size=(4, 4))


def affine(x: Any, w: Any) -> Any:
    return gnp.tanh(w @ x) * x


def reductions(x: Any, w: Any) -> Any:
    return gnp.sum(gnp.exp(x)) + gnp.max(w @ x) - gnp.logsumexp(gnp.outer(x, x), axis=0)


def indices(x: Any, w: Any) -> Any:
    return x[1:3].sum() * x[[0, 2, 2]].sum() + gnp.sort(w @ x)[0] * x.at[1].set(2.0)


def bounded_loop(x: Any, w: Any) -> Any:
    return gradir.fori_loop(0, 3, lambda k, c: gnp.sin(w @ c) + x, x)


def shared_carry(x: Any, w: Any) -> Any:
    """One carried value has rows from the second iteration on, another never."""

    def step(carry: Any, _: Any) -> Any:
        a, b = carry
        return (a * 1.1 + w, b + gnp.sum(a) * x), gnp.sum(b)

    (a, b), ys = gradir.scan(step, (w, gnp.zeros(4)), gnp.arange(3))
    return b + ys.sum() + a[0]


def searching(x: Any, w: Any) -> Any:
    """Each row leaves the loop after a number of trips of its own."""
    start = (x, gnp.asarray(0.0))
    y, n = gradir.while_loop(
        lambda c: gnp.sum(c[0] ** 2) > 0.5, lambda c: (c[0] * 0.7, c[1] + 1), start
    )
    return y * n


def counted(x: Any, w: Any) -> Any:
    """All rows leave it together."""
    y, _ = gradir.while_loop(lambda c: c[1] < 3, lambda c: (gnp.cos(w @ c[0]), c[1] + 1), (x, 0))
    return y


def branch(x: Any, w: Any) -> Any:
    return gradir.cond(x[0] > 0, lambda: x * w[0], lambda: gnp.sin(x))


def shared_branch(x: Any, w: Any) -> Any:
    return gradir.cond(w[0, 0] > 0, lambda: x * w[0], lambda: gnp.sin(x))


def stage(x: Any, w: Any) -> Any:
    return gradir.checkpoint(lambda x: gnp.sin(w @ x) * x)(x) + x


def no_gradient(x: Any, w: Any) -> Any:
    return gradir.no_grad(x) * gnp.sin(x) + gradir.name(w @ x, "h")


def layers(x: Any, w: Any) -> Any:
    y = nn.layer_norm(nn.linear(x, w, w[0]), axes=[-1])
    return nn.softmax(y, axis=-1) + nn.mse_loss(y, x)


def solved(x: Any, w: Any) -> Any:
    return gnp.solve(gnp.outer(x, x) + 5 * gnp.eye(4), x)


FUNCTIONS = [
    affine, reductions, indices, bounded_loop, shared_carry, searching, counted, branch,
    shared_branch, stage, no_gradient, layers, solved,
]  # fmt: skip
functions = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
Function = Callable[[Any, Any], Any]


def stacked(f: Function, xs: Any, w: Any) -> Any:
    return np.stack([f(x, w) for x in xs])


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)


@functions
def test_rows(f: Function):
    one = gradir.jit(f)
    close(gradir.vmap(f, in_axes=(0, None))(X, W), stacked(one, X, W))
    both = gradir.vmap(f, in_axes=(1, 0), out_axes=-1)(X.T, np.stack([W, 2 * W, -W]))
    close(both, np.stack([one(x, k * W) for x, k in zip(X, (1, 2, -1), strict=True)], axis=-1))


@functions
def test_derivatives_of_rows_and_rows_of_derivatives(f: Function):
    def total(x: Any, w: Any) -> Any:
        return gnp.sum(gnp.sin(f(x, w)))

    def all_rows(xs: Any, w: Any) -> Any:
        return gnp.sum(gradir.vmap(total, in_axes=(0, None))(xs, w))

    one = gradir.jit(gradir.grad(total, argnums=(0, 1)))
    singles = [one(x, W) for x in X]
    to_x, to_w = gradir.grad(all_rows, argnums=(0, 1))(X, W)
    close(to_x, np.stack([s[0] for s in singles]))
    close(to_w, sum(s[1] for s in singles))
    each_x, each_w = gradir.vmap(gradir.grad(total, argnums=(0, 1)), in_axes=(0, None))(X, W)
    close(each_x, to_x)
    close(each_w, np.stack([s[1] for s in singles]))


@pytest.mark.parametrize(
    "f", [affine, bounded_loop, branch, searching, stage], ids=lambda f: f.__name__
)
def test_hessians(f: Function):
    """Forward over reverse over rows, against central differences of gradients."""

    def total(x: Any) -> Any:
        return gnp.sum(gnp.sin(f(x, W)))

    found = gradir.vmap(gradir.hessian(total))(X)
    gradient = gradir.jit(gradir.grad(total))
    for x, hessian in zip(X, found, strict=True):
        for k in range(4):
            step = np.zeros(4)
            step[k] = 1e-5
            near = (gradient(x + step) - gradient(x - step)) / 2e-5
            np.testing.assert_allclose(hessian[k], near, rtol=1e-5, atol=1e-6)


def test_rows_of_rows():
    def f(x: Any, y: Any) -> Any:
        return gnp.sin(x) * y.sum()

    inner = gradir.vmap(f, in_axes=(None, 0))
    found = gradir.vmap(inner, in_axes=(0, None))(X, W)
    close(found, [[np.sin(x) * y.sum() for y in W] for x in X])
    close(gradir.jit(gradir.vmap(gradir.jit(inner), in_axes=(0, None)))(X, W), found)


def test_nested_arguments_and_results():
    def f(params: Any, pair: Any, *, scale: Any) -> Any:
        return {"y": params["w"] * pair[0] * scale, "n": (pair[1] + 1, params["w"])}

    params, pair = {"w": W[0], "b": X}, (X, np.arange(ROWS))
    axes = ({"w": None, "b": 0}, 0)
    out = {"y": 1, "n": (0, None)}
    found = gradir.vmap(f, in_axes=axes, out_axes=out)(params, pair, scale=np.arange(3.0))
    close(found["y"], (W[0] * X * np.arange(3.0)[:, None]).T)
    np.testing.assert_array_equal(found["n"][0], np.arange(ROWS) + 1)
    np.testing.assert_array_equal(found["n"][1], W[0])


def test_values_without_rows_are_computed_once():
    def f(x: Any, w: Any) -> Any:
        return gradir.vmap(lambda r: r * gnp.exp(w))(x)

    [line] = [n for n in str(gradir.trace(f, X, W[0])).splitlines() if "array.exp" in n]
    assert line.endswith(": tensor<4xf64>")


def test_derivatives_by_hand_and_host_functions():
    @gradir.custom_vjp
    def twice(x: Any) -> Any:
        return x * 2

    twice.defvjp(lambda x: (x * 2, x), lambda x, ct: (ct * 7 * x,))

    def f(x: Any) -> Any:
        return gnp.sum(twice(x))

    close(gradir.vmap(gradir.grad(f))(X), 7 * X)
    close(gradir.grad(lambda xs: gnp.sum(gradir.vmap(f)(xs)))(X), 7 * X)


def test_no_rows():
    empty = np.zeros((0, 4))
    for f in (affine, searching, branch):
        assert gradir.vmap(f, in_axes=(0, None))(empty, W).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gradir.vmap(affine)(X, W), "args\\[0\\] has 3, args\\[1\\] has 4"),
        (lambda: gradir.vmap(affine, in_axes=None)(X, W), "at least one argument must have rows"),
        (lambda: gradir.vmap(affine, in_axes=(2, None))(X, W), "args\\[0\\] has no axis 2"),
        (lambda: gradir.vmap(affine, in_axes=(0,))(X, W), "in_axes must be numbers and None"),
        (lambda: gradir.vmap(affine, (0, None), None)(X, W), "result differs from row to row"),
        (lambda: gradir.vmap(cast(Any, 3)), "expected a Python function"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str):
    with pytest.raises(gradir.GradirError, match=message):
        call()


# Jacobians.


def test_jacobians_of_nested_values():
    def f(p: Any, x: Any) -> Any:
        return {"a": gnp.sin(p["w"] @ x), "b": (gnp.sum(p["b"] ** 2), p["w"][0] * x)}

    params, x = {"w": W, "b": X[0]}, X[1]
    forward = gradir.jacfwd(f, argnums=(0, 1))(params, x)
    reverse = gradir.jacrev(f, argnums=(0, 1))(params, x)
    slope = np.cos(W @ x)
    for found in (forward, reverse):
        close(found["a"][1], slope[:, None] * W)
        close(found["a"][0]["w"], np.einsum("i,ij,k->ijk", slope, np.eye(4), x))
        close(found["a"][0]["b"], np.zeros((4, 4)))
        close(found["b"][0][0]["b"], 2 * X[0])
        close(found["b"][1][1], np.diag(W[0]))


def test_jacobians_with_aux_and_a_number():
    def f(x: Any) -> Any:
        return x**3, {"x": x}

    for transform in (gradir.jacfwd, gradir.jacrev):
        slope, aux = transform(f, has_aux=True)(2.0)
        close(slope, 12.0)
        close(aux["x"], 2.0)
    close(gradir.hessian(lambda x: x**3)(2.0), 12.0)


@pytest.mark.parametrize("transform", [gradir.jacfwd, gradir.jacrev, gradir.hessian])
def test_integers_have_no_jacobian(transform: Callable[..., Any]):
    with pytest.raises(gradir.GradirError, match="must be floating, got int64"):
        transform(lambda n: n * 2)(np.arange(3))


def test_linear_parts():
    def f(x: Any, w: Any) -> Any:
        return gnp.tanh(w @ x), gnp.sum(x)

    (y, _s), push = gradir.linearize(f, X[0], W)
    close(y, np.tanh(W @ X[0]))
    given = (X[1], 2 * W)
    wanted = gradir.jvp(f, (X[0], W), given)[1]
    for found, one in zip(push(*given), wanted, strict=True):
        close(found, one)
    back = gradir.linear_transpose(lambda x: W @ x, gradir.Spec((4,)))
    close(back(X[0])[0], W.T @ X[0])
    inside = gradir.jit(lambda x, t: gradir.linearize(f, x, W)[1](t, W * 0)[0])
    close(inside(X[0], X[1]), push(X[1], W * 0)[0])


def test_linear_parts_of_loops():
    def counted(x: Any) -> Any:
        return gradir.fori_loop(0, 4, lambda i, u: gnp.sin(u) * 1.5, x)

    def open_ended(x: Any) -> Any:
        last = gradir.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, gnp.sin(s[1]) * 1.1), (0, x)
        )
        return {"last": last[1], "count": last[0]}

    for f in (counted, open_ended):
        y, push = gradir.linearize(f, X[0])
        wanted, along = gradir.jvp(f, (X[0],), (X[1],))
        for _ in range(2):
            found = push(X[1])
            if f is open_ended:
                close(found["last"], along["last"])
                close(y["last"], wanted["last"])
            else:
                close(found, along)
                close(y, wanted)
