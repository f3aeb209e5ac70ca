"""The twelve programs of gradir.compat.jax give JAX's numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
from jax import lax
from jax_style import PROGRAMS

import gradir.compat as compat


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_jaxs(name: str) -> None:
    with jax.enable_x64(True):
        expected = jax.tree.leaves(PROGRAMS[name](jax, jnp, lax))
    found = compat.jax.tree.leaves(PROGRAMS[name](compat.jax, compat.jnp, compat.lax))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)


def small_functions(jax: Any, jnp: Any, lax: Any) -> list[Any]:
    x, k = np.linspace(-2.5, 2.5, 12).reshape(3, 4), np.array([[3, 1, 2], [0, 5, 4]], np.int32)
    contracted = (((1,), (1,)), ((), ()))
    return [
        lax.sort_key_val(k, k.astype(np.float64) * 2, dimension=1),
        lax.collapse(np.ones((2, 3, 4)), 1), lax.collapse(np.ones((2, 3, 4)), 0, 2),
        lax.shift_left(k, k), lax.shift_right_arithmetic(-k, k), lax.population_count(k),
        lax.dot(x, x.T, precision=lax.Precision.HIGHEST),
        lax.dot_general(x, x, contracted, preferred_element_type=np.float64),
        lax.zeta(np.array([2.0, 3.5]), np.array([1.0, 0.5])), lax.tile(x, (2, 1)),
        jax.nn.log1mexp(np.array([1e-3, 0.5, 3.0])), jax.nn.sparse_plus(x),
        jax.nn.sparse_sigmoid(x), jax.nn.identity(x), lax.optimization_barrier(x),
        jax.grad(lambda x: jnp.sum(jax.nn.log1mexp(x)))(np.array([1e-3, 0.5, 3.0])),
        jax.grad(lambda x: jnp.sum(jax.nn.sparse_plus(x)))(x),
        jnp.abs(jax.scipy.linalg.svd(x, full_matrices=False)[0]),
        jnp.abs(jax.scipy.linalg.qr(x, mode="economic")[1]),
    ]  # fmt: skip


def test_small_functions() -> None:
    with jax.enable_x64(True):
        expected = jax.tree.leaves(small_functions(jax, jnp, lax))
    found = compat.jax.tree.leaves(small_functions(compat.jax, compat.jnp, compat.lax))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def sized(jax: Any, jnp: Any, lax: Any) -> list[Any]:
    x, bools = jnp.array([3.0, 1.0, 3.0, 0.0, 1.0, 3.0]), jnp.array([[0, 2, 0], [4, 0, 6]])
    found: list[Any] = []
    for size in (1, 2, 3, 5):
        found += [
            jnp.nonzero(bools, size=size), jnp.nonzero(bools, size=size, fill_value=(-1, 7)),
            jnp.where(x > 1, size=size, fill_value=9), jnp.flatnonzero(bools, size=size),
            jnp.argwhere(bools, size=size, fill_value=-1), jnp.unique(x, size=size),
            jnp.unique(x, True, True, True, size=size),
            jnp.unique(x, return_counts=True, size=size, fill_value=-2.0),
            jax.jit(lambda x, size=size: jnp.unique(x, size=size))(x),
        ]  # fmt: skip
    nans = jnp.array([jnp.nan, 1.0, jnp.nan, 0.0])
    for equal_nan in (True, False):
        found += [
            jnp.unique(nans, True, True, True, size=4, fill_value=-1.0, equal_nan=equal_nan),
            jnp.unique(nans, equal_nan=equal_nan),
        ]
    found += [
        jax.vmap(lambda row: jnp.nonzero(row, size=2, fill_value=-1)[0])(bools),
        jax.grad(lambda x: jnp.sum(jnp.unique(x, size=3) * jnp.array([1.0, 2.0, 3.0])))(
            jnp.array([5.0, 2.0, 4.0])
        ),
        jnp.nonzero(jnp.zeros(3), size=2), jnp.nonzero(jnp.array([5]), size=1),
        jax.ops.segment_sum(x, jnp.array([0, 0, 1, 1, 2, 2]), num_segments=4),
        jax.ops.segment_max(x, jnp.array([0, 0, 1, 1, 2, 2]), 3, indices_are_sorted=True),
        lax.reduce(bools * 1.0, 1.0, lax.add, (0,)), lax.reduce(bools * 1.0, 0.0, lax.max, (0, 1)),
        x.at[1:3].apply(jnp.exp), jax.jit(lambda x: x.at[0].apply(lambda y: y * y))(x),
    ]  # fmt: skip
    return found


def test_numbers_of_elements_that_are_given() -> None:
    with jax.enable_x64(True):
        expected = jax.tree.leaves(sized(jax, jnp, lax))
    found = compat.jax.tree.leaves(sized(compat.jax, compat.jnp, compat.lax))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-12)
