"""StableHLO tensors as values with operators, and the ops without regions that make them.

An `Hlo` is an SSA value and the emitter of ops on it; all of them are tensors, numbers have rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import as_integer_type, is_float, is_tensor, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.stablehlo.dialect import HLO_OPS, ComparisonTypeAttr, DirectionAttr, GatherAttr


class HloEmitter(Emitter):
    """Appends ops to a block; equal constants of a block are made once."""

    def __init__(self, block: Block, location: LocationAttr | None = None):
        super().__init__(block, location)
        self.constants: dict[tuple[str, Attribute], SSAValue] = {}

    def hlo(self, ssa: SSAValue) -> Hlo:
        """A value with operators that emit here."""
        return Hlo(ssa, self)

    def values(self, ssa: Sequence[SSAValue]) -> list[Hlo]:
        return [self.hlo(value) for value in ssa]

    def emit(
        self,
        name: str,
        operands: Sequence[Value | SSAValue],
        types: Sequence[Attribute],
        regions: Sequence[Region] = (),
        **properties: Attribute | None,
    ) -> list[Hlo]:
        """Append stablehlo.`name`; returns its results."""
        op: Operation = HLO_OPS[name].create(
            operands=[o.ssa if isinstance(o, Value) else o for o in operands],
            result_types=list(types),
            properties={k: v for k, v in properties.items() if v is not None},
            regions=list(regions),
        )
        return self.values(self.insert(op).results)


class Hlo(Value):
    """A StableHLO tensor; its operators emit ops where it was made."""

    __slots__ = ()

    OPERATORS: ClassVar[dict[str, Callable[..., Value]]] = {}

    @property
    def at(self) -> HloEmitter:
        """The emitter of ops on this value."""
        return cast(HloEmitter, self.emitter)

    def emit(
        self, name: str, *others: Hlo, type: Attribute | None = None, **properties: Attribute | None
    ) -> Hlo:
        """The result of stablehlo.`name` on this value and others, of this value's type or
        `type`."""
        return self.at.emit(name, [self, *others], [type or self.type], (), **properties)[0]


# Types.


def hlo_type(type_: Attribute) -> TensorType[Attribute]:
    """The StableHLO type of a tensor or number; an index is i64."""
    if is_tensor(type_):
        return tensor(shape_of(type_), hlo_element(type_.element_type))
    return tensor([], hlo_element(type_))


def hlo_element(element: Attribute) -> Attribute:
    """The StableHLO element of an element: i64 for an index."""
    return i64 if isinstance(element, IndexType) else element


def signless(element: Attribute) -> Attribute:
    """The integer type of the same width that is signed in StableHLO; others stay."""
    integer = as_integer_type(element)
    return element if integer is None else IntegerType(integer.width.data)


def unsigned(element: Attribute) -> Attribute:
    """The unsigned integer type of the same width; i1 stays."""
    integer = as_integer_type(element)
    if integer is None or element == i1:
        return element
    return IntegerType(integer.width.data, Signedness.UNSIGNED)


def numbers(values: Sequence[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


def number(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


def matrix(rows: Sequence[Sequence[int]]) -> DenseIntOrFPElementsAttr:
    """Rows of numbers as `dense<...> : tensor<NxMxi64>`."""
    width = len(rows[0]) if rows else 0
    type_ = TensorType(i64, [len(rows), width])
    return DenseIntOrFPElementsAttr.from_list(type_, [n for row in rows for n in row])


# Constants.


def constant(emitter: HloEmitter, value: DenseIntOrFPElementsAttr) -> Hlo:
    """A constant tensor."""
    return emitter.emit("constant", [], [value.get_type()], value=value)[0]


def number_of(emitter: HloEmitter, value: float, element: Attribute) -> Hlo:
    """A number as a tensor of rank 0."""
    type_ = tensor([], element)
    key = repr(float(value)) if is_float(element) else repr(int(value)), type_
    known = emitter.constants.get(key)
    if known is None:
        exact = rounded(value, element) if is_float(element) else _wrapped(int(value), element)
        dense = DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [exact])
        known = emitter.constants[key] = constant(emitter, dense).ssa
    return emitter.hlo(known)


def _wrapped(value: int, element: Attribute) -> int:
    """An integer modulo the range of a type, as the type prints it."""
    integer = as_integer_type(element)
    assert integer is not None
    bits = integer.width.data
    value %= 1 << bits
    is_signed = integer.signedness.data != Signedness.UNSIGNED and bits > 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


def full(emitter: HloEmitter, value: float, type_: TensorType[Attribute]) -> Hlo:
    """A tensor of one repeated number."""
    one = number_of(emitter, value, type_.element_type)
    return one if not shape_of(type_) else broadcast(one, shape_of(type_), [])


def iota(emitter: HloEmitter, shape: Sequence[int], axis: int, element: Attribute = i64) -> Hlo:
    """The index along an axis, at each place."""
    type_ = tensor(shape, element)
    return emitter.emit("iota", [], [type_], iota_dimension=number(axis))[0]


# Elements.


def convert(x: Hlo, element: Attribute) -> Hlo:
    """x in another element type, by stablehlo.convert."""
    return x if x.element == element else x.emit("convert", type=tensor(x.shape, element))


def bitcast(x: Hlo, element: Attribute) -> Hlo:
    """The bits of x as an element type of the same width."""
    if x.element == element:
        return x
    return x.emit("bitcast_convert", type=tensor(x.shape, element))


def compare(x: Hlo, direction: str, y: Hlo, kind: str | None = None) -> Hlo:
    """x < y and the like as i1; `kind` is the comparison's type, by default the elements'."""
    signs = "UNSIGNED" if x.element != signless(x.element) or x.element == i1 else "SIGNED"
    of = kind or ("FLOAT" if is_float(x.element) else signs)
    return x.emit(
        "compare",
        y,
        type=tensor(x.shape, i1),
        comparison_direction=DirectionAttr.of(direction),
        compare_type=ComparisonTypeAttr.of(of),
    )


def select(condition: Hlo, x: Hlo, y: Hlo) -> Hlo:
    """x where the condition is true, else y; the condition may be one number for all elements."""
    return condition.emit("select", x, y, type=x.type)


def _binary(name: str) -> Callable[..., Hlo]:
    return lambda x, y: x.emit(name, y)


def _unary(name: str) -> Callable[..., Hlo]:
    return lambda x: x.emit(name)


def _comparison(direction: str) -> Callable[..., Hlo]:
    return lambda x, y: compare(x, direction, y)


def _full_like(near: Hlo, value: float, type_: TensorType[Attribute]) -> Hlo:
    return full(near.at, value, type_)


Hlo.OPERATORS.update(
    full=_full_like,
    add=_binary("add"),
    subtract=_binary("subtract"),
    multiply=_binary("multiply"),
    divide=_binary("divide"),
    negative=_unary("negate"),
    maximum=_binary("maximum"),
    minimum=_binary("minimum"),
    less=_comparison("LT"),
    less_equal=_comparison("LE"),
    greater=_comparison("GT"),
    greater_equal=_comparison("GE"),
    equal=_comparison("EQ"),
    not_equal=_comparison("NE"),
    where=select,
)


# Movement.


def reshape(x: Hlo, shape: Sequence[int]) -> Hlo:
    """x under another shape; of a reshaped value that value."""
    owner = x.ssa.owner
    if isinstance(owner, HLO_OPS["reshape"]):
        x = x.at.hlo(owner.operands[0])
    return x if tuple(shape) == x.shape else x.emit("reshape", type=tensor(shape, x.element))


def transpose(x: Hlo, axes: Sequence[int]) -> Hlo:
    """x with its axis axes[d] as axis d."""
    if list(axes) == sorted(axes):
        return x
    type_ = tensor([x.shape[a] for a in axes], x.element)
    return x.emit("transpose", type=type_, permutation=numbers(axes))


def broadcast(x: Hlo, shape: Sequence[int], axes: Sequence[int]) -> Hlo:
    """x over a shape: axis d of x is axis axes[d] of the result, the others repeat."""
    if tuple(shape) == x.shape and list(axes) == list(range(len(shape))):
        return x
    type_ = tensor(shape, x.element)
    return x.emit("broadcast_in_dim", type=type_, broadcast_dimensions=numbers(axes))


def cut(x: Hlo, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Hlo:
    """x[start:stop:step], one entry per axis."""
    rows = list(zip(start, stop, step, strict=True))
    if all(row == (0, n, 1) for row, n in zip(rows, x.shape, strict=True)):
        return x
    type_ = tensor([len(range(*row)) for row in rows], x.element)
    indices = {
        "start_indices": numbers(start),
        "limit_indices": numbers(stop),
        "strides": numbers(step),
    }
    return x.emit("slice", type=type_, **indices)


def part(x: Hlo, axis: int, start: int, stop: int) -> Hlo:
    """x[start:stop] along an axis."""
    first = [start if d == axis else 0 for d in range(len(x.shape))]
    last = [stop if d == axis else n for d, n in enumerate(x.shape)]
    return cut(x, first, last, [1] * len(x.shape))


def pad(
    x: Hlo,
    value: Hlo,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> Hlo:
    """x with low[d] and high[d] values around it, and interior[d] between its elements; negative
    numbers cut."""
    inner = list(interior or [0] * len(low))
    if not any([*low, *high, *inner]):
        return x
    sizes = [
        lo + n + hi + max(n - 1, 0) * k
        for lo, n, hi, k in zip(low, x.shape, high, inner, strict=True)
    ]
    edges = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": inner}
    properties = {name: numbers(values) for name, values in edges.items()}
    return x.emit("pad", value, type=tensor(sizes, x.element), **properties)


def reverse(x: Hlo, axes: Sequence[int]) -> Hlo:
    return x.emit("reverse", dimensions=numbers(axes)) if axes else x


def concatenate(xs: Sequence[Hlo], axis: int) -> Hlo:
    """Tensors one after the other along an axis."""
    if len(xs) == 1:
        return xs[0]
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    type_ = tensor(shape, xs[0].element)
    return xs[0].emit("concatenate", *xs[1:], type=type_, dimension=number(axis))


def dynamic_slice(x: Hlo, starts: Sequence[Hlo], sizes: Sequence[int]) -> Hlo:
    """The part of x with these extents from run-time places on, which are clamped."""
    return x.emit(
        "dynamic_slice", *starts, type=tensor(sizes, x.element), slice_sizes=numbers(sizes)
    )


def dynamic_update_slice(x: Hlo, update: Hlo, starts: Sequence[Hlo]) -> Hlo:
    """x with the part from run-time places on replaced; places are clamped."""
    return x.emit("dynamic_update_slice", update, *starts)


def gather_elements(x: Hlo, places: Sequence[Hlo]) -> Hlo:
    """x at places, one index (i64) per axis, all of one shape; they must be in bounds.

    Of a tensor without elements there is none to give: zeros, which nothing reads.
    """
    if not places:
        return x
    rank, shape = len(places), places[0].shape
    if 0 in (*x.shape, *shape):
        return full(x.at, 0, tensor(shape, x.element))
    columns = [reshape(p, [*shape, 1]) for p in places]
    index = concatenate(columns, len(shape))
    axes = list(range(rank))
    dims = (
        f"collapsed_slice_dims = {axes}, start_index_map = {axes}, index_vector_dim = {len(shape)}"
    )
    return x.emit(
        "gather",
        index,
        type=tensor(shape, x.element),
        dimension_numbers=GatherAttr.of(dims),
        slice_sizes=numbers([1] * rank),
        indices_are_sorted=IntegerAttr(0, i1),
    )
