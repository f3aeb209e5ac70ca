"""array: diagonals and triangles of the last two axes; all are linear.

The k-th diagonal of a matrix a holds the elements a[i, i + k].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import CreationOp, numpy_dtype
from gradir.dialects.array.joining import pad_value
from gradir.dialects.array.movement import BroadcastToOp, MovementOp, reshaped
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.supports import padded_support
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, compatible, element_of, shape_of, tensor
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output, scalar_type


def distance(near: Scalar, rank: int) -> Scalar:
    """The number of an iteration's diagonal."""
    return b.index(near, rank - 1) - b.index(near, rank - 2)


def require_matrices(type_: Attribute, what: str) -> None:
    if len(shape_of(type_)) < 2:
        raise VerifyException(f"{what} must have rank >= 2, got {type_}")


@irdl_op_definition
class EyeOp(CreationOp):
    """A matrix of the result's type with ones on the k-th diagonal (default 0), else zeros."""

    name = "array.eye"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("k",)

    def verify_types(self) -> None:
        super().verify_types()
        if len(shape_of(self.y.type)) != 2:
            raise VerifyException(f"the result must have rank 2, got {self.y.type}")
        integer(self.attributes, "k", 0)

    def numpy(self, *arrays: Any) -> Any:
        rows, columns = shape_of(self.y.type)
        dtype = numpy_dtype(element_of(self.y.type))
        return np.eye(rows, columns, integer(self.attributes, "k", 0), dtype)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        k, element = integer(self.attributes, "k", 0), scalar_type(element_of(self.y.type))

        def fill(at: Scalar) -> Scalar:
            on_diagonal = b.equal(distance(at, 2), b.constant(at, k))
            return b.select(on_diagonal, b.literal(at, 1, element), b.literal(at, 0, element))

        output = Output(self.y.type, Access.identity(2))
        return nest(emitter, shape_of(self.y.type), [], [output], fill)


class _TriangleOp(TensorOp):
    """The elements on one side of a diagonal, zeros on the other."""

    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("k",)
    KEEPS: ClassVar[Callable[[Scalar, Scalar], Scalar]]
    NUMPY: ClassVar[str] = ""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_matrices(operands[0], "x")
        integer(attributes, "k", 0)
        return [operands[0]]

    @property
    def k(self) -> int:
        return integer(self.attributes, "k", 0)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [type(self).on(ct, k=self.attributes.get("k"))]

    def selected_operand(self, of: Supports) -> int:
        return 0

    def support(self, of: Supports) -> Mask | None:
        return padded_support(self, of)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape = shape_of(self.y.type)
        identity = Access.identity(len(shape))

        def keep(x: Scalar) -> Scalar:
            at = distance(x, len(shape))
            kept = type(self).KEEPS(at, b.constant(at, self.k))
            return b.select(kept, x, b.constant(x, 0))

        return nest(
            emitter, shape, [Read(operands[0], identity)], [Output(self.y.type, identity)], keep
        )

    def numpy(self, *arrays: Any) -> Any:
        return getattr(np, self.NUMPY)(arrays[0], self.k)


@irdl_op_definition
class TrilOp(_TriangleOp):
    """The elements on and below the k-th diagonal (default 0), zeros above.   vjp: tril of ct"""

    name = "array.tril"
    COMPLEX: ClassVar[bool] = True
    KEEPS: ClassVar[Callable[[Scalar, Scalar], Scalar]] = b.less_equal
    NUMPY: ClassVar[str] = "tril"


@irdl_op_definition
class TriuOp(_TriangleOp):
    """The elements on and above the k-th diagonal (default 0), zeros below.   vjp: triu of ct"""

    name = "array.triu"
    COMPLEX: ClassVar[bool] = True
    KEEPS: ClassVar[Callable[[Scalar, Scalar], Scalar]] = b.greater_equal
    NUMPY: ClassVar[str] = "triu"


def diagonal_type(matrices: Attribute, offset: int) -> Attribute:
    """The type of a diagonal, which may be empty."""
    *batch, rows, columns = shape_of(matrices)
    length = DYNAMIC
    if DYNAMIC not in (rows, columns):
        length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return tensor([*batch, length], element_of(matrices))


@irdl_op_definition
class DiagonalOp(MovementOp):
    """The diagonal number `offset` (default 0) of each matrix, as the last axis of the result.

    vjp: ct on that diagonal of zeros (grad.diagonal_backward)
    """

    name = "array.diagonal"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("offset",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_matrices(operands[0], "x")
        return [diagonal_type(operands[0], integer(attributes, "offset", 0))]

    @property
    def offset(self) -> int:
        return integer(self.attributes, "offset", 0)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [DiagonalBackwardOp.on(ct, type=x.type, offset=self.attributes.get("offset"))]

    def access(self) -> Access:
        rank, k = len(shape_of(self.y.type)), self.offset
        rows = [dim_row(rank, d) for d in range(rank - 1)]
        rows += [dim_row(rank, rank - 1, 1, start) for start in (max(-k, 0), max(k, 0))]
        return Access(rank, tuple(rows))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def numpy(self, x: Any) -> Any:
        return np.diagonal(x, self.offset, -2, -1)


@irdl_op_definition
class TraceOp(TensorOp):
    """The sum of the diagonal number `offset` (default 0) of each matrix, in x's element type.

    vjp: ct on that diagonal of zeros
    """

    name = "array.trace"
    COMPLEX: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "number"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("offset",)

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        require_matrices(operands[0], "x")
        integer(attributes, "offset", 0)
        return [tensor(shape_of(operands[0])[:-2], element_of(operands[0]))]

    @property
    def offset(self) -> int:
        return integer(self.attributes, "offset", 0)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        spread = BroadcastToOp.on(
            reshaped(ct, [*ct.shape, 1]), type=diagonal_type(x.type, self.offset)
        )
        return [DiagonalBackwardOp.on(spread, type=x.type, offset=self.attributes.get("offset"))]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def decompose(self, *operands: Value) -> Value:
        return SumOp.on(DiagonalOp.on(operands[0], offset=self.attributes.get("offset")), axis=-1)

    def numpy(self, *arrays: Any) -> Any:
        return np.trace(arrays[0], self.offset, -2, -1, dtype=arrays[0].dtype)


@irdl_op_definition
class DiagonalBackwardOp(TensorOp):
    """Zeros of the result's type, each matrix with ct on its diagonal number `offset`.

    The transpose of array.diagonal. vjp: diagonal(ct')
    """

    name = "grad.diagonal_backward"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("offset",)

    ct = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        require_matrices(self.y.type, "the result")
        wanted = diagonal_type(self.y.type, self.offset)
        fits = compatible(shape_of(self.ct.type), shape_of(wanted))
        if not fits or element_of(self.ct.type) != element_of(wanted):
            raise VerifyException(f"the cotangent must be {wanted}, got {self.ct.type}")

    @property
    def offset(self) -> int:
        return integer(self.attributes, "offset", 0)

    def vjp(self, ct: Value, y: Value, inner: Value) -> Cotangents:
        return [DiagonalOp.on(ct, offset=self.attributes.get("offset"))]

    def support(self, of: Supports) -> Mask | None:
        return padded_support(self, of)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, k = shape_of(self.y.type), self.offset
        rank = len(shape)
        rows = [dim_row(rank, d) for d in range(rank - 2)] + [dim_row(rank, rank - 2, 1, min(k, 0))]
        read = Read(operands[0], Access(rank, tuple(rows)), pad_value(0, element_of(self.y.type)))

        def place(ct: Scalar) -> Scalar:
            at = distance(ct, rank)
            return b.select(at.equal(k), ct, b.constant(ct, 0))

        return nest(emitter, shape, [read], [Output(self.y.type, Access.identity(rank))], place)

    def numpy(self, *arrays: Any) -> Any:
        result = np.zeros(shape_of(self.y.type), arrays[0].dtype)
        for i in range(arrays[0].shape[-1]):
            result[..., i + max(-self.offset, 0), i + max(self.offset, 0)] = arrays[0][..., i]
        return result


OPS: tuple[type[TensorOp], ...] = (EyeOp, TrilOp, TriuOp, DiagonalOp, TraceOp)
