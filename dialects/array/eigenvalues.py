"""array: eigenvalues and eigenvectors of matrices that are not symmetric, by LAPACK.

They are complex numbers, of real matrices too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32
from xdsl.irdl import irdl_op_definition, result_def

from gradir.dialects.array.comparison import LogicalAndOp, LogicalNotOp, LogicalOrOp
from gradir.dialects.array.complex_parts import adjoint, conjugated, real_part, times_real
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import AbsOp, SqrtOp
from gradir.dialects.array.factor_systems import along, inner, scaled
from gradir.dialects.array.factorizations import FactorOp, of_each
from gradir.dialects.array.linear_systems import InvOp, spread
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.statistics import AnyOp
from gradir.dialects.array.triangular import identity_like, require_square
from gradir.dialects.array.used_columns import Runs, picked, used
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    complex_element,
    element_of,
    is_complex_tensor,
    tensor,
)
from gradir.dialects.base.value import Value

# Values that differ by no more of what rounding of the matrix moves them are equal.
_EPSILONS = 4
# A square of a length of a row of v^-1, times epsilon, above which a value that is there twice has
# no right digit in its derivative.
_LOST = 1e-2


@irdl_op_definition
class EigOp(FactorOp):
    """Eigenvalues w, in LAPACK's order, and eigenvectors, the columns of v: a v = v diag(w).

    They are complex, of real a too. The columns have length 1; LAPACK chooses their phases.
    vjp, from and to conjugates: v^-H (diag(ct_w) + e) v^H, its real part for real a, in which
    e_ij = (v_i^H ct_v_j - v_i^H v_j v_j^H ct_v_j) / conj(w_j - w_i), and 0 on the diagonal, in the
    gauge where v_i^H dv_i is 0 (Boeddeker et al., "On the computation of complex-valued gradients
    with application to statistically optimum beamforming", 2017). e_ij is nan where w_i and w_j
    are equal but for rounding: where they differ by no more than 4 epsilons of the norm of a, times
    the lengths of the rows i and j of v^-1, by which values move as a does. What ct_w_i adds is nan
    where these lengths are near 1 / sqrt(epsilon), too: a has too few eigenvectors
    """

    name = "array.eig"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.eig"
    HAS_PHASES: ClassVar[bool] = True

    w = result_def()
    v = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, size = require_square(operands[0], or_complex=True)
        element = complex_element(element_of(operands[0]))
        return [tensor([*batch, size], element), tensor([*batch, size, size], element)]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (w_ct, v_ct), (w, v), [a] = cts, results, operands
        inverse = InvOp.on(v)
        near = _near(a, w, v, inverse)
        parts: list[Value] = []
        if isinstance(w_ct, Value):
            line = _unless_lost(conjugated(w_ct), near, inverse)
            parts.append(MatmulOp.on(scaled(adjoint(inverse), line), adjoint(v)))
        if isinstance(v_ct, Value):
            runs = used([v_ct], [-1])
            e = _of_vectors(conjugated(picked(v_ct, runs)), w, v, near, runs)
            parts.append(MatmulOp.on(MatmulOp.on(adjoint(inverse), e), adjoint(picked(v, runs))))
        if not parts:
            return [None]
        made = conjugated(sum(parts[1:], parts[0]))
        return [made if is_complex_tensor(a.type) else real_part(made)]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        n, kind = a.shape[-1], np.result_type(a.dtype, np.complex64)

        def meaning(x: Any) -> Any:
            return [made.astype(kind) for made in np.linalg.eig(x)]

        return of_each(a, [(n,), (n, n)], meaning, kind)


def _near(a: Value, w: Value, v: Value, inverse: Value) -> Value:
    """Whether w_i and w_j, i not j, are equal but for rounding, or nan."""
    own, lengths = real_part(identity_like(v)), _lengths(inverse)
    sizes = AbsOp.on(a)
    norm = SqrtOp.on(SumOp.on(sizes * sizes, axis=[-2, -1]))
    moved = along(lengths, own, -2) + along(lengths, own, -1)
    limits = spread(norm, own) * moved * (_EPSILONS * _epsilon(norm))
    is_apart = AbsOp.on(along(w, v, -2) - along(w, v, -1)) > limits
    return LogicalAndOp.on(LogicalNotOp.on(is_apart), own.equal(0.0))


def _lengths(inverse: Value) -> Value:
    """The lengths of the rows of v^-1: how far each value moves with the matrix."""
    sizes = AbsOp.on(inverse)
    return SqrtOp.on(SumOp.on(sizes * sizes, axis=[-1]))


def _epsilon(x: Value) -> float:
    return 2.0**-23 if x.element == f32 else 2.0**-52


def _unless_lost(ct: Value, near: Value, inverse: Value) -> Value:
    """nan where a value is there twice and v is singular, but for rounding."""
    lengths = _lengths(inverse)
    is_known = lengths * lengths * _epsilon(lengths) <= _LOST
    is_lost = LogicalAndOp.on(AnyOp.on(near, axis=[-1]), LogicalNotOp.on(is_known))
    # a factor, as a rule is linear in ct: its transpose is the forward derivative
    return times_real(ct, is_lost.choose(lengths.full(nan), lengths.full(1.0)))


def _of_vectors(g: Value, w: Value, v: Value, near: Value, runs: Runs | None) -> Value:
    """The columns e_j, of the cotangents g_j of v_j."""
    back, own = adjoint(v), picked(v, runs)
    turned = MatmulOp.on(back, g) - scaled(MatmulOp.on(back, own), inner(own, g))
    gaps = conjugated(along(picked(w, runs), turned, -2) - along(w, turned, -1))
    is_near = picked(near, runs)
    is_own = picked(real_part(identity_like(v)), runs).not_equal(0.0)
    is_apart = LogicalNotOp.on(LogicalOrOp.on(is_near, is_own))
    one, none = turned.full(1.0), turned.full(nan)
    shares = is_near.choose(none, one / is_apart.choose(gaps, one))
    return turned * is_own.choose(turned.full(0.0), shares)


OPS: tuple[type[FactorOp], ...] = (EigOp,)
