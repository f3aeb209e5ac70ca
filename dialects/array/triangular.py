"""array: triangular solves and the Cholesky factor, for batches of matrices."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import adjoint, conjugated
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.lines import entries_reached
from gradir.dialects.array.matrix_programs import TriangularSolve, emit_cholesky
from gradir.dialects.array.movement import BroadcastToOp, reshaped, transposed
from gradir.dialects.array.triangles import EyeOp, TrilOp, TriuOp
from gradir.dialects.base.attributes import Attributes, Types, flag
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    c64,
    c128,
    compatible,
    element_of,
    is_complex_tensor,
    is_tensor,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp


class MatrixOp(TensorOp, ABC):
    """Linear algebra on the square matrices of the first operand's last two axes."""

    # f16 and bf16 are refused: too narrow for sums of differences.
    TAKES_HALF: ClassVar[bool] = False
    DOMAIN: ClassVar[str] = "float"

    traits = traits_def(Pure())

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The matrices of results that masks name."""
        batch = len(shape_of(self.operands[0].type)) - 2
        return entries_reached(masks, batch, shape_of(self.operands[place].type))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()


def require_square(type_: Attribute, or_complex: bool = False) -> tuple[list[int], int]:
    """The leading extents of square matrices, and their size; VerifyException for others."""
    taken = (f32, f64, c64, c128) if or_complex else (f32, f64)
    if not is_tensor(type_) or element_of(type_) not in taken:
        raise VerifyException(
            f"elements must be f32 or f64, got {type_}; convert with array.astype"
        )
    shape = shape_of(type_)
    if len(shape) < 2 or not compatible(shape[-1:], shape[-2:-1]):
        raise VerifyException(f"a must be square matrices, got {type_}")
    return list(shape[:-2]), shape[-1] if shape[-2] == DYNAMIC else shape[-2]


def require_matrices(type_: Attribute, or_complex: bool = False) -> tuple[list[int], int, int, int]:
    """Leading extents of matrices, rows, columns, the smaller; VerifyException for others."""
    taken = (f32, f64, c64, c128) if or_complex else (f32, f64)
    if not is_tensor(type_) or element_of(type_) not in taken:
        raise VerifyException(
            f"elements must be f32 or f64, got {type_}; convert with array.astype"
        )
    shape = shape_of(type_)
    if len(shape) < 2:
        raise VerifyException(f"a must be matrices, got {type_}")
    *batch, rows, columns = shape
    return batch, rows, columns, DYNAMIC if DYNAMIC in (rows, columns) else min(rows, columns)


def require_right_side(a: Attribute, right: Attribute, *, or_complex: bool = False) -> None:
    """b has the leading extents and the rows of a; columns may be missing."""
    batch, size = require_square(a, or_complex)
    shape = shape_of(right)
    rows = shape[:-1] if len(shape) == len(batch) + 2 else shape
    if element_of(a) != element_of(right) or not compatible(rows, [*batch, size]):
        raise VerifyException(f"b must be vectors or matrices like those of a, got {a} and {right}")


def require_like(type_: Attribute, a: Attribute, name: str) -> None:
    """An operand has the shape and the elements of a."""
    is_like = is_tensor(type_) and element_of(type_) == element_of(a)
    if not is_like or not compatible(shape_of(type_), shape_of(a)):
        raise VerifyException(f"{name} must be like a, got {type_} and {a}")


def as_columns(x: Value, matrices: Value) -> Value:
    """Vectors as matrices of one column; matrices as they are."""
    return reshaped(x, (*x.shape, 1)) if len(x.shape) < len(matrices.shape) else x


def identity_like(a: Value) -> Value:
    """The identity for each matrix."""
    one = EyeOp.create(result_types=[tensor(a.shape[-2:], a.element)])
    emitter = a.emitter
    return BroadcastToOp.on(emitter.value(emitter.insert(one).results[0]), type=a.type)


@irdl_op_definition
class TriangularSolveOp(MatrixOp):
    """x with t x = b, t the lower triangle of a, or the upper one with {lower = false}.

    {transpose} solves with the transpose of t; {unit_diagonal} takes ones for the diagonal. The
    other triangle is not read. b holds vectors [.., n] or matrices [.., n, m]; a zero on the
    diagonal gives inf or nan.
    vjp: for b, r, the solve of ct with the transpose; for a the triangle of -r x^T, or of -x r^T
    with {transpose} (Giles, "An extended collection of matrix derivative results", 2008)
    """

    name = "array.triangular_solve"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("lower", "transpose", "unit_diagonal")

    a = operand_def()
    b = operand_def()
    x = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_right_side(*operands, or_complex=True)
        for name in cls.ATTRIBUTES:
            flag(attributes, name, False)
        return [operands[1]]

    @property
    def way(self) -> TriangularSolve:
        return TriangularSolve(
            flag(self.attributes, "lower", True),
            flag(self.attributes, "transpose", False),
            flag(self.attributes, "unit_diagonal", False),
        )

    def vjp(self, ct: Value, x: Value, a: Value, right: Value) -> Cotangents:
        way = self.way
        back = solved(a, ct, way.lower, not way.transpose, way.unit)
        left, other = as_columns(back, a), as_columns(x, a)
        if way.transpose:
            left, other = other, left
        triangle, k = (TrilOp, -1) if way.lower else (TriuOp, 1)
        whole = -MatmulOp.on(left, transposed(other))
        return [triangle.on(whole, k=k if way.unit else 0), back]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        a, right = operands
        shape = shape_of(right.type)
        if len(shape) < len(shape_of(a.type)):
            columns = tensor([*shape, 1], element_of(right.type))
            right = emitter.insert(LoopnestReshapeOp(right, columns)).result
        x = self.way.emit(emitter, a, right)
        return [
            x if x.type == self.x.type else emitter.insert(LoopnestReshapeOp(x, self.x.type)).result
        ]

    def numpy(self, a: Any, right: Any) -> Any:
        way = self.way
        if right.ndim == a.ndim:
            return substituted(a, right, way)
        return substituted(a, right[..., None], way)[..., 0]


def solved(
    a: Value, right: Value, lower: bool, transpose: bool = False, unit: bool = False
) -> Value:
    """A triangular solve."""
    return TriangularSolveOp.on(a, right, lower=lower, transpose=transpose, unit_diagonal=unit)


def substituted(a: Any, right: Any, way: TriangularSolve) -> Any:
    """The solution for NumPy matrices, row by row."""
    factor = np.swapaxes(a, -1, -2) if way.transpose else a
    size = a.shape[-1]
    x = np.zeros_like(right)
    rows = range(size) if way.lower != way.transpose else range(size - 1, -1, -1)
    for i in rows:
        done = slice(0, i) if way.lower != way.transpose else slice(i + 1, size)
        row = factor[..., i : i + 1, done]
        rest = right[..., i : i + 1, :] - row @ x[..., done, :]
        diagonal = 1 if way.unit else factor[..., i : i + 1, i : i + 1]
        x[..., i : i + 1, :] = rest / diagonal
    return x


@irdl_op_definition
class CholeskyOp(MatrixOp):
    """The lower triangular y with y y^H = s, where s is the Hermitian part (a + a^H) / 2 of a.

    Where s is not positive definite, the lower triangle of y is nan. Zeros are above the diagonal.
    vjp: of real matrices the symmetric part of y^-T p y^-1, p the lower triangle of y^T ct with its
    diagonal halved (Murray, "Differentiation of the Cholesky decomposition", 2016); of complex ones
    with adjoints, from and to conjugates
    """

    name = "array.cholesky"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True

    a = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_square(operands[0], or_complex=True)
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, a: Value) -> Cotangents:
        if is_complex_tensor(y.type):
            return [_complex_cholesky_vjp(ct, y)]
        products = MatmulOp.on(transposed(y), ct)
        inner = (TrilOp.on(products) + TrilOp.on(products, k=-1)) * 0.5
        left = solved(y, inner, lower=True, transpose=True)
        whole = solved(y, transposed(left), lower=True, transpose=True)
        return [(whole + transposed(whole)) * 0.5]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [emit_cholesky(emitter, operands[0])]

    def numpy(self, a: Any) -> Any:
        symmetric = (a + np.conj(np.swapaxes(a, -1, -2))) * np.asarray(0.5, a.dtype)
        result = np.zeros_like(symmetric)
        for place in np.ndindex(*a.shape[:-2]):
            try:
                result[place] = np.linalg.cholesky(symmetric[place])
            except np.linalg.LinAlgError:
                result[place] = np.tril(np.full(a.shape[-2:], np.nan))
        return result


def _complex_cholesky_vjp(ct: Value, y: Value) -> Value:
    products = MatmulOp.on(adjoint(y), conjugated(ct))
    inner = (TrilOp.on(products) + TrilOp.on(products, k=-1)) * 0.5
    turned = conjugated(y)
    left = solved(turned, inner, lower=True, transpose=True)
    whole = solved(turned, adjoint(left), lower=True, transpose=True)
    return conjugated((whole + adjoint(whole)) * 0.5)


OPS: tuple[type[TensorOp], ...] = (CholeskyOp, TriangularSolveOp)
