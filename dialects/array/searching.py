"""array: places in sorted lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import (
    AstypeOp,
    IsnanOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    WhereOp,
)
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.elementwise import MinimumOp
from gradir.dialects.array.indexing import TakeAlongAxisOp, TakeOp
from gradir.dialects.array.movement import reshaped
from gradir.dialects.base.attributes import Attributes, Types, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import compatible, element_of, is_bool, is_float, shape_of, tensor
from gradir.dialects.base.value import Value

SIDES = ("left", "right")


@irdl_op_definition
class SearchsortedOp(TensorOp):
    """The places (i64) at which v keep the order of the sorted lines of x; nan is the largest.

    `side`: "left" (where absent) is before equal elements, "right" behind them. The lines are x's
    last axis: for a vector x v has any shape, for other x it begins with x's other axes. By
    halving: a line that is not sorted gives some place. Inactive.
    """

    name = "array.searchsorted"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("side",)
    INACTIVE: ClassVar[bool] = True

    x = operand_def()
    v = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, v = operands
        text(attributes, "side", "left", SIDES)
        if element_of(x) != element_of(v):
            raise VerifyException(f"elements must be of one type, got {x} and {v}")
        lines, wanted = shape_of(x)[:-1], shape_of(v)
        ahead = wanted[: len(lines)]
        if not shape_of(x) or not compatible(lines, ahead):
            raise VerifyException(
                f"x must be a vector, or lines whose other axes v begins with, got {x} and {v}"
            )
        return [tensor(wanted, i64)]

    @property
    def is_left(self) -> bool:
        return text(self.attributes, "side", "left", SIDES) == "left"

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Rows of places alone are one more axis of these; lines with rows have others in front."""
        if batch.has_rows[0] or batch.operand_rank(0) > 1:
            return batch.in_front()
        return batch.same_op(batch.operands)

    def decompose(self, x: Value, v: Value) -> Value:
        *ahead, count = x.shape
        if is_bool(x.element):
            x, v = (AstypeOp.on(z, type=tensor(z.shape, i64)) for z in (x, v))
        wanted = v
        if ahead:
            x = reshaped(x, [prod(ahead), count])
            wanted = reshaped(v, [prod(ahead), prod(v.shape[len(ahead) :])])
        zeros = FullOp.fill(0, tensor(wanted.shape, i64))
        place = x.emitter.value(x.emitter.insert(zeros).y)
        for step in _steps(count):
            candidate = place + step
            at = MinimumOp.on(candidate, candidate.full(count)) - 1
            read = TakeAlongAxisOp.on(x, at, axis=1) if ahead else TakeOp.on(x, at)
            is_there = _less(read, wanted) if self.is_left else LogicalNotOp.on(_less(wanted, read))
            is_there = LogicalAndOp.on(candidate <= count, is_there)
            place = WhereOp.on(is_there, candidate, place)
        return reshaped(place, v.shape)

    def numpy(self, x: Any, v: Any) -> Any:
        *ahead, count = x.shape
        line = x.reshape(prod(ahead), count)
        wanted = v.reshape(prod(ahead), prod(v.shape[len(ahead) :]))
        place: Any = np.zeros(wanted.shape, np.int64)
        where: Any = np.where
        # take_along_axis costs ten times as much for few elements
        before = np.arange(len(line))[:, None] * count - 1
        for step in _steps(count):
            candidate = place + step
            read = line.take(np.minimum(candidate, count) + before)
            is_there = _is_less(read, wanted) if self.is_left else ~_is_less(wanted, read)
            place = where((candidate <= count) & is_there, candidate, place)
        return place.reshape(v.shape)


def _steps(count: int) -> list[int]:
    """Powers of two that add up to every place from 0 to `count`."""
    return [1 << k for k in reversed(range(count.bit_length()))]


def _less(x: Value, y: Value) -> Value:
    is_less = x < y
    if not is_float(x.element):
        return is_less
    return LogicalOrOp.on(is_less, LogicalAndOp.on(IsnanOp.on(y), LogicalNotOp.on(IsnanOp.on(x))))


def _is_less(x: Any, y: Any) -> Any:
    is_less = x < y
    return is_less | (np.isnan(y) & ~np.isnan(x)) if x.dtype.kind == "f" else is_less


OPS: tuple[type[TensorOp], ...] = (SearchsortedOp,)
