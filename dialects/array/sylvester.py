"""grad: Sylvester's equation x y + y x = q, whose solution is the derivative of a square root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.factorizations import FactorOp, of_each
from gradir.dialects.array.movement import transposed
from gradir.dialects.array.triangular import require_like, require_square
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.value import Value

_MOST = 60


@irdl_op_definition
class SylvesterOp(FactorOp):
    """y with a y + y a = q, for matrices a whose eigenvalues are right of 0, and q like them.

    By Newton's iteration for the sign of [[a, q], [0, -a]], scaled by determinants (Higham,
    "Functions of Matrices", 2008, section 5.1 and problem 5.8). nan where it does not converge.
    vjp: z, the solution for a^T and ct, to q; -z y^T - y^T z to a
    """

    name = "grad.sylvester"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.sylvester"

    a = operand_def()
    q = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_square(operands[0], or_complex=True)
        require_like(operands[1], operands[0], "q")
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, a: Value, q: Value) -> Cotangents:
        z, back = SylvesterOp.on(transposed(a), ct), transposed(y)
        return [-(MatmulOp.on(z, back) + MatmulOp.on(back, z)), z]

    def numpy(self, *arrays: Any) -> Any:
        return self.factors(*arrays)[0]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        a, q = arrays
        both = np.concatenate([a, q], -1)
        both = both.astype(np.result_type(both, np.float64))
        [y] = of_each(both, [a.shape[-2:]], _solution)
        return (y.astype(a.dtype),)


def _solution(both: Any) -> Sequence[Any]:
    """y of [a, q], side by side in float64 or complex128."""
    n = both.shape[-2]
    x, q = both[..., :n], both[..., n:]
    before = np.full((*x.shape[:-2], 1, 1), np.inf)
    apart = _apart(x)
    for _ in range(_MOST):
        moving = (apart > 0) & ((apart < before) | (apart > 1e-2))
        if not np.any(moving):
            break
        # the determinant's scale, while far from the end
        size = np.linalg.slogdet(x)[1][..., None, None]
        scale = np.where(apart > 1e-2, np.exp(-size / n), 1.0)
        inverse = np.linalg.inv(x) / scale
        x, q = (scale * x + inverse) / 2, (scale * q + inverse @ q @ inverse * scale) / 2
        before, apart = apart, _apart(x)
    return [np.where(apart < 1e-8, q / 2, np.nan)]


def _apart(x: Any) -> Any:
    """The distance of matrices from the identity."""
    away = np.abs(x - np.eye(x.shape[-1]))
    return np.max(away, axis=(-2, -1), keepdims=True, initial=0.0)


GRAD_OPS: tuple[type[TensorOp], ...] = (SylvesterOp,)
