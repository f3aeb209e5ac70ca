"""gradir.numpy.promote_types is jax.numpy's, for all pairs of element types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp

import gradir
import gradir.numpy as gnp
from gradir.dialects.base.shapes import NUMPY_NAMES

NAMES = tuple(NUMPY_NAMES.values())


@pytest.mark.parametrize("first", NAMES)
def test_pairs(first: str) -> None:
    with jax.enable_x64(True):
        for second in NAMES:
            wanted = np.dtype(jnp.promote_types(first, second))
            assert gnp.promote_types(first, second) == wanted, (first, second)
            made: Any = gnp.where(True, gnp.ones(2, first), gnp.ones(2, second))
            assert made.dtype == wanted, (first, second)


@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_python_numbers(number: float) -> None:
    with jax.enable_x64(True):
        for name in NAMES:
            wanted: Any = jnp.where(True, jnp.ones(2, name), number)
            made: Any = gnp.where(True, gnp.ones(2, name), number)
            assert made.dtype == wanted.dtype, name


def test_weak_results_of_integers() -> None:
    """uint64 beside a signed integer is a weak float: it keeps float32 as it is."""
    x, k, n = (np.ones(2, t) for t in ("float32", "uint64", "int8"))
    with jax.enable_x64(True):
        wanted: Any = (jnp.asarray(k) + jnp.asarray(n)) * jnp.asarray(x)
    [found] = gradir.jit(lambda x, k, n: [(k + n) * x])(x, k, n)
    assert found.dtype == wanted.dtype == np.float32
