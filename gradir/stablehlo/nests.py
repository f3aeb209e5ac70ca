"""Loop nests on tensors as StableHLO: ops without a form of their own are written through these.

A nest's operands are read over its iteration space, by slices, transposes and broadcasts where
subscripts are simple, else by a gather. Its body is computed for all iterations at once. Dimensions
that an output leaves out are reduced; other outputs are scattered. A contraction is a dot_general,
and its body follows on the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.shapes import element_of, is_tensor, is_unsigned, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Unsigned
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.dialects.foreign.elements import element_type
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    ContractOp,
    IndexOp,
    LoadOp,
    LoopOp,
    NestOp,
    ViewOp,
    YieldOp,
    scalar_type,
)
from gradir.stablehlo import values as v
from gradir.stablehlo.dialect import DotAttr
from gradir.stablehlo.numbers import number_op
from gradir.stablehlo.regions import (
    combine,
    neutral_number,
    reduce_axes,
    scatter_elements,
)
from gradir.stablehlo.values import Hlo, HloEmitter


class NoForm(Exception):
    """An op that has no form in StableHLO, and why."""


# Reads.


def read(x: Hlo, access: Access, bounds: Sequence[int], pad: Attribute | None) -> Hlo:
    """A tensor over the whole iteration space."""
    made, dims = read_dims(x, access, bounds, pad)
    return v.broadcast(made, bounds, dims)


def read_dims(
    x: Hlo, access: Access, bounds: Sequence[int], pad: Attribute | None
) -> tuple[Hlo, list[int]]:
    """A tensor over the dimensions that its subscripts use, and these, in ascending order."""
    if 0 in bounds:
        used = sorted(access.used)
        return v.full(x.at, 0, tensor([bounds[d] for d in used], x.element)), used
    x, rows = _padded(x, access.rows, bounds, pad)
    dims = [row.used[0] for row in rows if len(row.used) == 1]
    is_simple = len(set(dims)) == len(dims) and all(len(row.used) <= 1 for row in rows)
    if not is_simple:
        used = sorted({d for row in rows for d in row.used})
        return _gathered(x, rows, bounds, used), used
    strided = _strided(x, rows, bounds)
    kept = [n for n, row in zip(strided.shape, rows, strict=True) if row.used]
    order = sorted(range(len(dims)), key=lambda k: dims[k])
    return v.transpose(v.reshape(strided, kept), order), sorted(dims)


def _padded(
    x: Hlo, rows: Sequence[Row], bounds: Sequence[int], pad: Attribute | None
) -> tuple[Hlo, list[Row]]:
    """The tensor with the elements around it that are read, and the subscripts there."""
    if pad is None:
        return x, list(rows)
    value = v.number_of(x.at, cast(FloatAttr | IntegerAttr, pad).value.data, x.element)
    spans = [row.interval(bounds) for row in rows]
    low = [max(0, -first) for first, _ in spans]
    high = [max(0, last - n + 1) for (_, last), n in zip(spans, x.shape, strict=True)]
    moved = [Row(row.coefficients, row.constant + k) for row, k in zip(rows, low, strict=True)]
    return v.pad(x, value, low, high), moved


def _strided(x: Hlo, rows: Sequence[Row], bounds: Sequence[int]) -> Hlo:
    """The elements at subscripts of one dimension each, in the order of the tensor's axes."""
    start: list[int] = []
    stop: list[int] = []
    step: list[int] = []
    for row in rows:
        first, last = row.interval(bounds)
        factor = row.coefficients[row.used[0]] if row.used else 1
        start.append(first)
        stop.append(last + 1)
        step.append(abs(factor))
    backwards = [
        axis
        for axis, row in enumerate(rows)
        if row.used and row.coefficients[row.used[0]] < 0 and bounds[row.used[0]] > 1
    ]
    return v.reverse(v.cut(x, start, stop, step), backwards)


def _gathered(x: Hlo, rows: Sequence[Row], bounds: Sequence[int], used: Sequence[int]) -> Hlo:
    """The elements at any subscripts, over the dimensions that they use."""
    shape = [bounds[d] for d in used]
    return v.gather_elements(x, [_subscript(x.at, row, shape, used) for row in rows])


def _subscript(emitter: HloEmitter, row: Row, shape: Sequence[int], dims: Sequence[int]) -> Hlo:
    """The value of a row over some dimensions."""
    terms: list[Hlo] = []
    for d in row.used:
        index, factor = v.iota(emitter, shape, dims.index(d)), row.coefficients[d]
        terms.append(index if factor == 1 else index * factor)
    if row.constant or not terms:
        terms.append(v.full(emitter, row.constant, tensor(shape, i64)))
    return reduce(lambda x, y: x + y, terms)


# Bodies.


@dataclass
class NestBody:
    """A body computed for all iterations at once: each of its values is a tensor of `shape`."""

    emitter: HloEmitter
    shape: Sequence[int]
    known: dict[SSAValue, Hlo]

    def run(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if isinstance(op, YieldOp):
                return
            self.known[op.results[0]] = self._value(op)

    def _value(self, op: Operation) -> Hlo:
        if isinstance(op, IndexOp):
            return v.iota(self.emitter, self.shape, op.dim.value.data)
        if isinstance(op, LoadOp):
            return self._load(op)
        if isinstance(op, CheckIndexOp):
            return checked_index(self.known[op.index], op)
        operands = [self.known[o] for o in op.operands]
        if isinstance(op, ElementwiseOp):
            return elementwise(op, operands, self.emitter)
        made = number_op(op, operands, self.emitter)
        if made is None:
            raise NoForm(f"{op.name} has no form in StableHLO")
        return v.broadcast(made, self.shape, []) if made.shape != tuple(self.shape) else made

    def _load(self, op: LoadOp) -> Hlo:
        source = self.known[op.source]
        loaded = v.gather_elements(source, [self.known[i] for i in op.indices])
        spread = loaded if op.indices else v.broadcast(loaded, self.shape, [])
        return v.bitcast(spread, scalar_type(spread.element))


def checked_index(index: Hlo, op: CheckIndexOp) -> Hlo:
    """An index in [0, bound), clamped; from the end where it is negative and may be."""
    bound = op.bound.value.data
    if op.from_start is None:
        index = v.select(index < 0, index + bound, index)
    return clamp_index(index, bound - 1)


def clamp_index(index: Hlo, last: int) -> Hlo:
    """An index in [0, last]."""
    zero, most = (v.number_of(index.at, k, index.element) for k in (0, last))
    return zero.emit("clamp", index, most, type=index.type)


def _body(op: LoopOp, emitter: HloEmitter, shape: Sequence[int], args: Sequence[Hlo]) -> list[Hlo]:
    """What the body yields."""
    block = op.body.block
    body = NestBody(emitter, shape, dict(zip(block.args, args, strict=True)))
    body.run(list(block.ops))
    return [body.known[value] for value in op.yielded]


def _as_scalars(x: Hlo) -> Hlo:
    """A tensor with elements as bodies have them: integers without sign."""
    return v.bitcast(x, v.hlo_element(scalar_type(x.element)))


def elementwise(op: ElementwiseOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Hlo:
    """An elementwise op, on tensors or in a body on numbers, by its own body."""
    elements = [element_type(o.type) for o in op.operands]
    block = Block(arg_types=[scalar_type(e) for e in elements])
    inner = Emitter(block, op.location)
    scalars = [
        Unsigned(a, inner) if is_unsigned(e) else Scalar(a, inner)
        for a, e in zip(block.args, elements, strict=True)
    ]
    on_tensors = is_tensor(op.results[0].type)
    made = op.body_on_stored(*scalars) if on_tensors else op.body(*scalars)
    inner.insert(YieldOp(made.ssa))
    shape = xs[0].shape
    args = dict(zip(block.args, map(_as_scalars, xs), strict=True))
    body = NestBody(emitter, shape, cast("dict[SSAValue, Hlo]", args))
    body.run(list(block.ops))
    return v.bitcast(body.known[made.ssa], v.hlo_element(element_type(op.results[0].type)))


# Nests.


def convert_nest(op: NestOp, operands: Sequence[Hlo], emitter: HloEmitter) -> list[Hlo]:
    """The results of a nest on tensors; `operands` are its inputs, then what outputs start from."""
    bounds, count = op.extents, len(op.inputs)
    args = [
        x if access is None else _as_scalars(read(x, access, bounds, pad))
        for x, access, pad in zip(operands[:count], op.input_accesses, op.input_pads, strict=True)
    ]
    yielded = _body(op, emitter, bounds, args)
    return _outputs(op, bounds, op.output_accesses, yielded, operands[count:], emitter)


def convert_contraction(op: ContractOp, operands: Sequence[Hlo], emitter: HloEmitter) -> list[Hlo]:
    """The results of a contraction on tensors."""
    count, first = len(op.inputs), op.free_dims
    free = op.extents[:first]
    accumulator = v.hlo_element(op.accumulator_type)
    pairs = zip(operands[:count], op.input_accesses, op.input_pads, strict=True)
    reads = list(pairs)
    sides = [read_dims(x, cast(Access, a), op.extents, pad) for x, a, pad in reads[:2]]
    factors = [(v.convert(_as_scalars(x), accumulator), dims) for x, dims in sides]
    total = sum_of_products(factors[0], factors[1], op.extents, first)
    others = [
        _as_scalars(read(x, cut_access(cast(Access, a), first), free, pad))
        for x, a, pad in reads[2:]
    ]
    yielded = _body(op, emitter, free, [total, *others])
    accesses = [cut_access(a, first) for a in op.output_accesses]
    return _outputs(op, free, accesses, yielded, operands[count:], emitter)


def cut_access(access: Access, dims: int) -> Access:
    """An access that uses the first dimensions alone."""
    rows = tuple(Row(row.coefficients[:dims], row.constant, row.symbol) for row in access.rows)
    return Access(dims, rows)


Factor = tuple[Hlo, Sequence[int]]


def sum_of_products(left: Factor, right: Factor, bounds: Sequence[int], free: int) -> Hlo:
    """The products of two factors, summed over the dimensions from `free` on, over the others.

    A factor is a tensor and the dimension of each of its axes.
    """
    used = {*left[1], *right[1]}
    left, right = _own_sums(left, right, free), _own_sums(right, left, free)
    shared = [d for d in left[1] if d in right[1]]
    batch, summed = [d for d in shared if d < free], [d for d in shared if d >= free]
    sides = {"lhs": left[1], "rhs": right[1]}
    kinds = {"batching": batch, "contracting": summed}
    text = ", ".join(
        f"{side}_{kind}_dimensions = {[list(dims).index(d) for d in wanted]}"
        for kind, wanted in kinds.items()
        for side, dims in sides.items()
        if wanted
    )
    rest = [[d for d in dims if d not in shared] for dims in sides.values()]
    order = [*batch, *rest[0], *rest[1]]
    type_ = tensor([bounds[d] for d in order], left[0].element)
    made = left[0].emit("dot_general", right[0], type=type_, dot_dimension_numbers=DotAttr.of(text))
    ascending = sorted(range(len(order)), key=lambda k: order[k])
    made = v.transpose(made, ascending)
    # a summed dimension that no factor uses
    repeats = prod(bounds[d] for d in range(free, len(bounds)) if d not in used)
    made = made * repeats if repeats != 1 else made
    return v.broadcast(made, bounds[:free], sorted(order))


def _own_sums(factor: Factor, other: Factor, free: int) -> Factor:
    """A factor summed over the dimensions that it alone has of the summed ones."""
    x, dims = factor
    own = [k for k, d in enumerate(dims) if d >= free and d not in other[1]]
    return reduce_axes(x, own, "add"), [d for k, d in enumerate(dims) if k not in own]


# Outputs.


def _outputs(
    op: LoopOp,
    bounds: Sequence[int],
    accesses: Sequence[Access],
    yielded: Sequence[Hlo],
    inits: Sequence[Hlo],
    emitter: HloEmitter,
) -> list[Hlo]:
    """The outputs from the values of all iterations; the yielded indices follow them."""
    starts = dict(zip(op.starting_outputs, inits, strict=True))
    indices = iter(yielded[len(accesses) :])
    made: list[Hlo] = []
    for k, (access, combiner) in enumerate(zip(accesses, op.output_combiners, strict=True)):
        symbols = [next(indices) for row in access.rows if row.symbol is not None]
        type_ = v.hlo_type(op.output_types[k])
        value = _as_stored(yielded[k], element_of(type_))
        value = _output(value, access, combiner, starts.get(k), symbols, bounds, shape_of(type_))
        made.append(v.convert(value, element_of(type_)))
    return made


def _as_stored(x: Hlo, element: Attribute) -> Hlo:
    """A value of a body, perhaps wider than the output, with the sign of its elements."""
    return v.bitcast(x, v.unsigned(x.element)) if is_unsigned(element) else x


def _output(
    value: Hlo,
    access: Access,
    combiner: str,
    start: Hlo | None,
    symbols: Sequence[Hlo],
    bounds: Sequence[int],
    shape: Sequence[int],
) -> Hlo:
    start = None if start is None else v.convert(start, value.element)
    rows = [row for row, n in zip(access.rows, shape, strict=True) if not _is_first(row, n)]
    dims = None if symbols else Access(access.num_dims, tuple(rows)).dims
    kept = [n for row, n in zip(access.rows, shape, strict=True) if not _is_first(row, n)]
    if dims is not None and len(set(dims)) == len(dims) and _covers(dims, bounds, kept):
        left = [d for d in range(len(bounds)) if d not in dims]
        if combiner == "none":
            # at most one iteration writes an element
            value = v.reshape(value, [bounds[d] for d in sorted(dims)])
        else:
            value = reduce_axes(value, left, combiner)
        ascending = sorted(dims)
        value = v.reshape(v.transpose(value, [ascending.index(d) for d in dims]), shape)
        return value if start is None or combiner == "none" else combine(combiner, start, value)
    if start is None:
        neutral = 0 if combiner == "none" else neutral_number(combiner, value.element)
        start = v.full(value.at, neutral, tensor(shape, value.element))
    if not shape or 0 in bounds:
        return start if 0 in bounds else _whole(value, start, combiner)
    left_symbols = list(symbols)
    everything = list(range(len(bounds)))
    places = [
        left_symbols[row.symbol]
        if row.symbol is not None
        else _subscript(value.at, row, bounds, everything)
        for row in access.rows
    ]
    return scatter_elements(start, places, value, combiner)


def _is_first(row: Row, extent: int) -> bool:
    """Whether a subscript is the only index of an axis."""
    return extent == 1 and not row.used and row.symbol is None


def _covers(dims: Sequence[int], bounds: Sequence[int], shape: Sequence[int]) -> bool:
    return [bounds[d] for d in dims] == list(shape)


def _whole(value: Hlo, start: Hlo, combiner: str) -> Hlo:
    """All iterations in one number."""
    if combiner == "none":
        return v.reshape(value, [])
    return combine(combiner, start, reduce_axes(value, list(range(len(value.shape))), combiner))


def convert_loop_op(
    op: Operation, operands: Sequence[Hlo], emitter: HloEmitter
) -> list[Hlo] | None:
    """The results of a nest, a contraction or a view on tensors; None for other ops."""
    if isinstance(op, NestOp):
        return convert_nest(op, operands, emitter)
    if isinstance(op, ContractOp):
        return convert_contraction(op, operands, emitter)
    if isinstance(op, ViewOp):
        return [v.reshape(operands[0], shape_of(op.result.type))]
    return None
