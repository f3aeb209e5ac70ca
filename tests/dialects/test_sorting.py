"""Sorting of long rows, natively: all kinds of digits, threads, several rows in a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir

Array = np.ndarray[Any, np.dtype[Any]]
ELEMENTS = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}


def run(op: str, x: Array, attributes: str = "", threads: int = 2) -> Array:
    shape = "x".join(map(str, x.shape))
    element = ELEMENTS[x.dtype.name]
    source, target = f"tensor<{shape}x{element}>", f"tensor<{shape}x{element}>"
    if op == "argsort":
        target = f"tensor<{shape}xi64>"
    text = (
        f"func.func @f(%x: {source}) -> {target} {{\n"
        f'  %y = "array.{op}"(%x) {{{attributes}}} : ({source}) -> {target}\n'
        f"  func.return %y : {target}\n}}"
    )
    return gradir.compile(gradir.parse(text), "f", threads=threads)(x)[0]


def rows(shape: tuple[int, ...], dtype: str) -> Array:
    """Numbers with ties, infinities and nan among floats, and the ends of integers."""
    generator = np.random.default_rng(0)
    if dtype.startswith("int"):
        limits = np.iinfo(dtype)
        x = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        x[..., ::5] >>= 28
        return x
    x = generator.normal(size=shape).astype(dtype)
    x[..., ::5] = np.round(x[..., ::5])
    x[..., ::97] = np.nan
    x[..., 1::89] = -np.inf
    return x


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("shape", [(70, 200), (3, 5000), (1, 20_000)])
def test_long_rows(shape: tuple[int, ...], dtype: str):
    x = rows(shape, dtype)
    np.testing.assert_array_equal(run("sort", x), np.sort(x, axis=-1))
    np.testing.assert_array_equal(run("argsort", x), np.argsort(x, axis=-1, kind="stable"))


def test_descending_is_stable():
    x = rows((4, 3000), "float32")
    backwards = np.argsort(x[:, ::-1], axis=-1, kind="stable")[:, ::-1]
    found = run("argsort", x, "descending = true")
    np.testing.assert_array_equal(found, x.shape[1] - 1 - backwards)


def test_equal_elements():
    x = np.full((2, 4000), 2.5, np.float32)
    np.testing.assert_array_equal(run("argsort", x), np.tile(np.array(range(4000)), (2, 1)))


def test_along_the_first_axis():
    x = rows((300, 5), "float64")
    np.testing.assert_array_equal(run("sort", x, "axis = 0"), np.sort(x, axis=0))
