"""closure_convert, custom_root, custom_linear_solve: solutions derived by their equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import TraceError
from gradir.testing import check_grads


def newton(f: Any, guess: Any) -> Any:
    """A root, found by a loop whose length the data decides."""

    def step(state: Any) -> Any:
        x, miss = state
        x = x - miss / gradir.jvp(f, (x,), (gnp.ones_like(x),))[1]
        return x, f(x)

    return gradir.while_loop(lambda s: abs(s[1]) > 1e-13, step, (guess, f(guess)))[0]


def check(function: Any, args: tuple[Any, ...]) -> None:
    """Reverse mode against differences to second order, forward mode against reverse mode."""
    check_grads(function, args)
    places = tuple(range(len(args)))
    slopes = gradir.grad(function, places)
    tangents = tuple(np.cos(np.arange(np.size(a)) + 1.0).reshape(np.shape(a)) for a in args)
    _, moved = gradir.jvp(function, args, tangents)
    grads = slopes(*args)
    assert moved == pytest.approx(
        sum(float(np.sum(g * t)) for g, t in zip(grads, tangents, strict=True)), rel=1e-11
    )
    _, bent = gradir.jvp(slopes, args, tangents)
    squares = gradir.grad(
        lambda *a: sum(gnp.sum(g * t) for g, t in zip(slopes(*a), tangents, strict=True)), places
    )
    for one, other in zip(bent, squares(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def root_of_cubic(a: Any, b: Any) -> Any:
    return gradir.custom_root(lambda x: x**3 + a * x - b, 1.0, newton, lambda g, y: y / g(1.0))


def test_a_root_has_the_derivatives_of_the_implicit_function_theorem() -> None:
    x = float(np.real(np.roots([1, 0, 2.0, -3.5])[2]))
    slope = -x / (3 * x**2 + 2)
    assert root_of_cubic(2.0, 3.5) == pytest.approx(x, rel=1e-14)
    assert gradir.grad(root_of_cubic)(2.0, 3.5) == pytest.approx(slope, rel=1e-12)
    mixed = gradir.grad(gradir.grad(root_of_cubic), 1)(2.0, 3.5)
    h = 1e-5
    ahead, behind = (gradir.grad(root_of_cubic)(2.0, 3.5 + s) for s in (h, -h))
    assert mixed == pytest.approx((ahead - behind) / (2 * h), rel=1e-8)


def test_roots_in_both_modes() -> None:
    check(root_of_cubic, (2.0, 3.5))


def test_a_root_in_transformations() -> None:
    a = np.array([1.0, 2.0, 3.0])
    rows = gradir.vmap(root_of_cubic, (0, None))(a, 3.5)
    slopes = gradir.vmap(gradir.grad(root_of_cubic), (0, None))(a, 3.5)
    for k in range(3):
        assert rows[k] == pytest.approx(root_of_cubic(a[k], 3.5), rel=1e-13)
        assert slopes[k] == pytest.approx(gradir.grad(root_of_cubic)(a[k], 3.5), rel=1e-12)
    whole = gradir.jit(gradir.grad(lambda a: gradir.scan(
        lambda c, x: (c + root_of_cubic(x, a), None), 0.0, np.array([1.0, 2.0]))[0]))  # fmt: skip
    parts = [gradir.grad(root_of_cubic, 1)(x, 3.5) for x in (1.0, 2.0)]
    assert whole(3.5) == pytest.approx(sum(parts), rel=1e-12)


MATRIX = np.array([[4.0, 1.0, 0.3], [0.7, 3.0, 0.2], [0.1, 0.5, 2.0]])


def nested_root(matrix: Any, right: Any) -> Any:
    """A system of a dict, with an integer around it and with diagnostics beside the solution."""
    power = gnp.asarray(3)

    def f(x: Any) -> Any:
        return {"v": matrix @ x["v"] + 0.1 * x["v"] ** power - right}

    def slope(g: Any, x: Any) -> Any:
        return gradir.jacrev(lambda v: g({"v": v})["v"])(x["v"])

    def solve(f: Any, guess: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return {"v": x["v"] - gnp.linalg.solve(slope(f, x), f(x)["v"])}

        return gradir.fori_loop(0, 20, step, guess), {"steps": gnp.asarray(20.0)}

    def tangents(g: Any, y: Any) -> Any:
        return {"v": gnp.linalg.solve(slope(g, y), y["v"])}

    x, aux = gradir.custom_root(f, {"v": gnp.zeros(3)}, solve, tangents, has_aux=True)
    return gnp.sum(x["v"] ** 2) * aux["steps"]


def test_roots_of_systems() -> None:
    right = np.array([1.0, 2.0, 3.0])
    check(nested_root, (MATRIX, right))


def conjugate_gradients(matvec: Any, b: Any) -> Any:
    def step(state: Any) -> Any:
        x, r, p = state
        q = matvec(p)
        alpha = (r @ r) / (p @ q)
        further = r - alpha * q
        return x + alpha * p, further, further + (further @ further) / (r @ r) * p

    return gradir.while_loop(lambda s: s[1] @ s[1] > 1e-28, step, (gnp.zeros_like(b), b, b))[0]


def solution(matrix: Any, b: Any, shift: Any, symmetric: bool) -> Any:
    def matvec(x: Any) -> Any:
        return (matrix + matrix.T) @ x + shift * x

    other = None if symmetric else conjugate_gradients
    x = gradir.custom_linear_solve(matvec, b, conjugate_gradients, other, symmetric)
    return gnp.sum(gnp.sin(x))


@pytest.mark.parametrize("symmetric", [True, False])
def test_linear_solutions(symmetric: bool) -> None:
    def solved(matrix: Any, b: Any, shift: Any) -> Any:
        return solution(matrix, b, shift, symmetric)

    args = MATRIX, np.array([1.0, 2.0, 3.0]), 0.5
    expected = np.sin(np.linalg.solve(MATRIX + MATRIX.T + 0.5 * np.eye(3), args[1])).sum()
    assert solved(*args) == pytest.approx(expected, rel=1e-12)
    check(solved, args)


def test_a_linear_solver_without_a_transposed_one_is_transposed_itself() -> None:
    def solved(matrix: Any, b: Any) -> Any:
        def solve(matvec: Any, b: Any) -> Any:
            return gnp.linalg.solve(gradir.jacrev(matvec)(b), b), gnp.sum(b)

        x, aux = gradir.custom_linear_solve(lambda x: matrix @ x, b, solve, has_aux=True)
        return gnp.sum(x**3) + gradir.no_grad(aux)

    args = MATRIX, np.array([1.0, 2.0, 3.0])
    wanted = gradir.grad(lambda a, b: gnp.sum(gnp.linalg.solve(a, b) ** 3), (0, 1))(*args)
    for one, other in zip(gradir.grad(solved, (0, 1))(*args), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_a_closure_of_a_custom_vjp() -> None:
    """What custom_vjp refuses, a traced array from around it, is an argument here."""

    def whole(x: Any, scale: Any) -> Any:
        scaled, around = gradir.closure_convert(lambda y: y * scale, x)

        @gradir.custom_vjp
        def doubled(x: Any, *around: Any) -> Any:
            return scaled(x, *around)

        doubled.defvjp(
            lambda x, *around: (doubled(x, *around), (x, around)),
            lambda kept, ct: (2 * ct * kept[1][0], ct * kept[0]),  # twice the slope, on purpose
        )
        return doubled(x, *around)

    assert [float(g) for g in gradir.grad(whole, (0, 1))(3.0, 5.0)] == [10.0, 3.0]
    function, around = gradir.closure_convert(np.sin, 1.0)
    assert (function, around) == (np.sin, [])


def test_refused_arguments_of_closures() -> None:
    def mistyped(x: Any) -> Any:
        function, around = gradir.closure_convert(lambda y: y * x, gnp.zeros(3))
        return gnp.sum(function(gnp.zeros(4), *around))

    def forgotten(x: Any) -> Any:
        return gradir.closure_convert(lambda y: y * x, x)[0](x)

    with pytest.raises(TraceError, match=r"takes float64\[3\] here, got float64\[4\]"):
        gradir.grad(mistyped)(1.0)
    with pytest.raises(TraceError, match="takes 2 arrays, with those from around it, got 1"):
        gradir.grad(forgotten)(1.0)
