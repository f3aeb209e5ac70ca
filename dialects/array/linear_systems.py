"""array: solves, inverses and determinants by LU factors, for batches of matrices.

A singular matrix is no error: its solution and its inverse hold inf or nan, its determinant is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import ComplexOp, ImagOp, RealOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import AbsOp, LogOp, SignOp
from gradir.dialects.array.indexing import TakeAlongAxisOp
from gradir.dialects.array.matrix_programs import TriangularSolve, emit_lu
from gradir.dialects.array.movement import BroadcastToOp, reshaped, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.statistics import ProdOp
from gradir.dialects.array.triangles import DiagonalOp, TrilOp, TriuOp
from gradir.dialects.array.triangular import (
    MatrixOp,
    as_columns,
    identity_like,
    require_right_side,
    require_square,
    solved,
    substituted,
)
from gradir.dialects.base.attributes import Attributes, Types, flag
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    element_of,
    is_complex_tensor,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Value


def spread(numbers: Value, matrices: Value) -> Value:
    """One number for each matrix, repeated over its elements."""
    line = reshaped(numbers, (*numbers.shape, 1, 1))
    return BroadcastToOp.on(line, type=tensor(matrices.shape, numbers.element))


def _order_like(order: Value, x: Value, axis: int) -> Value:
    """The order of rows (axis -2) or columns (-1), repeated over the elements of x."""
    if len(x.shape) == len(order.shape):
        return order
    shape = list(order.shape)
    shape.insert(len(shape) - (axis == -1), 1)
    return BroadcastToOp.on(reshaped(order, shape), type=tensor(x.shape, i64))


def _taken(x: Value, order: Value, axis: int) -> Value:
    """Rows or columns permuted to the order of the factors."""
    place = -1 if len(x.shape) == len(order.shape) else axis
    return TakeAlongAxisOp.on(x, _order_like(order, x, axis), axis=place)


def put_back(x: Value, order: Value, axis: int) -> Value:
    """Rows or columns permuted back from the order of the factors."""
    from gradir.dialects.grad.grad import TakeAlongAxisBackwardOp

    place = -1 if len(x.shape) == len(order.shape) else axis
    indices = _order_like(order, x, axis)
    return TakeAlongAxisBackwardOp.on(x, indices, type=x.type, axis=place)


@irdl_op_definition
class LuFactorOp(MatrixOp):
    """Factors l u of the rows and columns of a in some order, with partial pivoting.

    Results: l (below the diagonal, which is ones) and u in one matrix; the indices of the rows, and
    of the columns, in their order; its sign, 1 or -1. Columns keep their places, but with {defer} a
    column whose pivots are all zero goes last, so that only the last diagonal element of u is zero
    where the rank is one less than full. Pivots of complex columns are largest by |real| + |imag|,
    as LAPACK's.
    vjp: l^-T m u^-T put back in order, m the lower triangle of l^T ct_l and the upper of ct_u u^T
    """

    name = "grad.lu_factor"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("defer",)

    a = operand_def()
    lu = result_def()
    rows = result_def()
    columns = result_def()
    sign = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, size = require_square(operands[0], or_complex=True)
        if flag(attributes, "defer", False) and is_complex_tensor(operands[0]):
            raise VerifyException(f"defer is for real matrices, got {operands[0]}")
        order = tensor([*batch, size], i64)
        sign = tensor(batch, real_element(element_of(operands[0])))
        return [operands[0], order, order, sign]

    @property
    def defer(self) -> bool:
        return flag(self.attributes, "defer", False)

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        ct, (lu, rows, columns, _) = cts[0], results
        if ct is None:
            return [None]
        lower = TrilOp.on(lu, k=-1) + identity_like(lu)
        from_lower = MatmulOp.on(transposed(lower), TrilOp.on(ct, k=-1))
        from_upper = MatmulOp.on(TriuOp.on(ct), transposed(TriuOp.on(lu)))
        inner = TrilOp.on(from_lower, k=-1) + TriuOp.on(from_upper)
        left = solved(lu, inner, lower=True, transpose=True, unit=True)
        whole = transposed(solved(lu, transposed(left), lower=False))
        return [put_back(put_back(whole, rows, -2), columns, -1)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return emit_lu(emitter, operands[0], self.defer)

    def numpy(self, a: Any) -> Any:
        return lu_factors(a, self.defer)


def lu_factors(a: Any, defer: bool = False) -> tuple[Any, ...]:
    """The results of grad.lu_factor for NumPy matrices."""
    lu, batch, size = np.array(a), a.shape[:-2], a.shape[-1]
    rows, columns = (np.zeros((*batch, size), np.int64) for _ in range(2))
    sign = np.ones(batch, a.real.dtype)
    for place in np.ndindex(*batch):
        rows[place], columns[place], sign[place] = eliminate(lu[place], defer)
    return lu, rows, columns, sign


def eliminate(a: Any, defer: bool = False) -> tuple[Any, Any, float]:
    """Replace a NumPy matrix by its factors; returns the order of rows, columns, and its sign."""
    size = len(a)
    rows, columns, sign = np.arange(size), np.arange(size), 1.0
    end = size
    for k in range(size):
        while defer and end > k + 1 and np.max(np.abs(a[k:, k])) == 0:
            end -= 1
            a[:, [k, end]] = a[:, [end, k]]
            columns[[k, end]] = columns[[end, k]]
            sign = -sign
        below = a[k:, k]
        at = k + int(np.argmax(np.abs(below.real) + np.abs(below.imag)))
        if at != k:
            a[[k, at]] = a[[at, k]]
            rows[[k, at]] = rows[[at, k]]
            sign = -sign
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return rows, columns, sign


@irdl_op_definition
class SolveOp(MatrixOp):
    """x with a x = b; {transpose}: a^T x = b. b holds vectors [.., n] or matrices [.., n, m].

    vjp: for b, r, the solve of ct with the transpose; for a -r x^T, or -x r^T with {transpose}
    """

    name = "array.solve"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("transpose",)

    a = operand_def()
    b = operand_def()
    x = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_right_side(*operands, or_complex=True)
        flag(attributes, "transpose", False)
        return [operands[1]]

    @property
    def transpose(self) -> bool:
        return flag(self.attributes, "transpose", False)

    def vjp(self, ct: Value, x: Value, a: Value, right: Value) -> Cotangents:
        back = SolveOp.on(a, ct, transpose=not self.transpose)
        left, other = as_columns(back, a), as_columns(x, a)
        if self.transpose:
            left, other = other, left
        return [-MatmulOp.on(left, transposed(other)), back]

    def decompose(self, a: Value, right: Value) -> Value:
        lu, rows, _, _ = LuFactorOp.all_on(a)
        if self.transpose:
            inner = solved(lu, right, lower=False, transpose=True)
            return put_back(solved(lu, inner, lower=True, transpose=True, unit=True), rows, -2)
        inner = solved(lu, _taken(right, rows, -2), lower=True, unit=True)
        return solved(lu, inner, lower=False)

    def numpy(self, a: Any, right: Any) -> Any:
        if right.ndim == a.ndim:
            return solution(a, right, self.transpose)
        return solution(a, right[..., None], self.transpose)[..., 0]


def solution(a: Any, right: Any, transpose: bool) -> Any:
    """The solution for NumPy matrices, by LU."""
    if a.dtype.kind == "c":
        return _complex_solution(np.swapaxes(a, -1, -2) if transpose else a, right)
    factors = np.array(np.swapaxes(a, -1, -2) if transpose else a)
    permuted = np.zeros_like(right)
    for place in np.ndindex(*a.shape[:-2]):
        rows, _, _ = eliminate(factors[place])
        permuted[place] = right[place][rows]
    inner = substituted(factors, permuted, TriangularSolve(True, False, True))
    return substituted(factors, inner, TriangularSolve(False, False, False))


def _complex_solution(a: Any, right: Any) -> Any:
    """NumPy's solution; nan for singular matrices."""
    found = np.full(right.shape, np.nan, right.dtype)
    for place in np.ndindex(*a.shape[:-2]):
        try:
            found[place] = np.linalg.solve(a[place], right[place])
        except np.linalg.LinAlgError:
            continue
    return found


class OneMatrixOp(MatrixOp):
    """y = f(a)."""

    a = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_square(operands[0], cls.COMPLEX)
        return [operands[0]]


@irdl_op_definition
class InvOp(OneMatrixOp):
    """The inverse of a; of a singular matrix it holds inf or nan.   vjp: -y^T ct y^T"""

    name = "array.inv"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, a: Value) -> Cotangents:
        back = transposed(y)
        return [-MatmulOp.on(MatmulOp.on(back, ct), back)]

    def decompose(self, a: Value) -> Value:
        return SolveOp.on(a, identity_like(a))

    def numpy(self, a: Any) -> Any:
        identity = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return solution(a, np.array(identity), False)


@irdl_op_definition
class DetOp(OneMatrixOp):
    """The determinant of a, 1 of an empty matrix.

    vjp: ct times the cofactors of a (grad.cofactor), at singular matrices too; so is the second
    derivative. A third one needs the inverse, as all of complex matrices do: at a singular matrix
    it is nan or inf
    """

    name = "array.det"
    COMPLEX: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, _ = require_square(operands[0], or_complex=True)
        return [tensor(batch, element_of(operands[0]))]

    def vjp(self, ct: Value, y: Value, a: Value) -> Cotangents:
        if is_complex_tensor(a.type):
            return [spread(ct * y, a) * transposed(InvOp.on(a))]
        from gradir.dialects.array.cofactors import CofactorOp

        return [spread(ct, a) * CofactorOp.on(a)]

    def decompose(self, a: Value) -> Value:
        lu, _, _, sign = LuFactorOp.all_on(a)
        return sign * ProdOp.on(DiagonalOp.on(lu), axis=[-1])

    def numpy(self, a: Any) -> Any:
        return np.linalg.det(a)


@irdl_op_definition
class SlogdetOp(OneMatrixOp):
    """The sign of the determinant (0 where it is 0), and the logarithm of its size (then -inf).

    vjp: ct of the logarithm times the transposed inverse of a; none through the sign of a real
    determinant; through the sign y of a complex one i imag(y ct) times the transposed inverse
    """

    name = "array.slogdet"
    COMPLEX: ClassVar[bool] = True

    sign = result_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [sign] = DetOp.infer_types(operands, attributes)
        return [sign, tensor(shape_of(sign), real_element(element_of(sign)))]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        [a], ct = operands, cts[1]
        if is_complex_tensor(a.type):
            return [_complex_slogdet_vjp(cts, results[0], a)]
        return [None if ct is None else spread(ct, a) * transposed(InvOp.on(a))]

    def decompose(self, a: Value) -> Sequence[Value]:
        lu, _, _, sign = LuFactorOp.all_on(a)
        diagonal = DiagonalOp.on(lu)
        signs = ProdOp.on(SignOp.on(diagonal), axis=[-1])
        return [sign * signs, SumOp.on(LogOp.on(AbsOp.on(diagonal)), axis=[-1])]

    def numpy(self, a: Any) -> Any:
        return tuple(np.linalg.slogdet(a))


def _complex_slogdet_vjp(cts: Cotangents, sign: Value, a: Value) -> Value | None:
    sign_ct, ct = cts
    if sign_ct is None and ct is None:
        return None
    size = ct if isinstance(ct, Value) else RealOp.on(sign).full(0.0)
    turn = ImagOp.on(sign * sign_ct) if isinstance(sign_ct, Value) else size.full(0.0)
    return spread(ComplexOp.on(size, turn), a) * transposed(InvOp.on(a))


OPS: tuple[type[TensorOp], ...] = (SolveOp, InvOp, DetOp, SlogdetOp)
GRAD_OPS: tuple[type[TensorOp], ...] = (LuFactorOp,)
