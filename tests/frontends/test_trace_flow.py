"""gradir.cond, while_loop, fori_loop and scan: values, gradients, text and errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import TraceError
from gradir.testing import check_grads

X = np.random.default_rng(1).normal(size=5)
W = np.random.default_rng(2).normal(size=(3, 3))


def checked(function: Callable[..., Any], *args: Any) -> Any:
    """The result, natively; derivatives of two orders are checked."""
    module = gradir.trace(function, *args)
    check_grads((module, module.functions[-1]), args)
    return gradir.jit(function)(*args)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond(sign: float) -> None:
    def f(x: Any, sign: Any) -> Any:
        y = gnp.sin(x)
        return gnp.sum(
            gradir.cond(sign > 0, lambda a, b: a * b + y, lambda a, b: {"r": a}["r"] * 2, x, y)
        )

    expected = np.sum(X * np.sin(X) + np.sin(X)) if sign > 0 else np.sum(2 * X)
    np.testing.assert_allclose(checked(f, X, np.array(sign)), expected)


def test_branches_of_cond_agree_on_python_numbers() -> None:
    f: Any = lambda x: (  # noqa: E731
        gradir.cond(x[0] > 0, lambda: (x[1], 1, 1), lambda: (0, 2.5, x.astype("float32")[0]))
    )
    first, second, third = gradir.jit(f)(-abs(X))
    assert (first, second) == (0, 2.5) and third.dtype == np.float32
    first, second, third = gradir.jit(f)(abs(X))
    assert (first, second, third) == (abs(X)[1], 1, 1)
    assert third.dtype == np.float32


def test_while_loop() -> None:
    def f(x: Any) -> Any:
        y, n = gradir.while_loop(
            lambda c: gnp.sum(c[0]) < 60.0, lambda c: (c[0] * c[0] + x, c[1] + 1), (x, 0)
        )
        return gnp.sum(y), n

    y, n = abs(X) + 1, 0
    while y.sum() < 60:
        y, n = y * y + abs(X) + 1, n + 1
    found = checked(f, abs(X) + 1)
    np.testing.assert_allclose(found[0], y.sum())
    assert found[1] == n > 0


def test_while_loop_of_no_trips() -> None:
    f: Any = lambda x: gradir.while_loop(lambda y: y < 0.0, lambda y: y * x, x)  # noqa: E731
    assert checked(f, np.array(2.0)) == 2.0


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_fori_loop(trips: int) -> None:
    def f(x: Any, w: Any) -> Any:
        return gradir.fori_loop(0, trips, lambda i, y: gnp.tanh(w @ y) * x[i], x[:3])

    y = X[:3]
    for i in range(trips):
        y = np.tanh(W @ y) * X[i]
    np.testing.assert_allclose(checked(f, X, W), y)


def test_fori_loop_of_traced_bounds() -> None:
    def f(x: Any, low: Any, high: Any) -> Any:
        return gradir.fori_loop(low, high, lambda i, s: s + x[i] ** 2, 0.0)

    assert gradir.jit(f)(X, 1, np.int32(4)) == pytest.approx(np.sum(X[1:4] ** 2))
    found = gradir.grad(f)(X, 1, 4)
    np.testing.assert_allclose(found, [0, *2 * X[1:4], 0])


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse: bool) -> None:
    def f(x: Any, w: Any) -> Any:
        def body(carry: Any, row: Any) -> Any:
            h = gnp.tanh(w @ carry["h"] + row["x"])
            return {"h": h, "n": carry["n"] + 1}, (h[0] * row["s"], {"h": h})

        rows = {"x": x[:, None], "s": gnp.arange(5)}
        rows["s"] = rows["s"].astype(x.dtype)
        carry, (first, rest) = gradir.scan(body, {"h": x[:3], "n": 0}, rows, reverse=reverse)
        return gnp.sum(carry["h"]) + gnp.sum(first), carry["n"], rest["h"]

    h, all_h, total = X[:3], np.zeros((5, 3)), 0.0
    for i in reversed(range(5)) if reverse else range(5):
        h = all_h[i] = np.tanh(W @ h + X[i])
        total += h[0] * i
    found = checked(f, X, W)
    np.testing.assert_allclose(found[0], h.sum() + total)
    assert found[1] == 5
    np.testing.assert_allclose(found[2], all_h)


def test_scan_without_arrays() -> None:
    f: Any = lambda x: gradir.scan(lambda c, _: (c * x, c), x, length=3)  # noqa: E731
    last, before = gradir.jit(f)(2.0)
    assert last == 16 and before.tolist() == [2, 4, 8]


def test_scan_of_no_trips() -> None:
    f: Any = lambda x, xs: gradir.scan(lambda c, r: (c + r["r"].sum(), c > r["k"]), x, xs)  # noqa: E731
    last, ys = gradir.jit(f)(2.0, {"r": np.zeros((0, 3)), "k": np.zeros(0)})
    assert last == 2 and ys.shape == (0,) and ys.dtype == bool
    assert (
        gradir.grad(lambda x, xs: f(x, xs)[0])(2.0, {"r": np.zeros((0, 3)), "k": np.zeros(0)}) == 1
    )


def test_outside_of_a_trace_they_are_compiled_and_run() -> None:
    assert gradir.fori_loop(0, 4, lambda i, s: s + i, 0) == 6
    assert gradir.while_loop(lambda x: x < 9.0, lambda x: x * 2, 1.0) == 16
    assert gradir.cond(True, lambda x: x + 1, lambda x: x, 1) == 2
    total, partial = gradir.scan(lambda c, x: (c + x, c), 0.0, X)
    np.testing.assert_allclose([*partial, total], [0, *np.cumsum(X)], atol=1e-15)


def test_types_of_what_a_loop_carries() -> None:
    """Python numbers take the type that the body gives them, through others if need be."""
    x = X.astype(np.float32)

    def f(x: Any) -> Any:
        return gradir.fori_loop(0, 3, lambda i, c: (c[1], c[1] + x[i], c[2] + 1), (0, 1.0, 0))

    first, second, third = gradir.jit(f)(x)
    assert [v.dtype.name for v in (first, second, third)] == ["float32", "float32", "int64"]
    np.testing.assert_allclose(second, 1 + x[:3].sum(), rtol=1e-6)
    g: Any = lambda x: gradir.fori_loop(0, 3, lambda i, c: c + 0.5, 0) * x  # noqa: E731
    assert gradir.jit(g)(np.float32(2)) == 3
    h: Any = lambda x: gradir.fori_loop(0, 1, lambda i, c: c + np.ones(()), 0.0) * x  # noqa: E731
    assert gradir.jit(h)(np.float32(2)).dtype == np.float64


def test_the_text_of_a_loop() -> None:
    def f(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            square = x * x
            return total + square

        return gradir.fori_loop(0, 3, body, x)

    text = str(gradir.trace(f, gradir.Spec((), "float32")))
    assert "\n".join(line.strip() for line in text.splitlines()[5:-3]) == (
        "%x_1 = scf.for %i = %0 to %1 step %2 iter_args(%x_2 = %x) -> (tensor<f32>) {\n"
        "%3 = arith.index_cast %i : index to i64\n"
        "%4 = tensor.from_elements %3 : tensor<i64>\n"
        "%square = array.multiply %x, %x : tensor<f32>\n"
        "%5 = array.add %x_2, %square : tensor<f32>\n"
        "scf.yield %5 : tensor<f32>\n"
        "}"
    )
    assert str(gradir.parse(text)) == text


def test_stages_in_loops_and_loops_in_stages() -> None:
    def f(x: Any, w: Any) -> Any:
        @gradir.checkpoint
        def step(h: Any, row: Any) -> Any:
            return gnp.sin(gnp.tanh(w @ h) * row)

        @gradir.checkpoint
        def run(h: Any) -> Any:
            return gradir.scan(lambda h, row: (step(h, row), None), h, x)[0]

        return gnp.sum(run(x[:3]))

    checked(f, X, W)


ERRORS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: gradir.cond(x, lambda: 1, lambda: 2), "cond: pred must be a bool of rank 0, got"),
    (lambda x: gradir.cond(True, lambda: x, lambda: (x, x)), "cond: both functions must return"),
    (
        lambda x: gradir.cond(True, lambda: x, lambda: x[0]),
        r"cond: both functions must return the same types, got float64\[\] and float64\[5\] for",
    ),
    (lambda x: gradir.cond(True, lambda: x, lambda: "x"), "result of a branch of cond: expected"),
    (
        lambda x: gradir.while_loop(lambda y: y, lambda y: y, x),
        r"while_loop: the condition must be a bool of rank 0, got float64\[5\]",
    ),
    (
        lambda x: gradir.while_loop(lambda y: True, lambda y: y[0], x),
        r"while_loop: the body must return the types of init, got float64\[\] and float64\[5\]",
    ),
    (
        lambda x: gradir.fori_loop(0, 3, lambda i, y: (y, y), x),
        "fori_loop: the body must return what it is handed, nested alike",
    ),
    (
        lambda x: gradir.fori_loop(0, 3, lambda i, y: i, 0.5),
        r"fori_loop: the body must return the types of init, got int64\[\] and float64\[\] for",
    ),
    (lambda x: gradir.fori_loop(0, x, lambda i, y: y, x), "fori_loop: bounds must be integers"),
    (lambda x: gradir.fori_loop(0.5, 2, lambda i, y: y, x), "fori_loop: bounds must be integers"),
    (lambda x: gradir.scan(lambda c, y: c, 0, x), r"scan: the function must return \(carry, y\)"),
    (lambda x: gradir.scan(lambda c, y: (c, y), 0, (x, x[1:])), "scan: xs and length must say one"),
    (lambda x: gradir.scan(lambda c, y: (c, y), 0, x, length=3), "scan: xs and length must say"),
    (lambda x: gradir.scan(lambda c, y: (c, y), 0), "scan: xs and length must say .* got none"),
    (lambda x: gradir.scan(lambda c, y: (c, y), 0, x[0]), "scan: xs must have rank >= 1, got"),
    (
        lambda x: gradir.fori_loop(0, 3, lambda i, y: y, x, policy=cast(Any, 8)),
        'policy: expected text such as "every=8", got 8',
    ),
    (
        lambda x: gradir.cond(True, lambda y: y, lambda: x, x),
        "cond: <lambda> is called with 1 argument: too many positional arguments",
    ),
    (
        lambda x: gradir.while_loop(lambda y, z: True, lambda y: y, x),
        "while_loop: <lambda> is called with 1 argument: missing a required argument: 'z'",
    ),
    (
        lambda x: gradir.while_loop(lambda y: True, lambda: x, x),
        "while_loop: <lambda> is called with 1 argument: too many",
    ),
    # pyrefly: ignore
    (lambda x: gradir.fori_loop(0, 3, gnp.sin, x), "fori_loop: sin is called with 2 arguments"),
    (
        lambda x: gradir.scan(partial(cast(Any, lambda c, y, z: (c, y)), w=1), 0, x),
        "scan: <lambda> is called with 3 arguments: unknown argument w; known: c, y, z",
    ),
    (lambda x: gradir.cond(True, x, x), "cond: expected a Python function, got <traced array"),
    (lambda x: gradir.while_loop(cast(Any, True), lambda y: y, x), "while_loop: expected a Python"),
]


@pytest.mark.parametrize(("function", "message"), ERRORS, ids=[m[:40] for _, m in ERRORS])
def test_errors(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        gradir.trace(function, X)
    assert caught.value.diagnostic is not None and caught.value.diagnostic.file == __file__


def test_an_error_of_the_callback_itself_is_not_changed() -> None:
    def body(i: Any, y: Any) -> Any:
        return (lambda a, b: a)(y)  # pyrefly: ignore[missing-argument]

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'") as caught:
        gradir.fori_loop(0, 3, body, X)
    assert not isinstance(caught.value, gradir.GradirError)


def test_a_value_that_leaves_the_body_by_another_way() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        gradir.fori_loop(0, 3, lambda i, y: kept.append(y * 2) or y, x)
        return kept[0]

    with pytest.raises(TraceError, match="a traced array of a region is used outside of it"):
        gradir.trace(f, X)


@pytest.mark.parametrize("policy", ["every=8", "binomial = 4"])
def test_policies_of_loops(policy: str) -> None:
    """The same bits, for less memory."""

    def loss(policy: str) -> Any:
        def f(x: Any) -> Any:
            return gradir.fori_loop(0, 64, lambda i, y: gnp.sin(y) + x * 0.1, x, policy).sum()

        return gradir.jit(gradir.grad(f))

    x = np.tile(X, 20)
    plain, kept = loss("store_all"), loss(policy)
    assert (plain(x) == kept(x)).all()
    sizes = [f.compiled(x).executable.plan.peak_bytes for f in (plain, kept)]
    assert sizes[1] < 0.5 * sizes[0]


def test_policies_of_the_other_loops() -> None:
    def f(x: Any, policy: str) -> Any:
        y, _ = gradir.scan(lambda c, r: (gnp.sin(c + r), None), x, x, policy=policy)
        return gradir.while_loop(lambda y: y.sum() < 9, lambda y: y * y + 1, y, policy).sum()

    plain, kept = (
        gradir.grad(lambda x, policy=policy: f(x, policy))(X) for policy in ("store_all", "every=2")
    )
    assert (plain == kept).all()
    text = str(gradir.trace(lambda x: f(x, "every=2"), X))
    assert text.count("{grad.loop = #grad.loop<every = 2>}") == 2
    for policy, message in (
        ("some", "the policy must be store_all, every, binomial or online, got some"),
        ("every", "every takes a number of iterations above 0, got none"),
        ("every=x", "invalid literal for int"),
    ):
        with pytest.raises(TraceError, match=message):
            gradir.trace(lambda x, policy=policy: f(x, policy), X)
