"""array: contractions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.lines import factor_reached
from gradir.dialects.array.movement import ReshapeOp, reshaped, sum_to_shape, transposed
from gradir.dialects.base.access import Access, Row, constant_row, dim_row
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import (
    PRECISION,
    precision_in,
    precision_of,
    require_precision,
)
from gradir.dialects.base.shapes import DYNAMIC, broadcast_shapes, element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.contractions import contract
from gradir.dialects.building.kinds import require_elements_agree
from gradir.dialects.building.nests import Read
from gradir.dialects.loopnest.loopnest import Output


class ProductOp(TensorOp, ABC):
    """Sums of products of elements of two operands, which have one element type."""

    DOMAIN: ClassVar[str] = "number"
    SUMS_PRODUCTS: ClassVar[bool] = True

    lhs = operand_def()
    rhs = operand_def()
    y = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class MatmulOp(ProductOp):
    """Matrix product over the last axis of lhs and the last but one of rhs.

    As in the Array API: leading axes broadcast; an operand of rank 1 is a row (lhs) or a column
    (rhs) whose axis of extent 1 the result leaves out. f16 and bf16 are summed in f32. With
    `precision = "bf16"` factors of f32 are rounded to bf16 and summed in f32, by one chain.
    vjp: ct rhs^T, lhs^T ct, summed over broadcast axes
    """

    name = "array.matmul"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = (PRECISION,)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        lhs, rhs = operands
        require_elements_agree(operands, cls.DOMAIN, cls.COMPLEX)
        require_precision(attributes, operands)
        if not shape_of(lhs) or not shape_of(rhs):
            raise VerifyException(f"operands must have rank >= 1, got {lhs} and {rhs}")
        left, right = _matrix_shapes(shape_of(lhs), shape_of(rhs))
        if left[-1] != right[-2] and DYNAMIC not in (left[-1], right[-2]):
            raise VerifyException(f"inner sizes must match, got {left[-1]} and {right[-2]}")
        kept = left[-2:-1] if len(shape_of(lhs)) > 1 else ()
        kept += right[-1:] if len(shape_of(rhs)) > 1 else ()
        return [tensor(broadcast_shapes(left[:-2], right[:-2]) + kept, element_of(lhs))]

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        left_shape, right_shape = _matrix_shapes(lhs.shape, rhs.shape)
        batch = broadcast_shapes(left_shape[:-2], right_shape[:-2])
        left, right = reshaped(lhs, left_shape), reshaped(rhs, right_shape)
        whole = reshaped(ct, (*batch, left_shape[-2], right_shape[-1]))
        precision = precision_in(self.attributes)
        to_left = MatmulOp.on(whole, transposed(right), type=None, **precision)
        to_right = MatmulOp.on(transposed(left), whole, type=None, **precision)
        to_left, to_right = sum_to_shape(to_left, left_shape), sum_to_shape(to_right, right_shape)
        return [reshaped(to_left, lhs.shape), reshaped(to_right, rhs.shape)]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The rows of lhs, or the columns of rhs, of elements that a mask names."""
        [mask] = masks
        if mask is None:
            return None
        shapes = [shape_of(o.type) for o in self.operands]
        *factors, product = _axis_names(*map(len, shapes))
        return factor_reached(mask, product, factors[place], shapes[place])

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """A vector with rows is a stack of matrices of one line."""
        left, right = (list(shape_of(o.type)) for o in self.operands)
        parts = [[1, *left] if len(left) == 1 else left, [*right, 1] if len(right) == 1 else right]
        rank = max(map(len, parts))
        factors: list[Value] = []
        for x, part, has_rows in zip(batch.operands, parts, batch.has_rows, strict=True):
            shape = [batch.size, *[1] * (rank - len(part)), *part] if has_rows else part
            factors.append(reshaped(x, shape))
        product = MatmulOp.on(*factors, type=None, **precision_in(self.attributes))
        return [ReshapeOp.on(product, type=batch.result_types()[0])]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        lhs, rhs = (shape_of(o.type) for o in operands)
        left, right = _matrix_shapes(lhs, rhs)
        batch = broadcast_shapes(left[:-2], right[:-2])
        rank = len(batch)
        m, n, k = rank, rank + 1, rank + 2
        bounds = [*batch, left[-2], right[-1], left[-1]]
        left_rows = [*_batch_rows(left, rank), *_rows(rank + 3, [m, k], lhs)]
        right_rows = [*_batch_rows(right, rank), *_rows(rank + 3, [k, n], rhs, drop_last=True)]
        kept = [*range(rank), *([m] if len(lhs) > 1 else []), *([n] if len(rhs) > 1 else [])]
        element = element_of(self.y.type)

        def store(total: Scalar) -> Scalar:
            return b.from_compute(total, element)

        return contract(
            emitter,
            bounds,
            [
                Read(operands[0], Access(rank + 3, tuple(left_rows))),
                Read(operands[1], Access(rank + 3, tuple(right_rows))),
            ],
            [Output(self.y.type, Access.of_dims(rank + 3, kept))],
            b.compute_type(element),
            store,
            precision=precision_of(self.attributes),
        )

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        return numpy_product(lhs, rhs)


def numpy_product(lhs: Any, rhs: Any) -> Any:
    """lhs @ rhs of NumPy arrays, with bits that depend on their numbers alone.

    The order in which NumPy's BLAS adds depends on how the factors lie in memory.
    """
    return np.ascontiguousarray(lhs) @ np.ascontiguousarray(rhs)


def _matrix_shapes(
    lhs: Sequence[int], rhs: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes with an axis of extent 1 where an operand is a vector."""
    left = (1, *lhs) if len(lhs) == 1 else tuple(lhs)
    right = (*rhs, 1) if len(rhs) == 1 else tuple(rhs)
    return left, right


AxisName = int | str


def _axis_names(left: int, right: int) -> tuple[list[AxisName], list[AxisName], list[AxisName]]:
    """Names of the axes of factors of these ranks and of their product."""
    batch: list[list[AxisName]] = [list(range(2 - rank, 0)) for rank in (left, right)]
    rows: list[AxisName] = ["row"] if left > 1 else []
    columns: list[AxisName] = ["column"] if right > 1 else []
    product = [*max(batch, key=len), *rows, *columns]
    return [*batch[0], *rows, "inner"], [*batch[1], "inner", *columns], product


def _batch_rows(shape: Sequence[int], rank: int) -> list[Row]:
    """Subscripts of an operand's leading axes, right-aligned to the batch dimensions."""
    leading = shape[:-2]
    first = rank - len(leading)
    return [
        constant_row(rank + 3, 0) if n == 1 else dim_row(rank + 3, first + d)
        for d, n in enumerate(leading)
    ]


def _rows(
    num_dims: int, dims: Sequence[int], shape: Sequence[int], drop_last: bool = False
) -> list[Row]:
    """Subscripts of an operand's matrix axes; a vector has only the contracted one."""
    kept = dims if len(shape) > 1 else dims[:1] if drop_last else dims[1:]
    return [dim_row(num_dims, d) for d in kept]


OPS: tuple[type[TensorOp], ...] = (MatmulOp,)
