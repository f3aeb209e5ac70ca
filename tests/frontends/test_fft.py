"""gradir.numpy.fft against numpy.fft: values, native code, derivatives, errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from complex_programs import Array, numbers
from xdsl.dialects.builtin import f32, f64

import gradir
import gradir.numpy as gnp
from gradir.dialects.planes.fourier_programs import Lines, has_program, primes_of, radices_of

# Powers of small primes, products, primes with and without a convolution.
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 31, 37, 60, 64, 74, 97, 128, 210, 243)
NORMS = (None, "backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
OF_REALS = ("rfft", "ihfft", "rfftn", "rfft2")


def same(found: Any, wanted: Any, tolerance: float = 1e-13) -> None:
    one, other = np.asarray(found), np.asarray(wanted)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    scale = float(np.abs(other).max(initial=1e-300))
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


def sample(name: str, *shape: int) -> Array:
    x = numbers(*shape)
    return x.real.copy() if name in OF_REALS else x


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_lengths(name: str, norm: Any) -> None:
    for n in LENGTHS:
        x = sample(name, 2, n)
        for points in (None, n + 3, max(n - 2, 1)):
            if points is None and n == 1 and name in ("irfft", "hfft"):
                continue
            arguments = (x, points, -1, norm)
            same(getattr(gnp.fft, name)(*arguments), getattr(np.fft, name)(*arguments))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("inverse", [False, True])
def test_native_lengths(dtype: Any, inverse: bool) -> None:
    """All lengths in one program, each along an axis in the middle."""
    name = "ifft" if inverse else "fft"
    xs = [numbers(2, n, 3).astype(dtype) for n in LENGTHS]
    found = gradir.jit(lambda xs: [getattr(gnp.fft, name)(x, axis=1) for x in xs])(xs)
    for one, x in zip(found, xs, strict=True):
        same(one, getattr(np.fft, name)(x, axis=1), 1e-13 if dtype == np.complex128 else 2e-6)


@pytest.mark.parametrize("shape", [(8,), (0, 4), (3, 4, 5), (1, 1)])
def test_native_shapes(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)

    def transforms(x: Any) -> Any:
        return [
            gnp.fft.fft(x), gnp.fft.ifft(x), gnp.fft.fftn(x), gnp.fft.rfft(x.real),
            gnp.fft.irfft(x, 5), gnp.fft.fftshift(gnp.fft.fft(x)),
        ]  # fmt: skip

    def wanted(x: Any) -> Any:
        return [
            np.fft.fft(x), np.fft.ifft(x), np.fft.fftn(x) if x.size else x, np.fft.rfft(x.real),
            np.fft.irfft(x, 5), np.fft.fftshift(np.fft.fft(x)),
        ]  # fmt: skip

    if not x.size:  # NumPy refuses the empty axis, and so does this
        transforms, wanted = (lambda x: [gnp.fft.fft(x)]), (lambda x: [np.fft.fft(x)])
    for one, other in zip(gradir.jit(transforms)(x), wanted(x), strict=True):
        same(one, other)


CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, ()) for name in ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn", "irfftn")),
    ("irfft2", ()),
    ("fftn", ((3, 8), (0, 2))),
    ("ifftn", (None, (1,), "ortho")),
    ("rfftn", ((4, 7), (1, 2), "forward")),
    ("irfftn", (None, (2, 0))),
    ("fft2", ((2, 2), (-2, -1), "ortho")),
    ("fftn", (None, (0, 0))),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_several_axes(name: str, arguments: tuple[Any, ...]) -> None:
    x = sample(name, 4, 5, 6)
    wanted = getattr(np.fft, name)(x, *arguments)
    same(getattr(gnp.fft, name)(x, *arguments), wanted)
    same(gradir.jit(lambda x: getattr(np.fft, name)(x, *arguments))(x), wanted)


def test_types() -> None:
    """Integers and floats become complex numbers of their width, as NumPy has it."""
    for dtype in ("int32", "bool", "float32", "float64", "complex64", "complex128"):
        x = np.ones((2, 4), dtype)
        for name in ("fft", "ifft", "irfft"):
            same(getattr(gnp.fft, name)(x), getattr(np.fft, name)(x), 1e-6)
    same(gnp.fft.rfft(np.ones(4, np.float32)), np.fft.rfft(np.ones(4, np.float32)), 1e-6)
    assert gnp.fft.fft(np.ones(4, np.float16)).dtype == np.complex64


def test_frequencies_and_shifts() -> None:
    x = numbers(4, 5)
    for n, d in ((8, 1.0), (7, 0.25), (1, 2.0)):
        same(gnp.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        same(gnp.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    for axes in (None, 0, (1,), (0, 1)):
        same(gnp.fft.fftshift(x, axes), np.fft.fftshift(x, axes))
        same(gnp.fft.ifftshift(x, axes), np.fft.ifftshift(x, axes))


DERIVATIVES: list[tuple[str, Callable[..., Any], Array]] = [
    ("fft", lambda x: gnp.fft.fft(x) * x, numbers(2, 6)),
    ("bluestein", lambda x: gnp.fft.ifft(x) * x, numbers(37)),
    ("cut", lambda x: gnp.fft.fft(x, 4) ** 2, numbers(6)),
    ("padded", lambda x: gnp.fft.ifft(x, 9, norm="ortho") ** 2, numbers(6)),
    ("rfft", lambda x: gnp.abs(gnp.fft.rfft(x)) ** 2, numbers(2, 6).real),
    ("odd rfft", lambda x: gnp.fft.rfft(x), numbers(5).real),
    ("irfft", lambda x: gnp.fft.irfft(x) ** 2, numbers(4)),
    ("odd irfft", lambda x: gnp.fft.irfft(x, 7) ** 2, numbers(4)),
    ("hfft", lambda x: gnp.fft.hfft(x) ** 2, numbers(4)),
    ("ihfft", lambda x: gnp.fft.ihfft(x), numbers(5).real),
    ("fft2", lambda x: gnp.fft.ifft2(x * gnp.fft.fft2(x)), numbers(3, 4)),
    ("convolution", lambda x: gnp.fft.irfft(gnp.fft.rfft(x) ** 2), numbers(8).real),
    ("vmap", lambda x: gradir.vmap(lambda r: gnp.fft.fft(r, axis=0) * r)(x), numbers(2, 3, 2)),
]


@pytest.mark.parametrize(
    ("function", "x"), [d[1:] for d in DERIVATIVES], ids=[d[0] for d in DERIVATIVES]
)
def test_derivatives(function: Callable[..., Any], x: Array) -> None:
    gradir.testing.check_grads(function, (x,), order=2, atol=1e-7, rtol=1e-7)


def test_the_transpose_is_the_transform() -> None:
    x = numbers(6)
    _, back = gradir.vjp(gnp.fft.fft, x)
    same(back(x)[0], np.fft.fft(x))
    module = gradir.trace(gnp.fft.fft, x)
    text = str(module.gradient(module.functions[0], mode="vjp"))
    assert text.count("array.fft") == 3  # two of the function, and one of its derivative alone


def test_a_filter_in_a_loop() -> None:
    """A diffusion step in the frequencies, some times: a loop with both planes."""
    decay = np.exp(-0.1 * np.abs(np.fft.fftfreq(8, 1 / 8)))

    def diffused(x: Any) -> Any:
        def step(k: Any, u: Any) -> Any:
            return gnp.fft.ifft(gnp.fft.fft(u) * decay) + 0.1 * u * gnp.abs(u)

        return gradir.fori_loop(0, 3, step, x)

    gradir.testing.check_grads(diffused, (numbers(8),), atol=1e-7, rtol=1e-7)


def test_passes_make_a_length() -> None:
    for n in range(2, 600):
        primes = [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p))]
        assert sorted(set(primes_of(n))) == primes
        assert int(np.prod(primes_of(n))) == int(np.prod(radices_of(n))) == n
        assert has_program(n) == (max(primes) <= 31)
        for inner, element in product((1, 3), (f32, f64)):
            passes = Lines(2, n, inner, 1, element).passes
            done = 1
            for each in passes:
                assert (each.done, n) == (done, each.radix * each.rest * done)
                done *= each.radix
            assert done == n


@pytest.mark.parametrize(
    ("axis", "dtype"), [(0, np.complex128), (1, np.complex128), (1, np.complex64)]
)
def test_each_small_length_along_both_axes(axis: int, dtype: Any) -> None:
    """Lines one behind the other, and side by side."""
    lengths = (*range(1, 36), 40, 48, 60, 64, 66)
    xs = [numbers(*((n, 3) if axis == 0 else (3, n))).astype(dtype) for n in lengths]
    found = gradir.jit(lambda xs: [gnp.fft.fft(x, axis=axis) for x in xs])(xs)
    for one, x in zip(found, xs, strict=True):
        same(one, np.fft.fft(x, axis=axis), 1e-14 if dtype == np.complex128 else 2e-6)


@pytest.mark.parametrize(
    "shape", [(1000,), (4096,), (3, 1024), (899,), (40, 70), (6, 33, 65)], ids=str
)
def test_long_lines(shape: tuple[int, ...]) -> None:
    """More lines side by side than are transformed at a time, several passes, a prime of 31."""
    x = numbers(*shape)
    for axis in range(len(shape)):
        forward = gradir.jit(lambda x, axis=axis: gnp.fft.fft(x, axis=axis))(x)
        same(forward, np.fft.fft(x, axis=axis), 1e-14)
        back = gradir.jit(lambda x, axis=axis: gnp.fft.ifft(x, axis=axis))(forward)
        same(back, x, 1e-14)


def test_parts_that_a_program_computes() -> None:
    """Planes that are no parts of one tensor in memory, or of another one than they seem."""
    x = numbers(4, 12)

    def computed(x: Any) -> Any:
        turned = gnp.fft.fft(x * 1j)
        mixed = gnp.fft.fft(x.imag + 1j * x.real)
        return turned, mixed, gnp.fft.fft(gnp.fft.fft(x).conj())

    found = gradir.jit(computed)(x)
    wanted = (
        np.fft.fft(x * 1j), np.fft.fft(x.imag + 1j * x.real), np.fft.fft(np.fft.fft(x).conj())
    )  # fmt: skip
    for one, other in zip(found, wanted, strict=True):
        same(one, other)


def test_a_number_that_is_nan_is_in_each_sum_of_its_line() -> None:
    x = numbers(3, 48)
    x[1, 5] = np.nan
    found = np.asarray(gradir.jit(gnp.fft.fft)(x))
    assert np.isnan(found[1]).all()
    same(found[[0, 2]], np.fft.fft(x[[0, 2]]))


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_bits(threads: int) -> None:
    x = numbers(50, 96)
    found = gradir.jit(gnp.fft.fft, threads=threads)(x)
    rows = [gradir.jit(gnp.fft.fft, threads=1)(row) for row in x]
    assert np.asarray(found).tobytes() == np.stack([np.asarray(r) for r in rows]).tobytes()


def test_errors() -> None:
    x = numbers(2, 3)
    for call, message in (
        (lambda: gnp.fft.fft(x, 0), "fft: there must be data points, got 0"),
        (lambda: gnp.fft.fft(x[:, :0]), "fft: there must be data points, got 0"),
        (lambda: gnp.fft.rfft(x), "rfft: expected real numbers"),
        (lambda: gnp.fft.fft(x, norm="no"), 'fft: norm must be "backward"'),
        (lambda: gnp.fft.fftn(x, (1,), (0, 1)), "fftn: s and axes must be as many"),
        (lambda: gnp.fft.fft(x, axis=2), "axis must be in"),
        (lambda: gnp.fft.rfftn(x.real, axes=()), "rfftn: at least one axis"),
    ):
        with pytest.raises(gradir.GradirError) as caught:
            call()
        assert message in str(caught.value)
    with pytest.raises(gradir.GradirError, match=r"array\.fft: elements must be complex"):
        gradir.parse(
            "func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {\n"
            "  %y = array.fft %x : tensor<2xf64>\n  func.return %y : tensor<2xf64>\n}"
        )
