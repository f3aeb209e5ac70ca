"""grad: the cofactors of f32 or f64 matrices, derivatives of determinants."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.factorizations import FactorOp, of_each
from gradir.dialects.array.linear_systems import InvOp, LuFactorOp, OneMatrixOp, put_back, spread
from gradir.dialects.array.movement import BroadcastToOp, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.array.statistics import ProdOp
from gradir.dialects.array.triangles import DiagonalOp
from gradir.dialects.array.triangular import identity_like, require_like, require_square, solved
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Value


@irdl_op_definition
class CofactorOp(OneMatrixOp):
    """The cofactors of a, the derivative of det(a); at singular matrices too.

    With a = l u up to order, and only the last diagonal element of u zero where the rank is one
    less than full, the adjugate of u needs no division by it. It is 0 at lower ranks.
    vjp: grad.cofactor_slope of a and ct
    """

    name = "grad.cofactor"
    SAME_TYPE: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, a: Value) -> Cotangents:
        return [CofactorSlopeOp.on(a, ct)]

    def decompose(self, a: Value) -> Value:
        size = a.shape[-1]
        if size == 0:
            return a.full(0)
        lu, rows, columns, sign = LuFactorOp.all_on(a, defer=True)
        below = solved(lu, identity_like(a), lower=True, unit=True)
        # adj(u) l^-1 over the product of the diagonal of u but its last element
        corner, last = _part(lu, size, (-1, -1)), _part(below, size, (-1, None))
        last_column = _part(lu, size, (0, -1))
        shape = (*a.shape[:-2], size - 1, size)
        type_ = tensor(shape, a.element)
        upper = BroadcastToOp.on(corner, type=type_) * _part(below, size, (0, None))
        outer = MatmulOp.on(last_column, last)
        head = solved(_part(lu, size, (0, 0)), upper - outer, lower=False)
        whole = ConcatOp.on(head, last, axis=-2)
        diagonal = DiagonalOp.on(_part(lu, size, (0, 0)))
        scale = spread(sign * ProdOp.on(diagonal, axis=[-1]), a)
        # a zero among them: head is inf or nan, and the rank too low for an adjugate other than 0
        adjugate = WhereOp.on(scale.equal(0), a.full(0), whole * scale)
        return put_back(put_back(transposed(adjugate), rows, -2), columns, -1)

    def numpy(self, a: Any) -> Any:
        size = a.shape[-1]
        result = np.zeros_like(a)
        for i, j in np.ndindex(size, size):
            minor = np.delete(np.delete(a, i, axis=-2), j, axis=-1)
            result[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
        return result


def _part(x: Value, size: int, place: tuple[int | None, int | None]) -> Value:
    """Of rows and of columns: all but the last (0), the last (-1), or all (None)."""
    spans = {0: (0, size - 1), -1: (size - 1, size), None: (0, size)}
    chosen = [(0, n) for n in x.shape[:-2]] + [spans[p] for p in place]
    return SliceOp.on(x, start=[s for s, _ in chosen], stop=[e for _, e in chosen])


@irdl_op_definition
class CofactorSlopeOp(FactorOp):
    """The derivative of the cofactors of a in the direction e, at singular matrices too.

    With a = u diag(s) v^T and f = u^T e v it is det(u) det(v) u x v^T, x_jj the sum over i != j of
    q_ij f_ii, x_ij = -q_ij f_ji, where q_ij is the product of all s but s_i and s_j: the second
    derivative of the product of s. Computed in f64.
    vjp: grad.cofactor_slope of a and ct to e; to a the second derivative of the cofactors
    y = det(a) w in the directions e and ct, by w, the transposed inverse of a
    """

    name = "grad.cofactor_slope"
    CALLEE: ClassVar[str] = "lapack.cofactor_slope"

    a = operand_def()
    e = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_square(operands[0])
        require_like(operands[1], operands[0], "e")
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, a: Value, e: Value) -> Cotangents:
        slope, w = CofactorSlopeOp.on(a, ct), transposed(InvOp.on(a))
        turned = MatmulOp.on(MatmulOp.on(w, transposed(ct)), w)
        after = MatmulOp.on(transposed(e), w)
        cofactors = CofactorOp.on(a)

        def inner(x: Value) -> Value:
            return spread(SumOp.on(x * e, axis=[-2, -1]), a)

        of_slope = slope * inner(w) - MatmulOp.on(slope, after)
        rest = MatmulOp.on(cofactors, MatmulOp.on(transposed(e), turned))
        return [of_slope + rest - cofactors * inner(turned), slope]

    def numpy(self, *arrays: Any) -> Any:
        return self.factors(*arrays)[0]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        a, e = arrays
        both = np.concatenate([a, e], -1).astype(np.float64)
        [y] = of_each(both, [a.shape[-2:]], _slope)
        return (y.astype(a.dtype),)


def _slope(both: Any) -> list[Any]:
    """Of [a, e], side by side."""
    n = both.shape[-2]
    u, s, vh = np.linalg.svd(both[..., :n])
    back, v = np.swapaxes(u, -1, -2), np.swapaxes(vh, -1, -2)
    f = back @ both[..., n:] @ v
    q = _products_but_two(s)
    x = -q * np.swapaxes(f, -1, -2)
    own = np.einsum("...ij,...ii->...j", q, f)
    x[..., range(n), range(n)] = own
    sign = np.rint(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return [sign * (u @ x @ vh)]


def _products_but_two(s: Any) -> Any:
    """q_ij, the product of all s but s_i and s_j; 0 on the diagonal."""
    n = s.shape[-1]
    q = np.zeros((*s.shape, n))
    for i in range(n):
        others = np.delete(s, i, axis=-1)
        ones = np.ones((*s.shape[:-1], 1))
        before = np.cumprod(np.concatenate([ones, others], -1), -1)[..., :-1]
        behind = np.cumprod(np.concatenate([ones, others[..., ::-1]], -1), -1)[..., -2::-1]
        q[..., i, [j for j in range(n) if j != i]] = before * behind
    return q


GRAD_OPS: tuple[type[TensorOp], ...] = (CofactorOp, CofactorSlopeOp)
