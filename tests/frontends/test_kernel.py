"""gradir.kernel: ops written as loop nests, their derivatives, and how they fuse."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ArgumentTypeError, TraceError, VerifyError
from gradir.testing import check_grads

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(6, 5))

blur = gradir.kernel(
    lambda i, j, x: 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]), pad=0.0
)
product = gradir.kernel(
    lambda i, j, k, a, b: a[i, k] * b[k, j],
    shape=lambda a, b: (a.shape[0], b.shape[1]),
    over=lambda a, b: a.shape[1],
)
correlate = gradir.kernel(
    lambda i, j, k, m, x, w: x[i + k, j + m] * w[k, m],
    shape=lambda x, w: tuple(n - m + 1 for n, m in zip(x.shape, w.shape, strict=True)),
    over=lambda x, w: w.shape,
)


@gradir.kernel(shape=lambda x: x.shape[0])
def edges(i: Any, x: Any) -> Any:
    """Two results."""
    return x[i, 0], x[i, -1 + x.shape[1]] * x[0, 0]


def test_indices_of_another_kernel_are_refused():
    """Equal or other bounds: an inner kernel would take them for its own."""

    def inner_reads(x: Any) -> Any:
        def outer(i: Any, u: Any) -> Any:
            return gradir.kernel(lambda k, v: v[i + k], shape=2, pad=0.0)(x)

        return gradir.kernel(outer, pad=0.0)(x)

    kept: list[Any] = []
    gradir.kernel(lambda i, u: (kept.append(i), u[i])[1])(np.ones(3))
    for call in (inner_reads, gradir.kernel(lambda i, u: u[kept[0]])):
        with pytest.raises(gradir.GradirError, match="an index of another kernel is used here"):
            gradir.jit(call)(np.ones(3))


def test_values():
    around = np.pad(X, 1)
    wanted = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    np.testing.assert_allclose(blur(X), wanted / 4, rtol=1e-15)
    np.testing.assert_allclose(product(X, X.T), X @ X.T)
    w = RANDOM.normal(size=(3, 2))
    windows = np.lib.stride_tricks.sliding_window_view(X, w.shape)
    np.testing.assert_allclose(correlate(X, w), np.einsum("ijkl,kl", windows, w))
    first, last = edges(X)
    np.testing.assert_array_equal(first, X[:, 0])
    np.testing.assert_array_equal(last, X[:, -1] * X[0, 0])


@pytest.mark.parametrize(
    ("combine", "reduced"),
    [("add", np.sum), ("multiply", np.prod), ("minimum", np.min), ("maximum", np.max)],
)
def test_combinations(combine: str, reduced: Any):
    op = gradir.kernel(lambda i, k, x: x[i, k], shape=6, over=5, combine=combine)
    np.testing.assert_allclose(op(X), reduced(X, axis=1))
    check_grads(lambda x: gnp.sum(gnp.sin(op(x))), (X,), order=2)


def test_indices_are_integers():
    op = gradir.kernel(lambda i, j, x: x[i, j] * (i + 2 * j - 1) / (j + 1) + gnp.where(i > j, 1, 0))
    i, j = np.indices(X.shape)
    np.testing.assert_allclose(op(X), X * (i + 2 * j - 1) / (j + 1) + (i > j))
    places = gradir.kernel(lambda i, j: 10 * i - j, shape=(2, 3))
    np.testing.assert_array_equal(places(), [[0, -1, -2], [10, 9, 8]])
    turned = gradir.kernel(lambda i, x: x[5 - i, 3 - 2 + i * 0] ** 2, shape=6)
    np.testing.assert_array_equal(turned(X), X[::-1, 1] ** 2)


def test_numbers_and_captured_arrays():
    op = gradir.kernel(lambda i, j, x, s: x[i, j] * s + 1)
    np.testing.assert_array_equal(op(X, 2.0), X * 2 + 1)

    def outer(x: Any, y: Any) -> Any:
        scaled = gnp.sum(y)
        return gnp.sum(gradir.kernel(lambda i, j, x: x[i, j] * scaled)(x))

    np.testing.assert_allclose(gradir.grad(outer, argnums=1)(X, X), np.full(X.shape, X.sum()))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32"])
def test_types(dtype: str):
    x = np.arange(30).reshape(6, 5).astype(dtype)
    op = gradir.kernel(lambda i, j, x: x[i, j] + x[i - 1, j], pad=2)
    found = op(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x + np.pad(x, ((1, 0), (0, 0)), constant_values=2)[:-1])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0)])
def test_small(shape: tuple[int, ...]):
    x = RANDOM.normal(size=shape)
    np.testing.assert_array_equal(gradir.kernel(lambda i, j, x: x[i, j] * 2)(x), x * 2)
    total = gradir.kernel(lambda i, j, x: x[i, j], shape=(), over=lambda x: x.shape)
    np.testing.assert_allclose(total(x), x.sum())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: blur(gnp.tanh(blur(x))),
        lambda x: product(x, gnp.sin(x.T)),
        lambda x: correlate(x, x[1:3, 2:5]),
        lambda x: edges(gnp.exp(x))[1],
        lambda x: gradir.fori_loop(0, 3, lambda k, c: blur(c) + x * c, x),
        lambda x: gradir.cond(gnp.sum(x) > 0, blur, lambda c: c * c, x),
        lambda x: gradir.checkpoint(lambda c: blur(blur(c) * c))(x),
        lambda x: gradir.kernel(lambda i, j, a, b: a[i, j] * b[5 - i, 4 - j])(x, x),
        lambda x: gradir.kernel(lambda i, x: x[i * 2, i] * x[i, 3], shape=3)(x),
        lambda x: gradir.kernel(lambda i, j, x: x[i, j] * x[i + j, i - j], pad=1.5)(x),
    ],
)
def test_derivatives(function: Any):
    def of(x: Any) -> Any:
        return gnp.sum(gnp.sin(function(x)))

    check_grads(of, (X,), order=2)
    module = gradir.trace(gradir.grad(of), X)
    [name] = [n for n in module.functions if n in ("main", "of", "grad_of")][-1:]
    np.testing.assert_allclose(
        gradir.compile(module, name)(X)[0], gradir.interpret(module, name, X)[0], rtol=1e-12
    )


def test_it_fuses():
    """One nest with what stands before and after it, and no buffer; backward from x alone."""
    big = np.ones((300, 300))
    values = gradir.jit(lambda x: gnp.exp(blur(x)) * 2).compiled(big).executable
    assert len(values.program.kernels) == 1 and values.plan.peak_bytes == 0
    sums = gradir.jit(lambda x: gnp.sum(correlate(x, X[:3, :3]))).compiled(big).executable
    assert sums.plan.peak_bytes < big.nbytes
    module = gradir.trace(lambda x: gnp.sum(gnp.exp(blur(x))), big)
    forward = gradir.compile(module.gradient("main"), "main_fwd")
    assert sum(spec.nbytes for spec in forward.results[1:]) <= 2 * big.nbytes


def random_kernel(seed: int) -> Any:
    """A body of a few reads of two arrays at random affine subscripts."""
    choose = random.Random(seed)
    rank = choose.randint(1, 2)
    reads = [
        (choose.randrange(2), [[choose.randint(-2, 2) for _ in range(rank + 2)] for _ in range(2)])
        for _ in range(choose.randint(1, 3))
    ]
    has_over = choose.random() < 0.5

    def body(*given: Any) -> Any:
        indices, arrays = given[:-2], given[-2:]
        total = 0.5
        for which, rows in reads:
            subscripts = []
            for *coefficients, constant in rows:
                place = indices[0] * 0 + constant
                for c, index in zip(coefficients, indices, strict=False):
                    place = place + index * c
                subscripts.append(place)
            total = total * arrays[which][tuple(subscripts)] + gnp.sin(total + arrays[1][0, 1])
        return total

    shape = [choose.randint(0, 4) for _ in range(rank)]
    return gradir.kernel(body, shape=shape, over=3 if has_over else (), pad=0.75)


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int):
    op = random_kernel(seed)
    y = RANDOM.normal(size=(3, 4))

    def of(x: Any, y: Any) -> Any:
        return gnp.sum(gnp.tanh(op(x, y)))

    check_grads(of, (X, y), order=2)


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        (lambda i, j, x: x[i - 1, j], {}, r"subscript 0 must be in \[0, 6\), got -1 to 4; give a"),
        (lambda i, j, x: x[i], {}, r"2 subscripts expected for an array of shape \[6, 5\], got 1"),
        (lambda i, j, x: x[x[i, j], j], {}, "a subscript must be affine in the indices, .* numpy"),
        (lambda i, j, x: x[i // 2, j], {}, "a subscript must be affine in the indices"),
        (lambda i, j, x: x[i, 1.5], {}, "a subscript must be affine in the indices, .* got float"),
        (lambda i, j, x: x, {}, "must return elements, got an array without subscripts"),
        (lambda i, j, x: np.ones(3), {}, r"must return elements, over \[6, 5\], got .* \[3\]"),
        (lambda i, j, x: "x", {}, "must return elements: expected an array or a number, got str"),
        (lambda i, x: x[i, 0], {}, "takes|called with|positional"),
        (lambda i, x: x[i, 0], {"shape": -1}, "shape must be extents, got -1"),
        (lambda i, j, x: x[i, j] - gnp.max(x[i, j]), {}, "array.max is no op of single elements"),
        (lambda i, j, x: gnp.flip(2 * x[i, j], axis=0), {}, "array.flip is no op of single"),
        (lambda i, j, x: x[i, j] + gnp.sum(i), {}, "array.sum is no op of single elements"),
        (
            lambda i, j, x: gradir.fori_loop(0, 2, lambda _, y: gnp.roll(y, 1, axis=1), x[i, j]),
            {},
            "array.roll is no op of single elements; call it outside of the kernel",
        ),
        (lambda i, x: x[i, 0], {"shape": 2, "over": "x"}, "over must be extents, got 'x'"),
    ],
)
def test_refused(body: Any, options: Any, message: str):
    with pytest.raises((TraceError, VerifyError), match=message):
        gradir.kernel(body, **options)(X)


def test_functions_of_indices_and_of_whole_arrays():
    """An index is an integer array to every function; arguments that are no elements are free."""
    weights = np.array([1.0, 2.0, 4.0])

    def body(i: Any, j: Any, x: Any) -> Any:
        y = gnp.sin(i) + gnp.where(i > j, abs(j - 3), +i) + x[np.int64(0), j]
        return gradir.fori_loop(0, 2, lambda _, y: y * gnp.sum(weights), y)

    i, j = np.indices((6, 5))
    want = (np.sin(i) + np.where(i > j, abs(j - 3), i) + X[0][None]) * 49
    np.testing.assert_allclose(gradir.kernel(body, shape=np.shape(X))(X), want, rtol=1e-12)
    options: Any = {"shape": np.int64(2), "pad": np.float32(0)}
    shaped = gradir.kernel(lambda i, x: x[i, 0], **options)
    np.testing.assert_array_equal(shaped(X), X[:2, 0])


def test_wrong_options():
    for combine in (["add"], None, 1):
        with pytest.raises(ArgumentError, match=r"combine: expected one of add, .*, got"):
            gradir.kernel(lambda i, x: x[i], combine=combine)  # pyrefly: ignore[bad-argument-type]
    for pad in (np.True_, True, "0", [0.0], 1j):
        with pytest.raises(ArgumentTypeError, match="pad: expected a number or None, got"):
            gradir.kernel(lambda i, x: x[i], pad=pad)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentError, match="combine: expected one of add, multiply, minimum"):
        gradir.kernel(lambda i, x: x[i], combine="mean")
    with pytest.raises(ArgumentTypeError, match="body: expected a Python function, got 3"):
        gradir.kernel(3)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(TraceError, match="without arrays needs a shape"):
        gradir.kernel(lambda: 1)()


def test_it_pickles():
    again = pickle.loads(pickle.dumps(edges))
    assert again is edges
    np.testing.assert_array_equal(again(X)[0], X[:, 0])
