"""One Python function traced by gradir and by JAX: values, gradients and tangents agree.

And every pair of transformations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp
from transform_pairs import ALL, X, applied, is_refused

import gradir
import gradir.numpy as gnp

pytestmark = pytest.mark.filterwarnings("ignore")


class Lax:
    """JAX's functions under the names that gradir has for them."""

    cond, scan, switch, map = jax.lax.cond, jax.lax.scan, jax.lax.switch, jax.lax.map
    fori_loop, while_loop = jax.lax.fori_loop, jax.lax.while_loop
    associative_scan, no_grad = jax.lax.associative_scan, jax.lax.stop_gradient
    grad, value_and_grad, jvp, vjp = jax.grad, jax.value_and_grad, jax.jvp, jax.vjp
    jacfwd, jacrev, hessian = jax.jacfwd, jax.jacrev, jax.hessian
    linearize, linear_transpose = jax.linearize, jax.linear_transpose
    custom_vjp, custom_jvp = jax.custom_vjp, jax.custom_jvp
    jit, vmap, checkpoint = jax.jit, jax.vmap, jax.checkpoint


# Each takes the namespaces of arrays and of transformations, x [5, 3] and w [3, 3].


def recurrent(np_: Any, g: Any, x: Any, w: Any) -> Any:
    def cell(c: Any, row: Any) -> Any:
        h = np_.tanh(w @ c["h"] + row)
        return {"h": h, "n": c["n"] + 1}, h[::-1] * c["n"]

    c, ys = g.scan(g.checkpoint(cell), {"h": np_.zeros(3), "n": 0.0}, x, reverse=True)
    return np_.sum(ys[1:] ** 2) + c["h"][0] * c["n"]


def branching(np_: Any, g: Any, x: Any, w: Any) -> Any:
    y = g.cond(np_.sum(x) > 0, lambda a, b: a @ b, lambda a, b: np_.sin(a @ b), x, w)
    return np_.mean(y[..., None] * y[:, None, :] * g.no_grad(y[:, :1, None]))


def counted(np_: Any, g: Any, x: Any, w: Any) -> Any:
    body: Any = lambda i, c: np_.where(c > 0, c, -c * 0.5) @ w + x[i]  # noqa: E731
    return np_.sum(g.fori_loop(0, 4, body, x[:2]))


def nested(np_: Any, g: Any, x: Any, w: Any) -> Any:
    def f(v: Any) -> Any:
        return np_.sum(np_.exp(-((w @ v) ** 2)))

    transposed = g.vjp(lambda v: w @ v, x[1])[1](x[0])[0]
    return np_.sum(g.grad(f)(x[0]) * x[1]) + g.jvp(f, (x[0],), (x[2],))[1] + np_.sum(transposed)


def unbounded(np_: Any, g: Any, x: Any, w: Any) -> Any:
    body: Any = lambda c: c * c + np_.sum(w) ** 2 + 1  # noqa: E731
    return np_.sum(g.while_loop(lambda c: np_.sum(c) < 50.0, body, x[0]))


@pytest.mark.parametrize("program", [recurrent, branching, counted, nested, unbounded])
@pytest.mark.parametrize("seed", [0, 1])
def test_traced_programs_agree_with_jax(program: Callable[..., Any], seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, w, dx, dw = (generator.normal(size=s) for s in ((5, 3), (3, 3), (5, 3), (3, 3)))
    theirs: Any = lambda x, w: program(jnp, Lax, x, w)  # noqa: E731
    primals, tangents = tuple(map(jnp.asarray, (x, w))), tuple(map(jnp.asarray, (dx, dw)))
    value, tangent = jax.jvp(theirs, primals, tangents)
    # JAX has no reverse mode of while loops
    derivative = jax.jacfwd if program is unbounded else jax.grad
    grads = derivative(theirs, argnums=(0, 1))(*primals)
    ours: Any = lambda x, w: program(gnp, gradir, x, w)  # noqa: E731
    found, moved = gradir.jvp(ours, (x, w), (dx, dw))
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(moved, tangent, rtol=1e-10)
    for one, other in zip(gradir.grad(ours, argnums=(0, 1))(x, w), grads, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# The same with complex x and w; each gives a real number.


def waves(np_: Any, g: Any, x: Any, w: Any) -> Any:
    def cell(h: Any, row: Any) -> Any:
        h = np_.tanh(0.3 * (w @ h) + row)
        return h, np_.conj(h[::-1]) * h

    h, ys = g.scan(g.checkpoint(cell), np_.zeros(3, x.dtype), x, reverse=True)
    return np_.sum(np_.abs(ys[1:]) ** 2) + h[0].real * h[1].imag


def phases(np_: Any, g: Any, x: Any, w: Any) -> Any:
    y = g.cond(np_.sum(x).real > 0, lambda a, b: a @ b, lambda a, b: np_.exp(1j * (a @ b)), x, w)
    return np_.mean((y[..., None] * np_.conj(y[:, None, :]) * g.no_grad(y[:, :1, None])).imag)


def turned(np_: Any, g: Any, x: Any, w: Any) -> Any:
    body: Any = lambda i, c: (c / (1 + np_.abs(c))) @ w + np_.conj(x[i])  # noqa: E731
    return np_.sum(np_.abs(g.fori_loop(0, 4, body, x[:2])))


def spectra(np_: Any, g: Any, x: Any, w: Any) -> Any:
    solved = g.vmap(lambda row: np_.linalg.solve(w + 3 * np_.eye(3), row))(np_.fft.fft(x, axis=0))
    return np_.sum(np_.real(solved * np_.conj(x))) + np_.linalg.norm(np_.fft.ifft(solved))


@pytest.mark.parametrize("program", [waves, phases, turned, spectra])
@pytest.mark.parametrize("seed", [0, 1])
def test_complex_programs_agree_with_jax(program: Callable[..., Any], seed: int) -> None:
    """Gradients by JAX's convention, tangents, and gradients of gradients."""
    generator = np.random.default_rng(seed)
    shapes = ((5, 3), (3, 3)) * 2
    x, w, dx, dw = (generator.normal(size=s) + 1j * generator.normal(size=s) for s in shapes)
    theirs: Any = lambda x, w: program(jnp, Lax, x, w)  # noqa: E731
    ours: Any = lambda x, w: program(gnp, gradir, x, w)  # noqa: E731
    value, tangent = jax.jvp(theirs, (jnp.asarray(x), jnp.asarray(w)), (dx, dw))
    found, pushed = gradir.jit(lambda *p: gradir.jvp(ours, p[:2], p[2:]))(x, w, dx, dw)
    np.testing.assert_allclose(found, value, 1e-9)
    np.testing.assert_allclose(pushed, tangent, 1e-8, 1e-10)
    grads = jax.grad(theirs, argnums=(0, 1))(x, w)
    for one, other in zip(gradir.jit(gradir.grad(ours, (0, 1)))(x, w), grads, strict=True):
        np.testing.assert_allclose(one, other, 1e-8, 1e-10)

    def second(xp: Any, grad: Any, f: Any) -> Any:
        return grad(lambda x, w: xp.sum(xp.abs(grad(f)(x, w)) ** 2))

    wanted = second(jnp, jax.grad, theirs)(x, w)
    np.testing.assert_allclose(second(gnp, gradir.grad, ours)(x, w), wanted, 1e-7, 1e-9)


@pytest.mark.parametrize("inner", ALL)
@pytest.mark.parametrize("outer", ALL)
def test_pairs_of_transformations_agree_with_jax(outer: Any, inner: Any) -> None:
    if is_refused([outer, inner]):
        return
    try:
        wanted = applied(jnp, Lax, outer, inner)(jnp.asarray(X))
    except (ValueError, TypeError) as error:
        # JAX has no reverse mode of while loops, and no linearize of a custom_vjp
        assert "while_loop" in str(error) or "custom_vjp" in str(error), error
        return
    found = gradir.jit(applied(gnp, gradir, outer, inner))(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
