"""Sums of many products are cut into parts: small errors, and the bits of bounds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir.dialects.building import contractions
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.passes.lower.lower import lower

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def contractions_of(f: Any, *arrays: Array) -> list[ContractOp]:
    op = gradir.trace(f, *arrays).run_passes("gradir-decompose").op.clone()
    lower(op)
    return [inner for inner in op.walk() if isinstance(inner, ContractOp)]


@pytest.mark.parametrize("rows", [2**20, 2**20 + 4097])
def test_errors_do_not_grow(rows: int) -> None:
    """Equal numbers are the worst case of a chain; one of 2**20 products had an error of 1.4 %."""
    x = np.full((rows, 4), 0.1, np.float32)
    found = gradir.jit(lambda x: x.T @ x)(x)
    np.testing.assert_allclose(found, float(x[0, 0]) ** 2 * rows, rtol=4e-5)


PRODUCTS = {
    "two matrices": (lambda x, y: x.T @ y, (200, 3), (200, 2)),
    "rest": (lambda x, y: x.T @ y, (203, 3), (203, 2)),
    "a vector": (lambda x, y: x @ y, (190,), (190, 3)),
    "a vector behind": (lambda x, y: x @ y, (3, 190), (190,)),
    "a batch": (lambda x, y: x @ y, (4, 2, 130), (4, 130, 3)),
    "a repeated factor": (lambda x, y: x @ y, (4, 2, 130), (130, 3)),
    "two summed axes": (lambda x, y: gnp.einsum("abi,abj->ij", x, y), (50, 7, 2), (50, 7, 3)),
    "long inner axes": (lambda x, y: gnp.einsum("abi,abj->ij", x, y), (9, 100, 2), (9, 100, 3)),
    "one long chain": (lambda x, y: x.T @ y, (31, 3), (31, 2)),
}


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contractions, "PART_STEPS", 16)
    monkeypatch.setattr(contractions, "FACTORS_OVER_PARTS", 1)


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("name", PRODUCTS)
def test_parts_of_all_products(name: str) -> None:
    f, left, right = PRODUCTS[name]
    x, y = random(*left), random(*right)
    parts = [op for op in contractions_of(f, x, y) if op.dim_roles.startswith("b")]
    assert bool(parts) == (name != "one long chain")
    np.testing.assert_allclose(gradir.jit(f)(x, y), f(x, y), rtol=1e-12, atol=1e-12)
    gradir.testing.check_grads(f, (x, y), order=2)


@pytest.mark.usefixtures("short_parts")
def test_a_convolution_and_its_bias_are_cut_too() -> None:
    def f(x: Any, w: Any, b: Any) -> Any:
        return nn.conv2d(x, w, b)

    arrays = random(2, 40, 4, 4), random(3, 40, 2, 2), random(3)
    assert any(op.dim_roles.startswith("b") for op in contractions_of(f, *arrays))
    gradir.testing.check_grads(f, arrays, order=1)
    module = gradir.trace(f, *arrays)
    (want,) = gradir.interpret(module, "f", *arrays)
    np.testing.assert_allclose(gradir.jit(f)(*arrays), want, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("short_parts")
def test_halves_are_summed_in_float32_and_rounded_once() -> None:
    x, y = random(200, 3, dtype=np.float16), random(200, 2, dtype=np.float16)
    found = gradir.jit(lambda x, y: x.T @ y)(x, y)
    want = (x.astype(np.float32).T @ y.astype(np.float32)).astype(np.float16)
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=2e-3)


def test_bits_do_not_depend_on_threads_or_what_is_around() -> None:
    x, y = random(20000, 24, dtype=np.float32), random(20000, 8, dtype=np.float32)

    def product(x: Any, y: Any) -> Any:
        return x.T @ y

    def around(x: Any, y: Any) -> Any:
        z = product(x, y)
        return z, gnp.exp(z * 1e-3) + 1, gnp.sum(z)

    module = gradir.trace(product, x, y)
    (want,) = gradir.compile(module, "product", threads=1)(x, y)
    (other,) = gradir.compile(module, "product", threads=2)(x, y)
    third = gradir.jit(around)(x, y)[0]
    assert np.asarray(want).tobytes() == np.asarray(other).tobytes() == np.asarray(third).tobytes()


def test_parts_that_would_fill_memory_are_not_made() -> None:
    x = gradir.Spec((2**15, 1024), "float32")
    op = gradir.trace(lambda x: x.T @ x, x).op.clone()
    lower(op)
    (one,) = (inner for inner in op.walk() if isinstance(inner, ContractOp))
    assert one.extents[-1] == 2**15
