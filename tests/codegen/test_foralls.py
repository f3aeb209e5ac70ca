"""Scalar programs (`loopnest.forall`): native control flow, lanes, indices, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradir
from gradir import Module
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import NUMPY_NAMES, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.programs import ElementView, ScalarProgram, forall
from gradir.errors import GradirError, IndexOutOfRange
from gradir.passes.verify.verify import verify

Array = np.ndarray[Any, np.dtype[Any]]
ELEMENTS = {numpy_dtype(element): element for element in NUMPY_NAMES}


def run(
    bounds: Sequence[int],
    arrays: Sequence[Array],
    results: Sequence[tuple[tuple[int, ...], Any]],
    body: Callable[..., None],
    threads: int = 1,
) -> tuple[Array, ...]:
    """What a program computes natively, after its text was parsed back."""
    types = [tensor(a.shape, ELEMENTS[a.dtype]) for a in arrays]
    made = [tensor(shape, ELEMENTS[np.dtype(dtype)]) for shape, dtype in results]
    block = Block(arg_types=types)
    location = FileLineColLoc(StringAttr("here.py"), IntAttr(1), IntAttr(2))
    values = forall(Emitter(block, location), bounds, block.args, made, body)
    block.add_op(ReturnOp(*values))
    module = ModuleOp([FuncOp("f", (types, made), Region(block))])
    verify(module)
    text = gradir.parse(str(Module(module)), trusted=True)
    return gradir.compile(text, "f", threads=threads)(*arrays)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("threads", [1, 2])
def test_while_and_if(threads: int):
    """Steps to 1 of n -> n / 2 or 3 n + 1, of all numbers at once."""
    count = 3000

    def steps(p: ScalarProgram, start: ElementView, out: ElementView) -> None:
        i = p.index(0)
        one = p.integer(1)

        def following(n: Scalar, length: Scalar) -> list[Scalar]:
            odd = b.equal(b.logical_and(n, one), one)
            (halved,) = p.if_(odd, lambda: 3 * n + 1, lambda: n / 2)
            return [halved, length + 1]

        def goes_on(n: Scalar, length: Scalar) -> Scalar:
            return b.greater(n, one)

        _, length = p.while_([start[i], p.integer(0)], goes_on, following)
        out[i] = length

    def length_of(n: int) -> int:
        length = 0
        while n > 1:
            n, length = 3 * n + 1 if n % 2 else n // 2, length + 1
        return length

    starts = np.arange(1, count + 1)
    (found,) = run([count], [starts], [((count,), np.int64)], steps, threads)
    np.testing.assert_array_equal(found, [length_of(n) for n in starts.tolist()])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("width", [1, 5, 16, 37, 64])
def test_lanes(dtype: Any, width: int):
    """A matrix product: rows of the result in lanes, with a loop inside."""
    rows, inner = 3, 7
    x, y = numbers(rows, inner, dtype=dtype), numbers(inner, width, dtype=dtype)

    def product(p: ScalarProgram, x: ElementView, y: ElementView, out: ElementView) -> None:
        i = p.index(0)

        def column(j: Scalar) -> None:
            def step(k: Scalar, total: Scalar) -> Scalar:
                return b.fma(x[i, k], y[k, j], total)

            (total,) = p.for_loop(0, inner, step, [p.number(0, x.compute)])
            out[i, j] = total

        p.lanes(0, width, column)

    (found,) = run([rows], [x, y], [((rows, width), dtype)], product)
    wide = [a.astype(np.float64) for a in (x, y, found)]
    tolerance = {8: 1e-14, 4: 1e-5, 2: 2e-2}[x.dtype.itemsize]
    np.testing.assert_allclose(wide[2], wide[0] @ wide[1], tolerance, tolerance)


@pytest.mark.parametrize("low", [0, 3, 40])
def test_lanes_whose_bounds_are_values(low: int):
    """Shifted, strided, gathered and uniform loads; nothing is written outside of the bounds."""
    size = 40
    x, order = numbers(2 * size), np.random.default_rng(1).permutation(size)

    def shuffle(
        p: ScalarProgram, x: ElementView, order: ElementView, at: ElementView, out: ElementView
    ) -> None:
        def nothing(j: Scalar) -> None:
            out[j] = p.number(-1, x.compute)

        def one(j: Scalar) -> None:
            shifted, strided = x[j + 1], x[j + j]
            uniform, gathered = x[low], x[order[j]]
            out[j] = shifted + 2 * strided + 4 * uniform + 8 * gathered

        p.lanes(0, size, nothing)
        p.lanes(at[()], size, one)

    arrays = [x, order, np.array(low)]
    (found,) = run([], arrays, [((size,), np.float32)], shuffle)
    j = np.arange(size)
    expected = x[j + 1] + 2 * x[2 * j] + 4 * x[low] + 8 * x[order]
    expected[:low] = -1
    np.testing.assert_allclose(found, expected, 1e-6)


def test_control_flow_in_lanes():
    """A condition and trips that are the same in all lanes; functions of vectors and of scalars."""
    x = numbers(6, 21)

    def program(p: ScalarProgram, x: ElementView, out: ElementView) -> None:
        i = p.index(0)
        odd = b.equal(b.logical_and(i, p.integer(1)), p.integer(1))
        scale = b.exp(x[i, 0])

        def column(j: Scalar) -> None:
            def add(k: Scalar, total: Scalar, last: Scalar) -> list[Scalar]:
                (part,) = p.if_(odd, lambda: b.exp(x[k, j]), lambda: scale)
                return [total + part, x[k, 1]]

            start = p.number(0, x.compute)
            total, last = p.for_loop(0, i, add, [start, start])
            out[i, j] = total + last

        p.lanes(0, 21, column)

    (found,) = run([6], [x], [((6, 21), np.float32)], program)
    for i in range(6):
        parts = np.exp(x[:i]) if i % 2 else np.tile(np.exp(x[i, 0]), (i, 21))
        last = x[i - 1, 1] if i else 0
        np.testing.assert_allclose(found[i], parts.sum(0) + last, 1e-5, 1e-5)


def test_scratch_and_several_results():
    """An iteration reads back what it wrote; a result that is not returned is scratch."""
    x = numbers(4, 9)

    def reversed_twice(
        p: ScalarProgram, x: ElementView, scratch: ElementView, out: ElementView
    ) -> None:
        i = p.index(0)

        def write(j: Scalar) -> None:
            scratch[i, 8 - j] = x[i, j]

        def read(j: Scalar) -> None:
            out[i, j] = scratch[i, j] + x[i, j]

        p.lanes(0, 9, write)
        p.for_loop(0, 9, read)

    shapes = [((4, 9), np.float32)] * 2
    scratch, out = run([4], [x], shapes, reversed_twice)
    np.testing.assert_array_equal(scratch, x[:, ::-1])
    np.testing.assert_array_equal(out, x[:, ::-1] + x)


@pytest.mark.parametrize("in_lanes", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_index_errors(in_lanes: bool, threads: int):
    def pick(p: ScalarProgram, x: ElementView, at: ElementView, out: ElementView) -> None:
        i = p.index(0)

        def one(j: Scalar) -> None:
            place = b.check_index(at[i, j], 50, "here.mlir:1:2: test.pick")
            out[i, j] = x[place]

        if in_lanes:
            p.lanes(0, 30, one)
        else:
            p.for_loop(0, 30, one)

    x, at = numbers(50), np.random.default_rng(0).integers(-50, 50, (900, 30))
    (found,) = run([900], [x, at], [((900, 30), np.float32)], pick, threads)
    np.testing.assert_array_equal(found, x[at])
    at[700, 29] = 50
    with pytest.raises(IndexOutOfRange, match=r"test\.pick: index 50 is out of range for a size"):
        run([900], [x, at], [((900, 30), np.float32)], pick, threads)


def test_no_iterations():
    def never(p: ScalarProgram, x: ElementView, out: ElementView) -> None:
        out[p.index(0), p.index(1)] = x[p.index(0)]

    (found,) = run([0, 3], [numbers(0)], [((0, 3), np.float32)], never)
    assert found.shape == (0, 3)


def test_outer_indices():
    shape = (2, 3, 1, 4)

    def number_of(p: ScalarProgram, out: ElementView) -> None:
        places = [p.index(d) for d in range(4)]
        total = p.integer(0)
        for place, extent in zip(places, shape, strict=True):
            total = total * extent + place
        out[places] = b.cast(total, i64)

    (found,) = run(shape, [], [(shape, np.int64)], number_of)
    np.testing.assert_array_equal(found, np.arange(24).reshape(shape))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("store", "lanes must write to different elements, got one for all"),
        ("bounds", "bounds must be the same in all lanes"),
        ("condition", "the condition must be the same in all lanes"),
        ("lanes", "not possible inside loopnest.lanes"),
    ],
)
def test_what_lanes_cannot_do(body: str, message: str):
    def program(p: ScalarProgram, x: ElementView, out: ElementView) -> None:
        def one(j: Scalar) -> None:
            def inner(k: Scalar = j) -> None:
                out[j] = x[k]

            if body == "store":
                out[0] = x[j]
            elif body == "bounds":
                p.for_loop(0, j, inner)
            elif body == "condition":
                p.if_(b.less(j, p.integer(3)), inner)
            else:
                p.lanes(0, 4, inner)

        p.lanes(0, 4, one)

    with pytest.raises(GradirError, match=message):
        run([], [numbers(4)], [((4,), np.float32)], program)
