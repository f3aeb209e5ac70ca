"""Shape rules against NumPy, for random shapes and attributes: the same shapes and refusals.

A rule that infers a type is compared with the shape of NumPy's result. The interpreter's value, and
native code's, must have it too; tests/support/op_cases.py has the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

import gradir
from gradir.dialects import array
from gradir.dialects.base.attributes import Plain, attribute
from gradir.dialects.base.shapes import broadcast_shapes, shape_of, tensor

Shape = tuple[int, ...]
OPS = {op.name: op for op in array.OPS}
RANDOM = settings(max_examples=150, deadline=None, derandomize=True)

EXTENTS = st.integers(0, 4)
SHAPES = st.lists(EXTENTS, max_size=4).map(tuple)


def inferred(name: str, operands: Sequence[Any], **attributes: Plain) -> Shape | None:
    """The result shape by the op's rule; None where it refuses."""
    given_attributes = {k: attribute(v) for k, v in attributes.items()}
    try:
        types = OPS[name].infer_types(operands, given_attributes)
    except VerifyException:
        return None
    assert types is not None
    return shape_of(types[0])


def zeros(shape: Shape) -> Any:
    return np.zeros(shape, np.float32)


@RANDOM
@given(SHAPES, SHAPES)
def test_broadcast_shapes(a: Shape, b: Shape) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(VerifyException, match="shapes must broadcast"):
            broadcast_shapes(a, b)
    else:
        assert broadcast_shapes(a, b) == expected


@RANDOM
@given(SHAPES, SHAPES)
def test_broadcast_to(source: Shape, target: Shape) -> None:
    """Accepted exactly where NumPy broadcasts."""
    text = f"""
func.func @f(%x: {tensor(source, f32)}) -> {tensor(target, f32)} {{
  %y = array.broadcast_to %x : {tensor(source, f32)} -> {tensor(target, f32)}
  func.return %y : {tensor(target, f32)}
}}"""
    try:
        expected = np.broadcast_to(zeros(source), target).shape
    except ValueError:
        with pytest.raises(gradir.GradirError, match=r"array.broadcast_to: "):
            gradir.parse(text)
    else:
        [y] = gradir.interpret(gradir.parse(text), "f", zeros(source))
        assert y.shape == expected


@RANDOM
@given(SHAPES, SHAPES)
def test_matmul(a: Shape, b: Shape) -> None:
    try:
        expected = np.matmul(zeros(a), zeros(b)).shape
    except ValueError:
        expected = None
    assert inferred("array.matmul", [tensor(a, f32), tensor(b, f32)]) == expected


@RANDOM
@given(SHAPES, st.lists(st.integers(-5, 5), max_size=3), st.booleans())
def test_reductions(shape: Shape, axes: list[int], keepdims: bool) -> None:
    try:
        expected = np.sum(zeros(shape), axis=tuple(axes), keepdims=keepdims).shape
    except ValueError:
        expected = None
    found = inferred("array.sum", [tensor(shape, f32)], axis=axes, keepdims=keepdims)
    assert found == expected


@RANDOM
@given(SHAPES, st.data())
def test_permute_dims(shape: Shape, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(-5, 5), max_size=5) | st.permutations(range(len(shape))))
    try:
        expected = np.transpose(zeros(shape), axes).shape
    except ValueError:
        expected = None
    assert inferred("array.permute_dims", [tensor(shape, f32)], axes=axes) == expected


@RANDOM
@given(SHAPES, st.lists(st.integers(-6, 6), max_size=3))
def test_expand_dims_and_squeeze(shape: Shape, axes: list[int]) -> None:
    for op, function in (
        ("array.expand_dims", np.expand_dims),
        ("array.squeeze", np.squeeze),
    ):
        try:
            expected = function(zeros(shape), tuple(axes)).shape
        except ValueError:
            expected = None
        assert inferred(op, [tensor(shape, f32)], axis=axes) == expected


@RANDOM
@given(SHAPES, st.data())
def test_slice(shape: Shape, data: st.DataObject) -> None:
    """Within bounds a slice is NumPy's; out of bounds it is refused, where NumPy cuts off."""
    draw = data.draw
    start, stop = ([draw(st.integers(-n - 1, n + 1)) for n in shape] for _ in range(2))
    step = [draw(st.integers(1, 3)) for _ in shape]
    bounds = list(zip(start, stop, shape, strict=True))
    normal = [(a + n if a < 0 else a, b + n if b < 0 else b, n) for a, b, n in bounds]
    found = inferred("array.slice", [tensor(shape, f32)], start=start, stop=stop, step=step)
    if all(0 <= a <= b <= n for a, b, n in normal):
        slices = tuple(slice(a, b, s) for (a, b, _), s in zip(normal, step, strict=True))
        assert found == zeros(shape)[slices].shape
    else:
        assert found is None


@RANDOM
@given(SHAPES, st.data())
def test_pad(shape: Shape, data: st.DataObject) -> None:
    low, high = ([data.draw(st.integers(0, 2)) for _ in shape] for _ in range(2))
    found = inferred("array.pad", [tensor(shape, f32)], low=low, high=high, value=0.0)
    assert found == tuple(lo + n + hi for lo, n, hi in zip(low, shape, high, strict=True))


@RANDOM
@given(st.lists(SHAPES, min_size=1, max_size=3), st.integers(-4, 4))
def test_concat(shapes: list[Shape], axis: int) -> None:
    try:
        expected = np.concatenate([zeros(s) for s in shapes], axis).shape
    except ValueError:
        expected = None
    operands = [tensor(s, f32) for s in shapes]
    assert inferred("array.concat", operands, axis=axis) == expected


@RANDOM
@given(st.lists(SHAPES, min_size=1, max_size=3), st.integers(-5, 5))
def test_stack(shapes: list[Shape], axis: int) -> None:
    try:
        expected = np.stack([zeros(s) for s in shapes], axis).shape
    except ValueError:
        expected = None
    operands = [tensor(s, f32) for s in shapes]
    assert inferred("array.stack", operands, axis=axis) == expected


@RANDOM
@given(SHAPES, st.lists(st.integers(0, 3), max_size=5))
def test_tile(shape: Shape, repeats: list[int]) -> None:
    expected = np.tile(zeros(shape), repeats).shape
    assert inferred("array.tile", [tensor(shape, f32)], repeats=repeats) == expected


@RANDOM
@given(SHAPES, st.integers(0, 3), st.none() | st.integers(-5, 5))
def test_repeat(shape: Shape, count: int, axis: int | None) -> None:
    assume(shape or axis is None)  # NumPy reads a number as an array of one
    try:
        expected = np.repeat(zeros(shape), count, axis).shape
    except ValueError:
        expected = None
    attributes = dict[str, Any]() if axis is None else {"axis": axis}
    assert inferred("array.repeat", [tensor(shape, f32)], count=count, **attributes) == expected


@RANDOM
@given(SHAPES, st.lists(EXTENTS, min_size=1, max_size=3), st.integers(-5, 5))
def test_split(shape: Shape, sizes: list[int], axis: int) -> None:
    """Accepted where the sizes add up; NumPy would cut off."""
    found = inferred("array.split", [tensor(shape, f32)], sizes=sizes, axis=axis)
    if not -len(shape) <= axis < len(shape) or sum(sizes) != shape[axis]:
        assert found is None
    else:
        assert found == np.split(zeros(shape), np.cumsum(sizes)[:-1], axis)[0].shape


@RANDOM
@given(SHAPES, st.integers(-5, 5))
def test_diagonal_and_trace(shape: Shape, offset: int) -> None:
    for op, function in (("array.diagonal", np.diagonal), ("array.trace", np.trace)):
        try:
            expected = function(zeros(shape), offset, -2, -1).shape
        except ValueError:
            expected = None
        assert inferred(op, [tensor(shape, f32)], offset=offset) == expected


@RANDOM
@given(SHAPES, SHAPES, st.integers(-5, 5))
def test_take(shape: Shape, indices: Shape, axis: int) -> None:
    assume(shape)  # NumPy reads a number as an array of one
    try:
        expected = np.take(zeros(shape), np.zeros(indices, np.int64), axis).shape
    except (ValueError, IndexError):
        expected = None
    operands = [tensor(shape, f32), tensor(indices, i64)]
    assert inferred("array.take", operands, axis=axis) == expected


@RANDOM
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), st.data())
def test_reshape_keeps_the_order(shape: Shape, data: st.DataObject) -> None:
    """Any shape of the same size, extents of 1 anywhere: elements stay in row-major order."""
    size = int(np.prod(shape))
    options = [(size,), (1, size), (*shape, 1), (1, *shape), tuple(reversed(shape))]
    target = data.draw(st.sampled_from(options))
    assume(int(np.prod(target)) == size)
    types = tensor(shape, f32), tensor(target, f32)
    module = gradir.parse(f"""
func.func @f(%x: {types[0]}) -> {types[1]} {{
  %y = array.reshape %x : {types[0]} -> {types[1]}
  func.return %y : {types[1]}
}}""")
    x = np.arange(size, dtype=np.float32).reshape(shape)
    [y] = gradir.interpret(module, "f", x)
    np.testing.assert_array_equal(y, x.reshape(target))
