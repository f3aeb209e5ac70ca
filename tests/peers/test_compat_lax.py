"""Functions of gradir.compat.jax under JAX's names: values, shapes and dtypes as JAX has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.stats
import numpy as np
import pytest
from jax import lax

import gradir.compat as compat

X = np.array([[0.5, -1.5, 2.5, 0.0], [1.25, -0.5, -2.0, 3.0], [0.1, 0.2, 0.3, 0.49999999999999994]])
K = np.array([7, -7, 9, -9, 4])
Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    # meanings that NumPy's functions of like names do not have
    "cumsum": lambda jax, jnp, lax: (lax.cumsum(X), lax.cumsum(X, axis=1, reverse=True)),
    "cumprod": lambda jax, jnp, lax: (lax.cumprod(X), lax.cumprod(X, 1, True)),
    "cummax": lambda jax, jnp, lax: (lax.cummax(X), lax.cummin(X, axis=1, reverse=True)),
    "cumlogsumexp": lambda jax, jnp, lax: lax.cumlogsumexp(X, axis=1),
    "round": lambda jax, jnp, lax: lax.round(jnp.asarray(X)),
    "div": lambda jax, jnp, lax: (lax.div(K, np.full(5, 2)), lax.div(X, X + 5)),
    "div_negative": lambda jax, jnp, lax: lax.div(K, np.array([-2, 2, -2, -2, 3])),
    "rem": lambda jax, jnp, lax: lax.rem(K, np.full(5, 3)),
    # slices
    "dynamic_slice": lambda jax, jnp, lax: lax.dynamic_slice(X, (-2, 3), (2, 2)),
    "dynamic_slice_traced": lambda jax, jnp, lax: jax.jit(
        lambda k: lax.dynamic_slice(jnp.asarray(X), (k, 1), (1, 2))
    )(-1),
    "dynamic_slice_in_dim": lambda jax, jnp, lax: [
        lax.dynamic_slice_in_dim(X, k, 2, axis=1) for k in (-1, 0, 3)
    ],
    "dynamic_index": lambda jax, jnp, lax: [
        lax.dynamic_index_in_dim(X, k, 0, keepdims) for k in (-1, 9) for keepdims in (True, False)
    ],
    "dynamic_update": lambda jax, jnp, lax: (
        lax.dynamic_update_slice_in_dim(X, X[:, :2], -2, 1),
        lax.dynamic_update_index_in_dim(X, X[0], 2, 0),
        lax.dynamic_update_slice(X, X[:1, :1], (-1, 0)),
    ),
    "slices": lambda jax, jnp, lax: (
        lax.slice(X, (0, 1), (3, 4), (2, 1)),
        lax.slice_in_dim(X, 1, 4, 2, axis=1),
        lax.index_in_dim(X, 1, 1),
        lax.index_in_dim(X, -1, 0, keepdims=False),
    ),
    "top_k": lambda jax, jnp, lax: [
        jnp.asarray(part).astype("float64")
        for x in (X, np.array([[-128, 127, 0, -128]], "i1"), np.array([[0, 255, 7]], "u1"))
        for part in lax.top_k(jnp.asarray(x), 3)
    ],
    # reductions, products, constants
    "reductions": lambda jax, jnp, lax: (
        *(getattr(lax, f"reduce_{name}")(jnp.asarray(X), axes=(1,)) for name in REDUCED),
        lax.reduce_and(jnp.asarray(X > 0), axes=(0,)),
        lax.argmax(X, 1, np.int32),
        lax.argmin(X, axis=0, index_dtype=np.int32),
    ),
    "dot_general": lambda jax, jnp, lax: (
        lax.dot_general(X, X, (((1,), (1,)), ((), ()))),
        lax.dot_general(B, B + 1, (((2,), (1,)), ((0,), (0,)))),
        lax.batch_matmul(B, B),
    ),
    "constants": lambda jax, jnp, lax: (
        lax.full((2, 3), 1.5),
        lax.full_like(jnp.asarray(X), 2),
        lax.iota(np.int32, 4),
        lax.broadcasted_iota(np.int32, (2, 3), 1),
        lax.broadcast(X, (2,)),
        lax.broadcast_in_dim(X, (3, 2, 4), (0, 2)),
        lax.rev(X, (0,)),
        lax.sort(X, dimension=0),
    ),
    "elementwise": lambda jax, jnp, lax: (
        *(getattr(lax, name)(jnp.asarray(X)) for name in ELEMENTWISE),
        *(getattr(lax, name)(jnp.asarray(abs(X) / 4)) for name in INSIDE),
        lax.igamma(abs(X) + 1.0, abs(X) + 0.5),
    ),
    "loops": lambda jax, jnp, lax: (
        lax.while_loop(cond_fun=lambda c: c < 9, body_fun=lambda c: c * 2, init_val=1.0),
        lax.cond(True, true_fun=lambda: 1.0, false_fun=lambda: 2.0),
        [lax.switch(k, [jnp.sin, jnp.cos], 1.0) for k in (-3, 1, 5)],
    ),
    # around
    "ravel_pytree": lambda jax, jnp, lax: jax.flatten_util.ravel_pytree(TREE)[0],
    "unravel": lambda jax, jnp, lax: (lambda made: made[1](made[0] * 2))(
        jax.flatten_util.ravel_pytree(TREE)
    ),
    "scipy": lambda jax, jnp, lax: (
        jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(jnp.eye(3) * 2), jnp.ones(3)),
        jax.scipy.special.logsumexp(jnp.asarray(X), axis=1),
        jax.scipy.stats.norm.logpdf(jnp.asarray(X), 0.5, 2.0),
    ),
    "attention": lambda jax, jnp, lax: (
        jax.nn.dot_product_attention(Q, Q + 0.5, Q - 1),
        jax.nn.dot_product_attention(Q, Q, Q, is_causal=True),
        jax.nn.squareplus(jnp.asarray(X)),
    ),
    "remat": lambda jax, jnp, lax: jax.grad(
        jax.checkpoint(
            lambda x: jnp.sum(jnp.tanh(x @ x.T)), policy=jax.checkpoint_policies.dots_saveable
        )
    )(jnp.asarray(X)),
    "updates": lambda jax, jnp, lax: jnp.asarray(X).at[:, 0].mul(2.0),
    "devices": lambda jax, jnp, lax: (jax.device_count() > 0, jax.process_index()),
}
REDUCED = ("sum", "prod", "max", "min")
ELEMENTWISE = ("asinh", "cbrt", "erfc", "exp2", "is_finite", "logistic")
INSIDE = ("erf_inv", "atanh", "bessel_i0e")
B = np.arange(24.0).reshape(2, 3, 4)[:, :, :3]
Q = np.sin(np.arange(48.0)).reshape(1, 4, 3, 4)
TREE = {"a": X[0], "b": [X, np.float64(2.0)]}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_jaxs(name: str) -> None:
    with jax.enable_x64(True):
        expected = jax.tree.leaves(CALLS[name](jax, jnp, lax))
    found = compat.jax.tree.leaves(CALLS[name](compat.jax, compat.jnp, compat.lax))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda of: of.he_normal(), (3, 3, 8, 160)),
        (lambda of: of.glorot_uniform(), (3, 3, 8, 160)),
        (lambda of: of.lecun_normal(in_axis=0, out_axis=1), (90, 130)),
        (lambda of: of.variance_scaling(0.5, "fan_out", "normal"), (90, 130)),
        (lambda of: of.truncated_normal(0.3), (90, 130)),
        (lambda of: of.uniform(0.3), (90, 130)),
        (lambda of: of.orthogonal(2.0), (4, 40, 30)),
        (lambda of: of.constant(0.25), (3,)),
    ],
)
def test_initializers_have_jaxs_spread(make: Any, shape: tuple[int, ...]) -> None:
    expected = make(jax.nn.initializers)(jax.random.key(0), shape)
    found = make(compat.jax.nn.initializers)(compat.jax.random.key(0), shape)
    assert found.shape == shape
    np.testing.assert_allclose(
        [found.std(), found.mean()], [expected.std(), expected.mean()], rtol=0.05, atol=0.01
    )


def test_orthogonal_rows() -> None:
    for shape in ((5, 3), (3, 5), (2, 3, 4)):
        w = compat.jax.nn.initializers.orthogonal()(compat.jax.random.key(1), shape)
        flat = np.reshape(w, (-1, shape[-1]))
        small = flat.T @ flat if flat.shape[0] > flat.shape[1] else flat @ flat.T
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)
