"""Loops over shifted and joined tensors are cut where reads begin and end to be inside of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.codegen.nests.pieces import Piece, holds, pieces_of
from gradir.codegen.nests.plan import CopyBody
from gradir.codegen.nests.space import Guard, Linear, LinearRead, LinearWrite, Pass

Array = np.ndarray[Any, np.dtype[Any]]
SIZES = (2, 7, 8, 31, 64, 65, 200, 1000, 9001)


def reading(extent: int, *guards: Guard) -> Pass:
    """A map of one input with guards, in vectors of 8."""
    read = LinearRead("%in0", "f32", Linear((1,)), guards)
    write = LinearWrite("%out0", "f32", "f32", Linear((1,)), "none", 0)
    return Pass((extent,), (read,), (write,), CopyBody(), lanes=8)


def test_pieces_end_where_guards_do() -> None:
    low, high = Guard(Linear((1,), -1), 999), Guard(Linear((1,), 0), 995)
    assert pieces_of(reading(1000, low, high), 992, 32) == [
        Piece(0, 32, {high: True}),
        Piece(32, 992, {low: True, high: True}),
    ]
    late = Guard(Linear((1,), -500), 100)
    assert [(p.low, p.high, p.held.get(late)) for p in pieces_of(reading(1000, late), 992, 32)] == [
        (0, 480, False), (480, 512, None), (512, 576, True), (576, 608, None), (608, 992, False)
    ]  # fmt: skip


@pytest.mark.parametrize("step", [1, -1, 2, -3])
@pytest.mark.parametrize("start", [-40, -1, 0, 17, 63, 200])
def test_what_is_known_is_so(step: int, start: int) -> None:
    guard = Guard(Linear((step,), start), 50)
    pieces = pieces_of(reading(160, guard), 160, 16)
    assert [p.low for p in pieces] == [0, *(p.high for p in pieces[:-1])]
    assert pieces[-1].high == 160
    for piece in pieces:
        inside = {0 <= step * d + start < 50 for d in range(piece.low, piece.high)}
        assert guard not in piece.held or inside == {piece.held[guard]}
        assert guard in piece.held or piece.high - piece.low == 16


def test_lanes_of_a_known_subscript() -> None:
    guard = Guard(Linear((1,), 0), 10)
    assert holds(guard, 0, 1, 8) is True
    assert holds(guard, 4, 1, 8) is None
    assert holds(guard, 10, 1, 8) is holds(guard, -1, -1, 8) is False


def shifted(x: Any, y: Any) -> tuple[Any, ...]:
    n = x.shape[0]
    return (
        x + 2 * gnp.roll(x, 1),
        gnp.roll(x, -(n // 3)) - gnp.roll(x, 3),
        gnp.concat([y[: n // 2], gnp.flip(x), y]) * 3,
        gnp.concat([x[:1], x[2:] + x[:-2], x[-1:]]),
        gnp.sum(gnp.concat([x, y]) * gnp.concat([y, x])),
        gnp.max(gnp.roll(gnp.stack([x, y, x]), 1, axis=1), axis=1),
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_shifted_and_joined_tensors(size: int, dtype: Any) -> None:
    x, y = np.arange(1, size + 1, dtype=dtype) % 50, np.arange(size, dtype=dtype) % 7
    module = gradir.trace(shifted, x, y)
    fn = gradir.compile(module, "shifted")
    for ours, theirs in zip(fn(x, y), gradir.interpret(module, "shifted", x, y), strict=True):
        np.testing.assert_array_equal(ours, theirs)
