"""Inference of dynamic extents from known ones: one work list over a function.

Shapes go forward by an op's type inference, sideways by its class's equations (`known_shapes`), and
back from a result to the operand whose extent it shows. Regions hand shapes through along the edges
of `region_flow`. Each extent becomes known once, so that the work is linear in the ops. Sizes
computed from extents (tensor.dim and integer arithmetic on it) are followed too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import IndexType, ShapedType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import SameOperandsAndResultType
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.interfaces import TensorOp, has_trait
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    has_open_types,
    is_open,
    is_tensor,
    met,
    open_shape,
    shape_of,
)
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.foreign.elements import is_on_tensors
from gradir.dialects.grad.host_call import HostCallOp
from gradir.passes.analysis.region_flow import region_flow

_PROBE = (1 << 31) - 1
"""A probe extent, recognizable in results: large, and a prime."""


def open_axes(type_: Attribute) -> list[int]:
    return [d for d, n in enumerate(open_shape(type_)) if n == DYNAMIC]


def is_sized(op: Operation) -> TypeGuard[tensor.EmptyOp | tensor.SplatOp]:
    """Whether an op's operands are the dynamic extents of its result's type."""
    return isinstance(op, tensor.EmptyOp | tensor.SplatOp)


def sizes_of(op: tensor.EmptyOp | tensor.SplatOp) -> Sequence[SSAValue]:
    return op.dynamic_sizes if isinstance(op, tensor.EmptyOp) else op.dynamicSizes


class ShapeInference:
    """Infers the shapes in a block. `rules` are the caller's, for further ops."""

    def __init__(self, block: Block, rules: Mapping[type[Operation], Rule] | None = None):
        self.block = block
        # Known integers beside the results of arith.constant.
        self.numbers: dict[SSAValue, int] = {}
        # The axes whose extents are an op's operands.
        self.sized = {op: open_axes(op.results[0].type) for op in block.walk() if is_sized(op)}
        self._rules = {**_RULES, **(rules or {})}
        self._pending: deque[Operation] = deque()
        self._waiting: set[Operation] = set()

    def run(self) -> None:
        """Refine the types of the values in place; PassError, located, where they disagree."""
        for op in self.block.walk():
            self._add(op)
        while self._pending:
            op = self._pending.popleft()
            self._waiting.discard(op)
            self._visit(op)

    def refine(self, value: SSAValue, shape: Sequence[int], place: Operation) -> None:
        """Learn the shape of a value at `place`."""
        if not is_tensor(value.type):
            return
        known = shape_of(value.type)
        if not compatible(known, shape):
            wanted = tensor_type(shape, element_of(value.type))
            raise PassError(
                f"{place.name}: {value_name(value)} must be {wanted}, got {value.type}", place
            )
        together = met(known, shape)
        if together != tuple(known):
            refined = tensor_type(together, element_of(value.type))
            value._type = refined
            self._tell(value)

    def equal(self, first: SSAValue, second: SSAValue, place: Operation) -> None:
        """Learn that two values have one shape."""
        if is_tensor(first.type) and is_tensor(second.type):
            self.refine(second, shape_of(first.type), place)
            self.refine(first, shape_of(second.type), place)

    def learn(self, value: SSAValue, number: int) -> None:
        """Learn an integer value."""
        if value not in self.numbers:
            self.numbers[value] = number
            self._tell(value)

    def number(self, value: SSAValue) -> int | None:
        found = constant_integer(value)
        return self.numbers.get(value) if found is None else found

    # The work list.

    def _add(self, op: Operation) -> None:
        if op not in self._waiting:
            self._waiting.add(op)
            self._pending.append(op)

    def _tell(self, value: SSAValue) -> None:
        """Visit all ops of a value again."""
        owner = value.owner.parent_op() if isinstance(value, BlockArgument) else value.owner
        if isinstance(owner, Operation):
            self._add(owner)
        for use in value.uses:
            self._add(use.operation)
            around = use.operation.parent_op()
            # a region's yielded values are visited with the op around it
            if use.operation.next_op is None and around is not None:
                self._add(around)

    def _visit(self, op: Operation) -> None:
        if is_on_tensors(op):
            values = [v for v in (*op.operands, *op.results) if is_tensor(v.type)]
            for other in values[1:]:
                self.equal(values[0], other, op)
        elif (rule := self._rules.get(type(op))) is not None:
            rule(self, op)
        elif isinstance(op, TensorOp):
            self._visit_tensor_op(op)
        elif (flow := region_flow(op)) is not None:
            for source, target in flow.edges:
                self.equal(source, target, op)
        elif has_trait(op, SameOperandsAndResultType):
            for other in (*op.operands, *op.results)[1:]:
                self.equal(op.operands[0], other, op)

    # Tensor ops.

    def _visit_tensor_op(self, op: TensorOp) -> None:
        if not has_open_types(op):
            return
        inferred = self._inferred(op, [o.type for o in op.operands])
        for result, type_ in zip(op.results, inferred or (), strict=inferred is not None):
            if is_tensor(type_):
                self.refine(result, shape_of(type_), op)
        for value, shape in op.known_shapes():
            self.refine(value, shape, op)
        if inferred is not None and any(is_open(o.type) for o in op.operands):
            self._trace_back(op)

    def _inferred(self, op: TensorOp, types: Sequence[Attribute]) -> Sequence[Attribute] | None:
        try:
            return op.infer_types(types, op.attributes)
        except VerifyException as error:
            raise PassError(f"{op.name}: {error}", op) from None

    def _trace_back(self, op: TensorOp) -> None:
        """Extents of operands from result extents: a probe extent shows their places."""
        for operand in op.operands:
            if not is_open(operand.type):
                continue
            shape = list(shape_of(operand.type))
            for axis in open_axes(operand.type):
                shape[axis] = self._extent_in_results(op, operand, axis)
            self.refine(operand, shape, op)

    def _extent_in_results(self, op: TensorOp, operand: SSAValue, axis: int) -> int:
        probed = list(shape_of(operand.type))
        probed[axis] = _PROBE
        type_ = tensor_type(probed, element_of(operand.type))
        # all uses of an operand that is read twice
        types = [type_ if o is operand else o.type for o in op.operands]
        try:
            inferred = op.infer_types(types, op.attributes) or ()
        except VerifyException:
            # the op refuses the probe as this extent
            return DYNAMIC
        for result, found in zip(op.results, inferred, strict=True):
            for extent, probe in zip(shape_of(result.type), shape_of(found), strict=True):
                if probe == _PROBE and extent != DYNAMIC:
                    return extent
        return DYNAMIC


Rule = Callable[[ShapeInference, Any], None]
"""Equations of shapes around an op of another dialect."""


def _dim(known: ShapeInference, op: tensor.DimOp | memref.DimOp) -> None:
    axis, type_ = known.number(op.operands[1]), op.operands[0].type
    if axis is None or not isinstance(type_, ShapedType):
        return
    shape = type_.get_shape()
    if not 0 <= axis < len(shape):
        raise PassError(f"{op.name}: the axis must be in [0, {len(shape)}), got {axis}", op)
    if shape[axis] != DYNAMIC:
        known.learn(op.results[0], shape[axis])


def _arithmetic(compute: Callable[[int, int], int | None]) -> Rule:
    def rule(known: ShapeInference, op: Operation) -> None:
        if not isinstance(op.results[0].type, IndexType):
            return
        a, b = (known.number(o) for o in op.operands)
        number = None if a is None or b is None else compute(a, b)
        if number is not None:
            known.learn(op.results[0], number)

    return rule


def _quotient(a: int, b: int) -> int | None:
    """A quotient of sizes: not negative, so that rounding down is rounding to 0."""
    return a // b if a >= 0 and b > 0 else None


def _unsigned_minimum(a: int, b: int) -> int | None:
    """A minimum of sizes, which are not negative."""
    return min(a, b) if a >= 0 and b >= 0 else None


def _remainder(a: int, b: int) -> int | None:
    return a % b if a >= 0 and b > 0 else None


def _sizes(known: ShapeInference, op: tensor.EmptyOp | tensor.SplatOp) -> None:
    shape = [DYNAMIC] * len(shape_of(op.results[0].type))
    for axis, size in zip(known.sized[op], sizes_of(op), strict=True):
        number = known.number(size)
        shape[axis] = DYNAMIC if number is None else number
    known.refine(op.results[0], shape, op)


def _slice(known: ShapeInference, op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> None:
    if isinstance(op, tensor.InsertSliceOp):
        known.equal(op.dest, op.result, op)
    part = op.result if isinstance(op, tensor.ExtractSliceOp) else op.source
    rest = iter(op.sizes)
    numbers = [next(rest) if n == DYNAMIC else n for n in integers_of(op.static_sizes)]
    sizes = [n if isinstance(n, int) else known.number(n) for n in numbers]
    if len(sizes) == len(shape_of(part.type)):
        known.refine(part, [DYNAMIC if n is None else n for n in sizes], op)


def _same(known: ShapeInference, op: tensor.CastOp | tensor.InsertOp) -> None:
    source = op.source if isinstance(op, tensor.CastOp) else op.dest
    known.equal(source, op.results[0], op)


def _host_call(known: ShapeInference, op: HostCallOp) -> None:
    """By the shape rule of the registered function."""
    if any(is_open(o.type) for o in op.operands) or not any(is_open(r.type) for r in op.results):
        return
    for result, (shape, _) in zip(op.results, op.expected() or (), strict=False):
        known.refine(result, shape, op)


_RULES: dict[type[Operation], Rule] = {
    tensor.DimOp: _dim,
    memref.DimOp: _dim,
    arith.AddiOp: _arithmetic(lambda a, b: a + b),
    arith.SubiOp: _arithmetic(lambda a, b: a - b),
    arith.MuliOp: _arithmetic(lambda a, b: a * b),
    arith.MaxSIOp: _arithmetic(max),
    arith.MinSIOp: _arithmetic(min),
    arith.MinUIOp: _arithmetic(_unsigned_minimum),
    arith.DivSIOp: _arithmetic(_quotient),
    arith.DivUIOp: _arithmetic(_quotient),
    arith.RemSIOp: _arithmetic(_remainder),
    arith.RemUIOp: _arithmetic(_remainder),
    tensor.EmptyOp: _sizes,
    tensor.SplatOp: _sizes,
    tensor.ExtractSliceOp: _slice,
    tensor.InsertSliceOp: _slice,
    tensor.CastOp: _same,
    tensor.InsertOp: _same,
    HostCallOp: _host_call,
}
