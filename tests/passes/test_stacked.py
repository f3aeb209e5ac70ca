"""gradir-bufferize writes the pieces of a stack where the stack has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.dialects.loopnest.loopnest import NestOp

RANDOM = np.random.default_rng(0)
LOWER = "gradir-inline,gradir-split-complex,gradir-lower,gradir-fuse,gradir-bufferize"


def nests(function: Any, *arrays: Any) -> int:
    """The number of nests on buffers."""
    module = gradir.jit(function).lower(*arrays).module.run_passes(LOWER)
    return sum(isinstance(op, NestOp) for op in module.op.walk())


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    return x * y + 1, x - y


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "bfloat16", "i8", "i1", "u2", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pieces_of_one_nest(axis: int, dtype: str) -> None:
    for shape in ((1, 1), (2, 7), (3, 16), (5, 33), (4, 64)):
        x, y = (gnp.asarray(RANDOM.integers(0, 9, shape)).astype(dtype) for _ in range(2))

        def stacked(x: Any, y: Any) -> Any:
            first, second = (x & y, x | y) if dtype == "bool" else pair(x, y)
            return gnp.stack([second, first], axis=axis)

        one, other = gradir.jit(lambda x, y: (x & y, x | y) if dtype == "bool" else pair(x, y))(
            x, y
        )
        found = np.asarray(gradir.jit(stacked)(x, y))
        assert found.tobytes() == np.stack([np.asarray(other), np.asarray(one)], axis).tobytes()


def test_one_nest_is_left() -> None:
    x, y = RANDOM.random((2, 40)), RANDOM.random((2, 40))
    assert nests(lambda x, y: gnp.stack(pair(x, y)), x, y) == 1
    assert nests(lambda x, y: gnp.stack(pair(x, y), axis=-1), x, y) == 1
    z = x + 1j * y
    assert nests(lambda z: z * z, z) == 1
    # of three interleaved pieces vectors have no fast stores
    assert nests(lambda x, y: gnp.stack([*pair(x, y), x + 2], axis=-1), x, y) == 2


def test_pieces_that_are_read_elsewhere_stay() -> None:
    x, y = RANDOM.random(40), RANDOM.random(40)

    def function(x: Any, y: Any) -> Any:
        first, second = pair(x, y)
        return gnp.stack([first, second]), gnp.flip(first) * second

    found, product = gradir.jit(function)(x, y)
    np.testing.assert_array_equal(found, np.stack(pair(x, y)))
    np.testing.assert_array_equal(product, pair(x, y)[0][::-1] * pair(x, y)[1])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pieces_of_which_a_part_is_stacked(axis: int) -> None:
    """What the nests of the pieces make beyond the part is not written: not beyond the stack."""
    x, y = RANDOM.random((4, 16)), RANDOM.random((4, 14))

    def function(x: Any, y: Any) -> Any:
        first, second = pair(x, gnp.pad(y, ((0, 0), (1, 1))))
        return gnp.stack([first[:3, :13], second[:3, :13]], axis=axis)

    wanted = np.stack([part[:3, :13] for part in pair(x, np.pad(y, ((0, 0), (1, 1))))], axis)
    memory = np.full(2 * wanted.size, 7.25)
    out = memory[39 : 39 + wanted.size].reshape(wanted.shape)
    module = gradir.trace(function, x, y)
    gradir.compile(module, "function")(x, y, out=(out,))
    np.testing.assert_array_equal(out, wanted)
    out[:] = 7.25
    np.testing.assert_array_equal(memory, 7.25)


def test_pieces_of_several_nests() -> None:
    x, y = RANDOM.random((30, 20)), RANDOM.random((20, 30))

    def function(x: Any, y: Any) -> Any:
        return gnp.stack([gnp.exp(x), gnp.cumsum(x, axis=1), gnp.sin(y.T)], axis=0)

    found = gradir.jit(function)(x, y)
    wanted = np.stack([np.exp(x), np.cumsum(x, axis=1), np.sin(y.T)])
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 129])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_results_of_each_length(n: int, dtype: str) -> None:
    x, y = ((RANDOM.random(n) + 1j * RANDOM.random(n)).astype(dtype) for _ in range(2))
    found = np.asarray(gradir.jit(lambda x, y: x + y * 2 - x.conj())(x, y))
    np.testing.assert_allclose(found, x + y * 2 - x.conj(), rtol=1e-6 if dtype == "c8" else 1e-14)


def test_a_result_in_the_memory_of_an_argument() -> None:
    x = RANDOM.random(50) + 1j * RANDOM.random(50)
    wanted = x[::-1] * x
    found = gradir.jit(lambda x: x[::-1] * x, donate_argnums=0)(x.copy())
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("shape", [(40,), (3, 17)], ids=str)
def test_chains_that_reuse_memory(shape: tuple[int, ...]) -> None:
    """The buffers of pieces held other values before, and are seen under other shapes."""
    x, y = RANDOM.random(shape), RANDOM.random(shape)

    def function(x: Any, y: Any) -> Any:
        for _ in range(3):
            total = gnp.cumsum(x, axis=-1) * y
            wide = gnp.stack([total + 1, total * x], axis=-1)
            x, y = wide.sum(axis=-1), wide[..., 0] - gnp.flip(wide[..., 1], axis=-1)
            x = (x.reshape(-1) * 0.5).reshape(shape)
        return gnp.stack([x, y], axis=-1), gnp.stack([y * 2, x, x + y])

    found = gradir.jit(function)(x, y)
    wanted = function(gnp.asarray(x), gnp.asarray(y))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_loops_that_carry_a_stack() -> None:
    def step(k: Any, z: Any) -> Any:
        return z * z * 0.5 + z[::-1]

    z = (RANDOM.random(20) + 1j * RANDOM.random(20)) * 0.3
    found = gradir.jit(lambda z: gradir.fori_loop(0, 4, step, z))(z)
    wanted = z
    for k in range(4):
        wanted = step(k, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
