"""grad: functions of symmetric matrices by their eigenvalues, with derivatives at equal ones too.

Functions that are written with eigenvectors, as v diag(f(w)) v^T, become this op before they are
differentiated (`passes/gradient/spectral_functions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import nan
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.complex_parts import (
    adjoint,
    conjugated,
    real_part,
    times_real,
)
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.divided_differences import OnArrays, OnValues, differences
from gradir.dialects.array.factor_systems import along, symmetric
from gradir.dialects.array.linear_systems import spread
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.triangular import MatrixOp, require_square
from gradir.dialects.array.used_columns import put_back
from gradir.dialects.base.attributes import Attributes, Types, integer, integers
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    is_tensor,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value


@irdl_op_definition
class SpectralOp(MatrixOp):
    """v diag(f(w)) v^H for s = v diag(w) v^H, the Hermitian part of a; or its derivative.

    `others` are f and its derivatives at w, as many as there are, and then the directions, as many
    as `order`, of which the Hermitian parts are taken: the derivative of that order in these. Of
    eigenvalues outside of `run` (start, stop) f is 0.
    It is v (k * e) v^H, in which e is v^H d v for the direction d and k the divided differences
    f[w_i, w_j], and likewise for more (Daleckii & Krein, 1965; Higham, "Functions of Matrices",
    2008, theorem 3.11). Differences of equal values are derivatives, but nan where one of them is
    outside of the run: there the function is none of the matrix.
    vjp: to a the derivative in the directions and ct, to a direction that in ct in its place; of
    complex matrices from and to conjugates
    """

    name = "grad.spectral"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("order", "run")

    a = operand_def()
    w = operand_def()
    v = operand_def()
    others = var_operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        batch, size = require_square(operands[0], or_complex=True)
        order = integer(attributes, "order", 0)
        jets = len(operands) - 3 - order
        if order < 0 or jets < 1:
            raise VerifyException(
                f"expected a, w, v, f and {order} directions, got {len(operands)} operands"
            )
        run = integers(attributes, "run", [0, 0]) or []
        is_ordered = len(run) == 2 and 0 <= run[0] <= run[1]
        if not is_ordered or (size != DYNAMIC and run[1] > size):
            raise VerifyException(f"run must be a start and a stop up to {size}, got {run}")
        element, square = element_of(operands[0]), [*batch, size, size]
        line, whole = tensor([*batch, size], real_element(element)), tensor(square, element)
        wanted = [line, whole, *[line] * jets, *[whole] * order]
        for type_, ours in zip(operands[1:], wanted, strict=True):
            is_like = is_tensor(type_) and element_of(type_) == element_of(ours)
            if not is_like or not compatible(shape_of(type_), shape_of(ours)):
                raise VerifyException(f"operands must be {ours}, got {type_}")
        return [operands[0]]

    @property
    def order(self) -> int:
        return integer(self.attributes, "order", 0)

    @property
    def run(self) -> tuple[int, int]:
        size = shape_of(self.a.type)[-1]
        start, stop = integers(self.attributes, "run", [0, size]) or [0, size]
        return start, stop

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        count = len(operands) - self.order
        given, directions = operands[:count], operands[count:]
        attributes: dict[str, Any] = {"run": self.attributes.get("run")}

        def derivative(*along: Value) -> Value:
            made = SpectralOp.on(*given, *along, order=len(along), **attributes)
            return conjugated(made)

        turned = symmetric(conjugated(ct))
        in_place = [
            derivative(*directions[:k], turned, *directions[k + 1 :])
            for k in range(len(directions))
        ]
        return [derivative(*directions, turned), *[None] * (count - 1), *in_place]

    def decompose(self, *operands: Value) -> Value:
        (_, w, v), others = operands[:3], operands[3:]
        count = len(others) - self.order
        if not self.order:
            line = along(others[0], real_part(v), -2)
            return MatmulOp.on(times_real(v, line), adjoint(v))
        (start, stop), size = self.run, w.shape[-1]
        inside: Value | None = None
        if (start, stop) != (0, size):
            type_ = tensor([*w.shape[:-1], stop - start], w.element)
            one = w.emitter.value(w.emitter.insert(FullOp.fill(1.0, type_)).y)
            inside = put_back(one, [(start, stop)], size)
        kit = OnValues(w)
        table = differences(kit, w, others[:count], inside, self.order)
        turned = [_turned(e, v) for e in others[count:]]
        inner = times_real(_paths(kit, turned, self.order), table)
        axes = list(range(len(w.shape), len(w.shape) + self.order - 1))
        total = SumOp.on(inner, axis=axes) if axes else inner
        return MatmulOp.on(MatmulOp.on(v, total), adjoint(v))

    def numpy(self, *arrays: Any) -> Any:
        (_, w, v), others = arrays[:3], arrays[3:]
        count, back = len(others) - self.order, np.conj(np.swapaxes(v, -1, -2))
        if not self.order:
            return (v * others[0][..., None, :]) @ back
        start, stop = self.run
        inside = None
        if (start, stop) != (0, w.shape[-1]):
            inside = np.zeros(w.shape, w.dtype)
            inside[..., start:stop] = 1
        kit = OnArrays(w)
        with np.errstate(all="ignore"):
            table = differences(kit, w, others[:count], inside, self.order)
        turned = [back @ e @ v for e in others[count:]]
        turned = [(e + np.conj(np.swapaxes(e, -1, -2))) / 2 for e in turned]
        inner = table * _paths(kit, turned, self.order)
        first = w.ndim
        total = inner.sum(axis=tuple(range(first, first + self.order - 1)))
        return (v @ total @ back).astype(v.dtype)


def _turned(e: Value, v: Value) -> Value:
    return symmetric(MatmulOp.on(MatmulOp.on(adjoint(v), e), v))


def _paths(kit: Any, turned: Sequence[Any], order: int) -> Any:
    """e_ik f_kj + f_ik e_kj, and likewise for more: all orders of the directions."""
    total: Any = None
    for one in permutations(turned):
        made: Any = None
        for k, e in enumerate(one):
            spread = kit.along(e, [k, k + 1], order + 1)
            made = spread if made is None else made * spread
        total = made if total is None else total + made
    return total


@irdl_op_definition
class SpectralTraceOp(MatrixOp):
    """The sum of f(w) for s = v diag(w) v^H, the Hermitian part of a: the trace of grad.spectral.

    `jets` are f and its derivatives at w. Of eigenvalues outside of `run` (start, stop) f is 0.
    vjp: ct v diag(f'(w)) v^T, grad.spectral of f', its conjugate for complex matrices
    """

    name = "grad.spectral_trace"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("run",)

    a = operand_def()
    w = operand_def()
    v = operand_def()
    jets = var_operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        SpectralOp.infer_types(operands, attributes)
        return [tensor(shape_of(operands[0])[:-2], real_element(element_of(operands[0])))]

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        (a, w, v), slopes = operands[:3], operands[4:]
        if not slopes:
            slopes = (w.full(nan),)
        found = SpectralOp.on(a, w, v, *slopes, run=self.attributes.get("run"))
        return [conjugated(times_real(found, spread(ct, a))), *[None] * (len(operands) - 1)]

    def decompose(self, *operands: Value) -> Value:
        return SumOp.on(operands[3], axis=[-1])

    def numpy(self, *arrays: Any) -> Any:
        return np.sum(arrays[3], axis=-1)


GRAD_OPS: tuple[type[TensorOp], ...] = (SpectralOp, SpectralTraceOp)
