"""The ops of differentiation that most programs have: markers, sums of cotangents, zeros.

Markers stand on tensors and on scalars. Sums and zeros of scalars are arith ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import CreationOp, FullOp, numpy_dtype
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.indexing import (
    IndexingOp,
    TakeAlongAxisOp,
    check_not_empty,
    wrapped,
)
from gradir.dialects.array.supports import scattered_support
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.op_rules import added_to, written_tensor
from gradir.dialects.base.shapes import (
    agree_but_for,
    compatible,
    element_of,
    is_tensor,
    shape_of,
)
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.support import NOWHERE, Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building import points, slopes
from gradir.dialects.building.gate import GateOp
from gradir.dialects.building.kinds import (
    ElementwiseOp,
    IdentityOp,
    SameValueOp,
    require_elements,
    require_equal_types,
)
from gradir.dialects.building.nests import Read, add_at, body_on_elements, elementwise
from gradir.dialects.grad.slices import sum_type
from gradir.dialects.grad.tape import TapeType, cotangent_type, new_tape
from gradir.dialects.loopnest import loopnest


@irdl_op_definition
class NoGradOp(IdentityOp):
    """x, through which no cotangent flows."""

    name = "grad.no_grad"
    INACTIVE: ClassVar[bool] = True

    def decompose(self, x: Value) -> Value:
        return x


@irdl_op_definition
class NameOp(IdentityOp):
    """x under a name for `wrt`, `of` and policies.   vjp: ct"""

    name = "grad.name"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("name",)

    def verify_types(self) -> None:
        _ = self.label

    @property
    def label(self) -> str:
        return text(self.attributes, "name")


@irdl_op_definition
class NegateGradientOp(IdentityOp):
    """x; its cotangent is negated.   vjp: -ct"""

    name = "grad.negate_gradient"

    def vjp(self, ct: Value, *args: Value) -> Cotangents:
        return [-ct]


@irdl_op_definition
class AddSlopeOp(ElementwiseOp):
    """y, whose derivative by x is larger by `slope`: y + slope * (x - x0), where x0 is x.

    For functions whose formula lacks a part of their derivative at some points. The slope, a
    function of x itself, has the next derivative.
    vjp: ct, ct * slope, none
    """

    name = "grad.add_slope"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True

    y = operand_def()
    x = operand_def()
    slope = operand_def()
    result = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        require_elements(operands[0], "float", cls.COMPLEX)
        return [operands[0]]

    def vjp(self, ct: Value, result: Value, y: Value, x: Value, slope: Value) -> Cotangents:
        return [ct, ct * slope, None]

    def decompose(self, y: Value, x: Value, slope: Value) -> Value:
        return y

    def numpy(self, *arrays: Any) -> Any:
        return arrays[0]


@irdl_op_definition
class StartCheckpointOp(IdentityOp):
    """x, the start of a recomputed stage.   vjp: ct"""

    name = "grad.start_checkpoint"


@irdl_op_definition
class EndCheckpointOp(IdentityOp):
    """x, the end of a recomputed stage.   vjp: ct"""

    name = "grad.end_checkpoint"


@irdl_op_definition
class BarrierOp(SameValueOp):
    """x; ops on the result are never merged with equal ops on x.

    It declares an effect, so that no pass merges, moves or drops it; gradir's own dead code
    elimination drops a dead one. It becomes a loopnest.barrier, which fusion respects, and costs
    nothing at run time. vjp: ct
    """

    name = "grad.barrier"

    def simplify(self, x: Value) -> Value | None:
        """Moved to the operand of a view, which fusion reads through; dropped on constants."""
        owner = x.ssa.owner
        if not isinstance(owner, TensorOp):
            return None
        if not owner.operands and owner.has_trait(Pure):
            return x
        if not owner.IS_VIEW:
            return None
        moved = owner.clone(
            {owner.operands[0]: BarrierOp.on(Value(owner.operands[0], x.emitter)).ssa}
        )
        return Value(x.emitter.insert(moved).results[0], x.emitter)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [emitter.insert(loopnest.BarrierOp(operands[0], operands[0].type)).result]


@irdl_op_definition
class ZeroOp(CreationOp):
    """All zeros: the cotangent of a value without contributions."""

    name = "grad.zero"
    COMPLEX: ClassVar[bool] = True

    def support(self, of: Supports) -> Mask | None:
        return NOWHERE

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return FullOp.fill(0, self.y.type).lower(emitter, operands)

    def numpy(self, *arrays: Any) -> Any:
        return np.zeros(shape_of(self.y.type))


@irdl_op_definition
class AccumulateOp(ElementwiseOp):
    """The sum of all operands from left to right: the contributions to one cotangent.

    Operands stand in reverse program order of their users. Each addition is rounded, so that a
    stage or a loop may sum the first ones with the same bits. The gradient pass, which makes these
    sums, leaves out symbolic zeros; a written zero is added like any number. Row slices before the
    first tensor are concatenated, then added to it row by row; so are later ones. vjp: ct for each
    """

    name = "grad.accumulate"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True

    xs = var_operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if not operands:
            raise VerifyException("at least one operand expected, got none")
        if any(map(is_slices, operands)):
            return [sum_type(operands)]
        require_equal_types(operands)
        require_elements(operands[0], "number", cls.COMPLEX)
        return operands[:1]

    def verify_(self) -> None:
        if not any(is_slices(value.type) for value in (*self.operands, *self.results)):
            super().verify_()
            return
        try:
            [expected] = self.infer_types([o.type for o in self.operands], self.attributes)
        except VerifyException as error:
            raise VerifyException(f"{self.name}: {error}") from None
        if self.y.type != expected:
            raise VerifyException(f"{self.name}: result type must be {expected}, got {self.y.type}")

    def vjp(self, ct: Value, y: Value, *xs: Value) -> Cotangents:
        return [ct] * len(xs)

    def zero_operands(self) -> Sequence[SSAValue]:
        return self.operands

    def body(self, *xs: Scalar) -> Scalar:
        return reduce(b.add, xs)

    def body_on_stored(self, *xs: Scalar) -> Scalar:
        add = body_on_elements(self.body, [element_of(self.y.type)] * 2, element_of(self.y.type))
        return reduce(add, xs) if len(xs) > 1 else super().body_on_stored(*xs)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        # one by one, so that no contribution waits in memory for all others
        total, *others = operands
        if not others:
            return elementwise(emitter, self.y.type, [total], self.body)
        for x in others:
            [total] = elementwise(emitter, self.y.type, [total, x], self.body)
        return [total]

    def numpy(self, *xs: Any) -> Any:
        dtype = numpy_dtype(element_of(self.y.type))
        return reduce(lambda x, y: (x + y).astype(dtype).astype(x.dtype), xs)

    def simplify(self, *xs: Value) -> Value | None:
        # 0 + 0 is 0, but -0 + 0 is not -0: next to anything else a zero stays
        return xs[0] if len(xs) == 1 or all(is_zero(x.ssa) for x in xs) else None


@irdl_op_definition
class TakeAlongAxisBackwardOp(IndexingOp):
    """Zeros of the result's type with ct added at the indices along `axis`.

    The transpose of array.take_along_axis. vjp: take_along_axis(ct', indices)
    """

    name = "grad.take_along_axis_backward"
    COMPLEX: ClassVar[bool] = True
    ADDED: ClassVar[int | None] = 0

    ct = operand_def()
    indices = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        ct, indices, y = self.ct.type, self.indices.type, self.y.type
        require_elements(indices, "integer")
        if not compatible(shape_of(ct), shape_of(indices)):
            raise VerifyException(f"indices must have the shape of {ct}, got {indices}")
        axis, shape = self.axis, shape_of(y)
        if element_of(y) != element_of(ct) or not agree_but_for(axis, shape, shape_of(ct)):
            raise VerifyException(f"the result must be like {ct} but for axis {axis}, got {y}")
        check_not_empty(shape[axis], indices)

    def vjp(self, ct: Value, y: Value, inner: Value, indices: Value) -> Cotangents:
        return [TakeAlongAxisOp.on(ct, indices, axis=self.axis), None]

    def support(self, of: Supports) -> Mask | None:
        return scattered_support(self, self.ct, of)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        ct, indices = operands
        axis, shape = self.axis, shape_of(ct.type)
        rank, bound = len(shape), shape_of(self.y.type)[axis]
        rows = [dim_row(rank, d) for d in range(rank)]
        rows[axis] = Row((0,) * rank, 0, symbol=0)
        [zeros] = FullOp.fill(0, self.y.type).lower(emitter, [])

        def add(update: Scalar, at: Scalar) -> Sequence[Scalar]:
            return [update, self.checked(at, bound)]

        reads = [Read(ct, Access.identity(rank)), Read(indices, Access.identity(rank))]
        return add_at(emitter, zeros, Access(rank, tuple(rows)), shape, reads, add)

    def numpy(self, ct: Any, indices: Any) -> Any:
        result = np.zeros(shape_of(self.y.type), ct.dtype)
        places: list[Any] = list(cast(Any, np.indices(indices.shape)))
        places[self.axis] = wrapped(indices, result.shape[self.axis])
        np.add.at(result, tuple(places), ct)
        return result


# Builders of the gradient pass.


def ones(type_: Attribute, emitter: Emitter) -> Value:
    """The seed of a target without a cotangent argument."""
    if not is_tensor(type_):
        return _number(1.0, type_, emitter)
    return emitter.value(emitter.insert(FullOp.fill(1, type_)).y)


def zero(type_: Attribute, emitter: Emitter) -> Value:
    """The cotangent of a value of a type without contributions; of a tape, one without records."""
    if isinstance(type_, TapeType):
        return emitter.value(new_tape(cotangent_type(type_), emitter))
    type_ = cotangent_type(type_)
    if not is_tensor(type_):
        return _number(0.0, type_, emitter)
    return emitter.value(emitter.insert(ZeroOp.create(result_types=[type_])).y)


def _number(value: float, type_: Attribute, emitter: Emitter) -> Value:
    """A constant of a floating scalar type."""
    number = FloatAttr(value, cast(AnyFloat, type_))
    return emitter.value(emitter.insert(ConstantOp(number)).result)


def accumulated(contributions: Sequence[Value]) -> Value:
    """The cotangent of a value, from its contributions in reverse program order.

    Symbolic zeros (`zero`) are left out. Scalars are added by arith.addf. Ops that write into zeros
    write into the sum of the contributions before them, so that a read of one element in a loop
    does not cost a tensor. The order is fixed: a region may hand on the sum of the first
    contributions.
    """
    kept = [c for c in contributions if not is_zero(c.ssa)] or list(contributions[:1])
    if isinstance(kept[0], Scalar):
        return reduce(b.add, cast(list[Scalar], kept))
    full = kept[:1]
    for part in kept[1:]:
        if _is_written_to_zeros(part) and not all(is_slices(c.ssa.type) for c in full):
            full = [added_to(cast(Operation, part.ssa.owner), _sum(full))]
        else:
            full.append(part)
    return _sum(full)


def _sum(contributions: Sequence[Value]) -> Value:
    return contributions[0] if len(contributions) == 1 else AccumulateOp.on(*contributions)


def _is_written_to_zeros(value: Value) -> bool:
    owner = value.ssa.owner
    written = written_tensor(owner) if isinstance(owner, Operation) else None
    if written is None:
        return False
    return isinstance(written.owner, ZeroOp) or splat_of(written) == 0


def is_zero(value: SSAValue) -> bool:
    """Whether a value is a result of `zero`; for a number, the constant 0 (not -0)."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, FloatAttr):
        return str(owner.value.value.data) == "0.0"
    return isinstance(owner, ZeroOp)


OPS: tuple[type[TensorOp], ...] = (
    NoGradOp,
    NameOp,
    NegateGradientOp,
    AddSlopeOp,
    GateOp,
    *slopes.OPS,
    *points.OPS,
    StartCheckpointOp,
    EndCheckpointOp,
    BarrierOp,
    ZeroOp,
    AccumulateOp,
    TakeAlongAxisBackwardOp,
)
