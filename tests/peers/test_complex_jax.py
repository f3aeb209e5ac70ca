"""Complex numbers as JAX has them: values, gradients, Jacobians, types and refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from complex_programs import UNARY, Array, numbers, reals

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.scipy import special

jax = pytest.importorskip("jax")
jnp = jax.numpy

Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def double() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


FUNCTIONS: list[tuple[str, Call, Sequence[Array]]] = [
    *((n, lambda xp, x, n=n: getattr(xp, n)(x), (numbers(4),)) for n in UNARY if n != "sign"),
    ("power", lambda xp, x, y: xp.power(x, y), (numbers(3), numbers(3, seed=1))),
    ("cube", lambda xp, x: x**3, (numbers(3),)),
    ("divide", lambda xp, x, y: x / y, (numbers(3), numbers(3, seed=1))),
    ("mixed", lambda xp, x, y: x * y + xp.exp(1j * y), (numbers(3), reals(3))),
    ("matmul", lambda xp, x, y: x @ y.conj(), (numbers(2, 3), numbers(3, 2, seed=1))),
    ("einsum", lambda xp, x, y: xp.einsum("ij,kj->ik", x, y), (numbers(2, 3), numbers(2, 3))),
    ("vdot", lambda xp, x, y: xp.vdot(x, y), (numbers(3), numbers(3, seed=1))),
    ("solve", lambda xp, x, y: xp.linalg.solve(x, y), (numbers(3, 3) + 2 * np.eye(3), numbers(3))),
    ("inv", lambda xp, x: xp.linalg.inv(x), (numbers(3, 3) + 2 * np.eye(3),)),
    ("qr", lambda xp, x: xp.linalg.qr(x)[0] + xp.linalg.qr(x)[1][:1], (numbers(3, 3),)),
    ("tall qr", lambda xp, x: xp.linalg.qr(x)[0], (numbers(4, 3),)),
    ("cholesky", lambda xp, x: xp.linalg.cholesky(x @ x.conj().T) + 1, (numbers(3, 3),)),
    ("det", lambda xp, x: xp.linalg.det(x), (numbers(3, 3),)),
    ("cumprod", lambda xp, x: xp.cumprod(x), (numbers(5),)),
    ("norm", lambda xp, x: xp.linalg.norm(x), (numbers(3),)),
    ("prod", lambda xp, x: xp.prod(x), (numbers(4),)),
    ("var", lambda xp, x: xp.var(x), (numbers(4),)),
    ("where", lambda xp, x: xp.where(x.real > 0, x * x, x.conj()), (numbers(4),)),
    ("fft", lambda xp, x: xp.fft.fft(x) * x, (numbers(6),)),
    ("ifft2", lambda xp, x: xp.fft.ifft2(x), (numbers(3, 4),)),
    ("rfft", lambda xp, x: xp.fft.rfft(x), (reals(6),)),
    ("odd rfft", lambda xp, x: xp.fft.rfft(x), (reals(5),)),
    ("irfft", lambda xp, x: xp.fft.irfft(x), (numbers(4),)),
    ("hfft", lambda xp, x: xp.fft.hfft(x), (numbers(4),)),
]
LAYERS: list[tuple[str, Call, Sequence[Array]]] = [
    ("sigmoid", lambda xp, x: _nn(xp).sigmoid(x), (numbers(4, scale=3.0),)),
    ("silu", lambda xp, x: _nn(xp).silu(x), (numbers(4, scale=3.0),)),
    (
        "softsign",
        lambda xp, x: nn.softsign(x) if xp is gnp else jax.nn.soft_sign(x),
        (numbers(4),),
    ),
    ("conv2d", lambda xp, x, w: _conv(xp, x, w), (numbers(2, 4, 5, 4), numbers(6, 2, 3, 2))),
    ("logaddexp", lambda xp, x, y: xp.logaddexp(x, y), (numbers(4), numbers(4, seed=1))),
    ("logsumexp", lambda xp, x: _special(xp).logsumexp(x, axis=0), (numbers(3, 2),)),
    (
        "weighed logsumexp",
        lambda xp, x, b: _special(xp).logsumexp(x, axis=1, b=b),
        (numbers(2, 3), numbers(2, 3, seed=1)),
    ),
]


def _nn(xp: Any) -> Any:
    return nn if xp is gnp else jax.nn


def _special(xp: Any) -> Any:
    return special if xp is gnp else jax.scipy.special


def _conv(xp: Any, x: Any, w: Any) -> Any:
    if xp is gnp:
        return nn.conv2d(x, w, stride=[2, 1], padding=[1, 0, 1, 2], dilation=[1, 2], groups=2)
    return jax.lax.conv_general_dilated(
        x, w, (2, 1), [(1, 1), (0, 2)], rhs_dilation=(1, 2), feature_group_count=2
    )


ONCE: list[tuple[str, Call, Sequence[Array]]] = [
    ("eigvals", lambda xp, x: (xp.linalg.eigvals(x) ** 3).sum(), (numbers(3, 3),)),
    ("eigvals of reals", lambda xp, x: xp.exp(xp.linalg.eigvals(x)).sum(), (reals(3, 3),)),
]
"""JAX refuses the second derivatives of these, and those of eigenvectors."""


def _cases(rows: list[tuple[str, Call, Sequence[Array]]]) -> Any:
    return pytest.mark.parametrize(
        ("function", "args"), [row[1:] for row in rows], ids=[row[0] for row in rows]
    )


@_cases(FUNCTIONS + LAYERS + ONCE)
def test_values_and_vjps(function: Call, args: Sequence[Array]) -> None:
    """The cotangents are JAX's, not their conjugates."""
    ours, back = gradir.vjp(lambda *a: function(gnp, *a), *args)
    theirs, pulled = jax.vjp(lambda *a: function(jnp, *a), *args)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert ours.dtype == theirs.dtype
    generator = np.random.default_rng(5)
    ct = generator.uniform(-1, 1, np.shape(ours))
    if theirs.dtype.kind == "c":
        ct = ct + 1j * generator.uniform(-1, 1, np.shape(ours))
    for one, other in zip(back(ct), pulled(jnp.asarray(ct)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11)


@_cases(FUNCTIONS + LAYERS)
def test_second_derivatives(function: Call, args: Sequence[Array]) -> None:
    """The gradient of a real function of the gradient of a real loss."""

    def twice(xp: Any, grad: Call) -> Call:
        def loss(*a: Any) -> Any:
            return xp.sum(xp.abs(function(xp, *a)) ** 2)

        def outer(*a: Any) -> Any:
            return xp.sum(xp.abs(grad(loss)(*a)) ** 2)

        return grad(outer)

    ours = twice(gnp, gradir.grad)(*args)
    theirs = twice(jnp, jax.grad)(*map(jnp.asarray, args))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_jacobians() -> None:
    z = numbers(3)
    for name in ("jacfwd", "jacrev", "hessian"):

        def f(z: Any, last: bool = name == "hessian") -> Any:
            made = z**3 * z[::-1]
            return made.sum() if last else made

        ours = getattr(gradir, name)(f, holomorphic=True)(z)
        theirs = getattr(jax, name)(f, holomorphic=True)(z)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-13)
    ours = gradir.jacrev(lambda z: gnp.abs(z) * z.real)(z)
    theirs = jax.jacrev(lambda z: jnp.abs(z) * z.real)(z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    ours = gradir.jacfwd(lambda x: gnp.exp(1j * x))(z.real)
    np.testing.assert_allclose(ours, jax.jacfwd(lambda x: jnp.exp(1j * x))(z.real), rtol=1e-12)


def test_the_same_calls_are_refused() -> None:
    """With JAX's words up to the name of the module."""
    z = numbers(3)
    calls: list[Call] = [
        lambda m: m.grad(lambda z: (z * z).sum())(z),
        lambda m: m.grad(lambda x: (x * x).sum(), holomorphic=True)(z.real),
        lambda m: m.grad(lambda z: (z * z.conj()).real.sum(), holomorphic=True)(z),
        lambda m: m.jacrev(lambda z: z * z)(z),
        lambda m: m.jacfwd(lambda z: z * z)(z),
        lambda m: m.jacfwd(lambda z: z.real, holomorphic=True)(z),
    ]
    for call in calls:
        with pytest.raises(TypeError) as theirs:
            call(jax)
        with pytest.raises(gradir.TraceError) as ours:
            call(gradir)
        words = str(theirs.value).rstrip(".").replace("jax.", "gradir.")
        assert words in str(ours.value)


@pytest.mark.parametrize("kind", [int, float, complex])
@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "bfloat16", "float16", "float32", "float64", "complex64"]
)
def test_promotion_with_python_numbers(dtype: str, kind: type) -> None:
    x = jnp.ones(2, dtype)
    ours = gradir.jit(lambda x: x * kind(2))(np.asarray(x))
    assert str(ours.dtype) == str((x * kind(2)).dtype)
