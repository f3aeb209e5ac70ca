"""Rules of custom derivatives are traced when a derivative asks for them, at each order anew."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import PassError
from gradir.testing import check_grads

STARTS = np.array([0.5, 1.0, 1.5])


def by_fixed_point_itself() -> Any:
    """JAX's tutorial on implicit differentiation: the backward solves a fixed point, too."""

    @partial(gradir.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f: Any, a: Any, x: Any) -> Any:
        def more(state: Any) -> Any:
            return abs(state[0] - state[1]) > 1e-12

        def step(state: Any) -> Any:
            return state[1], f(a, state[1])

        return gradir.while_loop(more, step, (x, f(a, x)))[1]

    def forward(f: Any, a: Any, x: Any) -> Any:
        found = fixed_point(f, a, x)
        return found, (a, found)

    def backward(f: Any, kept: Any, ct: Any) -> Any:
        a, found = kept
        _, back_a = gradir.vjp(lambda a: f(a, found), a)
        again = fixed_point(partial(_reversed, f), (a, found, ct), ct)
        return back_a(again)[0], gnp.zeros_like(found)

    fixed_point.defvjp(forward, backward)
    return fixed_point


def _reversed(f: Any, packed: Any, u: Any) -> Any:
    a, found, ct = packed
    _, back = gradir.vjp(lambda x: f(a, x), found)
    return ct + back(u)[0]


FIXED_POINT = by_fixed_point_itself()


def root(a: Any) -> Any:
    """The square root, by Newton's steps."""
    return FIXED_POINT(lambda a, x: (x + a / x) / 2, a, a)


def test_a_backward_that_calls_itself_on_a_new_function_ends() -> None:
    @partial(gradir.custom_vjp, nondiff_argnums=(0,))
    def apply(f: Any, x: Any) -> Any:
        return f(x)

    def backward(f: Any, x: Any, ct: Any) -> Any:
        return (apply(lambda u: 2 * u, ct),)

    apply.defvjp(lambda f, x: (f(x), x), backward)
    function: Any = lambda x: apply(lambda u: 3 * u, x) * x  # noqa: E731
    assert function(5.0) == 75
    assert gradir.grad(function)(5.0) == 15 + 5 * 2
    # the forward function is differentiated as it is, 3, and the backward one by its rule, 2
    assert gradir.grad(gradir.grad(function))(5.0) == 3 + 2
    module = gradir.trace(function, 5.0)
    assert gradir.interpret(module, "main", 5.0)[0] == 75


def test_fixed_points_of_fixed_points_at_three_orders() -> None:
    assert root(2.0) == pytest.approx(2**0.5, rel=1e-12)
    first = gradir.grad(root)
    second = gradir.grad(first)
    assert first(2.0) == pytest.approx(0.5 * 2**-0.5, rel=1e-9)
    assert second(2.0) == pytest.approx(-0.25 * 2**-1.5, rel=1e-9)
    assert gradir.grad(second)(2.0) == pytest.approx(0.375 * 2**-2.5, rel=1e-8)


def test_on_rows_and_in_loops() -> None:
    first = 0.5 * STARTS**-0.5
    np.testing.assert_allclose(gradir.vmap(root)(STARTS), STARTS**0.5)
    np.testing.assert_allclose(gradir.vmap(gradir.grad(root))(STARTS), first)
    total: Any = lambda a: gradir.vmap(root)(a).sum()  # noqa: E731
    np.testing.assert_allclose(gradir.grad(total)(STARTS), first)
    slope: Any = lambda a: gradir.grad(total)(a).sum()  # noqa: E731
    np.testing.assert_allclose(gradir.grad(slope)(STARTS), -0.25 * STARTS**-1.5)
    twice: Any = lambda a: gradir.fori_loop(0, 2, lambda i, x: root(x), a)  # noqa: E731
    np.testing.assert_allclose(gradir.grad(twice)(2.0), 0.25 * 2**-0.75)


def test_the_traced_module_differentiates_at_every_order() -> None:
    module = gradir.trace(root, 2.0)
    check_grads((module, "root"), [np.float64(2.0)], order=1)
    for k, name in enumerate(("root", "root_grad", "root_grad_grad")):
        module = module.gradient(name, wrt=[0], of=[k], mode="grad")
    *_, third = gradir.compile(module, "root_grad_grad_grad")(np.float64(2.0))
    assert third == pytest.approx(0.375 * 2**-2.5, rel=1e-8)


def test_text_has_two_orders_and_refuses_the_next() -> None:
    module = gradir.parse(str(gradir.trace(root, 2.0)))
    for k, name in enumerate(("root", "root_grad")):
        module = module.gradient(name, wrt=[0], of=[k], mode="grad")
    *_, second = gradir.compile(module, "root_grad_grad")(np.float64(2.0))
    assert second == pytest.approx(-0.25 * 2**-1.5, rel=1e-9)
    with pytest.raises(PassError, match="has a derivative of its own, which is not in this prog"):
        module.gradient("root_grad_grad", wrt=[0], of=[2], mode="grad")


def test_rules_are_not_traced_for_values() -> None:
    traced: list[str] = []

    @gradir.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    def forward(x: Any) -> Any:
        traced.append("forward")
        return square(x), x

    square.defvjp(forward, lambda x, ct: (2 * x * ct,))
    assert gradir.jit(square)(3.0) == 9
    assert gradir.jit(lambda x: gradir.vmap(square)(x).sum())(STARTS) == (STARTS**2).sum()
    assert not traced
    assert gradir.grad(square)(3.0) == 6
    assert traced == ["forward"]


def test_a_rule_that_differentiates_its_own_function_has_that_of_its_body() -> None:
    @gradir.custom_vjp
    def cube(x: Any) -> Any:
        return x * x * x

    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (2 * gradir.grad(cube)(x) * ct,))
    assert gradir.grad(cube)(2.0) == 24

    @gradir.custom_jvp
    def twice(x: Any) -> Any:
        return 2 * x

    twice.defjvp(lambda p, t: (twice(*p), twice(*t)))  # a linear function
    assert gradir.grad(lambda x: twice(x) * x)(3.0) == 12
    assert gradir.jvp(twice, (3.0,), (5.0,))[1] == 10


def test_a_pulled_function_keeps_the_rules_of_what_it_calls() -> None:
    """The backward function that gradir.vjp returns, differentiated where it was not made."""

    @gradir.custom_vjp
    def seven(x: Any) -> Any:
        return gnp.sin(x)

    seven.defvjp(lambda x: (seven(x), ()), lambda _, ct: (7 * ct,))

    @gradir.custom_vjp
    def doubled(x: Any) -> Any:
        return 2 * x

    doubled.defvjp(lambda x: (doubled(x), ()), lambda _, ct: (seven(ct),))
    x = np.array([0.3, 0.4])
    _, pull = gradir.vjp(doubled, x)
    np.testing.assert_array_equal(pull(x)[0], np.sin(x))
    np.testing.assert_array_equal(gradir.grad(lambda ct: gnp.sum(pull(ct)[0]))(x), [7, 7])
    third = gradir.grad(lambda ct: gnp.sum(gradir.grad(lambda c: gnp.sum(pull(c)[0] * c))(ct)))
    np.testing.assert_allclose(third(x), [14, 14])
