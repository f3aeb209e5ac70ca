"""grad: the orthogonal factor of f32 or f64 matrices, by LAPACK's singular vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.factor_systems import LyapunovOp, symmetric
from gradir.dialects.array.factorizations import FactorOp, of_each, singular_vjp
from gradir.dialects.array.linear_systems import SolveOp, spread
from gradir.dialects.array.movement import transposed
from gradir.dialects.array.triangular import require_matrices
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, element_of, tensor
from gradir.dialects.base.value import Value


@irdl_op_definition
class PolarOp(FactorOp):
    """y with orthonormal columns, a = y h, of a with no more columns than rows; h is positive.

    h = (a^T a)^(1/2) = v diag(w) v^T. `norm` is the trace of h, the nuclear norm of a.
    vjp: of norm ct y; of y, y x + (ct - y y^T ct) h^-1 with h x + x h = y^T ct - ct^T y, which
    divides by sums of singular values: nan or inf where a is singular (Higham, "Functions of
    Matrices", 2008, section 8.2); of w and v as of array.svd
    """

    name = "grad.polar"
    CALLEE: ClassVar[str] = "lapack.polar"

    y = result_def()
    norm = result_def()
    w = result_def()
    v = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, rows, columns, _ = require_matrices(operands[0])
        if DYNAMIC not in (rows, columns) and columns > rows:
            raise VerifyException(f"a must have no more columns than rows, got {operands[0]}")
        element = element_of(operands[0])
        shapes = [*batch], [*batch, columns], [*batch, columns, columns]
        return [operands[0], *(tensor(shape, element) for shape in shapes)]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (y_ct, norm_ct, w_ct, v_ct), (y, _, w, v), [a] = cts, results, operands
        parts: list[Value] = []
        if w_ct is not None or v_ct is not None:
            turned = transposed(v_ct) if isinstance(v_ct, Value) else None
            found = singular_vjp([None, w_ct, turned], [MatmulOp.on(y, v), w, transposed(v)], a)
            parts += [] if found is None else [found]
        if isinstance(norm_ct, Value):
            parts.append(spread(norm_ct, y) * y)
        if isinstance(y_ct, Value):
            parts.append(_factor_vjp(y_ct, a, y, w, v))
        return [sum(parts[1:], parts[0]) if parts else None]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        m, n = a.shape[-2:]
        return of_each(a, [(m, n), (), (n,), (n, n)], _polar)


def _factor_vjp(ct: Value, a: Value, y: Value, w: Value, v: Value) -> Value:
    h = symmetric(MatmulOp.on(transposed(y), a))
    products = MatmulOp.on(transposed(y), ct)
    inside = MatmulOp.on(y, LyapunovOp.on(h, products - transposed(products), w, v))
    if a.shape[-2] == a.shape[-1] != DYNAMIC:
        return inside
    across = transposed(ct - MatmulOp.on(y, products))
    return inside + transposed(SolveOp.on(h, across))


def _polar(a: Any) -> list[Any]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return [u @ vh, np.sum(s, -1), s, np.swapaxes(vh, -1, -2)]


GRAD_OPS: tuple[type[TensorOp], ...] = (PolarOp,)
