"""gradir-verify: ops of the `tensor` dialect beyond their own rules. Indices, slices and elements
fit the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.diagnostics import VerifyError
from gradir.dialects.base.shapes import can_be, extents_text, is_static, shape_of

Slice = tensor.ExtractSliceOp | tensor.InsertSliceOp


def verify_tensor(op: Operation) -> None:
    """VerifyError at an op of the `tensor` dialect whose parts do not fit; others pass."""
    rule = _RULES.get(type(op))
    if rule is not None:
        rule(op)


def _verify_extract(op: tensor.ExtractOp) -> None:
    _check_indices(op, op.tensor.type, op.indices)


def _verify_insert(op: tensor.InsertOp) -> None:
    _check_indices(op, op.dest.type, op.indices)


def _check_indices(op: Operation, type_: Attribute, indices: Sequence[SSAValue]) -> None:
    rank = len(shape_of(type_))
    if len(indices) != rank:
        raise VerifyError(f"{op.name}: {rank} indices expected for {type_}, got {len(indices)}", op)


def _verify_extract_slice(op: tensor.ExtractSliceOp) -> None:
    _check_slice(op, op.source.type, op.result.type)


def _verify_insert_slice(op: tensor.InsertSliceOp) -> None:
    _check_slice(op, op.dest.type, op.source.type)


def _check_slice(op: Slice, whole: Attribute, part: Attribute) -> None:
    offsets, sizes, strides = (
        integers_of(p) for p in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    rank = len(shape_of(whole))
    for what, numbers in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
        if len(numbers) != rank:
            raise VerifyError(
                f"{op.name}: {rank} {what} expected for {whole}, got {len(numbers)}", op
            )
    if not _fits_rank_reduced(sizes, shape_of(part)):
        raise VerifyError(
            f"{op.name}: a slice of sizes {extents_text(sizes)} expected, got {part}", op
        )
    _check_inside(op, shape_of(whole), offsets, sizes, strides)


def _check_inside(
    op: Operation,
    shape: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> None:
    if any(stride <= 0 for stride in strides if stride != DYNAMIC_INDEX):
        raise VerifyError(
            f"{op.name}: strides must be positive, got {list(strides)}; array.flip reverses", op
        )
    for extent, *row in zip(shape, offsets, sizes, strides, strict=True):
        if row[0] == DYNAMIC_INDEX and DYNAMIC_INDEX not in (extent, *row[1:]):
            # for any offset
            row[0] = 0
        if DYNAMIC_INDEX in (extent, *row):
            continue
        offset, size, stride = row
        last = offset + (size - 1) * stride
        if size < 0 or (size > 0 and not (offset >= 0 and last < extent)):
            raise VerifyError(
                f"{op.name}: a slice must stay inside a size of {extent}, got {size} elements "
                f"from {offset} with stride {stride}",
                op,
            )


def _fits_rank_reduced(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether the shape is `sizes` without some ones; a dynamic extent fits any."""
    rest = list(shape)
    for size in sizes:
        if rest and (size == rest[0] or DYNAMIC_INDEX in (size, rest[0])):
            rest.pop(0)
        elif size != 1:
            return False
    return not rest


def _verify_from_elements(op: tensor.FromElementsOp) -> None:
    type_ = op.result.type
    count = prod(shape_of(type_))
    if not is_static(type_) or count != len(op.elements):
        raise VerifyError(
            f"tensor.from_elements: {count} elements expected for {type_}, got {len(op.elements)}",
            op,
        )


def _verify_cast(op: tensor.CastOp) -> None:
    if not can_be(op.source.type, op.dest.type):
        raise VerifyError(
            f"tensor.cast: shapes must be able to agree, got {op.source.type} and {op.dest.type}",
            op,
        )


_RULES: dict[type[Operation], Callable[[Any], None]] = {
    tensor.ExtractOp: _verify_extract,
    tensor.InsertOp: _verify_insert,
    tensor.ExtractSliceOp: _verify_extract_slice,
    tensor.InsertSliceOp: _verify_insert_slice,
    tensor.FromElementsOp: _verify_from_elements,
    tensor.CastOp: _verify_cast,
}
