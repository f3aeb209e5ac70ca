"""grad: linear systems of matrices whose factors are known: derivatives of factors.

The factors make a solution, but its derivative follows from the equations that it solves, and these
hold only the requested vectors. So derivatives of some vectors, of all orders, divide by no
difference between values of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import (
    adjoint,
    conjugated,
    real_part,
    times_real,
)
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import AbsOp, MaximumOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.triangular import (
    MatrixOp,
    identity_like,
    require_matrices,
    require_square,
)
from gradir.dialects.array.used_columns import Runs, from_bounds, picked, put_back
from gradir.dialects.base.attributes import Attributes, Types, integers
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    is_complex_tensor,
    is_tensor,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value

# Values that differ by no more of their size are equal: no digit of the difference is right.
_EPSILONS = 4


def along(x: Value, like: Value, axis: int) -> Value:
    """Vectors as matrices like others, of equal rows (axis -2) or of equal columns (axis -1)."""
    shape = [*x.shape, 1] if axis == -1 else [*x.shape[:-1], 1, x.shape[-1]]
    return BroadcastToOp.on(reshaped(x, shape), type=like.type)


def symmetric(x: Value) -> Value:
    """The Hermitian part of matrices, of real ones the symmetric part."""
    return (x + adjoint(x)) * 0.5


def inner(x: Value, y: Value) -> Value:
    """The inner products of columns, x conjugated."""
    return SumOp.on(conjugated(x) * y, axis=[-2])


def scaled(x: Value, numbers: Value) -> Value:
    """Columns times a number each."""
    return x * along(numbers, x, -2)


class _ColumnsOp(MatrixOp):
    """Systems of one column each: of all vectors, or of the vectors in the runs of `columns`."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("columns",)

    @property
    def runs(self) -> Runs | None:
        return from_bounds(integers(self.attributes, "columns", None))

    def places(self, count: int) -> list[int]:
        """The numbers of the columns, of `count` vectors."""
        runs = [(0, count)] if self.runs is None else self.runs
        return [k for start, stop in runs for k in range(start, stop)]


def _count(attributes: Attributes, whole: int) -> int:
    """How many columns are asked for."""
    bounds = integers(attributes, "columns", None)
    if bounds is None:
        return whole
    most = max([*bounds, 0]) if whole == DYNAMIC else whole
    if len(bounds) % 2 or bounds != sorted(bounds) or not all(0 <= k <= most for k in bounds):
        raise VerifyException(
            f"columns must list where runs start and stop, ascending, up to {whole}, got {bounds}"
        )
    return sum(bounds[1::2]) - sum(bounds[::2])


def _require(operands: Types, shapes: Sequence[Sequence[int]], names: str) -> None:
    """Each operand has a shape behind the leading extents, and the elements of the first; lines of
    numbers are real."""
    batch, element = shape_of(operands[0])[:-2], element_of(operands[0])
    for name, type_, shape in zip(names.split(), operands, shapes, strict=True):
        wanted = tensor([*batch, *shape], element if len(shape) == 2 else real_element(element))
        is_like = is_tensor(type_) and element_of(type_) == element_of(wanted)
        if not is_like or not compatible(shape_of(type_), shape_of(wanted)):
            raise VerifyException(f"{name} must be {wanted}, got {type_}")


def _gaps(values: Value, own: Value, runs: Runs | None, square: bool) -> Value:
    """1 / (w_i - w_k) or, with `square`, of the squares, for columns i and rows k.

    0 where i is k, nan where both values are equal but for rounding.
    """
    zero = own.full(0.0)
    column, row = along(picked(values, runs), own, -2), along(values, own, -1)
    apart = column - row
    epsilon = _EPSILONS * (2.0**-23 if values.element == f32 else 2.0**-52)
    limit = MaximumOp.on(AbsOp.on(column), AbsOp.on(row)) * epsilon
    divisor = apart * (column + row) if square else apart
    made = (AbsOp.on(apart) > limit).choose(1.0 / divisor, own.full(nan))
    return own.equal(zero).choose(made, zero)


@irdl_op_definition
class EigenSolveOp(_ColumnsOp):
    """Columns y_i with (w_i - s) y_i = x_i - v_i v_i^H x_i, orthogonal to v_i.

    s is the Hermitian part of a, and w, v = array.eigh(a) are its eigenvalues and eigenvectors: a
    derivative of v_i. i counts the columns of v, all or in the runs of `columns` (start, stop,
    start, ...). y_i is nan where w_i is an eigenvalue twice: where two differ by no more than 4
    epsilons of the larger.
    vjp: z, the solution for ct, to x; to a the symmetric part of z y^T; to w_i -z_i^T y_i; to v_i
    -z_i v_i^T x_i - y_i v_i^T ct_i; of complex matrices from and to conjugates
    """

    name = "grad.eigen_solve"
    COMPLEX: ClassVar[bool] = True

    a = operand_def()
    x = operand_def()
    w = operand_def()
    v = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        _, size = require_square(operands[0], or_complex=True)
        square = (size, size)
        count = _count(attributes, size)
        _require(operands, [square, (size, count), (size,), square], "a x w v")
        return [operands[1]]

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        (a, x, w, v), runs, g = operands, self.runs, conjugated(ct)
        z = EigenSolveOp.on(a, g, w, v, columns=self.attributes.get("columns"))
        own = picked(v, runs)
        value = -real_part(inner(z, y))
        vector = -scaled(z, inner(x, own)) - scaled(y, inner(g, own))
        size = a.shape[-1]
        return [
            conjugated(symmetric(MatmulOp.on(z, adjoint(y)))),
            conjugated(z),
            put_back(value, runs, size),
            put_back(conjugated(vector), runs, size),
        ]

    def decompose(self, a: Value, x: Value, w: Value, v: Value) -> Value:
        own = picked(real_part(identity_like(v)), self.runs)
        gaps = _gaps(w, own, self.runs, square=False)
        return MatmulOp.on(v, times_real(MatmulOp.on(adjoint(v), x), gaps))

    def numpy(self, a: Any, x: Any, w: Any, v: Any) -> Any:
        gaps = _gaps_of(w, self.places(a.shape[-1]))
        return v @ (gaps * (np.conj(np.swapaxes(v, -1, -2)) @ x))


def _gaps_of(w: Any, places: list[int], square: bool = False) -> Any:
    """`_gaps` of NumPy arrays."""
    column, row = w[..., None, places], w[..., :, None]
    apart = column - row
    limit = np.maximum(abs(column), abs(row)) * (_EPSILONS * np.finfo(w.dtype).eps)
    divisor = apart * (column + row) if square else apart
    made = np.where(abs(apart) > limit, 1 / np.where(divisor == 0, 1, divisor), np.nan)
    own = np.arange(w.shape[-1])[:, None] == np.array(places, np.int64)
    return np.where(own, 0, made).astype(w.dtype)


@irdl_op_definition
class SingularSolveOp(_ColumnsOp):
    """Columns (y_i, z_i) with s_i y_i - a z_i = p_i and s_i z_i - a^H y_i = q_i.

    y_i is orthogonal to u_i and z_i to v_i, where u, s, v^H = array.svd(a); p_i and q_i are x1_i
    and x2_i without their parts along u_i and v_i: derivatives of u_i and v_i. i counts the
    singular values, all or in the runs of `columns` (start, stop, start, ...). Both are nan where
    s_i is a singular value twice: where two differ by no more than 4 epsilons of the larger.
    vjp: r, t, the solution for ct_y and ct_z, to x1 and x2; to a r z^T + y t^T; to s_i
    -r_i^T y_i - t_i^T z_i; to u_i -r_i u_i^T x1_i - y_i u_i^T ct_y_i, and likewise to v_i; of
    complex matrices from and to conjugates
    """

    name = "grad.singular_solve"
    COMPLEX: ClassVar[bool] = True

    a = operand_def()
    x1 = operand_def()
    x2 = operand_def()
    u = operand_def()
    s = operand_def()
    vh = operand_def()
    y = result_def()
    z = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        _, m, n, least = require_matrices(operands[0], or_complex=True)
        count = _count(attributes, least)
        shapes = [(m, n), (m, count), (n, count), (m, least), (least,), (least, n)]
        _require(operands, shapes, "a x1 x2 u s vh")
        return operands[1:3]

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        from gradir.dialects.grad.grad import zero

        (a, x1, x2, u, s, vh), (y, z), runs = operands, results, self.runs
        given = [ct if isinstance(ct, Value) else zero(x.type, a.emitter)
                 for ct, x in zip(cts, (y, z), strict=True)]  # fmt: skip
        given = [conjugated(ct) for ct in given]
        columns = self.attributes.get("columns")
        r, t = SingularSolveOp.all_on(a, *given, u, s, vh, columns=columns)
        left, right = picked(u, runs), adjoint(picked(vh, runs, -2))
        to_u = -scaled(r, inner(x1, left)) - scaled(y, inner(given[0], left))
        to_v = -scaled(t, inner(x2, right)) - scaled(z, inner(given[1], right))
        least, to_s = s.shape[-1], -real_part(inner(r, y)) - real_part(inner(t, z))
        return [
            conjugated(MatmulOp.on(r, adjoint(z)) + MatmulOp.on(y, adjoint(t))),
            conjugated(r),
            conjugated(t),
            put_back(conjugated(to_u), runs, least),
            put_back(to_s, runs, least),
            put_back(transposed(to_v), runs, least, -2),
        ]

    def decompose(self, *operands: Value) -> Sequence[Value]:
        a, x1, x2, u, s, vh = operands
        runs, (m, n), least = self.runs, a.shape[-2:], s.shape[-1]
        square = BroadcastToOp.on(
            reshaped(s, [*s.shape, 1]), type=tensor([*s.shape, least], s.element)
        )
        own = picked(identity_like(square), runs)
        gaps = _gaps(s, own, runs, square=True)
        near, far = gaps * along(picked(s, runs), own, -2), gaps * along(s, own, -1)
        v = adjoint(vh)
        p, q = MatmulOp.on(adjoint(u), x1), MatmulOp.on(vh, x2)
        y = MatmulOp.on(u, times_real(p, near) + times_real(q, far))
        z = MatmulOp.on(v, times_real(p, far) + times_real(q, near))
        if m != least:
            y = y + _over(x1 - MatmulOp.on(u, p), picked(s, runs))
        if n != least:
            z = z + _over(x2 - MatmulOp.on(v, q), picked(s, runs))
        return [y, z]

    def numpy(self, *arrays: Any) -> Any:
        a, x1, x2, u, s, vh = arrays
        places = self.places(s.shape[-1])
        gaps = _gaps_of(s, places, square=True)
        near, far = s[..., None, places], s[..., :, None]
        v = np.conj(np.swapaxes(vh, -1, -2))
        p, q = np.conj(np.swapaxes(u, -1, -2)) @ x1, vh @ x2
        y, z = u @ (gaps * (near * p + far * q)), v @ (gaps * (far * p + near * q))
        if a.shape[-2] != s.shape[-1]:
            y = y + (x1 - u @ p) / near
        if a.shape[-1] != s.shape[-1]:
            z = z + (x2 - v @ q) / near
        return y, z


def _over(x: Value, numbers: Value) -> Value:
    """Columns over a real number each."""
    return _over_real(x, along(numbers, real_part(x), -2))


def _over_real(x: Value, numbers: Value) -> Value:
    """x over real numbers of its shape."""
    return times_real(x, 1.0 / numbers) if is_complex_tensor(x.type) else x / numbers


@irdl_op_definition
class LyapunovOp(MatrixOp):
    """y with h y + y h = q, for Hermitian h = v diag(w) v^H with w_i + w_j > 0.

    v and w have no part in its derivative. A sum of 0 gives inf or nan.
    vjp: z, the solution for ct, to q; to h the symmetric part of -z y^T - y^T z; of complex
    matrices with adjoints, from and to conjugates
    """

    name = "grad.lyapunov"
    COMPLEX: ClassVar[bool] = True

    h = operand_def()
    q = operand_def()
    w = operand_def()
    v = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        _, size = require_square(operands[0], or_complex=True)
        _require(operands, [*[(size, size)] * 2, (size,), (size, size)], "h q w v")
        return [operands[1]]

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        h, _, w, v = operands
        z, back = LyapunovOp.on(h, conjugated(ct), w, v), adjoint(y)
        to_h = -symmetric(MatmulOp.on(z, back) + MatmulOp.on(back, z))
        return [conjugated(to_h), conjugated(z), None, None]

    def decompose(self, h: Value, q: Value, w: Value, v: Value) -> Value:
        back = adjoint(v)
        inner = MatmulOp.on(MatmulOp.on(back, q), v)
        like = real_part(v)
        made = _over_real(inner, along(w, like, -2) + along(w, like, -1))
        return MatmulOp.on(MatmulOp.on(v, made), back)

    def numpy(self, h: Any, q: Any, w: Any, v: Any) -> Any:
        back = np.conj(np.swapaxes(v, -1, -2))
        return v @ (back @ q @ v / (w[..., None, :] + w[..., :, None])) @ back


GRAD_OPS: tuple[type[TensorOp], ...] = (EigenSolveOp, SingularSolveOp, LyapunovOp)
