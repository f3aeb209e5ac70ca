"""gradir.numpy.nextafter against NumPy's: values, signs of zeros, derivatives, length."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def samples(dtype: Any) -> tuple[Any, Any]:
    """Pairs of floats: special ones, powers of two and their neighbours, and random bits."""
    limits = cast(Any, ml_dtypes.finfo)(dtype)
    normal = float(limits.smallest_normal)
    odd = [0.0, 1.0, 2.0, 1.5, np.inf, np.nan, float(limits.max), float(limits.smallest_subnormal)]
    powers = [normal * 2.0**k for k in (-1, 0, 1, 2, 3)]
    few = np.array([*odd, *powers], dtype)
    special = np.concatenate([few, -few, np.nextafter(few, few[1]), np.nextafter(few, few[0])])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    random = np.random.default_rng(3)
    bits = BITS[dtype.itemsize]
    drawn = random.integers(0, np.iinfo(bits).max, 4000, bits, endpoint=True).view(dtype)
    return np.concatenate([x, drawn]), np.concatenate([y, np.roll(drawn, 1)])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_it_is_the_next_float(dtype: Any) -> None:
    x, y = samples(np.dtype(dtype))
    with np.errstate(all="ignore"):
        wanted = np.where(x == y, y, np.nextafter(x, y))  # numpy keeps the 0 of x in float16
    for found in (gnp.nextafter(x, y), gradir.jit(gnp.nextafter)(x, y)):
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.astype(float), wanted.astype(float))
        is_zero = found == 0
        np.testing.assert_array_equal(np.signbit(found)[is_zero], np.signbit(wanted)[is_zero])


def test_its_derivative_is_one() -> None:
    x = np.array([1.0, -2.0, 0.0, 1e-310, -0.5, 9.0, 4e-308])
    ones = np.ones_like(x)
    slopes = gradir.grad(lambda x: gnp.sum(gnp.nextafter(x, 5.0)))
    np.testing.assert_array_equal(slopes(x), ones)
    curve = gradir.jvp(gradir.grad(lambda x: gnp.sum(gnp.nextafter(x, 5.0) ** 3)), (x,), (ones,))[1]
    np.testing.assert_allclose(curve, 6 * x, atol=1e-12)
    of_both = gradir.grad(lambda y: gnp.sum(gnp.nextafter(x, y)))(np.where(x > 0, x, 7.0))
    np.testing.assert_array_equal(of_both, x > 0)


def test_integers_are_floats() -> None:
    assert gnp.nextafter(1, 2) == np.nextafter(1.0, 2.0)
    assert gnp.nextafter(np.float32(1), 2).dtype == np.float32


def test_it_is_short() -> None:
    """diffrax takes a hundred of them in a row."""
    spec = gradir.Spec((3,), "float64")
    text = str(gradir.trace(gnp.nextafter, spec, spec))
    assert text.count(" = array.") < 55 and text.count("array.bitcast") == 3
