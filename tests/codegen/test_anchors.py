"""Blocks of one tensor share a kernel where their pointers can be moved, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir

PRODUCT = """  %p{n} = loopnest.contract [8, 32, {k}] (%x[d0 + {first}, d2] : tensor<32x{k}xf32>,
      %w[d2, d1] : tensor<{k}x32xf32>) acc %s{n}: f32 roles mnk
      -> ([d0, d1] : tensor<8x32xf32>) {{
    loopnest.yield %s{n} : f32
  }}"""


def products(k: int, firsts: tuple[int, ...]) -> str:
    """The product of each block of 8 rows of %x, by its first row, with %w."""
    nests = "\n".join(PRODUCT.format(n=n, k=k, first=first) for n, first in enumerate(firsts))
    types = ", ".join("tensor<8x32xf32>" for _ in firsts)
    results = ", ".join(f"%p{n}" for n in range(len(firsts)))
    return (
        f"func.func @f(%x: tensor<32x{k}xf32>, %w: tensor<{k}x32xf32>) -> ({types}) {{\n"
        f"{nests}\n  return {results} : {types}\n}}"
    )


def compiled(text: str) -> tuple[int, Any]:
    """How many kernels a function has, and the function."""
    function = gradir.compile(gradir.parse(text), "f", threads=1)
    return len(function.program.kernels), function


@pytest.mark.parametrize(
    ("k", "firsts", "count"),
    [
        (16, (0, 8, 16, 24), 1),
        # rows of 17 numbers: 8 of them are no multiple of 64 bytes, 16 are
        (17, (0, 8, 16), 2),
    ],
)
def test_products_of_blocks(k: int, firsts: tuple[int, ...], count: int) -> None:
    random = np.random.default_rng(0)
    x, w = (random.normal(size=s).astype(np.float32) for s in ((32, k), (k, 32)))
    kernels, function = compiled(products(k, firsts))
    for first, result in zip(firsts, function(x, w), strict=True):
        np.testing.assert_allclose(result, x[first : first + 8] @ w, rtol=1e-5, atol=1e-5)
    assert kernels == count


def test_reads_of_one_buffer_keep_their_distance() -> None:
    text = """
func.func @f(%x: tensor<64xf64>) -> (tensor<16xf64>, tensor<16xf64>) {
  %a = loopnest.nest [16] (%u = %x[d0 + 16] : tensor<64xf64>, %v = %x[d0 + 32] : tensor<64xf64>)
      -> ([d0] : tensor<16xf64>) {
    %s = arith.subf %u, %v : f64
    loopnest.yield %s : f64
  }
  %b = loopnest.nest [16] (%u = %a[d0] : tensor<16xf64>, %v = %x[15 - d0] : tensor<64xf64>)
      -> ([d0] : tensor<16xf64>) {
    %s = arith.divf %u, %v : f64
    loopnest.yield %s : f64
  }
  return %a, %b : tensor<16xf64>, tensor<16xf64>
}"""
    x = np.arange(1.0, 65.0) ** 2
    _, function = compiled(text)
    a, b = function(x)
    np.testing.assert_array_equal(a, x[16:32] - x[32:48])
    np.testing.assert_array_equal(b, a / x[15::-1])


def test_an_output_that_is_filled_first_stays() -> None:
    text = """
func.func @f(%x: tensor<8xf64>) -> tensor<24xf64> {
  %y = loopnest.nest [8] (%u = %x[d0] : tensor<8xf64>) -> (add [d0 + 8] : tensor<24xf64>) {
    loopnest.yield %u : f64
  }
  return %y : tensor<24xf64>
}"""
    x = np.arange(8.0)
    _, function = compiled(text)
    expected = np.concatenate([np.zeros(8), x, np.zeros(8)])
    for _ in range(3):
        np.testing.assert_array_equal(function(x, out=np.full(24, np.nan))[0], expected)


SUM = """  %y{after} = loopnest.nest [16, 8] (%u{n} = %x[d0, d1] : tensor<16x8x{element}>)
      -> (add [d0 + {first}] init %y{n} : tensor<48x{element}>) {{
    %v{n} = {body}
    loopnest.yield %v{n} : f32
  }}"""


@pytest.mark.parametrize(
    ("element", "body", "factor", "count"),
    [
        ("f32", "arith.addf %u{n}, %u{n} : f32", 2, 1),
        # numbers that are summed in a wider type are converted all, so these outputs stay
        ("f16", "arith.extf %u{n} : f16 to f32", 1, 3),
    ],
)
def test_sums_into_parts(element: str, body: str, factor: int, count: int) -> None:
    sums = (
        SUM.format(n=n, after=n + 1, first=16 * n, element=element, body=body.format(n=n))
        for n in range(3)
    )
    type_ = f"tensor<48x{element}>"
    text = f"func.func @f(%x: tensor<16x8x{element}>, %y0: {type_}) -> {type_} {{\n"
    text += "\n".join([*sums, f"  return %y3 : {type_}", "}"])
    x = np.arange(128).reshape(16, 8).astype({"f32": np.float32, "f16": np.float16}[element])
    y = np.arange(48).astype(x.dtype)
    kernels, function = compiled(text)
    total = factor * x.astype(np.float32).sum(1)
    np.testing.assert_array_equal(function(x, y)[0], (y + np.tile(total, 3)).astype(x.dtype))
    assert kernels == count + 1  # and the copy of %y0


def test_a_product_whose_plan_would_change_stays() -> None:
    """The convolution of what begins at row 2 runs in steps, one from row 0 on in chunks."""
    import gradir.nn as nn

    random = np.random.default_rng(0)
    x, w = (random.normal(size=s).astype(np.float32) for s in ((2, 64, 32, 32), (64, 64, 3, 3)))
    b = random.normal(size=(4, 64, 32, 32)).astype(np.float32)
    shifted = gradir.jit(lambda x, w, b: nn.conv2d(x, w, padding=1) + b[2:], threads=2)(x, w, b)
    plain = gradir.jit(lambda x, w: nn.conv2d(x, w, padding=1), threads=2)(x, w)
    np.testing.assert_allclose(shifted, plain + b[2:], rtol=1e-5, atol=1e-4)


def test_attention_has_one_kernel_for_its_blocks() -> None:
    """Blocks of rows are all alike but the first one, whose pointer is not moved."""
    import gradir.nn as nn

    def loss(q: gradir.Array, k: gradir.Array, v: gradir.Array) -> gradir.Array:
        return (nn.attention(q, k, v) * q).sum()

    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=(1, 8, 1024, 64)).astype(np.float32) for _ in range(3))
    gradient = gradir.jit(gradir.grad(loss, argnums=(0, 1, 2)), threads=1)
    kernels = gradient.compiled(q, k, v).executable.program.kernels
    products = [kernel for kernel in kernels if kernel.op == "loopnest.contract"]
    assert 3 * len(products) < sum(kernel.calls for kernel in products)
