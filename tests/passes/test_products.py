"""gradir-fuse turns products that are only read transposed, and makes repeated ones once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.dialects.loopnest.loopnest import ContractOp, NestOp

RANDOM = np.random.default_rng(0)
SHAPES = [
    (64, 256, 16), (5, 7, 3), (1, 9, 40), (9, 1, 40), (1, 1, 40), (1, 1, 3), (33, 17, 100),
    (4, 4, 0), (0, 3, 2), (3, 3, 1),
]  # fmt: skip


def fused(function: Any, *arrays: Any) -> list[Any]:
    """The contractions and nests of a traced function, fused."""
    module = gradir.jit(function).lower(*arrays).module
    passes = "gradir-inline,gradir-lower,gradir-fuse"
    walked = module.run_passes(passes).op.walk()
    return [op for op in walked if isinstance(op, ContractOp | NestOp)]


def arrays(m: int, n: int, k: int, dtype: str, batch: tuple[int, ...] = ()) -> list[Any]:
    """Two factors, the first one transposed, and a sum of their product transposed."""
    shapes = (k, m), (k, n), (n, m)
    made = [RANDOM.standard_normal(batch + shape) * 4 for shape in shapes]
    return [gnp.asarray(each.astype("f4")).astype(dtype) for each in made]


def sum_of_transposed(a: Any, b: Any, c: Any) -> Any:
    """c + (a @ b).T, where a is read from its transpose."""
    return c + gnp.swapaxes(gnp.swapaxes(a, -1, -2) @ b, -1, -2)


def test_the_gradient_of_a_layer_by_its_weights_is_one_product() -> None:
    def loss(w: Any, x: Any) -> Any:
        return ((x @ w.T) ** 2).sum()

    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * gradir.grad(loss)(w, x)

    loops = fused(step, RANDOM.standard_normal((8, 6)), RANDOM.standard_normal((5, 6)))
    [*_, last] = [op for op in loops if isinstance(op, ContractOp)]
    assert last.extents == (8, 6, 5)
    assert loops[-1] is last


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "bfloat16", "i4", "c8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_its_elements_are_bit_for_bit_the_same(shape: tuple[int, int, int], dtype: str) -> None:
    a, b, c = arrays(*shape, dtype)
    product = gradir.jit(lambda a, b: a @ b)(a.mT, b)
    wanted = gradir.jit(lambda c, p: c + p)(c, product.T)
    found = gradir.jit(sum_of_transposed)(a, b, c)
    assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_batches(dtype: str) -> None:
    a, b, c = arrays(5, 9, 33, dtype, (2, 3))
    product = gradir.jit(lambda a, b: a @ b)(a.mT, b)
    found = gradir.jit(sum_of_transposed)(a, b, c)
    wanted = np.asarray(c) + np.swapaxes(np.asarray(product), -1, -2)
    assert np.asarray(found).tobytes() == wanted.tobytes()
    loops = fused(sum_of_transposed, a, b, c)
    assert [type(op) for op in loops] == [ContractOp]


def test_a_product_that_is_read_both_ways_stays() -> None:
    a, b, c = arrays(4, 6, 3, "f8")

    def both(a: Any, b: Any, c: Any) -> Any:
        p = a.T @ b
        return c + p.T, p + 1

    [contract] = [op for op in fused(both, a, b, c) if isinstance(op, ContractOp)]
    assert contract.extents == (4, 6, 3)
    first, second = gradir.jit(both)(a, b, c)
    product = np.asarray(gradir.jit(gnp.matmul)(a.T, b))
    assert (np.asarray(first) == np.asarray(c) + product.T).all()
    assert (np.asarray(second) == product + 1).all()


def test_a_factor_that_would_be_packed_stays_at_the_left() -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        return c + (a @ b).T

    a, b, c = RANDOM.random((4, 3)), RANDOM.random((3, 6)), RANDOM.random((6, 4))
    [contract] = [op for op in fused(function, a, b, c) if isinstance(op, ContractOp)]
    assert contract.extents == (4, 6, 3)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "bfloat16", "i4", "c8"])
@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize(
    "shape", [(6, 5, 3), (6, 5, 40), (1, 5, 40), (6, 1, 40), (1, 1, 40)], ids=str
)
def test_repeated_rows_and_columns_keep_their_bits(
    shape: tuple[int, int, int], side: str, dtype: str
) -> None:
    m, n, k = shape
    a = gnp.asarray(RANDOM.standard_normal((m if side == "right" else 1, k)).astype("f4"))
    b = gnp.asarray(RANDOM.standard_normal((k, n if side == "left" else 1)).astype("f4"))
    a, b = a.astype(dtype), b.astype(dtype)
    wide = gnp.broadcast_to(a, (m, k)), gnp.broadcast_to(b, (k, n))
    wanted = gradir.jit(gnp.matmul)(*(gnp.array(np.array(each)) for each in wide))

    def function(a: Any, b: Any) -> Any:
        return gnp.broadcast_to(a, (m, k)) @ gnp.broadcast_to(b, (k, n))

    assert np.asarray(gradir.jit(function)(a, b)).tobytes() == np.asarray(wanted).tobytes()


def test_a_product_with_equal_columns_is_made_once() -> None:
    def weights(w: Any, x: Any, c: Any) -> Any:
        return gradir.grad(lambda w: (x @ w).sum(axis=1) @ c)(w)

    loops = fused(weights, RANDOM.random((3, 5)), RANDOM.random((8, 3)), RANDOM.random(8))
    extents = [op.extents for op in loops if isinstance(op, ContractOp)]
    assert (3, 1, 8) in extents
    assert (3, 5, 8) not in extents


def test_what_an_epilogue_varies_along_is_no_repetition() -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        return a @ gnp.broadcast_to(b, (3, 5)) + c

    a, b, c = RANDOM.random((4, 3)), RANDOM.random((3, 1)), RANDOM.random((4, 5))
    found = gradir.jit(function)(a, b, c)
    np.testing.assert_allclose(found, a @ np.broadcast_to(b, (3, 5)) + c, rtol=1e-15)


def test_nan_and_inf() -> None:
    a, b, c = (np.array(each) for each in arrays(4, 6, 3, "f8"))
    a[0, 0], b[1, 2], c[3, 3] = np.inf, np.nan, -np.inf
    product = gradir.jit(gnp.matmul)(a.T, b)
    found = np.asarray(gradir.jit(sum_of_transposed)(a, b, c))
    np.testing.assert_array_equal(found, c + np.asarray(product).T)
