"""grad: the orthogonal or unitary factor of matrices, by LAPACK's singular vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import adjoint, conjugated, times_real
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.factor_systems import LyapunovOp, symmetric
from gradir.dialects.array.factorizations import FactorOp, of_each, singular_vjp
from gradir.dialects.array.linear_systems import SolveOp, spread
from gradir.dialects.array.triangular import require_matrices
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, element_of, real_element, tensor
from gradir.dialects.base.value import Value


@irdl_op_definition
class PolarOp(FactorOp):
    """y with orthonormal columns, a = y h, of a with no more columns than rows; h is positive.

    h = (a^H a)^(1/2) = v diag(w) v^H. `norm` is the trace of h, the nuclear norm of a.
    vjp: of norm ct y; of y, y x + (ct - y y^T ct) h^-1 with h x + x h = y^T ct - ct^T y, which
    divides by sums of singular values: nan or inf where a is singular (Higham, "Functions of
    Matrices", 2008, section 8.2); of w and v as of array.svd; of complex matrices with adjoints,
    from and to conjugates
    """

    name = "grad.polar"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.polar"
    HAS_PHASES: ClassVar[bool] = True

    y = result_def()
    norm = result_def()
    w = result_def()
    v = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, rows, columns, _ = require_matrices(operands[0], or_complex=True)
        if DYNAMIC not in (rows, columns) and columns > rows:
            raise VerifyException(f"a must have no more columns than rows, got {operands[0]}")
        element = element_of(operands[0])
        line = tensor([*batch, columns], real_element(element))
        square = tensor([*batch, columns, columns], element)
        return [operands[0], tensor(batch, line.element_type), line, square]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (y_ct, norm_ct, w_ct, v_ct), (y, _, w, v), [a] = cts, results, operands
        parts: list[Value] = []
        if w_ct is not None or v_ct is not None:
            turned = adjoint(v_ct) if isinstance(v_ct, Value) else None
            found = singular_vjp([None, w_ct, turned], [MatmulOp.on(y, v), w, adjoint(v)], a)
            parts += [] if found is None else [found]
        if isinstance(norm_ct, Value):
            parts.append(conjugated(times_real(y, spread(norm_ct, y))))
        if isinstance(y_ct, Value):
            parts.append(_factor_vjp(y_ct, a, y, w, v))
        return [sum(parts[1:], parts[0]) if parts else None]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        m, n = a.shape[-2:]
        return of_each(a, [(m, n), (), (n,), (n, n)], _polar)


def _factor_vjp(ct: Value, a: Value, y: Value, w: Value, v: Value) -> Value:
    h, g = symmetric(MatmulOp.on(adjoint(y), a)), conjugated(ct)
    products = MatmulOp.on(adjoint(y), g)
    inside = MatmulOp.on(y, LyapunovOp.on(h, products - adjoint(products), w, v))
    if a.shape[-2] == a.shape[-1] != DYNAMIC:
        return conjugated(inside)
    across = adjoint(g - MatmulOp.on(y, products))
    return conjugated(inside + adjoint(SolveOp.on(h, across)))


def _polar(a: Any) -> list[Any]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return [u @ vh, np.sum(s, -1), s, np.conj(np.swapaxes(vh, -1, -2))]


GRAD_OPS: tuple[type[TensorOp], ...] = (PolarOp,)
