"""gradir.custom_jvp: a handwritten derivative in forward and reverse mode, under others."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError, TraceError
from gradir.testing import check_grads

X = np.array([0.5, -1.0, 1.5])


@gradir.custom_jvp
def cube(x: Any) -> Any:
    """x**3, whose derivative says 7 x**2, which no rule would."""
    return x * x * x


@cube.defjvp
def _cube_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    return cube(x), 7 * x * x * x_dot


@gradir.custom_jvp
def log1pexp(x: Any) -> Any:
    return gnp.log(1.0 + gnp.exp(x))


log1pexp.defjvps(lambda t, y, x: (1 - 1 / (1 + gnp.exp(x))) * t)


def total(x: Any) -> Any:
    return gnp.sum(gnp.sin(cube(x)))


SLOPE = np.cos(X**3) * 7 * X**2


def test_the_derivative_is_the_one_that_is_written_in_both_modes() -> None:
    np.testing.assert_allclose(gradir.grad(total)(X), SLOPE)
    np.testing.assert_allclose(gradir.jit(gradir.grad(total))(X), SLOPE)
    np.testing.assert_allclose(gradir.jvp(total, (X,), (X,))[1], SLOPE @ X)
    np.testing.assert_allclose(gradir.jacfwd(cube)(X), np.diag(7 * X**2))
    np.testing.assert_allclose(gradir.jacrev(cube)(X), np.diag(7 * X**2))
    np.testing.assert_allclose(cube(X), X**3)


def test_second_derivatives_in_all_pairs_of_modes() -> None:
    # d/dx of 7 x**2 cos(x**3), where the inner cube has the slope 7 x**2 again
    wanted = np.diag(14 * X * np.cos(X**3) - 49 * X**4 * np.sin(X**3))
    for outer in (gradir.jacfwd, gradir.jacrev):
        for inner in (gradir.jacfwd, gradir.jacrev):
            np.testing.assert_allclose(outer(inner(total))(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(gradir.hvp(total, (X,), (np.ones(3),)), wanted @ np.ones(3))


def test_defjvps_does_not_overflow() -> None:
    x = np.array([-800.0, 0.0, 3.0, 800.0])
    with np.errstate(over="ignore"):
        slopes = gradir.vmap(gradir.grad(log1pexp))(x)
    np.testing.assert_allclose(slopes, [0, 0.5, 1 / (1 + np.exp(-3.0)), 1])


def test_in_loops_stages_and_rows() -> None:
    def looped(x: Any) -> Any:
        y = gradir.fori_loop(0, 2, lambda i, y: cube(y) * 0.5, x)
        z = gradir.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, cube(s[1])), (0, y))[1]
        return gnp.sum(gradir.checkpoint(lambda v: gnp.sin(cube(v)))(z))

    a = X**3 / 2
    b = a**3 / 2
    c = b**3
    chain = 7 * X**2 / 2 * 7 * a**2 / 2 * 7 * b**2 * 7 * c**2 * np.cos(c**3)
    np.testing.assert_allclose(gradir.grad(looped)(X), chain)
    np.testing.assert_allclose(gradir.jacfwd(looped)(X), chain)
    rows = np.stack([X, 2 * X])
    wanted = [gradir.grad(total)(row) for row in rows]
    np.testing.assert_allclose(gradir.vmap(gradir.grad(total))(rows), wanted)
    pushed = gradir.vmap(lambda x: gradir.jvp(total, (x,), (x,))[1])(rows)
    np.testing.assert_allclose(pushed, [w @ r for w, r in zip(wanted, rows, strict=True)])


def test_arguments_and_results_are_nested() -> None:
    @gradir.custom_jvp
    def g(p: Any, n: Any) -> Any:
        return {"y": p["a"] * p["b"], "n": n + 1}

    def rule(primals: Any, tangents: Any) -> Any:
        (p, n), (p_dot, n_dot) = primals, tangents
        assert n_dot is None
        slope = 10 * p_dot["a"] * p["b"] + 100 * p_dot["b"] * p["a"]
        return g(p, n), {"y": slope, "n": None}

    g.defjvp(rule)

    def f(a: Any, b: Any, n: Any) -> Any:
        out = g({"a": a, "b": b}, n)
        return gnp.sum(out["y"]) * out["n"]

    a, b, n = X, X + 1, np.int64(4)
    first, second = gradir.grad(f, argnums=(0, 1))(a, b, n)
    np.testing.assert_allclose(first, 50 * b)
    np.testing.assert_allclose(second, 500 * a)
    tangent = gradir.jvp(lambda a, b: f(a, b, n), (a, b), (a, b))[1]
    np.testing.assert_allclose(tangent, (50 * b) @ a + (500 * a) @ b)


def test_one_argument_may_not_take_part() -> None:
    scaled = gradir.custom_jvp(lambda x, w: x * w)
    scaled.defjvps(lambda t, y, x, w: 3 * t * w, None)
    first, second = gradir.grad(lambda x, w: gnp.sum(scaled(x, w)), argnums=(0, 1))(X, X)
    np.testing.assert_allclose(first, 3 * X)
    np.testing.assert_allclose(second, 0 * X)
    silent = gradir.custom_jvp(lambda x: x * 2)
    silent.defjvps(None)
    np.testing.assert_allclose(gradir.grad(lambda x: gnp.sum(silent(x)))(X), 0 * X)
    whole = gradir.custom_jvp(lambda x: gnp.floor(x).astype("int64"))
    whole.defjvp(lambda p, t: (whole(*p), None))
    np.testing.assert_allclose(gradir.grad(lambda x: gnp.sum(whole(x) * x))(X), np.floor(X))


@pytest.mark.parametrize("kind", [gradir.custom_jvp, gradir.custom_vjp])
def test_static_arguments(kind: Any) -> None:
    calls: list[Any] = []

    def power(x: Any, n: Any, name: Any = "plain") -> Any:
        calls.append((n, name))
        return x**n

    f = kind(power, nondiff_argnums=(1, 2))
    if kind is gradir.custom_jvp:
        f.defjvp(lambda n, name, p, t: (f(p[0], n, name), n * p[0] ** (n - 1) * t[0]))
    else:
        f.defvjp(
            lambda x, n, name: (f(x, n, name), x),
            lambda n, name, x, ct: (n * x ** (n - 1) * ct,),
        )

    def g(x: Any) -> Any:
        return gnp.sum(f(x, 2, "a") + f(x, 3, name="b") + f(x, 3.0, "b"))

    np.testing.assert_allclose(gradir.grad(g)(X), 2 * X + 6 * X**2)
    assert set(calls) == {(2, "a"), (3, "b")} and any(isinstance(n, float) for n, _ in calls)
    np.testing.assert_allclose(f(X, 2, "a"), X**2)
    np.testing.assert_allclose(f(X, 2, name="a"), X**2)
    with pytest.raises((TraceError, ArgumentTypeError), match="must be hashable"):
        gradir.grad(lambda x: gnp.sum(f(x, [2], "a")))(X)


def test_the_program_as_text() -> None:
    module = gradir.trace(total, X)
    rules = "cube_forward", "cube_jvp", "cube_backward"
    assert {"cube", *rules, "total"} <= {*module.functions}
    declared = "grad.custom_vjp @cube, @cube_forward, @cube_backward jvp @cube_jvp"
    assert declared in str(module)
    assert str(gradir.parse(str(module))) == str(module)
    right = gradir.custom_jvp(lambda x: x * x * x)
    right.defjvp(lambda p, t: (right(*p), 3 * p[0] ** 2 * t[0]))
    check_grads(lambda x: gnp.sum(gnp.sin(right(x))), [X], order=2)


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(cube)) is cube


def sine_with_jvp(rule: Any) -> Any:
    @gradir.custom_jvp
    def f(x: Any) -> Any:
        return gnp.sin(x)

    f.defjvp(rule)
    return f


ERRORS: list[tuple[Any, str]] = [
    (lambda p, t: p[0], r"custom_jvp: the jvp must return \(results, tangents\)"),
    (lambda p, t: (p, t[0]), "the results of the jvp must be nested like the function's"),
    (lambda p, t: (None, t[0]), "the results of the jvp must be nested like the function's"),
    (lambda p, t: (p[0], t), "custom_jvp: a tangent must be nested like its result"),
    (lambda p, t: (p[0], t[0][0]), r"a tangent must be float64\[3\], got float64\[\]"),
    (lambda p, t: (p[0][0], t[0]), "must return the results and the tangents of the floating"),
    (lambda p: (p, p), "custom_jvp: <lambda> is called with 2 arguments"),
]


@pytest.mark.parametrize(("rule", "message"), ERRORS, ids=range(len(ERRORS)))
def test_wrong_rules(rule: Any, message: str) -> None:
    f = sine_with_jvp(rule)
    with pytest.raises(gradir.GradirError, match=message):
        gradir.grad(lambda x: gnp.sum(f(x)))(X)


def test_refusals() -> None:
    plain = gradir.custom_jvp(lambda x: x)
    with pytest.raises(TraceError, match="custom_jvp: @main has no derivative; call defjvp"):
        gradir.grad(lambda x: gnp.sum(plain(x)))(X)
    with pytest.raises(ArgumentTypeError, match="expected a Python function, got 3"):
        gradir.custom_jvp(3)  # pyrefly: ignore[bad-argument-type]
    plain.defjvps(None, None)
    with pytest.raises(TraceError, match="defjvps: expected 1 functions, one for each argument"):
        gradir.grad(lambda x: gnp.sum(plain(x)))(X)
    static = gradir.custom_jvp(lambda x, n: x, nondiff_argnums=1)
    with pytest.raises(ArgumentTypeError, match="defjvps is not for functions of nondiff_argnums"):
        static.defjvps(None)

    def outside(x: Any) -> Any:
        inner = gradir.custom_jvp(lambda y: y * x)
        inner.defjvp(lambda p, t: (p[0], t[0]))
        return gnp.sum(inner(x))

    with pytest.raises(TraceError, match="must not use traced arrays from around it"):
        gradir.grad(outside)(X)
