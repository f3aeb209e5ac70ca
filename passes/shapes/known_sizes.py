"""Ops that take sizes as operands, once these are known: constants, static types, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import DYNAMIC
from gradir.passes.analysis.edits import replace_op, replace_results
from gradir.passes.shapes.infer_shapes import ShapeInference, is_sized, sizes_of


def rewrite_sizes(block: Block, known: ShapeInference) -> None:
    """Replace operands of known sizes by constants and static types."""
    for value, number in known.numbers.items():
        _put_constant(value, number)
    for op in list(block.walk()):
        if is_sized(op) and sizes_of(op):
            _require_numbers(known, op, sizes_of(op))
            made = tensor.EmptyOp([], op.tensor.type) if isinstance(op, tensor.EmptyOp) else None
            if isinstance(op, tensor.SplatOp):
                made = tensor.SplatOp(op.input, [], op.result.type)
            assert made is not None
            replace_op(op, made)
        elif isinstance(op, tensor.ExtractSliceOp | tensor.InsertSliceOp) and op.sizes:
            _write_slice_sizes(known, op)
        elif isinstance(op, tensor.CastOp) and op.source.type == op.dest.type:
            replace_results(op, [op.source])


def _put_constant(value: SSAValue, number: int) -> None:
    op = value.owner
    assert isinstance(op, Operation)
    replace_op(op, ConstantOp(IntegerAttr(number, IndexType())))


def _require_numbers(known: ShapeInference, op: Operation, sizes: Sequence[SSAValue]) -> None:
    for size in sizes:
        if known.number(size) is None:
            raise PassError(
                f"{op.name}: the size {value_name(size)} must follow from the shapes of the "
                "arguments; it is computed when the program runs",
                op,
            )


def _write_slice_sizes(
    known: ShapeInference, op: tensor.ExtractSliceOp | tensor.InsertSliceOp
) -> None:
    """Write the known sizes of a slice as attributes."""
    _require_numbers(known, op, op.sizes)
    rest = iter([known.number(size) or 0 for size in op.sizes])
    sizes = [next(rest) if n == DYNAMIC else n for n in integers_of(op.static_sizes)]
    first = len(op.operands) - len(op.sizes) - len(op.strides)
    operands = [o for k, o in enumerate(op.operands) if not first <= k < first + len(op.sizes)]
    properties = dict(op.properties)
    properties["static_sizes"] = DenseArrayBase.from_list(i64, sizes)
    segments = integers_of(cast(DenseArrayBase, properties["operandSegmentSizes"]))
    segments[-2] = 0
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, segments)
    made = type(op).create(
        operands=operands, result_types=[r.type for r in op.results], properties=properties
    )
    replace_op(op, made)
