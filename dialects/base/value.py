"""Values with operators: the notation of vjp rules, decompositions and bodies.

A `Value` is an SSA value and the emitter that appends ops for it: `ct * (1 - y * y)` on tensors
appends array ops, on scalars arith ops. Numbers take the type of the other operand.

The modules of the ops register the ops of the operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.shapes import is_static, shape_of, tensor
from gradir.dialects.base.slice_type import SlicesType

OpT = TypeVar("OpT", bound=Operation)

SOURCE_ATTRIBUTE = "gradir.source"
"""On an op made from another one: the name of that op, for errors at run time."""


class Emitter:
    """Adds ops at the end of a block, or before one of its ops, and gives them a location.

    `source` is the name of the op that they replace.
    """

    def __init__(
        self,
        block: Block,
        location: LocationAttr | None = None,
        before: Operation | None = None,
        source: str | None = None,
    ):
        self.block = block
        self.location: LocationAttr = location or UnknownLoc()
        self.before = before
        self.source = source

    def insert(self, op: OpT) -> OpT:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        if self.source is not None and getattr(op, "CHECKS_INDICES", False):
            op.attributes[SOURCE_ATTRIBUTE] = StringAttr(self.source)
        if self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)
        return op

    def value(self, ssa: SSAValue) -> Value:
        """`ssa` with operators that emit here."""
        kind = Value if isinstance(ssa.type, TensorType | SlicesType) else Scalar
        return kind(ssa, self)


class Value:
    """A tensor-typed SSA value, and the emitter of ops on it."""

    __slots__ = ("emitter", "ssa")

    # The emitters of ops, by name. The modules of the ops register them as `gradir.dialects` loads.
    OPERATORS: ClassVar[dict[str, Callable[..., Value]]] = {}

    def __init__(self, ssa: SSAValue, emitter: Emitter):
        self.ssa = ssa
        self.emitter = emitter

    @property
    def type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.ssa.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.type)

    @property
    def element(self) -> Attribute:
        return self.type.element_type

    def full(self, number: complex) -> Self:
        """A constant of this value's type."""
        return cast("Self", self.operator("full")(self, number, self.type))

    @classmethod
    def operator(cls, name: str) -> Callable[..., Value]:
        """The emitter of the op `name`; `full` takes (near, number, type)."""
        assert name in cls.OPERATORS, f"{name}: no module has registered it for {cls.__name__}"
        return cls.OPERATORS[name]

    def apply(self, name: str, *others: Value | float) -> Self:
        """The op `name` on this value and others of its type."""
        operands = [o if isinstance(o, Value) else self.full(o) for o in others]
        return cast("Self", self.operator(name)(self, *operands))

    def __add__(self, other: Value | float) -> Self:
        return self.apply("add", other)

    def __sub__(self, other: Value | float) -> Self:
        return self.apply("subtract", other)

    def __mul__(self, other: Value | float) -> Self:
        return self.apply("multiply", other)

    def __truediv__(self, other: Value | float) -> Self:
        return self.apply("divide", other)

    def __radd__(self, other: float) -> Self:
        return self.lift(other) + self

    def __rsub__(self, other: float) -> Self:
        return self.lift(other) - self

    def __rmul__(self, other: float) -> Self:
        return self.lift(other) * self

    def __rtruediv__(self, other: float) -> Self:
        return self.lift(other) / self

    def lift(self, other: float) -> Self:
        return self.full(other)

    def __neg__(self) -> Self:
        return self.apply("negative")

    def __lt__(self, other: Value | float) -> Self:
        return self.apply("less", other)

    def __le__(self, other: Value | float) -> Self:
        return self.apply("less_equal", other)

    def __gt__(self, other: Value | float) -> Self:
        return self.apply("greater", other)

    def __ge__(self, other: Value | float) -> Self:
        return self.apply("greater_equal", other)

    def equal(self, other: Value | float) -> Self:
        return self.apply("equal", other)

    def not_equal(self, other: Value | float) -> Self:
        return self.apply("not_equal", other)

    def choose(self, x: Value, y: Value) -> Value:
        """x where this bool is true, else y."""
        return self.operator("where")(self, x, y)

    def named(self, hint: str | None) -> Value:
        """This value, its SSA name set to `hint` where it has none."""
        if hint and self.ssa.name_hint is None:
            self.ssa.name_hint = hint
        return self


class Scalar(Value):
    """A scalar of a nest's body; operators emit arith ops, comparisons are ordered."""

    __slots__ = ()

    OPERATORS: ClassVar[dict[str, Callable[..., Value]]] = {}

    def emit(self, op: Operation) -> Self:
        return type(self)(self.emitter.insert(op).results[0], self.emitter)

    def constant(self, value: Attribute) -> Self:
        """A constant from an attribute with a type."""
        return self.emit(ConstantOp(cast("FloatAttr | IntegerAttr", value)))

    def of_type(self, element: Attribute) -> Attribute:
        """The type of this value with another element type."""
        return element

    @property
    def type(self) -> Any:
        return self.ssa.type

    @property
    def element(self) -> Attribute:
        return self.ssa.type


class Unsigned(Scalar):
    """An integer that is read as unsigned; arith's types do not say so, its ops do."""

    __slots__ = ()


class Elements(Scalar):
    """A tensor as a scalar: operators emit elementwise arith ops on tensors."""

    __slots__ = ()

    def constant(self, value: Attribute) -> Self:
        number = cast("FloatAttr | IntegerAttr", value)
        type_ = self.of_type(number.type)
        if is_static(type_):
            dense = DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [number.value.data])
            return self.emit(ConstantOp(dense))
        full = Value.operator("full")(self, number.value.data, type_)
        return type(self)(full.ssa, self.emitter)

    def of_type(self, element: Attribute) -> Attribute:
        return tensor(shape_of(self.ssa.type), element)

    @property
    def type(self) -> Any:
        """The type of an element."""
        return self.element

    @property
    def element(self) -> Attribute:
        return cast("TensorType[Attribute]", self.ssa.type).element_type
