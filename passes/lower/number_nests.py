"""Ops on tensors of one element, lowered to one nest for many of them.

    %y = loopnest.nest [] (%a = %x[], %b = %w[]) { ... a hundred ops on numbers ... }

A nest for each op on numbers, merged by fusion, would be the same code made in many times the time.
A nest takes the elementwise ops of one shape, in their order, until another op reads one of them.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.access import Access
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.dialects.building.nests import Read, argument_type, fused_location
from gradir.dialects.loopnest.loopnest import NestOp, Output, YieldOp
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.region_ops import is_loop

# A nest of more ops than this takes long to compile; one that reads more numbers spills their
# addresses.
MOST_OPS, MOST_INPUTS = 256, 64


class NumberNests:
    """The open nests of a block.

    Numbers of one nest wait for each other. So a nest has one shape, and one place of the last
    other op that its numbers depend on; numbers made of constants alone stay by their readers. In
    loops there are no such nests: `gradir-scalarize` decides there for each op.
    """

    def __init__(self, block: Block):
        self._last_needs = {} if _is_in_loop(block) else _last_needs(block)
        self._open: dict[tuple[tuple[int, ...], int], _NumberNest] = {}
        self._nest_of: dict[SSAValue, _NumberNest] = {}

    def take(self, op: Operation) -> bool:
        """Add an op to an open nest, if it computes numbers element by element."""
        need = self._last_needs.get(op)
        if need is None:
            return False
        assert isinstance(op, ElementwiseOp)
        key = shape_of(op.results[0].type), need
        nest = self._open.setdefault(key, _NumberNest(key[0]))
        nest.take(op)
        self._nest_of[op.results[0]] = nest
        if nest.is_full:
            assert op.next_op is not None
            self._close(nest, op.next_op)
        return True

    def close_before(self, op: Operation) -> None:
        """Build the nests that an op reads, or may read in its regions."""
        if op.regions or op.next_op is None:
            nests = list(self._open.values())
        else:
            nests = [self._nest_of[value] for value in op.operands if value in self._nest_of]
        for nest in nests:
            self._close(nest, op)

    def _close(self, nest: _NumberNest, before: Operation) -> None:
        """Build a nest, and the open ones that it reads ahead of it."""
        if nest.is_built:
            return
        for value in nest.inputs:
            if value in self._nest_of:
                self._close(self._nest_of[value], before)
        self._open = {key: other for key, other in self._open.items() if other is not nest}
        for op in nest.ops:
            del self._nest_of[op.results[0]]
        nest.build(before)
        nest.erase_ops()


class _NumberNest:
    """A body that grows by the bodies of ops, which stay in their block until it is built."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.access = shape, Access.identity(len(shape))
        self.ops: list[ElementwiseOp] = []
        self.block = Block()
        self.scalars: dict[SSAValue, SSAValue] = {}
        # the operands that are inputs: a value may become another one before the nest is built
        self._reads: list[tuple[Operation, int]] = []
        self.is_built = False

    @property
    def inputs(self) -> list[SSAValue]:
        return [op.operands[k] for op, k in self._reads]

    @property
    def is_full(self) -> bool:
        return len(self.ops) >= MOST_OPS or len(self._reads) >= MOST_INPUTS

    def take(self, op: ElementwiseOp) -> None:
        emitter = Emitter(self.block, op.location)
        inputs = [Scalar(self._scalar_of(op, k), emitter) for k in range(len(op.operands))]
        self.scalars[op.results[0]] = op.body_on_stored(*inputs).ssa
        self.ops.append(op)

    def _scalar_of(self, op: Operation, k: int) -> SSAValue:
        value = op.operands[k]
        scalar = self.scalars.get(value)
        if scalar is None:
            type_ = argument_type(Read(value, self.access))
            scalar = self.block.insert_arg(type_, len(self.block.args))
            self.scalars[value] = scalar
            self._reads.append((op, k))
        return scalar

    def build(self, before: Operation) -> None:
        """Put the nest before an op; its results are the values that are read outside of it."""
        self.is_built = True
        members = set[Operation](self.ops)
        kept = [
            op.results[0]
            for op in self.ops
            if any(use.operation not in members for use in op.results[0].uses)
        ]
        self.block.add_op(YieldOp(*(self.scalars[value] for value in kept)))
        count = len(self._reads)
        outputs = [Output(value.type, self.access) for value in kept]
        accesses, pads = [self.access] * count, [None] * count
        nest = NestOp(self.shape, self.inputs, accesses, outputs, self.block, pads)
        nest.location = fused_location(self.ops)
        place = before.parent
        assert place is not None
        place.insert_op_before(nest, before)
        for old, new in zip(kept, nest.results, strict=True):
            old.replace_all_uses_with(new)

    def erase_ops(self) -> None:
        for op in reversed(self.ops):
            erase(op)


def _last_needs(block: Block) -> dict[Operation, int]:
    """For each op on numbers the position of the last other op that it depends on, -1 for none.

    Ops that depend on constants alone are left out.
    """
    found: dict[Operation, int] = {}
    of_value: dict[SSAValue, int] = {}
    constants: set[SSAValue] = set()
    for position, op in enumerate(block.ops):
        if not op.regions and constants.issuperset(op.operands):
            constants.update(op.results)
        elif _computes_numbers(op):
            found[op] = max(of_value.get(value, -1) for value in op.operands)
            of_value[op.results[0]] = found[op]
        else:
            for result in op.results:
                of_value[result] = position
    return found


def _computes_numbers(op: Operation) -> bool:
    """Whether an op is elementwise on tensors of one element."""
    return isinstance(op, ElementwiseOp) and bool(op.operands) and is_number(op.results[0].type)


def is_number(type_: Attribute) -> bool:
    """Whether a type is a tensor of one element."""
    return is_tensor(type_) and is_static(type_) and prod(shape_of(type_)) == 1


def _is_in_loop(block: Block) -> bool:
    op = block.parent_op()
    while op is not None and not is_loop(op):
        op = op.parent_op()
    return op is not None
