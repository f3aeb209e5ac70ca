"""Contractions in chunks: the same bits as in one go, less scratch memory, results over factors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from runtime_harness import compiled, contraction_of, function, memref

import gradir
from gradir.cache.memory import Store
from gradir.codegen.contractions import chunks, plan
from gradir.codegen.contractions.plan import contract_scratch_bytes
from gradir.codegen.text.target import host

Array = np.ndarray[Any, np.dtype[Any]]

# A chain of convolutions, so that products, both gradients and epilogues are in the derivative.
NETWORK = """
func.func @f(%x: tensor<{n}x{c}x8x10xf32>, %v: tensor<{c}x{c}x3x3xf32>,
             %w: tensor<{c}x{c}x3x3xf32>) -> tensor<f32> {{
  %a = nn.conv2d %x, %v {{padding = 1}}
      : tensor<{n}x{c}x8x10xf32>, tensor<{c}x{c}x3x3xf32> -> tensor<{n}x{c}x8x10xf32>
  %b = nn.relu %a : tensor<{n}x{c}x8x10xf32>
  %d = nn.conv2d %b, %w {{padding = 1}}
      : tensor<{n}x{c}x8x10xf32>, tensor<{c}x{c}x3x3xf32> -> tensor<{n}x{c}x8x10xf32>
  %e = array.add %d, %b : tensor<{n}x{c}x8x10xf32>
  %g = array.tanh %e : tensor<{n}x{c}x8x10xf32>
  %h = nn.conv2d %g, %w {{padding = 2, stride = 2}}
      : tensor<{n}x{c}x8x10xf32>, tensor<{c}x{c}x3x3xf32> -> tensor<{n}x{c}x5x6xf32>
  %loss = array.sum %h : tensor<{n}x{c}x5x6xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}}
"""


def set_least(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Let chunks have at least `least` bytes, and few rows; earlier plans do not count."""
    monkeypatch.setattr(plan, "_plans", Store[Any, Any]())
    monkeypatch.setattr(chunks, "LEAST_BYTES", least)
    monkeypatch.setattr(chunks, "LEAST_ROWS", 1)


def run(text: str, threads: int, arrays: list[Array]) -> tuple[Any, list[Array]]:
    module = gradir.parse(text).gradient("f", mode="grad")
    function = gradir.compile(module, "f_grad", threads=threads)
    return function, [np.array(result) for result in function(*arrays)]


@pytest.mark.parametrize(
    ("n", "c", "threads"),
    [
        (6, 5, 2),
        (6, 5, 1),
        (4, 17, 3),
        (8, 1, 2),
    ],
)
def test_chunks_have_the_bits_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, n: int, c: int, threads: int
) -> None:
    """Also where threads have different numbers of chunks, and where tiles are wide and narrow."""
    monkeypatch.setattr(chunks, "MANY", 1)
    text = NETWORK.format(n=n, c=c)
    random = np.random.default_rng(n)
    shapes = [(n, c, 8, 10), (c, c, 3, 3), (c, c, 3, 3)]
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    set_least(monkeypatch, 1 << 40)
    whole, expected = run(text, threads, arrays)
    for least in (1, n * c * 8 * 10 * 2):
        # chunks of one image, and of two or three
        set_least(monkeypatch, least)
        chunked, found = run(text, threads, arrays)
        assert chunked.plan.peak_bytes < whole.plan.peak_bytes
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_chunks_of_other_types(monkeypatch: pytest.MonkeyPatch, element: str) -> None:
    """Sums wait in the accumulator's type, not in the result's."""
    text = NETWORK.format(n=4, c=3).replace("f32", element)
    dtypes = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
    random = np.random.default_rng(1)
    shapes = [(4, 3, 8, 10), (3, 3, 3, 3), (3, 3, 3, 3)]
    arrays = [random.standard_normal(shape).astype(dtypes[element]) for shape in shapes]
    results: list[list[Array]] = []
    for least in (1 << 40, 1):
        set_least(monkeypatch, least)
        results.append(run(text, 2, arrays)[1])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_padded_factor_is_written_over() -> None:
    """A chain of convolutions lives in one buffer, beside a padded image for each thread."""
    shape, kernel = "tensor<8x16x32x32xf32>", "tensor<16x16x3x3xf32>"
    lines = [
        f"%y{k + 1} = nn.conv2d %y{k}, %w {{padding = 1}} : {shape}, {kernel} -> {shape}"
        for k in range(4)
    ]
    lines += [f"%s = array.sum %y4 : {shape} -> tensor<f32>", "func.return %s : tensor<f32>"]
    body = "\n  ".join(lines)
    text = f"func.func @f(%y0: {shape}, %w: {kernel}) -> tensor<f32> {{\n  {body}\n}}"
    module = gradir.parse(text)
    function = gradir.compile(module, "f", threads=2)
    images = [b for b in function.plan.buffers if "scratch" not in b.name]
    assert {b.offset for b in images} == {images[0].offset}
    assert function.plan.peak_bytes < 1.5 * 8 * 16 * 32 * 32 * 4
    random = np.random.default_rng(2)
    x = random.standard_normal((8, 16, 32, 32)).astype(np.float32)
    w = random.standard_normal((16, 16, 3, 3)).astype(np.float32) / 12
    before = x.copy()
    [found], [expected] = function(x, w), gradir.interpret(module, "f", x, w)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    np.testing.assert_array_equal(x, before)


def test_sums_in_chunks_do_not_overwrite_a_factor() -> None:
    """A gradient of a weight that has the shape of the image, and could lie where that was."""
    text = """
func.func @f(%x: tensor<4x4x3x3xf32>, %ct: tensor<4x4x3x3xf32>) -> tensor<4x4x3x3xf32> {
  %a = array.tanh %x : tensor<4x4x3x3xf32>
  %y = grad.conv2d_weight_backward %ct, %a {padding = 1}
      : tensor<4x4x3x3xf32>, tensor<4x4x3x3xf32> -> tensor<4x4x3x3xf32>
  %z = array.exp %y : tensor<4x4x3x3xf32>
  func.return %z : tensor<4x4x3x3xf32>
}"""
    module = gradir.parse(text)
    random = np.random.default_rng(3)
    x, ct = (random.standard_normal((4, 4, 3, 3)).astype(np.float32) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        set_least(patch, 1)
        [found] = gradir.compile(module, "f", threads=1)(x, ct)
    [expected] = gradir.interpret(module, "f", x, ct)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("summed", [False, True])
def test_padding_of_the_dimension_that_has_chunks(
    monkeypatch: pytest.MonkeyPatch, summed: bool
) -> None:
    """Rows behind the last of a factor are padding, not what lies there in memory."""
    set_least(monkeypatch, 1)
    rows, n = ("d2, d0", 3) if summed else ("d0, d2", 8)
    bounds, k = ([3, 5, 8], 8) if summed else ([8, 5, 3], 3)
    x, w, r = memref((6, 3), "f32"), memref((k, 5), "f32"), memref((n, 5), "f32")

    def text(scratch: int) -> str:
        arena = f"memref<{max(scratch, 1)}xi8>"
        behind = f"scratch %arena : {arena}" if scratch else ""
        body = f"""
  loopnest.contract {bounds} (%x[{rows}] pad 0.0 : f32 : {x}, %w[d2, d1] : {w})
      acc %acc : f32 -> ([d0, d1] to %r : {r}) {behind} {{
    loopnest.yield %acc : f32
  }}"""
        return function(f"%arena: {arena}, %x: {x}, %w: {w}, %r: {r}", 2, 1, body)

    random = np.random.default_rng(4)
    memory = random.standard_normal((8, 3)).astype(np.float32)
    right = random.standard_normal((k, 5)).astype(np.float32)
    left = np.concatenate([memory[:6], np.zeros((2, 3), np.float32)])
    scratch = contract_scratch_bytes(contraction_of(text(0)), host(), 1)
    [found] = compiled(text(scratch))(memory[:6], right)
    np.testing.assert_allclose(found, (left.T if summed else left) @ right, rtol=1e-5, atol=1e-6)
