"""Each primitive of JAX that can be imported: values, first and second gradients, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax_cases import CASES, JaxCase
from jax_ops import jax, jnp

from gradir.interop.jax import differentiable

WEIGHTS = np.random.default_rng(3)


def weighted(function: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """The sum of the floating results times fixed numbers."""

    def total(*args: Any) -> Any:
        made: Any = 0.0
        for k, leaf in enumerate(jax.tree_util.tree_leaves(function(*args))):
            if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size:
                weights = np.random.default_rng(seed + k).uniform(0.5, 1.5, leaf.shape)
                made = made + jnp.sum(leaf * weights.astype(leaf.dtype))
        return made

    return total


def gradients(function: Callable[..., Any], places: tuple[int, ...], order: int) -> Any:
    for k in range(order):
        function = jax.grad(weighted(function, 10 * k), places)
    return function


def compare(case: JaxCase, dtype: str) -> None:
    args = [jnp.asarray(converted(a, dtype)) for a in case.arguments]
    places = tuple(k for k, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.floating))
    rtol = case.rtol if dtype == "float64" else case.single
    ours = differentiable(case.function)
    for order in range(case.orders + 1 if places else 1):
        rtol = rtol * 10 if order else rtol
        theirs = gradients(case.function, places, order)(*args)
        if order == 0:
            found = ours(*args)
        else:
            found = gradients(ours, places, order)(*args)
        same(found, theirs, rtol, f"{case.name}, order {order}, {dtype}")


def converted(argument: Any, dtype: str) -> Any:
    is_float = isinstance(argument, np.ndarray | np.generic) and argument.dtype == np.float64
    return argument.astype(dtype) if is_float else argument


def same(found: Any, expected: Any, rtol: float, what: str) -> None:
    pairs = list(zip(*map(jax.tree_util.tree_leaves, (found, expected)), strict=True))
    for a, e in pairs:
        assert (a.shape, a.dtype) == (e.shape, e.dtype), what
        a, e = (np.asarray(x) for x in (a, e))
        if e.dtype.kind in "iub":
            np.testing.assert_array_equal(a, e, what)
            continue
        wide = (np.asarray(x, np.float64) for x in (a, e))
        size = np.abs(np.asarray(e, np.float64))
        scale = float(np.max(size[np.isfinite(size)], initial=0.0))
        np.testing.assert_allclose(*wide, rtol=rtol, atol=rtol * max(scale, 1.0), err_msg=what)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", CASES)
def test_primitives(kind: str, dtype: str) -> None:
    """All cases of a kind; every one that fails is in the message."""
    failed = []
    for case in CASES[kind]:
        try:
            compare(case, dtype)
        except Exception as error:
            failed.append(f"{case.name}: {type(error).__name__}: {str(error)[:600]}")
    assert not failed, "\n\n".join(failed)
