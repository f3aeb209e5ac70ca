"""jax.vmap's axis_name and lax's collectives in gradir.compat.jax give JAX's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import gradir.compat as compat

X = np.random.default_rng(0).normal(size=(4, 8))
Y = np.random.default_rng(1).normal(size=(3, 4, 8))

FORMS: dict[str, Callable[[Any, Any, Any], Callable[[Any], Any]]] = {
    "psum": lambda jax, jnp, lax: lambda x: jnp.sin(lax.psum(x, "i")) * x,
    "pmean": lambda jax, jnp, lax: lambda x: x - lax.pmean(x, "i"),
    "numbers": lambda jax, jnp, lax: lambda x: x / lax.psum(1, "i") + lax.pmean(2.0, "i"),
    "nested": lambda jax, jnp, lax: lambda x: sum(lax.psum({"a": x, "b": (x, x * 2)}, "i")["b"]),
    "all_gather": lambda jax, jnp, lax: lambda x: lax.all_gather(x, "i", axis=1).sum(1) * x,
    "tiled": lambda jax, jnp, lax: lambda x: lax.all_gather(x, "i", axis=0, tiled=True),
    "ppermute": lambda jax, jnp, lax: (
        lambda x: lax.ppermute(x, "i", perm=[(0, 1), (1, 2), (2, 3), (3, 0)]) * x
    ),
    "psum_scatter": lambda jax, jnp, lax: (
        lambda x: lax.psum_scatter(x**2, "i", scatter_dimension=0, tiled=True) * x[:2]
    ),
    "axis_index": lambda jax, jnp, lax: lambda x: x * lax.axis_index("i"),
    "scan": lambda jax, jnp, lax: (
        lambda x: lax.scan(lambda c, r: (c + lax.psum(r, "i") * x[0], c), 0.0, x)[1]
    ),
    "cond": lambda jax, jnp, lax: (
        lambda x: lax.cond(True, lambda x: lax.psum(x, "i"), lambda x: x, x)
    ),
    "jit": lambda jax, jnp, lax: jax.jit(lambda x: lax.psum(x, "i") * x),
    "checkpoint": lambda jax, jnp, lax: jax.checkpoint(lambda x: jnp.sin(lax.psum(x, "i")) * x),
    "batch_norm": lambda jax, jnp, lax: (
        lambda x: (
            (x - lax.pmean(x, "i")) / jnp.sqrt(lax.pmean((x - lax.pmean(x, "i")) ** 2, "i") + 1e-5)
        )
    ),
}


def numbers(name: str, jax: Any, jnp: Any, lax: Any) -> dict[str, Any]:
    """Values, and derivatives outside and inside of vmap, of first and second order."""
    one = FORMS[name](jax, jnp, lax)
    rows = jax.vmap(one, axis_name="i")

    def scalar(x: Any) -> Any:
        return jnp.sum(jnp.sin(one(x)))

    def twice(x: Any) -> Any:
        return jnp.sum(jax.grad(scalar)(x) * jnp.cos(x))

    return {
        "value": rows(X),
        "outside": jax.grad(lambda x: jnp.sum(jnp.sin(rows(x))))(X),
        "inside": jax.vmap(jax.grad(scalar), axis_name="i")(X),
        "twice": jax.vmap(jax.grad(twice), axis_name="i")(X),
    }


@pytest.mark.parametrize("name", FORMS)
def test_numbers_are_jaxs(name: str) -> None:
    with jax.enable_x64(True):
        expected = numbers(name, jax, jnp, lax)
    found = numbers(name, compat.jax, compat.jnp, compat.lax)
    for what, value in expected.items():
        assert np.shape(found[what]) == value.shape, what
        np.testing.assert_allclose(found[what], value, rtol=1e-8, atol=1e-10, err_msg=what)


def nested_names(jax: Any, jnp: Any, lax: Any) -> list[Any]:
    def both(x: Any) -> Any:
        return x * lax.psum(x, "i") + lax.pmean(x, "j") + lax.axis_index(("i", "j"))

    def inner(x: Any) -> Any:
        return x * lax.psum(x, ("i", "j")) / lax.axis_size("j")

    return [
        *(jax.vmap(jax.vmap(f, axis_name="i"), axis_name="j")(Y) for f in (both, inner)),
        jax.vmap(jax.vmap(lambda x: x * lax.psum(x, "j")), axis_name="j")(Y),
        jax.vmap(jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i"), axis_name="i")(Y),
        jax.vmap(lambda: lax.axis_index("i") * 2.0, axis_name="i", axis_size=3)(),
        jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(X),
        jax.vmap(lambda x: x - lax.pmax(x, "i"), in_axes=1, out_axes=1, axis_name="i")(X),
    ]


def test_nested_names_and_axes() -> None:
    with jax.enable_x64(True):
        expected = nested_names(jax, jnp, lax)
    found = nested_names(compat.jax, compat.jnp, compat.lax)
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12)


def custom_rule(jax: Any, jnp: Any, lax: Any) -> list[Any]:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(lax.psum(x, "i")) * x

    def backward(x: Any, ct: Any) -> Any:
        inner = lax.psum(x, "i")
        return (lax.psum(ct * jnp.cos(inner) * x, "i") + ct * jnp.sin(inner),)

    f.defvjp(lambda x: (f(x), x), backward)
    rows = jax.vmap(f, axis_name="i")
    return [
        jax.grad(lambda x: jnp.sum(rows(x) ** 2) + jnp.sum(rows(x[:2]) ** 2))(X),
        jax.vmap(jax.grad(lambda x: jnp.sum(f(x) ** 2)), axis_name="i")(X),
    ]


def test_rules_of_a_custom_derivative_know_the_axis() -> None:
    with jax.enable_x64(True):
        expected = custom_rule(jax, jnp, lax)
    found = custom_rule(compat.jax, compat.jnp, compat.lax)
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-9)


IN_AXES: list[tuple[Any, Any]] = [
    (({"w": 0, "b": None}, None), ({"w": X, "b": X[0]}, 2.0)),
    ([{"w": 0, "b": 1}, 0], ({"w": X, "b": X.T}, X[:, 0])),
    ((0, None), ({"w": X, "b": X}, 2.0)),
    (({"w": None, "b": (0, [None, -1])}, None), ({"w": X[0], "b": (X, [2.0, X.T])}, 3.0)),
    (({"w": 0, "b": None}, 0), ({"w": X, "b": {"c": X[0], "d": [X[1]]}}, X[:, 1])),
]


@pytest.mark.parametrize("case", range(len(IN_AXES)))
def test_axes_as_trees(case: int) -> None:
    in_axes, arguments = IN_AXES[case]

    def make(jax: Any, jnp: Any) -> Any:
        def f(tree: Any, x: Any) -> Any:
            total = sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(tree))
            return {"y": tree["w"] * total, "z": (x * total, total)}

        out_axes = {"y": 1, "z": 0}
        return jax.vmap(f, in_axes=in_axes, out_axes=out_axes)(*arguments)

    with jax.enable_x64(True):
        expected = jax.tree.leaves(make(jax, jnp))
    found = compat.jax.tree.leaves(make(compat.jax, compat.jnp))
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: compat.lax.psum(x, "k"), "lax.psum: no axis 'k' here, known: 'i'; jax.vmap(f, "),
        (lambda x: compat.lax.all_gather(x, ("i", "i")), "lax.all_gather: expected one axis, got"),
        (
            lambda x: compat.lax.pmean(x, "i", axis_index_groups=[[0, 1]]),
            "lax.pmean: axis_index_groups is not there; split the axis in two by reshape",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        compat.jax.vmap(call, axis_name="i")(X)
    assert message in str(caught.value)
