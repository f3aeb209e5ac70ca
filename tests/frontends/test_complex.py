"""Complex numbers in Python functions: values, derivatives, promotion, checks, refusals.

Derivatives are held against central differences of both parts, in reverse mode twice; the programs
are in support/complex_programs.py. Values are NumPy's, eager, interpreted and native.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from complex_programs import PROGRAMS, Array, Function, numbers, reals

import gradir
import gradir.numpy as gnp

PROGRAM = pytest.mark.parametrize(
    ("function", "args"), [(f, a) for _, f, a in PROGRAMS], ids=[name for name, *_ in PROGRAMS]
)
Z, W = numbers(4), numbers(4, seed=9)


@PROGRAM
def test_derivatives(function: Function, args: Sequence[Array]) -> None:
    """First and second order, and native code of the second derivative."""
    gradir.testing.check_grads(function, args, order=2, atol=1e-7, rtol=1e-7)


@PROGRAM
def test_forward_mode_is_reverse_mode(function: Function, args: Sequence[Array]) -> None:
    """real(ct * jvp(t)) is the sum of real(vjp(ct) * t), and both are linear."""
    value, pushed = gradir.jvp(function, tuple(args), tuple(_like(a, 1) for a in args))
    leaves = value if isinstance(value, tuple) else (value,)
    tangents = pushed if isinstance(pushed, tuple) else (pushed,)
    cts = tuple(_like(np.asarray(v), 2) for v in leaves)
    _, back = gradir.vjp(function, *args)
    pulled = back(cts if isinstance(value, tuple) else cts[0])
    forward = sum(np.sum(ct * t).real for ct, t in zip(cts, tangents, strict=True))
    backward = sum(np.sum(g * _like(a, 1)).real for g, a in zip(pulled, args, strict=True))
    np.testing.assert_allclose(forward, backward, rtol=1e-10, atol=1e-12)


def _like(x: Array, seed: int) -> Array:
    generator = np.random.default_rng([seed, x.size])
    made = generator.uniform(-1, 1, x.shape)
    return made + 1j * generator.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else made


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@PROGRAM
def test_native_values(function: Function, args: Sequence[Array], dtype: Any) -> None:
    """Native code gives what the ops give one by one, in both precisions."""
    real = np.float32 if dtype == np.complex64 else np.float64
    given = [a.astype(dtype if a.dtype.kind == "c" else real) for a in args]
    module = gradir.trace(function, *given)
    name = module.functions[0]
    wanted = gradir.interpret(module, name, *given)
    found = gradir.compile(module, name)(*given)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        scale = max(float(np.abs(other).max(initial=0)), 1e-3)
        tolerance = 2e-4 if dtype == np.complex64 else 1e-11
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


# Functions at the edges: branch cuts, zeros with signs, infinities.

EDGES = [0.0, -0.0, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 1e-9, -1e-9, 30.0, -30.0]
FUNCTIONS = (
    *("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos"),
    *("arctan", "arcsinh", "arccosh", "arctanh", "square", "reciprocal", "abs", "exp2", "log10"),
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_branch_cuts(name: str) -> None:
    """Native values on a grid with both zeros are NumPy's, the signs of zeros too."""
    grid = np.array([complex(x, y) for x in EDGES for y in EDGES])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(grid)
    found = gradir.jit(getattr(gnp, name))(grid)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=0 if name == "abs" else 1e-300)
    zeros = np.asarray(wanted).view(float) == 0
    ours, theirs = (np.signbit(np.asarray(v).view(float)[zeros]) for v in (found, wanted))
    assert (ours == theirs).all()


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("square", "reciprocal")])
def test_infinities(name: str) -> None:
    """And nan: but for signs that C leaves open, the values are NumPy's."""
    ends = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e160, -1e200]
    if name in ("exp2", "log10"):
        ends = ends[:6]
    grid = np.array([complex(x, y) for x in ends for y in ends])
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(np, name)(grid)).view(float)
    found = np.asarray(gradir.jit(getattr(gnp, name))(grid)).view(float)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-13, equal_nan=True)


def test_expm1_at_infinity() -> None:
    """NumPy's is nan there; these are the values of the Array API standard, interpreted too."""
    inf, nan = np.inf, np.nan
    z = np.array([complex(inf, 0), complex(-inf, 2), complex(-inf, inf), complex(inf, nan)])
    for found in (gradir.jit(gnp.expm1)(z), gnp.expm1(z)):
        np.testing.assert_array_equal(np.real(found), [inf, -1, -1, inf])
        np.testing.assert_array_equal(np.imag(found), [0, 0, 0, nan])


def test_large_and_small_numbers() -> None:
    """Neither lengths nor quotients nor roots overflow where the result does not."""
    x = np.array([3e200 + 4e200j, 1e-200 - 1e-200j, 1.5e308 + 1.5e308j, 5e-324 + 0j])
    for function in (np.abs, np.sqrt, np.log, lambda z: z / (2 - 1j), lambda z: z / z):
        with np.errstate(all="ignore"):
            wanted = function(x)
        np.testing.assert_allclose(gradir.jit(function)(x), wanted, rtol=1e-13)


def test_division_by_zero() -> None:
    x = np.array([1 + 2j, 0j, -1j])
    with np.errstate(all="ignore"):
        wanted = x / np.zeros(3, complex)
    np.testing.assert_array_equal(gradir.jit(lambda x, y: x / y)(x, np.zeros(3, complex)), wanted)


# Types.

DTYPES = ("float16", "float32", "float64", "int32", "bool", "complex64", "complex128")


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_promotion(one: str, other: str) -> None:
    """Of two arrays: complex numbers with the larger parts."""
    x, y = np.ones(2, one), np.ones(2, other)
    made = gnp.add(x, y) if (one, other) != ("bool", "bool") else gnp.multiply(x, y)
    if "complex" in one + other:
        parts = [np.dtype(d).type(1).real.dtype for d in (one, other) if np.dtype(d).kind in "fc"]
        wide = any(p == np.float64 for p in parts)
        assert made.dtype == (np.complex128 if wide else np.complex64)
    assert gradir.jit(gnp.add if (one, other) != ("bool", "bool") else gnp.multiply)(
        x, y
    ).dtype == made.dtype  # fmt: skip


def test_python_numbers_are_weak() -> None:
    assert gnp.multiply(np.ones(2, np.float32), 2j).dtype == np.complex64
    assert gnp.multiply(np.ones(2, np.complex64), 2.5).dtype == np.complex64
    assert gnp.multiply(np.ones(2, np.float64), 1j).dtype == np.complex128
    assert gnp.asarray(1j).dtype == np.complex128
    with gradir.default_dtype("float32"):
        assert gnp.asarray(1j).dtype == np.complex64
    assert gradir.jit(lambda x: x * 2)(1j) == 2j
    assert gradir.jit(lambda x: x + 1j)(2.0) == 2 + 1j


def test_parts() -> None:
    for x in (Z, Z.real, np.arange(3)):
        for name in ("real", "imag", "conj", "conjugate", "isreal", "iscomplex"):
            found, wanted = getattr(gnp, name)(x), getattr(np, name)(x)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(gnp.angle(x), np.angle(x), rtol=1e-15)
        assert gnp.iscomplexobj(x) == np.iscomplexobj(x)
    found = gradir.jit(lambda x: (x.real, x.imag, x.conj(), x.T, x.dtype == np.complex128))(Z)
    for one, other in zip(found[:4], (Z.real, Z.imag, Z.conj(), Z.T), strict=True):
        np.testing.assert_array_equal(one, other)


def test_casts() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        np.testing.assert_array_equal(gnp.astype(Z, np.float64), Z.real)
    np.testing.assert_array_equal(gnp.astype(np.array([0j, 1j]), bool), [False, True])
    np.testing.assert_array_equal(gnp.any(np.array([0j, 1j])), True)
    np.testing.assert_array_equal(gnp.complex(Z.real, Z.imag), Z)


def test_assignment_in_numpy_code() -> None:
    def filled(x: Any) -> Any:
        y = np.zeros(3, complex)
        y[1] = x * 1j
        y[2] += x
        return np.abs(y.sum())

    gradir.testing.check_grads(filled, (np.array(0.7),))


# Derivatives, in JAX's convention.


def test_the_gradient_of_a_real_loss() -> None:
    """d/dx - i d/dy of |z|**2 is 2 * conj(z)."""
    grad = gradir.grad(lambda z: gnp.sum(gnp.abs(z) ** 2))(Z)
    np.testing.assert_allclose(grad, 2 * Z.conj(), rtol=1e-14)


def test_holomorphic_functions() -> None:
    grad = gradir.grad(lambda z: gnp.sum(gnp.sin(z)), holomorphic=True)(Z)
    np.testing.assert_allclose(grad, np.cos(Z), rtol=1e-13)
    value, again = gradir.value_and_grad(lambda z: gnp.sum(z**2), holomorphic=True)(Z)
    np.testing.assert_allclose(value, np.sum(Z**2), rtol=1e-14)
    np.testing.assert_allclose(again, 2 * Z, rtol=1e-14)
    for jacobian in (gradir.jacfwd, gradir.jacrev):
        found = jacobian(lambda z: z * z[::-1] * 1j, holomorphic=True)(Z)
        wanted = 1j * (np.diag(Z[::-1]) + np.diag(Z)[:, ::-1])
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    hessian = gradir.hessian(lambda z: gnp.sum(z**3), holomorphic=True)(Z)
    np.testing.assert_allclose(hessian, np.diag(6 * Z), rtol=1e-14)


def test_cauchy_riemann_twice() -> None:
    """The second derivative of a holomorphic function, by grad of grad, and by jvp of grad."""
    inner = gradir.grad(lambda z: gnp.exp(z) * z, holomorphic=True)
    z = np.array(0.3 - 0.4j)
    np.testing.assert_allclose(
        gradir.grad(inner, holomorphic=True)(z), (z + 2) * np.exp(z), rtol=1e-13
    )
    _, pushed = gradir.jvp(inner, (z,), (np.array(1 + 0j),))
    np.testing.assert_allclose(pushed, (z + 2) * np.exp(z), rtol=1e-13)


def test_linear_transpose_does_not_conjugate() -> None:
    a = numbers(3, 3)
    transposed = gradir.linear_transpose(lambda x: a @ x, gradir.Spec((3,), "complex128"))
    np.testing.assert_allclose(transposed(Z[:3])[0], a.T @ Z[:3], rtol=1e-13)


def test_derivatives_where_the_length_is_zero() -> None:
    """abs has the convention 0 there; a selection before it keeps nan away."""
    grad = gradir.grad(lambda z: gnp.sum(gnp.abs(z)))(np.array([0j, 3 + 4j]))
    np.testing.assert_allclose(grad, [0, 0.6 - 0.8j])

    def safe(z: Any) -> Any:
        return gnp.sum(gnp.where(gnp.abs(z) > 0, gnp.abs(gnp.log(z)), 0))

    assert gradir.grad(safe)(np.array([0j, 1j]))[0] == 0


@pytest.mark.parametrize("square", [lambda x: x**2, gnp.square, lambda x: x * x])
@pytest.mark.parametrize("z", [np.zeros(2), np.array([0j, 0.3 - 0.4j])], ids=["real", "complex"])
def test_the_square_of_a_length_is_smooth_at_zero(square: Function, z: Array) -> None:
    def loss(z: Any) -> Any:
        return gnp.sum(gnp.exp(square(gnp.abs(z))) * gnp.arange(1.0, 3.0))

    np.testing.assert_allclose(gradir.grad(loss)(z), _smooth_gradient(z), rtol=1e-12)
    gradir.testing.check_grads(loss, [z], order=2, atol=1e-6, rtol=1e-6)
    _, back = gradir.vjp(gradir.grad(loss), z)
    for ct in np.eye(2).astype(z.dtype):
        jump = 1e-6 * ct
        slope = _smooth_gradient(z + jump) - _smooth_gradient(z - jump)
        np.testing.assert_allclose(np.real(back(ct)[0]), np.real(slope) / 2e-6, atol=1e-7)


def _smooth_gradient(z: Array) -> Array:
    return 2 * z.conj() * np.exp(np.abs(z) ** 2) * np.arange(1.0, 3.0)


Call = Callable[[], Any]
CHECKS: list[tuple[Call, str]] = [
    (
        lambda: gradir.grad(lambda z: gnp.sum(z))(Z),
        "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but "
        "got complex128. For holomorphic differentiation, pass holomorphic=True. For "
        "differentiation of non-holomorphic functions involving complex outputs, use gradir.vjp",
    ),
    (
        lambda: gradir.grad(lambda x: gnp.sum(x), holomorphic=True)(Z.real),
        "grad with holomorphic=True requires inputs with complex dtype, but got float64",
    ),
    (
        lambda: gradir.grad(lambda z: gnp.sum(gnp.abs(z)), holomorphic=True)(Z),
        "grad with holomorphic=True requires outputs with complex dtype, but got float64",
    ),
    (lambda: gradir.jacrev(lambda z: z * z)(Z), "jacrev requires real-valued outputs"),
    (lambda: gradir.jacfwd(lambda z: z * z)(Z), "jacfwd requires real-valued inputs"),
    (
        lambda: gradir.jacfwd(gnp.abs, holomorphic=True)(Z),
        "jacfwd with holomorphic=True requires outputs with complex dtype",
    ),
    (lambda: gnp.sort(Z), "array.sort: elements must be real, got complex128"),
    (lambda: gnp.maximum(Z, 0), "array.maximum: elements must be real, got complex128"),
    (lambda: gnp.less(Z, Z), "array.less: elements must be real, got complex128"),
    (lambda: gnp.floor(Z), "array.floor: elements must be real"),
    (lambda: gnp.hypot(Z, Z), "array.hypot: elements must be real"),
    (lambda: gnp.ldexp(Z, Z), "array.floor_divide: elements must be real"),
    (lambda: gradir.nn.rms_norm(Z, (0,)), "nn.rms_norm: elements must be floating"),
    (lambda: gradir.nn.cosine_similarity(Z, Z, 0), "nn.cosine_similarity: expected real numbers"),
    (lambda: gradir.nn.avg_pool1d(Z.reshape(1, 1, 4), 2), "nn.avg_pool1d: elements must be float"),
    (lambda: gradir.nn.relu(Z), "expected real numbers, got complex"),
    (lambda: gradir.scipy.special.erf(Z), "expected real numbers, got complex"),
    (lambda: gnp.full(2, 1j, float), "1j is no float64 number"),
    (
        lambda: gradir.jit(lambda z: gradir.debug.print("{}", z))(Z),
        "arguments and results must be real, got complex128",
    ),
    (lambda: gradir.optim.sgd(0.1).update({"w": Z}, (), {"w": Z}), "must be floating"),
]


@pytest.mark.parametrize(("call", "message"), CHECKS, ids=[text[:30] for _, text in CHECKS])
def test_refusals(call: Call, message: str) -> None:
    with pytest.raises(gradir.GradirError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (0,)])
def test_running_products(shape: tuple[int, ...]) -> None:
    """Exact derivatives also where an element is 0."""
    z = numbers(*shape)
    if z.size:
        z.flat[z.size // 2] = 0
    np.testing.assert_allclose(gnp.cumprod(z, -1), np.cumprod(z, -1), 1e-12)
    before = gnp.cumulative_prod(z, axis=-1, exclusive=True, reverse=True)
    ones = np.ones((*shape[:-1], 1))
    wanted = np.concatenate([ones, z[..., :0:-1]], -1) if shape[-1] else z
    np.testing.assert_allclose(before, np.cumprod(wanted, -1)[..., ::-1], 1e-12)
    gradir.testing.check_grads(lambda z: gnp.cumprod(z, -1), [z], order=2)


# Programs.


def test_loops_are_taped_with_both_planes() -> None:
    """f_fwd hands a tape of complex records to f_bwd."""

    def step(x: Any, y: Any) -> Any:
        def go_on(state: Any) -> Any:
            return gnp.sum(gnp.abs(state[1])) < 50

        def body(state: Any) -> Any:
            return state[0] + 1, state[1] * (1.5 + 0.1j) + y

        return gradir.while_loop(go_on, body, (0, x))[1]

    x, y = numbers(3), numbers(3, seed=4)
    value, back = gradir.vjp(step, x, y)
    pulled = back(value)
    again = gradir.jit(lambda x, y: gradir.vjp(step, x, y)[1](step(x, y)))(x, y)
    for one, other in zip(pulled, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "keep_matmuls", "auto"])
def test_policies_change_no_bit(policy: str) -> None:
    def loss(z: Any) -> Any:
        return gnp.sum(gnp.abs(gnp.tanh(z @ gnp.exp(z))))

    z = numbers(3, 3, scale=0.3)
    plain = gradir.grad(loss)(z)
    np.testing.assert_array_equal(gradir.grad(loss, policy=policy)(z), plain)
    limited = gradir.grad(loss, memory_limit=100_000)(z)
    np.testing.assert_array_equal(limited, plain)


def test_named_extents() -> None:
    module = gradir.trace(lambda x: gnp.sum(x * x.conj()).real, gradir.Spec(("n",), "complex64"))
    run = gradir.compile(module, module.functions[0])
    for n in (1, 3, 8):
        x = numbers(n).astype(np.complex64)
        np.testing.assert_allclose(run(x)[0], np.sum(np.abs(x) ** 2), rtol=1e-5)


def test_arguments_in_memory() -> None:
    """Strided, transposed and fortran arrays, `out`, donated memory."""
    double = gradir.jit(lambda x: x * 2j)
    x = numbers(4, 6)
    for each in (x[::2, 1::2], x.T, np.asfortranarray(x), x[:0], x[:1, :1]):
        np.testing.assert_array_equal(double(each), each * 2j)
    module = gradir.trace(lambda x: x.conj(), x)
    out = np.empty_like(x)
    gradir.compile(module, module.functions[0])(x, out=[out])
    np.testing.assert_array_equal(out, x.conj())
    given = x.copy()
    made = gradir.jit(lambda x: x + 1, donate_argnums=0)(given)
    assert np.shares_memory(made, given)
    np.testing.assert_array_equal(made, x + 1)


def test_validated_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """GRADIR_VALIDATE holds the planes against the complex program."""
    monkeypatch.setenv("GRADIR_VALIDATE", "1")

    def loss(z: Any, x: Any) -> Any:
        return gnp.sum(gnp.abs(gnp.exp(z) / (z + x)))

    found = gradir.grad(loss, (0, 1))(Z, reals(4))
    monkeypatch.delenv("GRADIR_VALIDATE")
    for one, other in zip(found, gradir.grad(loss, (0, 1))(Z, reals(4)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_text_of_complex_programs() -> None:
    constant = np.array([1 + 2j, complex(-0.0, np.inf), complex(np.nan, 0.5)])
    module = gradir.trace(lambda x: x * constant + (2 - 1j), Z[:3])
    again = gradir.parse(str(module))
    assert str(again) == str(module)
    for one in (module, again):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gradir.interpret(one, module.functions[0], Z[:3])[0]
            wanted = Z[:3] * constant + (2 - 1j)
        np.testing.assert_array_equal(found, wanted)
