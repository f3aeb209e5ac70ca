"""gradir.compat: twelve programs as JAX's users write them, and names that are not there.

tests/peers/test_compat_jax.py holds the programs' numbers against JAX's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jax_style import PROGRAMS

import gradir
from gradir.compat import jax, jnp, lax
from gradir.errors import ArgumentError


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name: str) -> None:
    leaves = jax.tree.leaves(PROGRAMS[name](jax, jnp, lax))
    assert leaves and all(np.isfinite(leaf).all() for leaf in leaves)


def test_some_numbers() -> None:
    root, first, second = PROGRAMS["implicit_layer"](jax, jnp, lax)
    np.testing.assert_allclose(
        [root, first, second], [2**0.5, 0.5 * 2**-0.5, -0.25 * 2**-1.5], rtol=1e-8
    )
    ahead, back, pushed, _ = PROGRAMS["hvp_and_newton"](jax, jnp, lax)
    np.testing.assert_allclose(ahead, back)
    np.testing.assert_allclose(ahead, pushed)
    losses, _ = PROGRAMS["mlp_with_adam"](jax, jnp, lax)
    assert losses[-1] < losses[0]


def test_arrays_are_numpys_with_jaxs_methods() -> None:
    x = jnp.arange(4.0)
    assert isinstance(x, np.ndarray) and isinstance(x, jax.Array)
    assert x.block_until_ready() is x and x.devices() == {"cpu"}
    np.testing.assert_array_equal(x.at[1:3].multiply(2.0), [0, 2, 4, 3])
    assert x.tolist() == [0, 1, 2, 3]  # arrays do not change
    assert isinstance(jax.jit(lambda x: x)(np.ones(2)), jax.Array)
    assert isinstance(jax.grad(lambda x: x * x)(2.0), jax.Array)
    with pytest.raises(AttributeError):
        x.at[0].twice()
    # a traced array has the place of the user's line
    text = str(gradir.trace(lambda x: jnp.sin(x) + 1.0, x))
    module = gradir.trace(lambda x: jnp.sin(x) + 1.0, x)
    function: Any = next(iter(module.op.ops))
    assert "array.sin" in text and "test_compat_jax.py" in str(
        function.body.block.first_op.location
    )


def test_stages() -> None:
    lowered = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(3))
    assert "array.sin" in lowered.as_text() and "@" in repr(lowered)
    np.testing.assert_allclose(lowered.compile()(np.ones(3))[0], 2 * np.sin(np.ones(3)))
    found = jax.eval_shape(lambda x: {"a": jnp.stack([x, x])}, jnp.ones(3))
    assert found["a"].shape == (2, 3) and found["a"].dtype == "float64"
    assert "array.sin" in str(jax.make_jaxpr(jnp.sin)(1.0))


def test_the_floating_type() -> None:
    try:
        jax.config.update("jax_enable_x64", False)
        assert jnp.zeros(3).dtype == np.float32
    finally:
        jax.config.update("jax_enable_x64", True)
    assert jnp.zeros(3).dtype == np.float64
    with pytest.raises(ArgumentError, match="'jax_debug_nans' has no meaning here"):
        jax.config.update("jax_debug_nans", True)


def test_draws_and_initializers() -> None:
    key = jax.random.PRNGKey(0)
    first, second = jax.random.split(key)
    assert jax.random.normal(first, (3,)).shape == (3,)
    assert not np.array_equal(jax.random.normal(first, (3,)), jax.random.normal(second, (3,)))
    for make, variance in (
        (jax.nn.initializers.he_normal, 2 / 200),
        (jax.nn.initializers.glorot_uniform, 2 / 500),
        (jax.nn.initializers.lecun_normal, 1 / 200),
    ):
        w = make()(key, (200, 300))
        assert w.std() == pytest.approx(variance**0.5, rel=0.05)
    places = lax.top_k(jnp.array([3.0, 1.0, 2.0]), 2)[1]
    assert places.tolist() == [0, 2]
    part: Any = lax.dynamic_slice(jnp.arange(6.0).reshape(2, 3), (0, 1), (2, 2))
    assert part.tolist() == [[1, 2], [4, 5]]


@pytest.mark.parametrize(
    "statement",
    [
        "from gradir.compat.jax.scipy.linalg import cho_factor, cho_solve",
        "from gradir.compat.jax.scipy.special import logsumexp",
        "import gradir.compat.jax.scipy.stats as stats; stats.norm.logpdf(0.0)",
        "from gradir.compat.jax.nn.initializers import glorot_normal",
        "from gradir.compat.jax.flatten_util import ravel_pytree",
        "from gradir.compat.jax.nn import initializers",
        "import gradir.compat.jax.numpy as jnp",
        "from gradir.compat.jax.tree_util import tree_map, Partial",
    ],
)
def test_modules_are_imported_as_jaxs(statement: str) -> None:
    exec(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from gradir.compat.jax.scipy import cluster", "SciPy has it"),
        ("from gradir.compat.jax.scipy.optimize import root", "lax.custom_root"),
        ("from gradir.compat.jax.scipy.special import expitt", "did you mean expit?"),
        ("from gradir.compat.jax.tree_util import tree_broadcast", "jax.tree.map of the full tree"),
        ("from gradir.compat.jax import tree_map", "no tree_map: jax.tree.map"),
        ("from gradir.compat.jax.lax import fft", "jnp.fft"),
    ],
)
def test_names_that_are_not_there(statement: str, message: str) -> None:
    with pytest.raises(ImportError, match=message):
        exec(statement)


def test_results_of_scipys_functions_are_jaxs_arrays() -> None:
    assert isinstance(jax.scipy.special.expit(np.ones(2)), jax.Array)
    assert isinstance(jax.scipy.stats.norm.cdf(np.ones(2)), jax.Array)
    with pytest.raises(ArgumentError, match="variance_scaling: expected mode one of fan_in, "):
        jax.nn.initializers.variance_scaling(1.0, "fan", "normal")


def test_numbers_of_elements_that_are_given() -> None:
    x = jnp.array([3.0, 0.0, 3.0, 1.0])
    np.testing.assert_array_equal(jnp.nonzero(x, size=4, fill_value=-1)[0], [0, 2, 3, -1])
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.where(x > 2, size=1)[0])(x), [0])
    np.testing.assert_array_equal(jnp.argwhere(x.reshape(2, 2), size=2), [[0, 0], [1, 0]])
    values, counts = jnp.unique(x, return_counts=True, size=4)
    np.testing.assert_array_equal(values, [0, 1, 3, 0])
    np.testing.assert_array_equal(counts, [1, 1, 2, 0])
    nans = np.array([np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(jnp.unique(nans, size=3, fill_value=0.0), [1, np.nan, 0])
    np.testing.assert_array_equal(jnp.unique(nans, equal_nan=False), [1, np.nan, np.nan])
    with pytest.raises(ArgumentError, match="where: size and fill_value are for a condition alone"):
        jnp.where(x > 1, x, 0.0, size=2)
    with pytest.raises(NotImplementedError, match="without axis="):
        jnp.unique(x, axis=0, size=2)


def test_segments_and_devices() -> None:
    sums = jax.ops.segment_sum(np.arange(4.0), np.array([0, 0, 2, 2]), 3, indices_are_sorted=True)
    np.testing.assert_array_equal(sums, [1, 0, 5])
    [device] = jax.devices()
    assert device == device.platform == jax.default_backend() == "cpu"
    np.testing.assert_array_equal(lax.reduce(np.ones((2, 3)), 1.0, lax.add, (1,)), [4, 4])
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(x.at[1:].apply(lambda y: y * y), [0, 1, 4])
