"""The residuals of a region, and the source of each in its backward code.

Per value, the cheapest source:
- computed from constants, the induction variable and values from outside by cheap ops (scalar
  arithmetic, views, fills): recomputed in the backward code
- computed from values from outside by other ops: the op moves out of the loop
- a part of a tensor from outside, if all parts together are no smaller: read again
- a view of a value no larger: the value is kept, and the view recomputed; likewise scalar
  arithmetic on kept values, and certain bools from their bits
- any other value is kept, on a tape or as a result of the forward op
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free, is_speculatable

from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.interfaces import TensorOp, has_trait
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import named
from gradir.dialects.grad.bits import UnpackBitsOp
from gradir.dialects.grad.grad import BarrierOp
from gradir.passes.analysis.kept_bits import from_bits, is_kept_as_bits, to_bits
from gradir.passes.analysis.regions import defining_block, values_read

Makers = Mapping[SSAValue, Callable[[Emitter], SSAValue]]
"""Recipes of certain forward values (an induction variable) in the backward code."""

# They trap where the divisor is 0: they run only where the program runs them.
_TRAPPING = (
    arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp,
    arith.RemSIOp, arith.RemUIOp,
)  # fmt: skip


class Residuals:
    """The values of `forward` that `backward` reads.

    `kept` are the values to store; then `restore` lets the backward code read the stored ones. With
    `outside`, the place of the loop, loop invariants move there. `trips` is the number of runs of
    `forward`, if known.
    """

    def __init__(
        self,
        forward: Block,
        backward: Block,
        makers: Makers,
        outside: Emitter | None = None,
        trips: int | None = 1,
    ):
        self.trips = trips
        self.forward = forward
        self.backward = backward
        self.makers = makers
        self.read = values_read_of(forward, backward)
        self.cheap = self._computed_by(self._is_cheaply_made, makers)
        if outside is not None:
            self._hoist(outside)
        if _read_bits(forward, backward):
            self.read = values_read_of(forward, backward)
            self.cheap = self._computed_by(self._is_cheaply_made, makers)
        kept = (self._stored(v) for v in self.read if not self._is_cheap(v))
        self.kept = self._without_derived(dict.fromkeys(kept))
        for value in self.kept:
            _check_static(value)
        self._restored: dict[SSAValue, SSAValue] = {}

    # The source of a value.

    def _is_inner(self, value: SSAValue) -> bool:
        return defining_block(value) is self.forward

    def _is_cheap(self, value: SSAValue) -> bool:
        """Whether cheap ops recompute it from values visible to the backward code."""
        return value in self.cheap or not self._is_inner(value)

    def _is_cheaply_made(self, op: Operation) -> bool:
        return _is_cheap_op(op) or self._is_part(op)

    def _is_part(self, op: Operation) -> bool:
        """Whether an op reads a part of a tensor, and the tensor is no larger than all parts."""
        if not _reads_part(op) or self.trips is None:
            return False
        source, part = op.operands[0], op.results[0]
        if not (is_static(source.type) and (not is_tensor(part.type) or is_static(part.type))):
            return False
        return _size(source) <= self.trips * _size(part)

    def _computed_by(
        self, allowed: Callable[[Operation], bool], given: Iterable[SSAValue]
    ) -> set[SSAValue]:
        """The values computed by allowed ops from given values, or from values from outside."""
        found = set(given)
        for op in self.forward.ops:
            if allowed(op) and all(o in found or not self._is_inner(o) for o in op.operands):
                found.update(op.results)
        return found

    def _stored(self, value: SSAValue) -> SSAValue:
        """The value to store for a value: the source of a view."""
        while self._is_inner(value) and isinstance(owner := value.owner, TensorOp):
            if not (_is_recomputed(owner) and self._is_inner(owner.operands[0])):
                break
            if _size(owner.operands[0]) > _size(value):
                break
            value = owner.operands[0]
        return value

    def _without_derived(self, kept: dict[SSAValue, None]) -> list[SSAValue]:
        """Drop values that scalar arithmetic computes from other kept ones."""
        for value in reversed(list(kept)):
            op = value.owner
            if (
                isinstance(op, Operation)
                and self._is_inner(value)
                and _is_cheap_op(op)
                and not isinstance(op, arith.DivfOp)
                and all(o in kept or self._is_cheap(o) for o in op.operands)
            ):
                del kept[value]
        return list(kept)

    # Invariants.

    def _hoist(self, outside: Emitter) -> None:
        """Move loop invariants out of the loop, unless they are recomputed as cheaply; also the
        invariant operands of cheap ops that are recomputed."""
        invariant = self._computed_by(_is_movable, ())
        pending, seen = list(self.read), set(self.read)
        moved: list[SSAValue] = []
        while pending:
            value = pending.pop()
            op = value.owner
            if not isinstance(op, Operation) or self._is_cheap(value):
                continue
            if value in invariant:
                moved.append(value)
            elif _is_cheap_op(op):
                pending += [o for o in op.operands if o not in seen]
                seen.update(op.operands)
        for op in self._needed(moved, ()):
            op.detach()
            outside.insert(op)
        if moved:
            self.cheap = self._computed_by(self._is_cheaply_made, self.makers)

    def _needed(self, values: Iterable[SSAValue], given: Container[SSAValue]) -> list[Operation]:
        """The ops of the forward code between given values and `values`, in order."""
        found: set[Operation] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            op = value.owner
            if isinstance(op, Operation) and self._is_inner(value) and value not in given:
                if op not in found:
                    found.add(op)
                    pending += op.operands
        return [op for op in self.forward.ops if op in found]

    # Substitution.

    def restore(self, stored: Sequence[SSAValue], prologue: Emitter) -> None:
        """Let the backward code read `stored` for `kept`; recomputed values are in `prologue`."""
        made = dict(zip(self.kept, stored, strict=True))
        again = self._needed(self.read, made)
        needed = {*self.read, *(o for op in again for o in op.operands)}
        for value, maker in self.makers.items():
            if value in needed:
                made[value] = named(maker(prologue), value.name_hint)
        for op in again:
            copy = op.clone({o: made.get(o, o) for o in op.operands})
            copy.location = op.location
            for result, ours in zip(op.results, prologue.insert(copy).results, strict=True):
                made[result] = named(ours, result.name_hint)
        self._restored = {value: made[value] for value in self.read if value in made}
        self.restore_again()

    def restore_again(self) -> None:
        """Let backward code that was added since, as of masks, read the stored values too."""
        for value, ours in self._restored.items():
            replace_uses_within(self.backward, value, ours)


def values_read_of(forward: Block, backward: Block) -> list[SSAValue]:
    """The values of one block that ops of another read, in regions too; in order of definition."""
    read = {o for op in backward.walk() for o in op.operands if defining_block(o) is forward}
    in_order: list[SSAValue] = [*forward.args, *(r for op in forward.ops for r in op.results)]
    return [v for v in in_order if v in read]


def readers_of(values: Iterable[SSAValue], block: Block) -> dict[SSAValue, list[Operation]]:
    """The ops of a block that read each value, themselves or in regions; in order."""
    found: dict[SSAValue, list[Operation]] = {value: [] for value in values}
    for op in block.ops if found else ():
        for value in dict.fromkeys(values_read(op)):
            if value in found:
                found[value].append(op)
    return found


def replace_uses_within(block: Block, value: SSAValue, other: SSAValue) -> None:
    """Replace a value in the ops of a block and in their regions."""
    if value is other:
        return
    for use in list(value.uses):
        if block.is_ancestor(use.operation):
            use.operation.operands[use.index] = other


def is_read_off(value: SSAValue) -> bool:
    """Whether an op reads a value off its operand, which derivatives keep in its place."""
    op = value.owner
    return isinstance(op, TensorOp) and op.IS_READ_OFF and not isinstance(op, UnpackBitsOp)


def read_again(value: SSAValue, readers: Sequence[Operation], behind_barrier: bool) -> None:
    """Let some ops, in their order, read a value off its operand again, in front of the first.

    With a barrier no later pass merges it with the first reading, which would stay in memory.
    """
    first, op = readers[0], value.owner
    assert isinstance(op, TensorOp) and first.parent is not None
    emitter = Emitter(first.parent, op.location, before=first)
    operand = op.operands[0]
    if behind_barrier:
        operand = named(emitter.insert(BarrierOp.of([operand])).results[0], operand.name_hint)
    copy = op.clone({op.operands[0]: operand})
    read_instead(value, named(emitter.insert(copy).results[0], value.name_hint), readers)


def read_instead(value: SSAValue, other: SSAValue, readers: Sequence[Operation]) -> None:
    """Let some ops, and the ops inside of them, read another value in place of a value."""
    for use in list(value.uses):
        if any(reader.is_ancestor(use.operation) for reader in readers):
            use.operation.operands[use.index] = other


def _read_bits(forward: Block, backward: Block) -> bool:
    """Let the backward code read certain bools through their bits, which are kept; returns whether
    there are any."""
    found = [
        value
        for value in values_read_of(forward, backward)
        if is_kept_as_bits(value) and not isinstance(value.owner, UnpackBitsOp)
    ]
    for value in found:
        bits = to_bits(value)
        op = bits.owner
        assert isinstance(op, Operation)
        emitter = Emitter(forward, op.location, before=op.next_op)
        replace_uses_within(backward, value, from_bits(bits, value, emitter))
    return bool(found)


def _is_recomputed(op: TensorOp) -> bool:
    """Whether an op is recomputed from its kept operand: a view, bits, a point."""
    return op.IS_VIEW or op.IS_READ_OFF


def _reads_part(op: Operation) -> bool:
    if isinstance(op, TensorOp):
        return op.READS_PART
    return isinstance(op, tensor.ExtractOp | tensor.ExtractSliceOp)


def _is_cheap_op(op: Operation) -> bool:
    """Whether an op is scalar arithmetic, a view, a tensor of scalars, or a constant."""
    if op.regions:
        return False
    if isinstance(op, TensorOp) and _is_recomputed(op):
        return True
    if isinstance(op, tensor.FromElementsOp | tensor.SplatOp):
        return True
    is_arithmetic = op.name.startswith("arith.") and not any(is_tensor(r.type) for r in op.results)
    return is_constant(op) or is_arithmetic


def is_constant(op: Operation) -> bool:
    """Whether an op has no operands, and always the same result."""
    if op.operands:
        return False
    return has_trait(op, ConstantLike) or (isinstance(op, TensorOp) and is_side_effect_free(op))


def _is_movable(op: Operation) -> bool:
    """Whether an op may run where the program does not run it: no effects, and no failure."""
    if op.regions or not is_side_effect_free(op) or isinstance(op, _TRAPPING):
        return False
    if isinstance(op, TensorOp):
        return not op.CHECKS_INDICES
    return op.name.startswith(("arith.", "math.")) and is_speculatable(op)


def _size(value: SSAValue) -> int:
    return prod(shape_of(value.type)) if is_tensor(value.type) else 1


def _check_static(value: SSAValue) -> None:
    if is_slices(value.type):
        raise PassError(
            f"{value_name(value)}: the backward code of a region cannot read row slices; densify "
            "them, or move what makes them out of the region",
            value,
        )
    if is_tensor(value.type) and not is_static(value.type):
        raise PassError(
            f"{value_name(value)}: what the backward code of a region reads must have a static "
            f"shape, got {value.type}",
            value,
        )
