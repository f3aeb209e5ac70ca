"""grad.gate: a cotangent where a condition is true, 0 or nan elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any, ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types, flag
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_float, is_scalar, shape_of, tensor
from gradir.dialects.base.support import NOWHERE, Mask, Supports, both, either, negated
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import ElementwiseOp, require_elements, require_equal_types


@irdl_op_definition
class GateOp(ElementwiseOp):
    """x where keep (i1) is true, else rest, 0 or nan there: linear in x, as derivatives must be.

    `smooth = false`: rest is the value of a convention, which has no derivative.
    vjp: gate(ct, keep, rest), or gate(ct, keep, nan) if not smooth; none to rest
    """

    name = "grad.gate"
    COMPLEX: ClassVar[bool] = True
    TAKES_SCALARS: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("smooth",)

    x = operand_def()
    keep = operand_def()
    rest = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, keep, rest = operands
        flag(attributes, "smooth", True)
        if is_scalar(x):
            if not is_float(x) or (keep, rest) != (i1, x):
                got = f"{x}, {keep} and {rest}"
                raise VerifyException(f"operands must be a float, i1 and that float, got {got}")
            return [x]
        require_elements(x, "float", cls.COMPLEX)
        require_equal_types([x, rest])
        require_equal_types([keep, tensor(shape_of(x), i1)])
        return [x]

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        return () if is_scalar(self.x.type) else super().known_shapes()

    def vjp(self, ct: Value, y: Value, x: Value, keep: Value, rest: Value) -> Cotangents:
        if not flag(self.attributes, "smooth", True):
            return [inside(ct, keep), None, None]
        return [gated(ct, keep, rest), None, None]

    def zero_operands(self) -> Sequence[SSAValue]:
        return [self.x, self.rest]

    def selected_operand(self, of: Supports) -> int | None:
        is_nan = is_constant(self.rest) and of.of(self.rest) is not NOWHERE
        return None if is_nan else 0

    def support(self, of: Supports) -> Mask | None:
        kept, rest = both(Mask.of(self.keep), of.of(self.x)), of.of(self.rest)
        if rest is NOWHERE:
            return kept
        if of.strict or is_constant(self.rest):
            return None
        # rest is 0 or nan where keep is false; elsewhere it may be any number, as a relu's result
        other, is_replaced = self.rest, negated(Mask.of(self.keep))
        return either(kept, both(is_replaced, negated(Mask(lambda e: e.value(other).equal(0)))))

    def simplify(self, x: Value, keep: Value, rest: Value) -> Value | None:
        inner = x.ssa.owner
        if not isinstance(inner, GateOp) or inner.attributes != self.attributes:
            return None
        return x if (inner.keep, inner.rest) == (keep.ssa, rest.ssa) else None

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if not is_scalar(self.x.type):
            return super().lower(emitter, operands)
        x, keep, rest = operands
        return emitter.insert(arith.SelectOp(keep, x, rest)).results

    def body(self, x: Scalar, keep: Scalar, rest: Scalar) -> Scalar:
        return b.select(keep, x, rest)

    def numpy(self, x: Any, keep: Any, rest: Any) -> Any:
        return cast(Any, np.where(keep, x, rest))


def is_constant(value: SSAValue) -> bool:
    """Whether a value is made of no others."""
    owner = value.owner
    return isinstance(owner, Operation) and not owner.operands


def gated(ct: Value, keep: Value, rest: Value) -> Value:
    """ct where `keep` is true, else `rest`, which is 0 or nan there; on tensors or numbers."""
    op = ct.emitter.insert(GateOp.of([ct.ssa, keep.ssa, rest.ssa]))
    return ct.emitter.value(op.y)


def by_convention(x: Value, keep: Value, rest: Value) -> Value:
    """x where `keep` is true, else `rest`, where the derivative is nan in both modes.

    For a part of a rule that is no cotangent: the convention of a first derivative has no second.
    """
    op = x.emitter.insert(GateOp.of([x.ssa, keep.ssa, rest.ssa], smooth=False))
    return x.emitter.value(op.y)


def unless_nan(ct: Value, x: Value) -> Value:
    """ct, but nan where x is nan.

    No selection may follow it: forward mode runs a rule from its end to its beginning.
    """
    return gated(ct, x.equal(x), x)


def zero_or_nan(x: Value) -> Value:
    """0, but nan where x is nan: the `rest` of a gate."""
    return x.equal(x).choose(x.full(0), x)


def inside(ct: Value, holds: Value) -> Value:
    """ct where a condition is true; nan outside of a domain."""
    return gated(ct, holds, ct.full(nan))
