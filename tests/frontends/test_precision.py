"""The precision of products in traced functions: an argument, a policy of a function, a context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
import gradir.random
import gradir.scipy.linalg
from gradir.errors import ArgumentError, GradirError

Array = np.ndarray[Any, np.dtype[Any]]
RANDOM = np.random.default_rng(0)


def array(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def rounded(x: Array) -> Array:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def programs(function: Callable[..., Any], *args: Any) -> str:
    return gradir.jit(function).lower(*args).as_text()


X, W = array(6, 5), array(5, 4)


def test_functions_take_a_precision() -> None:
    expected = rounded(X) @ rounded(W)
    many: list[Callable[[Any, Any], Any]] = [
        lambda x, w: gnp.matmul(x, w, precision="bf16"),
        lambda x, w: gnp.dot(x, w, precision="bf16"),
        lambda x, w: gnp.inner(x, w.T, precision="bf16"),
        lambda x, w: gnp.tensordot(x, w, 1, precision="bf16"),
        lambda x, w: gnp.einsum("ij,jk->ik", x, w, precision="bf16"),
        lambda x, w: nn.linear(x, w.T, precision="bf16"),
    ]
    first = gradir.jit(many[0])(X, W)
    for function in many:
        found = gradir.jit(function)(X, W)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found, first)  # one order of sums
    v, u = array(40), array(40)
    exact = rounded(v) @ rounded(u)
    for one in (gnp.vdot, gnp.inner, gnp.dot):
        found = gradir.jit(lambda v, u, one=one: one(v, u, precision="bf16"))(v, u)
        np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_eager_calls() -> None:
    """Calls outside of a trace, the first ones and recorded ones, have the bits of native code."""
    native = gradir.jit(lambda x, w: gnp.matmul(x, w, precision="bf16"))(X, W)
    for _ in range(4):
        np.testing.assert_array_equal(gnp.matmul(X, W, precision="bf16"), native)
        with gradir.default_matmul_precision("bf16"):
            np.testing.assert_array_equal(gnp.matmul(X, W), native)
        np.testing.assert_allclose(gnp.matmul(X, W), X @ W, rtol=1e-6)


def network(x: Any, w: Any, image: Any, kernel: Any, q: Any) -> Any:
    y = gnp.tanh(x @ w)
    c = nn.conv2d(image, kernel, padding=1)
    a = nn.scaled_dot_product_attention(q, q, q)
    return gnp.sum(y) + gnp.sum(c * c) + gnp.sum(a) + gnp.sum(gnp.einsum("ij,ik->jk", x, y))


ARGUMENTS = (X, W, array(2, 3, 6, 6), array(4, 3, 3, 3), array(2, 7, 4))


def test_policy_of_a_function() -> None:
    """Every product of the function and of its gradient has the precision."""
    gradient = gradir.grad(network, argnums=(0, 1, 2, 3, 4))
    text = gradir.jit(gradient, precision="bf16").lower(*ARGUMENTS).as_text()
    kinds = ("matmul", "dot_general", "einsum", "conv2d", "attention")
    lines = [line for line in text.splitlines() if any(f".{kind}" in line for kind in kinds)]
    assert len(lines) > 8
    assert all('precision = "bf16"' in line for line in lines), text
    assert "bf16" not in programs(network, *ARGUMENTS)


def test_policy_does_not_leak() -> None:
    plain, rounds = gradir.jit(network), gradir.jit(network, precision="bf16")
    first = plain(*ARGUMENTS)
    other = rounds(*ARGUMENTS)
    assert first != other and abs(first - other) < 0.05 * abs(first)
    assert plain(*ARGUMENTS) == first
    with gradir.default_matmul_precision("bf16"):
        assert plain(*ARGUMENTS) == other
        with gradir.default_matmul_precision(None):
            assert plain(*ARGUMENTS) == first
            assert rounds(*ARGUMENTS) == other
    assert plain(*ARGUMENTS) == first


def test_contexts_in_a_trace() -> None:
    """Parts of a function; a jitted function in another keeps its own precision."""
    inner = gradir.jit(lambda x, w: x @ w, precision="bf16")

    def function(x: Any, w: Any) -> Any:
        with gradir.default_matmul_precision("bf16"):
            y = x @ w
        return y + 2 * (x @ w) + inner(x, w)

    text = programs(function, X, W)
    assert [('precision = "bf16"' in line) for line in text.splitlines() if ".matmul" in line] == [
        True, False, True,
    ]  # fmt: skip


def test_precision_of_a_custom_derivative() -> None:
    """A rule that is traced later has the precision of the call."""

    @gradir.custom_vjp
    def times(x: Any, w: Any) -> Any:
        return x @ w

    def forward(x: Any, w: Any) -> Any:
        return times(x, w), (x, w)

    def backward(kept: Any, ct: Any) -> Any:
        x, w = kept
        return ct @ w.T, x.T @ ct

    times.defvjp(forward, backward)

    def function(x: Any, w: Any) -> Any:
        with gradir.default_matmul_precision("bf16"):
            y = times(x, w)
        return gnp.sum(y * times(x, w))

    text = gradir.jit(gradir.grad(function)).lower(X, W).as_text()
    with_it = [line for line in text.splitlines() if ".matmul" in line]
    assert sum('precision = "bf16"' in line for line in with_it) * 2 == len(with_it), text


def test_algorithms_keep_their_precision() -> None:
    """A policy is for the products that a program is made of, not for those of expm or lstsq."""
    a = array(5, 5)
    for function in (
        gradir.scipy.linalg.expm,
        gradir.scipy.linalg.sqrtm,
        lambda a: gradir.scipy.linalg.polar(a)[1],
        lambda a: gnp.linalg.lstsq(a, a[:, 0])[0],
        lambda a: gnp.linalg.pinv(a),
        lambda a: gnp.linalg.solve(a, a[0]),
        lambda a: gnp.pad(a, 2, "reflect", reflect_type="odd"),
        lambda a: gradir.random.multivariate_normal(gradir.random.key(0), a[0], a, dtype="float32"),
        lambda a: nn.affine_grid(a[None, :2, :3], (1, 1, 4, 4)),
    ):
        for made in (function, lambda a, f=function: gradir.grad(lambda a: gnp.sum(f(a)))(a)):
            rounds, plain = gradir.jit(made, precision="bf16"), gradir.jit(made)
            positive = a @ a.T + 3 * np.eye(5, dtype=np.float32)
            np.testing.assert_array_equal(rounds(positive), plain(positive))


def test_threads_have_their_own() -> None:
    found: list[Any] = []
    plain = gradir.jit(lambda x, w: x @ w)
    with gradir.default_matmul_precision("bf16"):
        thread = threading.Thread(target=lambda: found.append(plain(X, W)))
        thread.start()
        thread.join()
        here = plain(X, W)
    np.testing.assert_allclose(found[0], X @ W, rtol=1e-5, atol=1e-6)
    assert np.any(here != found[0])


def test_other_options_of_jit() -> None:
    """Named extents and static arguments."""
    named = gradir.jit(lambda x, w: x @ w, shapes=("n, 5", "5, m"), precision="bf16")
    expected = gradir.jit(lambda x, w: gnp.matmul(x, w, precision="bf16"))(X, W)
    np.testing.assert_array_equal(named(X, W), expected)
    static = gradir.jit(lambda k, x, w: k * (x @ w), static_argnums=0, precision="bf16")
    np.testing.assert_array_equal(static(2, X, W), 2 * expected)
    mapped = gradir.jit(gradir.vmap(lambda x, w: x @ w, in_axes=(0, None)), precision="bf16")
    np.testing.assert_array_equal(mapped(np.stack([X, X]), W), np.stack([expected, expected]))


# Derivatives.


def scalar(x: Any, w: Any, image: Any, kernel: Any, q: Any) -> Any:
    y = gnp.matmul(x, w, precision="bf16")
    c = nn.conv2d(image, kernel, padding=1, precision="bf16")
    a = nn.scaled_dot_product_attention(q, q, q, precision="bf16")
    e = gnp.einsum("ij,jk,lk->il", x, w, gnp.sin(w[:3]), precision="bf16")
    return gnp.sum(gnp.sin(y)) + gnp.sum(gnp.tanh(c)) + gnp.sum(a * a) + gnp.sum(gnp.cos(e))


def without_precision(x: Any, w: Any, image: Any, kernel: Any, q: Any) -> Any:
    y, c = gnp.matmul(x, w), nn.conv2d(image, kernel, padding=1)
    a = nn.scaled_dot_product_attention(q, q, q)
    e = gnp.einsum("ij,jk,lk->il", x, w, gnp.sin(w[:3]))
    return gnp.sum(gnp.sin(y)) + gnp.sum(gnp.tanh(c)) + gnp.sum(a * a) + gnp.sum(gnp.cos(e))


def product_along(function: Any) -> Any:
    """The product of the Hessian with directions, by the gradient of a product of gradients."""

    def along(args: Any, directions: Any) -> Any:
        def slope(*args: Any) -> Any:
            parts = gradir.grad(function, argnums=(0, 1, 2, 3, 4))(*args)
            return sum(gnp.sum(p * d) for p, d in zip(parts, directions, strict=True))

        return gradir.grad(slope, argnums=(0, 1, 2, 3, 4))(*args)

    return along


def gradient_alone(function: Any) -> Any:
    return lambda args, directions: gradir.grad(function, argnums=(0, 1, 2, 3, 4))(*args)


def test_gradients() -> None:
    """Of both orders: near those of float64, which are central differences, and the
    interpreter's."""
    directions = [np.sign(array(*x.shape)) for x in ARGUMENTS]
    wide, ways = ([x.astype(np.float64) for x in xs] for xs in (ARGUMENTS, directions))
    value = gradir.jit(without_precision)
    gradient = gradir.jit(gradient_alone(without_precision))
    h = 1e-4
    ends = [[x + t * d for x, d in zip(wide, ways, strict=True)] for t in (h, -h)]
    slopes = (value(*ends[0]) - value(*ends[1])) / (2 * h)
    dots = [np.sum(g * d) for g, d in zip(gradient(wide, None), ways, strict=True)]
    np.testing.assert_allclose(sum(dots), slopes, rtol=1e-6)
    changes = [
        (up - down) / (2 * h) for up, down in zip(*(gradient(e, None) for e in ends), strict=True)
    ]
    for order, expected in ((gradient_alone, gradient(wide, None)), (product_along, changes)):
        function = gradir.jit(order(scalar))
        program = function.lower(ARGUMENTS, directions)
        assert program.as_text().count('precision = "bf16"') > 8
        found = function(ARGUMENTS, directions)
        leaves = [*ARGUMENTS, *directions]
        read = gradir.interpret(program.module, program.name, *leaves[: len(program.traced.names)])
        for one, exact, other in zip(found, expected, read, strict=True):
            assert np.linalg.norm(one - exact) < 0.05 * np.linalg.norm(exact)
            assert np.linalg.norm(one - other) < 0.003 * np.linalg.norm(exact)


# Refusals.


def test_refused() -> None:
    message = r'array.matmul: precision = "bf16" is for factors of f32, got tensor<6x5x\w+>; '
    for dtype in (np.float64, np.int32, np.float16):
        x, w = X.astype(dtype), W.astype(dtype)
        for run in (gradir.jit, lambda f: f):
            with pytest.raises(GradirError, match=message + "convert them to f32, or leave"):
                run(lambda x, w: gnp.matmul(x, w, precision="bf16"))(x, w)
    with pytest.raises(GradirError, match=r"got tensor<6x5xcomplex<f32>>; convert them to f32"):
        gnp.matmul(X * 1j, W, precision="bf16")
    with pytest.raises(GradirError, match=r"array.matmul: precision must be one of bf16, got tf32"):
        gnp.matmul(X, W, precision="tf32")
    with pytest.raises(ArgumentError, match="jit: precision must be one of 'bf16', None, got 'x'"):
        gradir.jit(network, precision="x")
    with pytest.raises(ArgumentError, match="default_matmul_precision: precision must be one of"):
        gradir.default_matmul_precision("float32")


def test_policy_refuses_what_it_would_not_round() -> None:
    """float64 and complex numbers; integers and halves have products of their own."""
    function = gradir.jit(lambda x, w: x @ w, precision="bf16")
    for x, name in ((X.astype(np.float64), "float64"), (X.astype(np.complex64), "complex64")):
        way = "convert the arrays to float32, or compute this product in `with gradir.default_"
        with pytest.raises(GradirError, match=f"is for products of float32, got {name}; {way}"):
            function(x, W.astype(x.dtype))
    whole = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(function(whole, whole.T), whole @ whole.T)
    half = X.astype(np.float16)
    found = function(half, W.astype(np.float16))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, half.astype(float) @ W.astype(np.float16), rtol=1e-2)


def test_stablehlo_refuses_it() -> None:
    program = gradir.jit(lambda x, w: x @ w, precision="bf16").lower(X, W)
    with pytest.raises(GradirError, match=r"array.matmul: StableHLO leaves the order of sums open"):
        program.module.to_stablehlo()
