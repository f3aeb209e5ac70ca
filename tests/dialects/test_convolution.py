"""Native convolutions: bits, epilogues, shapes too large for the table, many tilings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir

Array = np.ndarray[Any, np.dtype[Any]]


def type_of(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


def compiled(name: str, a: Array, b: Array, result: tuple[int, ...], attributes: str, threads: int):
    types = f"{type_of(a.shape)}, {type_of(b.shape)}"
    text = f"""func.func @f(%a: {type_of(a.shape)}, %b: {type_of(b.shape)}) -> {type_of(result)} {{
  %y = {name} %a, %b {attributes} : {types} -> {type_of(result)}
  func.return %y : {type_of(result)}
}}"""
    return gradir.compile(gradir.parse(text), "f", threads=threads)


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def columns(x: Array, kernel: tuple[int, int], stride: int, padding: int) -> Array:
    """[N, C * KH * KW, H' * W']: what each place of the result sees."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    n, _, h, w = windows.shape[:4]
    return np.ascontiguousarray(windows.transpose(0, 1, 4, 5, 2, 3)).reshape(n, -1, h * w)


# x, weight, stride, padding
CASES = [
    ((2, 3, 9, 9), (5, 3, 3, 3), 1, 1),
    ((1, 1, 28, 28), (32, 1, 5, 5), 1, 0),
    ((2, 16, 14, 14), (32, 16, 3, 3), 1, 1),
    ((1, 40, 7, 7), (70, 40, 3, 3), 1, 1),
    ((2, 3, 20, 17), (16, 3, 7, 7), 2, 3),
    ((2, 33, 8, 8), (20, 33, 1, 1), 1, 0),
    ((2, 8, 9, 8), (33, 8, 1, 1), 2, 0),
    ((1, 130, 4, 5), (3, 130, 3, 3), 1, 1),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_is_the_product_with_the_columns_to_the_bit(case: Any, threads: int):
    shape, kernel, stride, padding = case
    x, w = random(*shape), random(*kernel)
    seen = columns(x, kernel[2:], stride, padding)
    size = (shape[2] + 2 * padding - kernel[2]) // stride + 1
    result = (shape[0], kernel[0], size, seen.shape[2] // size)
    attributes = f"{{stride = {stride}, padding = {padding}}}"
    [found] = compiled("nn.conv2d", x, w, result, attributes, threads)(x, w)
    flat = w.reshape(kernel[0], -1)
    product = (shape[0], kernel[0], seen.shape[2])
    [expected] = compiled("array.matmul", flat, seen, product, "", 1)(flat, seen)
    np.testing.assert_array_equal(found, expected.reshape(result))
    exact = flat.astype(np.float64) @ seen.astype(np.float64)
    np.testing.assert_allclose(found, exact.reshape(result), rtol=1e-4, atol=1e-4)


def transposed(ct: Array, w: Array, shape: tuple[int, ...], stride: int, padding: int) -> Array:
    """The cotangent of x in float64, one element of the kernel after the other."""
    n, c, h, width = shape
    image = np.zeros((n, c, h + 2 * padding, width + 2 * padding))
    rows, places = ct.shape[2:]
    for k in range(w.shape[2]):
        for m in range(w.shape[3]):
            part = np.einsum("nopq,oi->nipq", ct.astype(np.float64), w[:, :, k, m])
            image[:, :, k : k + stride * rows : stride, m : m + stride * places : stride] += part
    return image[:, :, padding : padding + h, padding : padding + width]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transposes(case: Any):
    """Against float64, and equal bits on one and two threads."""
    shape, kernel, stride, padding = case
    x, w = random(*shape), random(*kernel)
    seen = columns(x, kernel[2:], stride, padding).astype(np.float64)
    size = (shape[2] + 2 * padding - kernel[2]) // stride + 1
    ct = random(shape[0], kernel[0], size, seen.shape[2] // size)
    attributes = f"{{stride = {stride}, padding = {padding}}}"
    flat = ct.reshape(*ct.shape[:2], -1).astype(np.float64)
    to_weight = np.einsum("nop,nkp->ok", flat, seen).reshape(kernel)
    rows = [
        ("grad.conv2d_input_backward", w, shape, transposed(ct, w, shape, stride, padding)),
        ("grad.conv2d_weight_backward", x, kernel, to_weight),
    ]
    for name, other, result, exact in rows:
        one, two = (
            compiled(name, ct, other, result, attributes, threads)(ct, other)[0]
            for threads in (1, 2)
        )
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-3)


def test_bias_and_activation_are_the_epilogue():
    """One kernel, and the bits of the same ops one by one."""
    x, w, b = random(2, 3, 10, 10), random(20, 3, 3, 3), random(20)
    given, result = [type_of(a.shape) for a in (x, w, b)], type_of((2, 20, 10, 10))
    text = f"""func.func @f(%x: {given[0]}, %w: {given[1]}, %b: {given[2]}) -> {result} {{
  %h = nn.conv2d %x, %w, %b {{padding = 1}} : {", ".join(given)} -> {result}
  %y = nn.relu %h : {result}
  func.return %y : {result}
}}"""
    lowered = str(gradir.parse(text).run_passes("gradir-decompose,gradir-lower,gradir-fuse"))
    assert lowered.count("loopnest.contract") == 1 and "loopnest.nest" not in lowered
    fused = gradir.compile(gradir.parse(text), "f")
    plain = compiled("nn.conv2d", x, w, (2, 20, 10, 10), "{padding = 1}", 1)
    expected = np.maximum(plain(x, w)[0] + b[:, None, None], 0)
    np.testing.assert_array_equal(fused(x, w, b)[0], expected)
