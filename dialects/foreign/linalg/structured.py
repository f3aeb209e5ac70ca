"""linalg ops on tensors as ops of `array` and `nn`: maps of subscripts, products, reductions.

A linalg op is an iteration space, a map from it to the subscripts of each operand, and a body for
one element. Where the body multiplies two operands and adds, it is a contraction or a convolution
(`products.py`). Other bodies are computed for all iterations at once (`bodies.py`), then added,
multiplied or compared along the reduced dimensions. A body that carries from one iteration to the
next in another way is a loop over these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AffineMapAttr, IndexType, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.tensor import FromElementsOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from gradir.dialects.array.affine import AffineGatherOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, reshaped
from gradir.dialects.array.reductions import MaxOp, MinOp, SumOp
from gradir.dialects.array.statistics import AllOp, AnyOp, ArgmaxOp, ArgminOp, ProdOp
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_bool, is_float, is_tensor
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.foreign.linalg.bodies import BodyOnTensors, on_tensors, reads

REDUCED = "reduction"


@dataclass(frozen=True)
class Combiner:
    """How a body joins a number to what it has so far, and the number that changes nothing."""

    reduction: type[TensorOp]
    neutral: Mapping[type, float]


def _combiner(reduction: type[TensorOp], of_floats: float, of_integers: float) -> Combiner:
    return Combiner(reduction, {float: of_floats, int: of_integers})


_SUM, _PRODUCT = _combiner(SumOp, 0, 0), _combiner(ProdOp, 1, 1)
_MAX = _combiner(MaxOp, float("-inf"), -(1 << 63))
_MIN = _combiner(MinOp, float("inf"), (1 << 63) - 1)
COMBINERS: dict[type[Operation], Combiner] = {
    arith.AddfOp: _SUM,
    arith.AddiOp: _SUM,
    arith.MulfOp: _PRODUCT,
    arith.MuliOp: _PRODUCT,
    arith.MaximumfOp: _MAX,
    arith.MaxSIOp: _MAX,
    arith.MinimumfOp: _MIN,
    arith.MinSIOp: _MIN,
}
_OF_BOOLS: dict[type[Operation], Combiner] = {
    arith.AndIOp: _combiner(AllOp, 1, 1),
    arith.OrIOp: _combiner(AnyOp, 0, 0),
}


@dataclass(frozen=True)
class JoinedOutput:
    """An output that a body reduces: `op` joins `number` to what came before."""

    op: Operation
    number: SSAValue
    combiner: Combiner


@dataclass
class Structured:
    """An op's iteration space and body. Operands of the body are inputs, then outputs."""

    op: Operation
    maps: Sequence[AffineMap]
    iterators: Sequence[str]
    body: Block
    operands: Sequence[Value]
    inputs: int

    @property
    def emitter(self) -> Emitter:
        return self.operands[-1].emitter

    @cached_property
    def extents(self) -> list[int]:
        """The number of iterations of each dimension, by an operand that has it for a subscript."""
        found = dict[int, int]()
        for map_, operand in zip(self.maps, self.operands, strict=True):
            shape = operand.shape if is_tensor(operand.ssa.type) else ()
            for expression, n in zip(map_.results, shape, strict=True):
                if isinstance(expression, AffineDimExpr):
                    found.setdefault(expression.position, n)
        if len(found) < len(self.iterators):
            raise PassError(f"{self.op.name}: a loop has no extent of its own", self.op)
        return [found[d] for d in range(len(self.iterators))]

    @cached_property
    def kept(self) -> list[int]:
        """The dimensions that are not reduced."""
        return [d for d, kind in enumerate(self.iterators) if kind != REDUCED]

    @cached_property
    def reduced(self) -> list[int]:
        return [d for d, kind in enumerate(self.iterators) if kind == REDUCED]

    @property
    def outputs(self) -> Sequence[Value]:
        return self.operands[self.inputs :]

    @property
    def output_arguments(self) -> Sequence[BlockArgument]:
        return self.body.args[self.inputs :]

    @cached_property
    def yielded(self) -> Sequence[SSAValue]:
        last = self.body.last_op
        assert last is not None
        return last.operands

    def output_axes(self, k: int) -> list[int]:
        """The dimension of each axis of an output, but for axes of extent 1 with subscript 0."""
        axes: list[int] = []
        for expression in self.maps[self.inputs + k].results:
            if isinstance(expression, AffineConstantExpr) and expression.value == 0:
                continue
            if not isinstance(expression, AffineDimExpr) or expression.position in axes:
                raise PassError(
                    f"{self.op.name}: subscripts of outputs must be loops, each once, got "
                    f"{self.maps[self.inputs + k]}",
                    self.op,
                )
            axes.append(expression.position)
        if sorted(axes) != self.kept:
            raise PassError(
                f"{self.op.name}: outputs must have all parallel loops for subscripts and no "
                f"other, got {self.maps[self.inputs + k]}",
                self.op,
            )
        return axes

    # Operands over the iteration space.

    def read(self, k: int) -> Value:
        """An operand's element for each iteration."""
        return read(self.operands[k], self.maps[k], self.extents)

    def tensors(self) -> BodyOnTensors:
        """The body over the whole space."""
        body = BodyOnTensors(self.emitter, self.extents)
        for k, argument in enumerate(self.body.args):
            if argument.first_use is None or not self._is_read(argument):
                continue
            operand = self.operands[k]
            if is_tensor(operand.ssa.type):
                body.values[argument] = self.read(k)
            else:  # a number, the same for all
                body.values[argument] = body.value(operand.ssa)
        return body

    def _is_read(self, argument: BlockArgument) -> bool:
        return argument.index < self.inputs or not self.reduced

    def placed(self, value: Value, k: int, of: Sequence[int]) -> Value:
        """A value over dimensions `of` as an output's, whose axes have another order."""
        axes = [of.index(d) for d in self.output_axes(k)]
        return reshaped(permuted(value, axes), self.outputs[k].shape)

    # Values.

    def values(self) -> list[Value]:
        """The results."""
        if not self.reduced:
            tensors = self.tensors()
            every = range(len(self.extents))
            found = [tensors.compute(y) for y in self.yielded]
            return [self.placed(v, k, every) for k, v in enumerate(found)]
        if not all(self.extents[d] for d in self.reduced):
            return list(self.outputs)  # no iteration changes them
        reductions = [self.reduction(k) for k in range(len(self.yielded))]
        if all(reductions):
            return self._reduced([r for r in reductions if r is not None])
        place = self._place_of_extremum(reductions)
        return self._folded() if place is None else place

    def only_reduction(self) -> JoinedOutput | None:
        """How the one output of a space with iterations is reduced; None for other spaces."""
        if len(self.yielded) != 1 or not self.reduced or 0 in self.extents:
            return None
        return self.reduction(0)

    def reduction(self, k: int) -> JoinedOutput | None:
        """How an output is reduced; None where the body does not say it in one op."""
        value, own = self.yielded[k], self.output_arguments[k]
        op = value.owner
        if not isinstance(op, Operation) or op.parent is not self.body or len(op.operands) != 2:
            return None
        # sums and orders of one bit are other functions
        combiner = (_OF_BOOLS if is_bool(value.type) else COMBINERS).get(type(op))
        others = [o for o in op.operands if o is not own]
        if combiner is None or len(others) != 1:
            return None
        if reads(self.body, others[0]) & set(self.output_arguments):
            return None
        return JoinedOutput(op, others[0], combiner)

    def _reduced(self, reductions: Sequence[JoinedOutput]) -> list[Value]:
        tensors = self.tensors()
        found: list[Value] = []
        for k, each in enumerate(reductions):
            whole = tensors.compute(each.number)
            found.append(self.joined(k, each, reduced_along(whole, self.reduced, each.combiner)))
        return found

    def joined(self, k: int, reduction: JoinedOutput, value: Value) -> Value:
        """A reduced value over the kept dimensions, joined to what the output starts from."""
        value = self.placed(value, k, self.kept)
        start = self.outputs[k]
        if starts_from(start.ssa, reduction.combiner.neutral):
            return value
        return on_tensors(type(reduction.op), start, value)

    def _place_of_extremum(self, reductions: Sequence[JoinedOutput | None]) -> list[Value] | None:
        """The results of a body that finds an extremum along one dimension, and its place."""
        if len(self.yielded) != 2 or len(self.reduced) != 1 or reductions[0] is None:
            return None
        [dim], first = self.reduced, reductions[0]
        kinds: dict[type[TensorOp], type[TensorOp]] = {MaxOp: ArgmaxOp, MinOp: ArgminOp}
        kind = kinds.get(first.combiner.reduction)
        start, place_start = self.outputs
        is_started = starts_from(start.ssa, first.combiner.neutral) and starts_from(
            place_start.ssa, {float: 0, int: 0}
        )
        if kind is None or not is_started or not self._selects_place(first, dim):
            return None
        whole = self.tensors().compute(first.number)
        value = self.joined(0, first, reduced_along(whole, [dim], first.combiner))
        place = kind.on(whole, axis=dim)
        body = BodyOnTensors(self.emitter, place.shape)
        place = body.converted(place, place_start.element)
        return [value, self.placed(place, 1, self.kept)]

    def _selects_place(self, first: JoinedOutput, dim: int) -> bool:
        """Whether the second value is the iteration where a strictly better number came."""
        select = self.yielded[1].owner
        if not isinstance(select, arith.SelectOp):
            return False
        test, place = select.cond.owner, _behind_casts(select.lhs)
        own, own_place = self.output_arguments
        return (
            isinstance(test, arith.CmpfOp)
            and test.predicate.value.data in _STRICT[first.combiner.reduction]
            and (test.lhs, test.rhs) == (first.number, own)
            and select.rhs is own_place
            and isinstance(place.owner, linalg.IndexOp)
            and place.owner.dim.value.data == dim
        )

    # Bodies that carry in another way.

    def _folded(self) -> list[Value]:
        """A loop over the reduced iterations, in order, that carries the outputs."""
        rows = [
            self._rows(k)
            for k in range(self.inputs)
            if is_tensor(self.operands[k].ssa.type) and self.body.args[k].first_use is not None
        ]
        carried = [self._carried(k) for k in range(len(self.outputs))]
        count = prod(self.extents[d] for d in self.reduced)
        start, stop, step = (self._index(n) for n in (0, count, 1))
        block = Block(arg_types=[IndexType(), *(c.type for c in carried)])
        self._fill(block, dict(rows))
        loop = scf.ForOp(start, stop, step, [c.ssa for c in carried], Region(block))
        self.emitter.insert(loop)
        found = [self.emitter.value(r) for r in loop.results]
        return [self.placed(v, k, self.kept) for k, v in enumerate(found)]

    def _carried(self, k: int) -> Value:
        """What an output starts from, over the kept dimensions."""
        axes = self.output_axes(k)
        start = reshaped(self.outputs[k], [self.extents[d] for d in axes])
        return permuted(start, inverse_order(axes, self.kept))

    def _index(self, number: int) -> SSAValue:
        return self.emitter.insert(arith.ConstantOp.from_int_and_width(number, IndexType())).result

    def _rows(self, k: int) -> tuple[BlockArgument, Value]:
        """An input with one row for each reduced iteration."""
        whole = permuted(self.read(k), [*self.reduced, *self.kept])
        count = prod(self.extents[d] for d in self.reduced)
        shape = [count, *(self.extents[d] for d in self.kept)]
        return self.body.args[k], reshaped(whole, shape)

    def _fill(self, block: Block, rows: Mapping[BlockArgument, Value]) -> None:
        """The loop's body: the linalg body on one row of each input."""
        emitter = Emitter(block, self.op.location, source=self.op.name)
        number = emitter.insert(arith.IndexCastOp(block.args[0], i64)).result
        one = FromElementsOp.create(operands=[number], result_types=[tensor_type([], i64)])
        counter = emitter.value(emitter.insert(one).results[0])
        shape = [self.extents[d] for d in self.kept]
        body = _FoldedBody(emitter, shape, whole=self, counter=counter)
        for argument, row in rows.items():
            size = [1, *shape]
            starts = [counter, *(counter.full(0) for _ in shape)]
            taken = DynamicSliceOp.on(emitter.value(row.ssa), *starts, sizes=size)
            body.values[argument] = reshaped(taken, shape)
        for k, argument in enumerate(self.body.args[: self.inputs]):
            if not is_tensor(self.operands[k].ssa.type):
                body.values[argument] = body.value(self.operands[k].ssa)
        for argument, carried in zip(self.output_arguments, block.args[1:], strict=True):
            body.values[argument] = emitter.value(carried)
        made = [body.compute(y).ssa for y in self.yielded]
        emitter.insert(scf.YieldOp(*made))


@dataclass
class _FoldedBody(BodyOnTensors):
    """A body on the kept dimensions, in one reduced iteration."""

    whole: Structured | None = None
    counter: Value | None = None

    def counted(self, dim: int) -> Value:
        whole, counter = self.whole, self.counter
        assert whole is not None and counter is not None
        if dim in whole.kept:
            return super().counted(whole.kept.index(dim))
        behind = whole.reduced[whole.reduced.index(dim) + 1 :]
        step = counter.full(prod(whole.extents[d] for d in behind))
        extent = counter.full(whole.extents[dim])
        row = on_tensors(arith.RemSIOp, on_tensors(arith.DivSIOp, counter, step), extent)
        return BroadcastToOp.on(row, type=self.type_of(i64))


_STRICT: dict[type[TensorOp], set[int]] = {MaxOp: {2, 9}, MinOp: {4, 11}}
"""The predicates ogt, ugt, and olt, ult of arith.cmpf."""


def _behind_casts(value: SSAValue) -> SSAValue:
    while isinstance(op := value.owner, arith.IndexCastOp):
        value = op.input
    return value


def starts_from(value: SSAValue, numbers: Mapping[type, float]) -> bool:
    """Whether all elements of a tensor are a number: of floats, or of integers."""
    kind = float if is_float(element_of(value.type)) else int
    return splat_of(value) == numbers[kind]


def reduced_along(value: Value, dims: Sequence[int], combiner: Combiner) -> Value:
    """A value without some dimensions."""
    return combiner.reduction.on(value, axis=list(dims))


def permuted(value: Value, axes: Sequence[int]) -> Value:
    """A value whose axis k is axis axes[k] of the given one."""
    return value if list(axes) == list(range(len(axes))) else PermuteDimsOp.on(value, axes=[*axes])


def inverse_order(axes: Sequence[int], order: Sequence[int]) -> list[int]:
    """Where each of `order` is in `axes`."""
    return [list(axes).index(d) for d in order]


def read(value: Value, map_: AffineMap, extents: Sequence[int]) -> Value:
    """value[map(i)] for all places i of a space."""
    is_unit = [
        isinstance(e, AffineConstantExpr) and e.value == 0 and n == 1
        for e, n in zip(map_.results, value.shape, strict=True)
    ]
    rest = [e for e, unit in zip(map_.results, is_unit, strict=True) if not unit]
    value = reshaped(value, [n for n, unit in zip(value.shape, is_unit, strict=True) if not unit])
    map_ = AffineMap(map_.num_dims, 0, tuple(rest))
    dims = [e.position if isinstance(e, AffineDimExpr) else None for e in map_.results]
    if None in dims or len(set(dims)) < len(dims):
        return _gathered(value, map_, extents)
    given = [d for d in dims if d is not None]
    order = sorted(range(len(given)), key=given.__getitem__)
    value = permuted(value, order)
    if len(given) == len(extents):
        return value
    shape = [n if d in given else 1 for d, n in enumerate(extents)]
    value = reshaped(value, shape)
    return BroadcastToOp.on(value, type=tensor_type(extents, value.element))


def _gathered(value: Value, map_: AffineMap, extents: Sequence[int]) -> Value:
    return AffineGatherOp.on(
        value, type=tensor_type(extents, value.element), map=AffineMapAttr(map_)
    )
