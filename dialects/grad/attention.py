"""Scaled dot product attention in blocks of rows, and its transpose.

With s = scale * q k^T + mask, p = softmax(s) along the last axis and y = p v. Blocks of rows of a
long s are computed one after the other, so that one block is in memory at a time; the transpose
computes each block again. Rows of p with all entries masked are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod, sqrt
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, traits_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.creation import FullOp, IotaOp
from gradir.dialects.array.elementwise import ExpOp
from gradir.dialects.array.movement import (
    BroadcastToOp,
    ReshapeOp,
    reshaped,
    sum_to_shape,
    transposed,
)
from gradir.dialects.array.reductions import MaxOp, SumOp, narrowed, widened
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.attributes import Attributes, Types, flag, number
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import PRECISION, precision_in, require_precision
from gradir.dialects.base.shapes import (
    broadcast_shapes,
    byte_size,
    compatible,
    element_of,
    extents_text,
    is_bool,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements_agree, types_text
from gradir.dialects.grad.accumulation import AccumulateSliceOp

# Scores of at most this many bytes are one block; longer ones are cut into blocks of about this.
BLOCK_BYTES = 1 << 22
MOST_BLOCKS = 16
# The rows of a block are a multiple of this.
ROW_MULTIPLE = 16


class AttentionForm(TensorOp):
    """The attributes, checks and scores of attention and of its transpose."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("causal", "scale", PRECISION)
    traits = traits_def(Pure())

    @classmethod
    def check(cls, operands: Sequence[Attribute], attributes: Attributes) -> Attribute:
        """The type of y for q, k, v and an optional mask."""
        q, k, v, *mask = operands
        require_elements_agree([q, k, v], "float")
        require_precision(attributes, [q, k, v])
        flag(attributes, "causal", False)
        shapes = [shape_of(o) for o in (q, k, v)]
        if any(len(s) < 2 or not compatible(s[:-2], shapes[0][:-2]) for s in shapes):
            raise VerifyException(
                "q, k and v must be matrices with the same leading axes, got "
                f"{types_text(operands[:3])}"
            )
        (*batch, rows, width), keys, values = shapes
        fits = compatible(keys[-1:], [width]) and compatible(values[-2:-1], keys[-2:-1])
        if not fits or width == 0:
            raise VerifyException(
                "q [..., L, E], k [..., S, E] and v [..., S, Ev] expected, E not 0, got "
                f"{types_text(operands[:3])}"
            )
        if not 0 < number(attributes, "scale", 1.0) < inf:
            raise VerifyException(
                f"scale must be positive and finite, got {number(attributes, 'scale')}"
            )
        for one in mask:
            _check_mask(one, (*batch, rows, keys[-2]), element_of(q))
        return tensor([*batch, rows, values[-1]], element_of(q))

    @property
    def is_causal(self) -> bool:
        return flag(self.attributes, "causal", False)

    def scale_of(self, width: int) -> float:
        return number(self.attributes, "scale", 1 / sqrt(width))

    @property
    def settings(self) -> dict[str, Attribute]:
        return {k: v for k, v in self.attributes.items() if k in self.ATTRIBUTES}

    def product(self, lhs: Value, rhs: Value) -> Value:
        """A product of matrices, in the precision that is asked for."""
        return MatmulOp.on(lhs, rhs, type=None, **precision_in(self.attributes))

    # Blocks.

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Rows are one more leading axis, in front of axes of extent 1 where the mask has fewer."""
        rank = max(batch.operand_rank(k) for k in range(len(batch.operands)))
        operands = [
            reshaped(x, [batch.size, *[1] * (rank + 1 - len(x.shape)), *x.shape[1:]])
            for x in batch.all_with_rows()
        ]
        types = self.infer_types([x.type for x in operands], self.attributes)
        results, wanted = batch.same_op(operands, types), batch.result_types()
        return [ReshapeOp.on(y, type=t) for y, t in zip(results, wanted, strict=True)]

    def blocks(self, q: Value, k: Value) -> list[tuple[range, int]]:
        """The rows of each block of scores, and the number of its columns that are not masked."""
        rows, columns = q.shape[-2], k.shape[-2]
        size = prod([*q.shape[:-1], columns]) * byte_size(q.element)
        found: list[tuple[range, int]] = []
        if size == 0:
            return found
        height = rows
        if size > BLOCK_BYTES:
            height = -(-rows // min(MOST_BLOCKS, -(-size // BLOCK_BYTES)))
            height = -(-height // ROW_MULTIPLE) * ROW_MULTIPLE
        for start in range(0, rows, height):
            stop = min(rows, start + height)
            # row i attends to the columns 0 ... i
            found.append((range(start, stop), min(columns, stop) if self.is_causal else columns))
        return found

    def powers(self, block: range, q: Value, k: Value, mask: Value | None) -> tuple[Value, Value]:
        """exp(s - max s) for a block of rows, and 1 / its row sums; 0 for fully masked rows.

        q holds the block's rows, and k the columns that are not masked.
        """
        from gradir.dialects.grad.grad import NoGradOp

        scores = self.product(q, transposed(k)) * self.scale_of(q.shape[-1])
        if mask is not None and is_bool(mask.element):
            wide = BroadcastToOp.on(mask, type=tensor(scores.shape, mask.element))
            scores = WhereOp.on(wide, scores, scores.full(-inf))
        elif mask is not None:
            scores = scores + BroadcastToOp.on(mask, type=scores.type)
        if self.is_causal:
            row, column = (_counts(scores, axis) for axis in (-2, -1))
            scores = WhereOp.on(column <= row + block.start, scores, scores.full(-inf))
        top = MaxOp.on(scores, axis=-1, keepdims=True)
        # the quotient of powers does not depend on the shift
        top = NoGradOp.on(WhereOp.on(top.equal(-inf), top.full(0), top))
        powers = ExpOp.on(scores - along(top, scores))
        total = SumOp.on(powers, axis=-1, keepdims=True)
        is_empty = total.equal(0)
        inverse = 1 / WhereOp.on(is_empty, total.full(1), total)
        return powers, WhereOp.on(is_empty, total.full(0), inverse)


def _check_mask(mask: Attribute, scores: Sequence[int], element: Attribute) -> None:
    if not is_bool(element_of(mask)) and element_of(mask) != element:
        raise VerifyException(f"the mask's elements must be i1 or {element}, got {mask}")
    shape = shape_of(mask)
    try:
        fits = len(shape) <= len(scores) and compatible(broadcast_shapes(shape, scores), scores)
    except VerifyException:
        fits = False
    if not fits:
        raise VerifyException(f"the mask must broadcast to {extents_text(scores)}, got {mask}")


def _counts(near: Value, axis: int) -> Value:
    """0, 1, ... along an axis, with the shape of `near`."""
    type_ = tensor(near.shape, i64)
    return near.emitter.value(near.emitter.insert(IotaOp.of([], [type_], axis=axis)).y)


def along(line: Value, like: Value) -> Value:
    """One number per row, repeated over the last axis."""
    return BroadcastToOp.on(line, type=tensor(like.shape, line.element))


def rows_of(x: Value, rows: range) -> Value:
    """Some entries of the last axis but one; x itself for all of them."""
    extent = x.shape[-2]
    if len(rows) == extent:
        return x
    before = len(x.shape) - 2
    start = [0] * before + [rows.start, 0]
    return SliceOp.on(x, start=start, stop=[*x.shape[:before], rows.stop, x.shape[-1]])


def mask_block(mask: Value | None, block: range, columns: int) -> Value | None:
    """The part of a mask for a block of scores; extents of 1 stay."""
    if mask is None:
        return None
    start, stop = [0] * len(mask.shape), list(mask.shape)
    if len(stop) > 1 and stop[-2] != 1:
        start[-2], stop[-2] = block.start, block.stop
    if stop and stop[-1] != 1:
        stop[-1] = columns
    is_whole = list(mask.shape) == stop and not any(start)
    return mask if is_whole else SliceOp.on(mask, start=start, stop=stop)


def added(total: Value | None, part: Value, start: Sequence[int], shape: Sequence[int]) -> Value:
    """`total` (zeros for None) with a part added at `start`, in a tensor of `shape`."""
    if total is None and part.shape == tuple(shape):
        return part
    total = zeros(part, shape) if total is None else total
    return AccumulateSliceOp.on(total, part, start=start)


def zeros(near: Value, shape: Sequence[int]) -> Value:
    """Zeros with the element type of another value."""
    full = FullOp.fill(0, tensor(shape, near.element))
    return near.emitter.value(near.emitter.insert(full).y)


@irdl_op_definition
class AttentionBackwardOp(AttentionForm):
    """The cotangents of q, k, v, and of a floating mask, for the cotangent of y = attention.

    With p the attention weights: d = p * (ct v^T - sum(ct * y)) along the last axis; scale * d k,
    scale * d^T q, p^T ct, and d summed to the mask's shape.
    vjp: reverse mode over these formulas
    """

    name = "grad.attention_backward"
    IS_TAKEN_APART: ClassVar[bool] = True

    ct = operand_def()
    y = operand_def()
    q = operand_def()
    k = operand_def()
    v = operand_def()
    mask = opt_operand_def()
    results_ = var_result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        ct, y, *inputs = operands
        wanted = cls.check(inputs, attributes)
        for name, found in (("ct", ct), ("y", y)):
            fits = compatible(shape_of(found), shape_of(wanted))
            if not fits or element_of(found) != element_of(wanted):
                raise VerifyException(f"{name} must be {wanted}, got {found}")
        return [t for t in inputs if not is_bool(element_of(t))]

    def decompose(self, *operands: Value) -> Sequence[Value]:
        from gradir.dialects.grad.grad import BarrierOp

        ct, y, q, *rest = map(widened, operands)
        # blocks are recomputed: sharing the blocks of y would keep all of them
        blocks = self.blocks(q, rest[0])
        q = BarrierOp.on(q) if len(blocks) > 1 else q
        drop = SumOp.on(ct * y, axis=-1, keepdims=True)
        totals: list[Value | None] = [None] * len(self.results)
        for block, columns in blocks:
            made = self._block(block, columns, ct, drop, q, *rest)
            for n, (part, start) in enumerate(made):
                totals[n] = added(totals[n], part, start, shape_of(self.results[n].type))
        pairs = zip(totals, self.results, strict=True)
        return [narrowed(zeros(q, shape_of(r.type)) if t is None else t, r.type) for t, r in pairs]

    def _block(
        self, block: range, columns: int, ct: Value, drop: Value, q: Value, k: Value, v: Value,
        mask: Value | None = None,
    ) -> list[tuple[Value, list[int]]]:  # fmt: skip
        """A block's contribution to each cotangent, and its place there."""
        rows, ct_rows, first = rows_of(q, block), rows_of(ct, block), [0] * len(q.shape)
        keys, values = (rows_of(x, range(columns)) for x in (k, v))
        powers, inverse = self.powers(block, rows, keys, mask_block(mask, block, columns))
        line = along(rows_of(drop, block), powers)
        # in this order all ops after the product are elementwise
        d = (self.product(ct_rows, transposed(values)) - line) * along(inverse, powers) * powers
        scaled = d * self.scale_of(q.shape[-1])
        found = [
            (self.product(scaled, keys), [*first[:-2], block.start, 0]),
            (self.product(transposed(scaled), rows), first),
            (self.product(transposed(powers), ct_rows * along(inverse, ct_rows)), first),
        ]
        if mask is not None and not is_bool(mask.element):
            found.append(_mask_part(mask, d, block))
        return found

    def numpy(self, *operands: Any) -> Any:
        ct, y, q, k, v, *mask = operands
        scale = self.scale_of(q.shape[-1])
        p = numpy_weights(q, k, mask, scale, self.is_causal)
        d = p * (ct @ np.swapaxes(v, -1, -2) - np.sum(ct * y, -1, keepdims=True))
        results = [scale * (d @ k), scale * (np.swapaxes(d, -1, -2) @ q)]
        results.append(np.swapaxes(p, -1, -2) @ ct)
        if len(self.results) > 3:
            results.append(_numpy_sum_to(d, mask[0].shape))
        return tuple(results)


def _mask_part(mask: Value, d: Value, block: range) -> tuple[Value, list[int]]:
    """A block's contribution to the cotangent of a mask, and its place there."""
    shape, start = list(mask.shape), [0] * len(mask.shape)
    if len(shape) > 1 and shape[-2] != 1:
        shape[-2], start[-2] = len(block), block.start
    if shape and shape[-1] != 1:
        shape[-1] = d.shape[-1]
    return sum_to_shape(d, shape), start


def numpy_weights(q: Any, k: Any, mask: Sequence[Any], scale: float, is_causal: bool) -> Any:
    """The attention weights, on NumPy arrays."""
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    for one in mask:
        scores = np.where(one, scores, -inf) if one.dtype == bool else scores + one
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -inf)
    top = np.max(scores, -1, keepdims=True, initial=-inf)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - np.where(top == -inf, 0, top))
    total = np.sum(powers, -1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _numpy_sum_to(x: Any, shape: Sequence[int]) -> Any:
    lines = (1,) * (x.ndim - len(shape)) + tuple(shape)
    axes = tuple(d for d, n in enumerate(lines) if n == 1)
    return np.sum(x, axes, keepdims=True).reshape(shape)


OPS: tuple[type[TensorOp], ...] = (AttentionBackwardOp,)
