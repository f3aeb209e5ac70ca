"""Each primitive of JAX that can be imported: values, first and second gradients, against JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from jax_cases import CASES, JaxCase
from jax_ops import jax, jnp

from gradir.interop.jax import differentiable

SIZE = 10
"""The cases that are computed in one program."""


def total(results: Any, seed: int) -> Any:
    """The sum of the floating results times fixed numbers."""
    made: Any = 0.0
    for k, leaf in enumerate(jax.tree_util.tree_leaves(results)):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size:
            weights = np.random.default_rng(seed + k).uniform(0.5, 1.5, leaf.shape)
            made = made + jnp.sum((leaf * weights.astype(leaf.dtype)).astype(jnp.float64))
    return made


def is_floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))


def derived(function: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The gradients of a function of (floats, others) in the floats."""
    for k in range(order):
        inner = function

        def scalar(floats: Any, others: Any, inner: Any = inner, seed: int = 10 * k) -> Any:
            return total(inner(floats, others), seed)

        function = jax.grad(scalar)
    return function


def together(cases: Sequence[JaxCase]) -> Callable[..., Any]:
    """All cases as one function of their floats and their other arguments."""

    def function(floats: Any, others: Any) -> list[Any]:
        made = []
        for case, reals, rest in zip(cases, floats, others, strict=True):
            pairs = zip(reals, rest, strict=True)
            made.append(case.function(*(x if other is None else other for x, other in pairs)))
        return made

    return function


def compare(cases: Sequence[JaxCase], dtype: str) -> None:
    args = [[jnp.asarray(converted(a, dtype)) for a in case.arguments] for case in cases]
    floats = [[x if is_floating(x) else None for x in row] for row in args]
    others = [[None if is_floating(x) else x for x in row] for row in args]
    theirs = together(cases)
    ours = differentiable(theirs)
    for order in range(cases[0].orders + 1 if any(map(any_of, floats)) else 1):
        expected = jax.jit(derived(theirs, order))(floats, others)
        found = jax.jit(derived(ours, order))(floats, others)
        for case, a, e in zip(cases, found, expected, strict=True):
            rtol = case.rtol if dtype == "float64" else case.single
            same(a, e, rtol * 10 if order else rtol, f"{case.name}, order {order}, {dtype}")


def any_of(row: Sequence[Any]) -> bool:
    return any(x is not None for x in row)


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


def groups(kind: str) -> Iterator[list[JaxCase]]:
    """The cases of a kind, those of one order together."""
    for order in (0, 1, 2):
        chosen = [case for case in CASES[kind] if case.orders == order]
        for start in range(0, len(chosen), SIZE):
            yield chosen[start : start + SIZE]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", CASES)
def test_primitives(kind: str, dtype: str) -> None:
    """All cases of a kind; every one that fails is in the message."""
    failed: list[str] = []
    for group in groups(kind):
        try:
            compare(group, dtype)
        except Exception:
            failed += [found for case in group for found in alone(case, dtype)]
    assert not failed, "\n\n".join(failed)


def alone(case: JaxCase, dtype: str) -> list[str]:
    """What is wrong with one case."""
    try:
        compare([case], dtype)
    except Exception as error:
        return [f"{case.name}: {type(error).__name__}: {str(error)[:600]}"]
    return []
