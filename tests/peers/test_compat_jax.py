"""The ten programs of gradir.compat.jax give JAX's numbers."""

from __future__ import annotations

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
