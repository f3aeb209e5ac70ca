"""array: singular value, eigenvalue and QR factors, and the pseudoinverse, of matrices.

They are LAPACK's, by NumPy: compiled code calls it as a host function. A matrix that LAPACK fails
at, as it does at nan, has factors of nan. The derivative of a vector whose singular value or
eigenvalue is there twice, but for rounding, is nan; other vectors' derivatives have no part of it,
and functions of values alone divide by no difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import f32, f64
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import (
    ImagOp,
    adjoint,
    conjugated,
    real_part,
    times_real,
)
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.factor_systems import EigenSolveOp, SingularSolveOp, along, symmetric
from gradir.dialects.array.movement import transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.array.triangles import TrilOp
from gradir.dialects.array.triangular import MatrixOp, require_matrices, require_square, solved
from gradir.dialects.array.used_columns import Runs, bounds_of, parts_of, picked, used
from gradir.dialects.base.attributes import Attributes, Types, number
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, is_complex_tensor, real_element, tensor
from gradir.dialects.base.value import Value


class FactorOp(MatrixOp, ABC):
    """Factors of the matrices of the last two axes. `CALLEE` is the name of the host function."""

    CALLEE: ClassVar[str]

    a = operand_def()

    @staticmethod
    @abstractmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        """The results for NumPy arrays."""

    def numpy(self, *arrays: Any) -> Any:
        return self.factors(*arrays)

    def decompose(self, *operands: Value) -> Sequence[Value]:
        from gradir.dialects.grad.lapack import called

        return called(self, [*operands, *self.further(operands[0])])

    def waits_for_planes(self) -> bool:
        return any(is_complex_tensor(v.type) for v in (*self.operands, *self.results))

    def further(self, a: Value) -> Sequence[Value]:
        """Operands of the host function that the op has as attributes; a has its emitter and type
        of elements."""
        return ()


def of_each(
    a: Any, shapes: Sequence[Sequence[int]], meaning: Callable[[Any], Any], line: Any = None
) -> tuple[Any, ...]:
    """The factors of all matrices at once, or of each where LAPACK fails at one.

    Matrices are like a, and lines of numbers real, but all of the dtype `line` where it is given.
    """
    *batch, _, _ = a.shape
    try:
        return tuple(meaning(a))
    except np.linalg.LinAlgError:
        kinds = [line or (a.dtype if len(s) == 2 else a.real.dtype) for s in shapes]
        made = tuple(np.empty((*batch, *s), k) for s, k in zip(shapes, kinds, strict=True))
        for place in np.ndindex(*batch):
            try:
                found = meaning(a[place])
            except np.linalg.LinAlgError:
                found = [np.nan] * len(made)
            for whole, part in zip(made, found, strict=True):
                whole[place] = part
        return made


# Values of rules.


def _weighted(left: Value, numbers: Value, right: Value, runs: Runs | None) -> Value:
    """left diag(numbers) right, of the runs of columns of `left` and rows of `right`."""
    columns = picked(left, runs)
    line = along(picked(numbers, runs), real_part(columns), -2)
    scaled = times_real(columns, line)
    return MatmulOp.on(scaled, picked(right, runs, -2))


def _sums(left: Value, numbers: Value, right: Value) -> list[Value]:
    """`_weighted` for each part of a cotangent: each may be the slope of a function of values."""
    return [_weighted(left, x, right, used([x], [-1])) for x in parts_of(numbers)]


def _sum(parts: Sequence[Value | None]) -> Value | None:
    found = [part for part in parts if part is not None]
    return sum(found[1:], found[0]) if found else None


def _known(cotangents: Cotangents) -> list[Value | None]:
    return [ct if isinstance(ct, Value) else None for ct in cotangents]


@irdl_op_definition
class EighOp(FactorOp):
    """Eigenvalues w, ascending, and orthonormal eigenvectors, the columns of v: s v = v diag(w).

    s is the Hermitian part (a + a^H) / 2 of a, for real a the symmetric one; w is real. LAPACK
    chooses the signs, or phases, of the columns.
    vjp: the symmetric part of v diag(ct_w) v^T + y v^T, y = v (f * (v^T ct_v)), f_ij =
    1 / (w_j - w_i) and 0 on the diagonal (Giles, "An extended collection of matrix derivative
    results", 2008): grad.eigen_solve, for the columns of v that the program reads alone; of complex
    matrices with adjoints, from and to conjugates, in the gauge where v_i^H dv_i is 0
    """

    name = "array.eigh"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.eigh"
    GIVES_VECTORS: ClassVar[bool] = True
    HAS_PHASES: ClassVar[bool] = True

    w = result_def()
    v = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, size = require_square(operands[0], or_complex=True)
        return [tensor([*batch, size], real_element(element_of(operands[0]))), operands[0]]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (w_ct, v_ct), (w, v), [a] = _known(cts), results, operands
        parts: list[Value | None] = []
        if w_ct is not None:
            parts += _sums(v, w_ct, adjoint(v))
        if v_ct is not None:
            runs = used([v_ct], [-1])
            g = conjugated(picked(v_ct, runs))
            y = EigenSolveOp.on(a, g, w, v, columns=bounds_of(runs))
            parts.append(MatmulOp.on(y, adjoint(picked(v, runs))))
        whole = _sum(parts)
        return [None if whole is None else conjugated(symmetric(whole))]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        n = a.shape[-1]
        symmetric = (a + np.conj(np.swapaxes(a, -1, -2))) * np.asarray(0.5, a.dtype)
        return of_each(symmetric, [(n,), (n, n)], np.linalg.eigh)


@irdl_op_definition
class SvdOp(FactorOp):
    """Singular values s, descending, of a = u diag(s) vh; u and vh have min(rows, columns) vectors.

    LAPACK chooses the signs, or phases, of the pairs of vectors.
    vjp: u diag(ct_s) vh + y vh + u z^T; y and z solve the systems of grad.singular_solve for ct_u
    and ct_vh^T, of the vectors that the program reads alone (Townsend, "Differentiating the
    singular value decomposition", 2016, by columns); of complex matrices with adjoints, from and to
    conjugates, and with u diag(i g / (2 s)) vh, g the imaginary part of u_i^H ct_u_i - v_i^H ct_v_i
    """

    name = "array.svd"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.svd"
    GIVES_VECTORS: ClassVar[bool] = True
    HAS_PHASES: ClassVar[bool] = True

    u = result_def()
    s = result_def()
    vh = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, rows, columns, least = require_matrices(operands[0], or_complex=True)
        element = element_of(operands[0])
        return [
            tensor([*batch, rows, least], element),
            tensor([*batch, least], real_element(element)),
            tensor([*batch, least, columns], element),
        ]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        return [singular_vjp(cts, results, operands[0])]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        m, n = a.shape[-2:]
        k = min(m, n)
        shapes = [(m, k), (k,), (k, n)]
        return of_each(a, shapes, lambda x: np.linalg.svd(x, full_matrices=False))


def singular_vjp(cts: Cotangents, factors: Sequence[Value], a: Value) -> Value | None:
    """The cotangent of a from the cotangents of its singular value factors u, s and vh."""
    (u_ct, s_ct, vh_ct), (u, s, vh) = _known(cts), factors
    parts: list[Value | None] = []
    if s_ct is not None:
        parts += _sums(u, s_ct, vh)
    if u_ct is not None or vh_ct is not None:
        runs = used([u_ct, vh_ct], [-1, -2])
        left, right = picked(u, runs), picked(vh, runs, -2)
        x1 = left.full(0.0) if u_ct is None else conjugated(picked(u_ct, runs))
        x2 = right.full(0.0) if vh_ct is None else picked(vh_ct, runs, -2)
        x2 = transposed(x2)
        columns = bounds_of(runs)
        y, z = SingularSolveOp.all_on(a, x1, x2, u, s, vh, columns=columns)
        parts += [MatmulOp.on(y, right), MatmulOp.on(left, adjoint(z))]
        if is_complex_tensor(a.type):
            parts.append(_of_phases(left, picked(s, runs), right, x1, x2))
    whole = _sum(parts)
    return None if whole is None else conjugated(whole)


def _of_phases(u: Value, s: Value, vh: Value, x1: Value, x2: Value) -> Value:
    """What the phase between u_i and v_i adds."""
    left = SumOp.on(conjugated(u) * x1, axis=[-2])
    turned = left - SumOp.on(transposed(vh) * x2, axis=[-2])
    line = along(ImagOp.on(turned) / (s * 2.0), real_part(u), -2)
    turning = times_real(u, line)
    return MatmulOp.on(turning * turning.full(1j), vh)


@irdl_op_definition
class QrOp(FactorOp):
    """a = q r: q with min(rows, columns) orthonormal columns, r upper triangular.

    The diagonal of r is real; LAPACK chooses its signs.
    vjp: (ct_q + q c) r^-T, c the lower triangle of r ct_r^T - ct_q^T q mirrored (Walter & Lehmann,
    "Algorithmic differentiation of linear algebra functions", 2018); for more columns than rows the
    same of the square part, with the cotangent that reaches q from the other columns, r = q^T a; of
    complex matrices with adjoints, from and to conjugates
    """

    name = "array.qr"
    COMPLEX: ClassVar[bool] = True
    CALLEE: ClassVar[str] = "lapack.qr"

    q = result_def()
    r = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, rows, columns, least = require_matrices(operands[0], or_complex=True)
        shapes = [*batch, rows, least], [*batch, least, columns]
        return [tensor(shape, element_of(operands[0])) for shape in shapes]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (q_ct, r_ct), (q, r), [a] = _known(cts), results, operands
        q_ct, r_ct = (None if ct is None else conjugated(ct) for ct in (q_ct, r_ct))
        m, n = a.shape[-2:]
        if m >= n:
            return [conjugated(_qr_vjp(q_ct, r_ct, q, r))]
        first, rest = _columns(r, 0, m), _columns(a, m, n)
        if r_ct is None:
            other = rest.full(0.0)
            square = _qr_vjp(q_ct, None, q, first)
        else:
            rest_ct = _columns(r_ct, m, n)
            other = MatmulOp.on(q, rest_ct)
            more = MatmulOp.on(rest, adjoint(rest_ct))
            square = _qr_vjp(_sum([q_ct, more]), _columns(r_ct, 0, m), q, first)
        return [conjugated(ConcatOp.on(square, other, axis=len(a.shape) - 1))]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        [a] = arrays
        m, n = a.shape[-2:]
        k = min(m, n)
        return of_each(a, [(m, k), (k, n)], np.linalg.qr)


def _qr_vjp(q_ct: Value | None, r_ct: Value | None, q: Value, r: Value) -> Value:
    """The gradient of a matrix with as many rows as columns, or more: the conjugate of its
    cotangent, from conjugates."""
    right = None if r_ct is None else MatmulOp.on(r, adjoint(r_ct))
    left = None if q_ct is None else -MatmulOp.on(adjoint(q_ct), q)
    products = _sum([right, left])
    assert products is not None
    whole = _sum([q_ct, MatmulOp.on(q, _mirrored(products))])
    assert whole is not None
    # x with x r^H = whole
    return adjoint(solved(r, adjoint(whole), lower=False, transpose=False))


def _mirrored(x: Value) -> Value:
    """The Hermitian matrices with the lower triangles, and the real diagonals, of others."""
    if is_complex_tensor(x.type):
        half = (TrilOp.on(x) + TrilOp.on(x, k=-1)) * 0.5
        return half + adjoint(half)
    return TrilOp.on(x) + transposed(TrilOp.on(x, k=-1))


def _columns(x: Value, first: int, last: int) -> Value:
    rank = len(x.shape)
    start, stop = [*(0 for _ in x.shape)], [*x.shape]
    start[-1], stop[-1] = first, last
    return SliceOp.on(x, start=start, stop=stop, step=[1] * rank)


@irdl_op_definition
class PinvOp(FactorOp):
    """The pseudoinverse y of a, whose singular values up to rcond times the largest count as 0.

    rcond: by default the larger extent times the epsilon of the type.
    vjp: -y^T ct y^T + (1 - a y) ct^T y y^T + y^T y ct^T (1 - y a), for matrices of a constant rank
    (Golub & Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
    whose variables separate", 1973); of complex ones with adjoints, from and to conjugates
    """

    name = "array.pinv"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("rcond",)
    CALLEE: ClassVar[str] = "lapack.pinv"

    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, rows, columns, _ = require_matrices(operands[0], or_complex=True)
        if not number(attributes, "rcond", 0.0) >= 0:
            raise VerifyException("rcond must not be negative")
        return [tensor([*batch, columns, rows], element_of(operands[0]))]

    def rcond_of(self, a: Any) -> float:
        """rcond, for a matrix with a shape and an epsilon."""
        epsilon = 2.0**-23 if real_element(a.element) == f32 else 2.0**-52
        return number(self.attributes, "rcond", max(1, *a.shape[-2:]) * epsilon)

    def vjp(self, ct: Value, y: Value, a: Value) -> Cotangents:
        turned, g = adjoint(y), conjugated(ct)
        back = adjoint(g)
        first = -MatmulOp.on(MatmulOp.on(turned, g), turned)
        left = back - MatmulOp.on(a, MatmulOp.on(y, back))
        second = MatmulOp.on(left, MatmulOp.on(y, turned))
        right = back - MatmulOp.on(MatmulOp.on(back, y), a)
        third = MatmulOp.on(MatmulOp.on(turned, y), right)
        return [conjugated(first + second + third)]

    def further(self, a: Value) -> Sequence[Value]:
        rcond = a.emitter.insert(FullOp.fill(self.rcond_of(a), tensor([], f64))).results[0]
        return [a.emitter.value(rcond)]

    def numpy(self, *arrays: Any) -> Any:
        [a] = arrays
        rcond = self.rcond_of(Value(self.a, cast(Any, None)))
        return self.factors(a, np.asarray(rcond))[0]

    @staticmethod
    def factors(*arrays: Any) -> tuple[Any, ...]:
        a, rcond = arrays
        m, n = a.shape[-2:]
        rcond = a.real.dtype.type(rcond)
        return of_each(a, [(n, m)], lambda x: [np.linalg.pinv(x, rcond=rcond)])


OPS: tuple[type[FactorOp], ...] = (EighOp, SvdOp, QrOp, PinvOp)
