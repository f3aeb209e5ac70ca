"""linalg ops that multiply two operands and add: contractions as einsum, windows as convolutions.

A dimension is of a window where a subscript is the sum of two, `d2 * 2 + d5`: a place of the result
and a place in the kernel. All orders of axes are permuted to those of nn.conv: batch, groups and
channels, space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.ir.affine.affine_expr import AffineBinaryOpKind

from gradir.dialects.array.einsum import EinsumOp
from gradir.dialects.array.movement import reshaped
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Value
from gradir.dialects.foreign.linalg.bodies import on_tensors
from gradir.dialects.foreign.linalg.structured import (
    JoinedOutput,
    Structured,
    inverse_order,
    permuted,
)
from gradir.dialects.spatial.convolution import CONV_OPS

_WIDENS = (arith.ExtFOp, arith.ExtSIOp)


@dataclass(frozen=True)
class Factor:
    """An input of the body, and the type that it is widened to before the product."""

    number: int
    element: Attribute


def factors(space: Structured, reduction: JoinedOutput) -> tuple[Factor, Factor] | None:
    """The two factors of a body that adds their product to what it has; None for others."""
    if reduction.combiner.reduction is not SumOp:
        return None
    product = reduction.number.owner
    if not isinstance(product, arith.MulfOp | arith.MuliOp):
        return None
    first, second = (_factor(space, operand) for operand in (product.lhs, product.rhs))
    return None if first is None or second is None else (first, second)


def _factor(space: Structured, value: SSAValue) -> Factor | None:
    element = value.type
    if isinstance(value.owner, _WIDENS):
        value = value.owner.input
    if not isinstance(value, BlockArgument) or value.block is not space.body:
        return None
    is_tensor = isinstance(space.operands[value.index].ssa.type, TensorType)
    return Factor(value.index, element) if value.index < space.inputs and is_tensor else None


def product_of(space: Structured, reduction: JoinedOutput) -> Value | None:
    """The result, over the kept dimensions, of a contraction or convolution; None for others."""
    pair = factors(space, reduction)
    if pair is None:
        return None
    for kind in (contraction, convolution):
        found = kind(space, pair)
        if found is not None:
            return permuted(found, inverse_order(space.output_axes(0), space.kept))
    return None


def widened(space: Structured, factor: Factor) -> Value:
    """A factor's operand in the type of the product."""
    x = space.operands[factor.number]
    if x.element == factor.element:
        return x
    kind = arith.ExtFOp if is_float(factor.element) else arith.ExtSIOp
    return on_tensors(kind, x, type=tensor_type(x.shape, factor.element))


def contraction(space: Structured, pair: tuple[Factor, Factor]) -> Value | None:
    """The product, its axes as the output's; None where a subscript is no loop."""
    terms: list[str] = []
    for factor in pair:
        dims = _plain(space.maps[factor.number].results)
        if dims is None:
            return None
        terms.append("".join(ascii_letters[d] for d in dims))
    if len(space.extents) > len(ascii_letters):
        return None
    named = set("".join(terms))
    if any(ascii_letters[d] not in named for d in range(len(space.extents))):
        return None  # a loop that no factor has: adds the same some times
    result = "".join(ascii_letters[d] for d in space.output_axes(0))
    operands = [widened(space, factor) for factor in pair]
    return EinsumOp.on(*operands, equation=f"{terms[0]},{terms[1]}->{result}")


def _plain(expressions: Sequence[AffineExpr]) -> list[int] | None:
    """The dimensions of subscripts; None where one is no dimension."""
    dims = [e.position for e in expressions if isinstance(e, AffineDimExpr)]
    return dims if len(dims) == len(expressions) else None


# Convolutions.


@dataclass(frozen=True)
class SlidingSubscript:
    """A subscript `place * stride + step * dilation`: dimensions of the result and the kernel."""

    place: int
    step: int
    stride: int
    dilation: int


@dataclass(frozen=True)
class Roles:
    """The dimensions of a convolution, and the axes of x that are windows."""

    batch: list[int]
    groups: list[int]
    channels: list[int]
    filters: list[int]
    windows: list[SlidingSubscript]


def convolution(space: Structured, pair: tuple[Factor, Factor]) -> Value | None:
    """The product, its axes as the output's; None where the subscripts are no convolution's."""
    for x, weight in (pair, pair[::-1]):
        roles = _roles(space, x.number, weight.number)
        if roles is not None:
            return _convolved(space, roles, x, weight)
    return None


Axis = int | SlidingSubscript


def axes_of(space: Structured, number: int) -> list[Axis] | None:
    """The dimension or the window of each axis of an input; None where one is neither."""
    reduced = set(space.reduced)
    found: list[Axis] = []
    for expression in space.maps[number].results:
        is_plain = isinstance(expression, AffineDimExpr)
        axis = expression.position if is_plain else window_of(expression, reduced)
        if axis is None:
            return None
        found.append(axis)
    return found


def places_of(axes: Sequence[Axis]) -> list[int]:
    """The dimension of each axis; of a window, its place."""
    return [axis if isinstance(axis, int) else axis.place for axis in axes]


def _roles(space: Structured, x: int, weight: int) -> Roles | None:
    kernel, axes = _plain(space.maps[weight].results), axes_of(space, x)
    if kernel is None or axes is None or len(set(kernel)) < len(kernel):
        return None
    windows = [axis for axis in axes if not isinstance(axis, int)]
    plain = [axis for axis in axes if isinstance(axis, int)]
    steps, places = [w.step for w in windows], [w.place for w in windows]
    used = [*plain, *steps, *places]
    if not 1 <= len(windows) <= 3 or len(set(used)) < len(used):
        return None
    if not set(steps) <= set(kernel) or set(places) & set(kernel):
        return None
    kept = set(space.kept)
    rest = [d for d in kernel if d not in steps]
    roles = Roles(
        batch=[d for d in plain if d in kept and d not in kernel],
        groups=[d for d in plain if d in kept and d in kernel],
        channels=[d for d in plain if d not in kept and d in kernel],
        filters=[d for d in rest if d in kept and d not in plain],
        windows=windows,
    )
    known = [*roles.batch, *roles.groups, *roles.channels, *roles.filters, *steps, *places]
    return roles if sorted(known) == list(range(len(space.extents))) else None


def window_of(expression: AffineExpr, reduced: set[int]) -> SlidingSubscript | None:
    """The window of a subscript; None where it is another."""
    if not _is(expression, AffineBinaryOpKind.Add):
        return None
    assert isinstance(expression, AffineBinaryOpExpr)
    terms = [_scaled(side) for side in (expression.lhs, expression.rhs)]
    if None in terms:
        return None
    pairs = [t for t in terms if t is not None]
    places = [t for t in pairs if t[0] not in reduced]
    steps = [t for t in pairs if t[0] in reduced]
    if len(places) != 1 or len(steps) != 1:
        return None
    (place, stride), (step, dilation) = places[0], steps[0]
    return SlidingSubscript(place, step, stride, dilation) if min(stride, dilation) > 0 else None


def _scaled(expression: AffineExpr) -> tuple[int, int] | None:
    """The dimension and the factor of `d2 * 3`."""
    if isinstance(expression, AffineDimExpr):
        return expression.position, 1
    if not _is(expression, AffineBinaryOpKind.Mul):
        return None
    assert isinstance(expression, AffineBinaryOpExpr)
    sides = expression.lhs, expression.rhs
    dims = [s.position for s in sides if isinstance(s, AffineDimExpr)]
    numbers = [s.value for s in sides if isinstance(s, AffineConstantExpr)]
    return (dims[0], numbers[0]) if len(dims) == len(numbers) == 1 else None


def _is(expression: AffineExpr, kind: AffineBinaryOpKind) -> bool:
    return isinstance(expression, AffineBinaryOpExpr) and expression.kind == kind


def _convolved(space: Structured, roles: Roles, x: Factor, weight: Factor) -> Value | None:
    if not is_float(x.element):
        return None  # nn.conv is of floats
    extents = space.extents

    def size(dims: Sequence[int]) -> int:
        return prod(extents[d] for d in dims)

    steps = [w.step for w in roles.windows]
    places = [w.place for w in roles.windows]
    axes = axes_of(space, x.number)
    assert axes is not None
    order = [*roles.batch, *roles.groups, *roles.channels, *places]
    moved = permuted(widened(space, x), inverse_order(places_of(axes), order))
    spatial = moved.shape[len(moved.shape) - len(places) :]
    many = size(roles.groups) * size(roles.channels)
    moved = reshaped(moved, [size(roles.batch), many, *spatial])
    kernel_dims = _plain(space.maps[weight.number].results)
    assert kernel_dims is not None
    order = [*roles.groups, *roles.filters, *roles.channels, *steps]
    kernel = permuted(widened(space, weight), inverse_order(kernel_dims, order))
    filters = size(roles.groups) * size(roles.filters)
    shape = [filters, size(roles.channels), *(extents[d] for d in steps)]
    y = CONV_OPS[len(places)].on(
        cut_to_windows(moved, roles.windows, extents),
        reshaped(kernel, shape),
        stride=[w.stride for w in roles.windows],
        dilation=[w.dilation for w in roles.windows],
        groups=size(roles.groups),
    )
    results = [*roles.batch, *roles.groups, *roles.filters, *places]
    y = reshaped(y, [extents[d] for d in results])
    return permuted(y, inverse_order(results, space.output_axes(0)))


def cut_to_windows(x: Value, windows: Sequence[SlidingSubscript], extents: Sequence[int]) -> Value:
    """x without the rows that no window reads: the last may leave some over."""
    read = [
        (extents[w.place] - 1) * w.stride + (extents[w.step] - 1) * w.dilation + 1 for w in windows
    ]
    shape = [*x.shape[: len(x.shape) - len(read)], *read]
    if list(x.shape) == shape:
        return x
    return SliceOp.on(x, start=[0] * len(shape), stop=shape)
