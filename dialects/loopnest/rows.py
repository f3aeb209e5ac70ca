"""loopnest.rows: several nests over the rows of their buffers, one block of rows after the other.

    loopnest.rows 64 by 8 (%x : memref<64x128xf32>) -> (%y : memref<64x128xf32>) {
    ^bb0(%0 : memref<8x128xf32>, %1 : memref<8x128xf32>, %sums : memref<8x1xf32>):
      loopnest.nest [8, 128] (%a = %0[d0, d1] : ...) -> (add [d0, 0] to %sums : ...) { ... }
      loopnest.nest [8, 128] (%a = %0[d0, d1] : ..., %s = %sums[d0, 0] : ...) -> (...) { ... }
      loopnest.yield
    }

The body runs once for each block of rows. Its arguments are the block's part of each buffer, or all
of a buffer whose type is the argument's; then buffers that hold a block and nothing from one to the
next. Where blocks do not divide the rows, the last one ends with the rows and is as large as the
others: its first rows are computed again, so no nest may read what another or itself then changes.
Blocks are independent, but for sums over rows: where a nest's output leaves the rows out, the
blocks of `chunk` rows continue one sum, and the sums of all chunks are combined in order, as a nest
over all rows does. So the bits are the same as when nests run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import I64, IntegerAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.segments import SIZES, segment_sizes
from gradir.dialects.loopnest.body_ops import ShapedType, WritesBuffers, YieldOp


@irdl_op_definition
class RowsOp(IRDLOperation):
    """Nests on buffers, block of rows by block of rows; see the head of this file."""

    name = "loopnest.rows"

    inputs = var_operand_def()
    outputs = var_operand_def()
    scratch = var_operand_def()
    rows = prop_def(IntegerAttr[I64])
    size = prop_def(IntegerAttr[I64])
    chunk = opt_prop_def(IntegerAttr[I64])
    body = region_def("single_block")
    traits = traits_def(WritesBuffers(), IsolatedFromAbove())

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$rows `by` $size (`chunk` $chunk^)? ` ` `(` $inputs `:` type($inputs) `)` `->` "
        "`(` $outputs `:` type($outputs) `)` (`scratch` $scratch^ `:` type($scratch))? "
        "attr-dict-with-keyword $body"
    )

    def __init__(
        self,
        rows: int,
        size: int,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        body: Region | Block,
        chunk: int | None = None,
        scratch: SSAValue | None = None,
    ):
        super().__init__(
            operands=[inputs, outputs, [scratch] if scratch else []],
            properties={
                "rows": IntegerAttr(rows, i64),
                "size": IntegerAttr(size, i64),
                "chunk": None if chunk is None else IntegerAttr(chunk, i64),
            },
            regions=[body if isinstance(body, Region) else Region(body)],
        )

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.rows.value.data // self.size.value.data)

    @property
    def overlaps(self) -> bool:
        """Whether the last block begins before the one ahead of it ends."""
        return self.rows.value.data % self.size.value.data != 0

    @property
    def chunk_blocks(self) -> int:
        """The blocks of a chunk, which continue one sum over rows; one where there is no sum."""
        return 1 if self.chunk is None else self.chunk.value.data // self.size.value.data

    @property
    def locals(self) -> tuple[BlockArgument, ...]:
        """The buffers of a block alone."""
        return tuple(self.body.block.args[len(self.inputs) + len(self.outputs) :])

    def take_scratch(self, scratch: SSAValue) -> None:
        """Have a buffer of bytes for code generation, undefined before and after."""
        groups = (self.inputs, self.outputs, [scratch])
        self.operands = [operand for group in groups for operand in group]
        self.properties[SIZES] = segment_sizes(*map(len, groups))

    def is_blocked(self, argument: int) -> bool:
        """Whether an argument of the body is another part of its buffer for each block."""
        operand = (*self.inputs, *self.outputs)[argument]
        return operand.type != self.body.block.args[argument].type

    def verify_(self) -> None:
        rows, size = self.rows.value.data, self.size.value.data
        chunk = size if self.chunk is None else self.chunk.value.data
        if not 0 < size < rows or chunk <= 0 or (self.chunk and (rows % size or chunk % size)):
            raise VerifyException(
                f"{self.name}: blocks must be smaller than the rows and divide chunks and their "
                f"rows, got {rows} rows by {size} and chunks of {chunk}"
            )
        operands, args = (*self.inputs, *self.outputs), self.body.block.args
        if len(args) < len(operands):
            raise VerifyException(f"{self.name}: the body must have an argument for each buffer")
        for operand, argument in zip(operands, args, strict=False):
            ours, theirs = _elements(argument.type), _elements(operand.type)
            if operand.type != argument.type and ours * rows != theirs * size:
                raise VerifyException(
                    f"{self.name}: {size} of {rows} rows expected of {operand.type}, got "
                    f"{argument.type}"
                )
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"{self.name}: the body must end in loopnest.yield")


def _elements(type_: Attribute) -> int:
    return prod(cast(ShapedType, type_).get_shape())
