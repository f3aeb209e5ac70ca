"""Element types of mixed operands: JAX's table, NumPy's functions on integers and bools, weak
numbers, the default dtype, and derivatives through conversions."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from trace_harness import result_types, run

import gradir
import gradir.numpy as gnp
from gradir import Spec
from gradir.testing import check_grads

NAMES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "bfloat16",
    "float16", "float32", "float64",
)  # fmt: skip
# JAX's table of jax.numpy.promote_types with 64 bits, which tests/peers compares with JAX.
# Its last rows are for a Python int and a Python float.
TABLE = """
b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8
u1 u1 u2 u4 u8 i2 i2 i4 i8 bf f2 f4 f8
u2 u2 u2 u4 u8 i4 i4 i4 i8 bf f2 f4 f8
u4 u4 u4 u4 u8 i8 i8 i8 i8 bf f2 f4 f8
u8 u8 u8 u8 u8 f8 f8 f8 f8 bf f2 f4 f8
i1 i2 i4 i8 f8 i1 i2 i4 i8 bf f2 f4 f8
i2 i2 i4 i8 f8 i2 i2 i4 i8 bf f2 f4 f8
i4 i4 i4 i8 f8 i4 i4 i4 i8 bf f2 f4 f8
i8 i8 i8 i8 f8 i8 i8 i8 i8 bf f2 f4 f8
bf bf bf bf bf bf bf bf bf bf f4 f4 f8
f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 f8
f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8
f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
i8 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8
f8 f8 f8 f8 f8 f8 f8 f8 f8 bf f2 f4 f8
"""
SHORT = dict(zip("b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8".split(), NAMES, strict=True))
ROWS = [[SHORT[each] for each in line.split()] for line in TABLE.strip().splitlines()]


def names_of(function: Any, *specs: Any) -> list[str]:
    """The dtypes of a function's results."""
    types = result_types(function, *specs)
    return [n for t in types for n in NAMES if Spec((), n).type.element_type == t.element_type]


@pytest.mark.parametrize("first", NAMES)
def test_arrays_promote_as_in_jax(first: str):
    row = ROWS[NAMES.index(first)]
    specs = [Spec(2, n) for n in (first, *NAMES)]
    assert names_of(lambda x, *ys: [gnp.where(True, x, y) for y in ys], *specs) == row
    assert names_of(lambda x, *ys: [gnp.maximum(y, x) for y in ys], *specs) == row
    assert names_of(lambda x, *ys: [gnp.concat([x, y]) for y in ys], *specs) == row


@pytest.mark.parametrize("number", [2, 2.5])
def test_python_numbers_promote_as_in_jax(number: float):
    specs = [Spec(2, n) for n in NAMES]
    row = ROWS[len(NAMES) + isinstance(number, float)]
    assert names_of(lambda *xs: [x * number for x in xs], *specs) == row
    assert names_of(lambda *xs: [number - x for x in xs], *specs) == row


def test_a_bool_number_keeps_every_type():
    specs = [Spec(2, n) for n in NAMES]
    assert names_of(lambda *xs: [x * True for x in xs], *specs) == list(NAMES)


FLOATING = [
    "sin",
    "exp",
    "sqrt",
    "log1p",
    "tanh",
    "mean",
    "var",
    "std",
    "logsumexp",
    "cbrt",
    "exp2",
]


@pytest.mark.parametrize("name", [n for n in FLOATING if hasattr(gnp, n)])
def test_floating_functions_of_integers_and_bools(name: str):
    k, b = np.array([1, 2, 4]), np.array([True, False, True])
    for x in (k, b):
        found = run(getattr(gnp, name), x)
        reference = getattr(np, name, lambda x: np.log(np.sum(np.exp(x))))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, reference(x.astype(float)), rtol=1e-14)


PAIRS = [
    (lambda xp, a, b: a + b),
    (lambda xp, a, b: a * b),
    (lambda xp, a, b: xp.maximum(a, b)),
    (lambda xp, a, b: a < b),
    (lambda xp, a, b: a // b),
    (lambda xp, a, b: a % b),
    (lambda xp, a, b: a / b),
    (lambda xp, a, b: a @ b),
    (lambda xp, a, b: xp.einsum("i,i->", a, b)),
    (lambda xp, a, b: xp.logical_and(a, b)),
    (lambda xp, a, b: xp.logical_xor(a, b)),
    (lambda xp, a, b: xp.where(a, b, a)),
    (lambda xp, a, b: xp.sum(a)),
    (lambda xp, a, b: xp.prod(a, axis=0)),
    (lambda xp, a, b: xp.max(b)),
    (lambda xp, a, b: xp.mean(b)),
    (lambda xp, a, b: xp.sort(a)),
    (lambda xp, a, b: xp.argsort(a)),
    (lambda xp, a, b: xp.clip(a, 0.5, 2)),
    (lambda xp, a, b: xp.isnan(a)),
    (lambda xp, a, b: xp.arctan2(a, b)),
]


@pytest.mark.parametrize("function", PAIRS)
def test_values_and_types_are_numpys(function: Any):
    """Of bools, and of integers, with each other and with floats."""
    b, k, x = np.array([True, False, True]), np.array([3, 1, 2]), np.array([1.5, 0.0, 4.0])
    for one, other in [(b, ~b | b), (k, k), (b, k), (k, b | True), (k, x + 1), (b, x + 1), (x, k)]:
        found = run(lambda a, c: function(gnp, a, c), one, other)
        wanted = function(np, one, other)
        if wanted.dtype == np.float16:  # NumPy's for bools in arctan2 and division
            wanted = function(np, one.astype(float), other)
        assert found.dtype == wanted.dtype or (one is b and wanted.dtype == np.int8)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_integers_do_not_widen_a_program_in_float32():
    x = np.linspace(0.5, 2, 3, dtype=np.float32)

    def f(x: Any, k: Any) -> Any:
        return x * k, x * (x > 1), x * (k / 2), x * gnp.mean(x > 1), x * gnp.sqrt(k), x + 0.5

    for found in run(f, x, np.arange(3)):
        assert found.dtype == np.float32


def test_default_dtype():
    f = gradir.jit(lambda k: (k / 2, gnp.zeros(3), gnp.mean(k > 0), gnp.sin(1.0)))
    k = np.arange(3)
    assert {y.dtype.name for y in f(k)} == {"float64"}
    with gradir.default_dtype("float32"):
        assert {y.dtype.name for y in f(k)} == {"float32"}
        seen: list[str] = []
        thread = Thread(target=lambda: seen.append(f(k)[0].dtype.name))
        thread.start()
        thread.join()
        assert seen == ["float64"], "a context is its thread's"
    assert {y.dtype.name for y in f(k)} == {"float64"}
    gradir.default_dtype("float16")
    try:
        assert {y.dtype.name for y in f(k)} == {"float16"}
    finally:
        gradir.default_dtype("float64")
    with pytest.raises(gradir.GradirError, match="expected a floating dtype, got int64"):
        gradir.default_dtype("int64")


def test_derivatives_through_mixes():
    k, b = np.array([3, 1, 2]), np.array([True, False, True])

    def f(x: Any) -> Any:
        wide = gnp.asarray(x, "float32") * np.arange(3) * (x > 0.5)
        return gnp.sum(x**3 * k / 2 + gnp.sin(x) * b) + gnp.sum(wide.astype("float64")) * 0

    check_grads(lambda x: gnp.sum(x**3 * k / 2 + gnp.sin(x) * b * gnp.mean(x > 0)), [k + 0.5])
    x = np.array([0.7, 0.2, 1.1])
    np.testing.assert_allclose(gradir.grad(f)(x), 3 * x**2 * k / 2 + np.cos(x) * b)


def test_a_cotangent_has_the_type_of_its_array():
    x, y = np.ones(3, np.float32), np.arange(3.0)
    one, other = gradir.grad(lambda x, y: gnp.sum(x * y * np.arange(3)), (0, 1))(x, y)
    assert (one.dtype, other.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(one, [0, 1, 4])
    np.testing.assert_array_equal(other, [0, 1, 2])
