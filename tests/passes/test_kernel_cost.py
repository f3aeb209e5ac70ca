"""What a profile counts of a fused nest: flops on floats, and the bytes of touched elements."""

from __future__ import annotations

import pytest

import gradir
from gradir.dialects.loopnest.loopnest import LoopOp
from gradir.passes.recompute.costs import kernel_cost

CASES = {
    # part of a tensor is read: 10 of 100 elements
    "slice": (
        "%x: tensor<100xf32>",
        "%s = array.slice %x {start = [5], stop = [15]} : tensor<100xf32> -> tensor<10xf32>\n"
        "%y = array.add %s, %s : tensor<10xf32>",
        ("tensor<10xf32>", 10, 4 * (10 + 10)),
    ),
    # read at two places, but no element counts twice
    "square": (
        "%x: tensor<8x8xf64>",
        "%t = array.permute_dims %x {axes = [1, 0]} : tensor<8x8xf64> -> tensor<8x8xf64>\n"
        "%y = array.multiply %x, %t : tensor<8x8xf64>",
        ("tensor<8x8xf64>", 64, 8 * (64 + 64)),
    ),
    # a row is read again and again, and counts once; a sum has a flop more for each element
    "sum": (
        "%x: tensor<6x4xf32>, %r: tensor<4xf32>",
        "%b = array.broadcast_to %r : tensor<4xf32> -> tensor<6x4xf32>\n"
        "%p = array.multiply %x, %b : tensor<6x4xf32>\n"
        "%e = array.exp %p : tensor<6x4xf32>\n"
        "%y = array.sum %e {axis = [1]} : tensor<6x4xf32> -> tensor<6xf32>",
        ("tensor<6xf32>", 24 * (1 + 16 + 1), 4 * (24 + 4 + 6)),
    ),
    "integers": (
        "%x: tensor<10xi64>",
        "%y = array.multiply %x, %x : tensor<10xi64>",
        ("tensor<10xi64>", 0, 8 * 20),
    ),
    "product": (
        "%x: tensor<4x8xf32>, %w: tensor<8x2xf32>",
        "%p = array.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>\n"
        "%y = array.negative %p : tensor<4x2xf32>",
        ("tensor<4x2xf32>", 2 * 4 * 8 * 2 + 8, 4 * (32 + 16 + 8)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_kernel_cost(case: str) -> None:
    arguments, body, (type_, flops, size) = CASES[case]
    text = f"func.func @f({arguments}) -> {type_} {{\n{body}\nfunc.return %y : {type_}\n}}"
    module = gradir.parse(text).run_passes("gradir-stages{until=gradir-fuse}")
    [nest] = [op for op in module.op.walk() if isinstance(op, LoopOp)]
    cost = kernel_cost(nest)
    assert (cost.flops, cost.bytes) == (flops, size)
