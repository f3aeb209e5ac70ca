"""Cotangents of the values of a block, as sums of contributions.

Each reader of a value contributes to its cotangent. The walk back visits all readers before the op
of the value, which takes the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, location_text, op_name, value_name
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.base.value_names import cotangent_name
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.grad import accumulated, zero
from gradir.dialects.grad.slices import densified
from gradir.dialects.grad.tape import TapePopOp, is_tape, new_tape
from gradir.passes.differentiate.shared import Shared


class Contributions(dict[SSAValue, list[Value]]):
    """The contributions to each value so far, in reverse program order.

    A lost contribution is an AssertionError: a value takes a contribution unless it has no way to
    a gradient (`takes`), and each one left after the walk must have a taker (`check_none_inside`,
    `check_none_left`). `sparse` are the tables whose cotangents are summed as row slices where ops
    offer these. `found` has the cotangents of the requested results of ops.
    """

    def __init__(
        self,
        shared: Shared,
        emitter: Emitter,
        requested: Iterable[SSAValue] = (),
        sparse: Iterable[SSAValue] = (),
    ):
        super().__init__()
        self.shared = shared
        self.emitter = emitter
        self.requested = set(requested)
        self.sparse = set(sparse)
        self.found: dict[SSAValue, Value] = {}

    def add(self, value: SSAValue, ct: Value | None) -> None:
        """Add a contribution to the cotangent of a value, of this block or from outside; None is
        a contribution of zero, which is left out."""
        if ct is None or not self.takes(value):
            return
        ct.named(cotangent_hint(value))
        value = self.shared.origin(value)
        type_ = ct.ssa.type
        given = type_.dense if is_slices(type_) and value in self.sparse else type_
        expected = self.shared.gates.borders.cotangent_type(value.type)
        assert given == expected, f"cotangent {type_} of {value.type}"
        self.setdefault(value, []).append(ct)

    def takes(self, value: SSAValue) -> bool:
        """Whether a contribution to a value reaches a gradient: it depends on a requested value."""
        value, activity = self.shared.origin(value), self.shared.activity
        if value not in activity.varied:
            return False
        if value not in activity.useful:
            raise lost(value, "has no way to a gradient")
        return True

    def sums_slices(self, value: SSAValue) -> bool:
        """Whether contributions to a value may be row slices."""
        return self.shared.origin(value) in self.sparse

    # Sums.

    def reach(self, op: Operation) -> bool:
        """Whether cotangents flow through an op.

        Each record popped from an active tape must get a cotangent, zeros included, since the tape
        of the cotangents has a record for each.
        """
        if isinstance(op, TapePopOp) and self.shared.activity.is_active(op.tape):
            return True
        return any(result in self for result in op.results)

    def take_from_results(self, op: Operation) -> Cotangents:
        """Remove the contributions to the results of an op; returns their sums, which are dense.
        Stores requested ones in `found`."""
        cts = [self.cotangent(result) for result in op.results]
        for result, ct in zip(op.results, cts, strict=True):
            if ct is not None and result in self.requested:
                self.found[result] = ct
        return [None if ct is None else densified(ct) for ct in cts]

    def cotangent(self, value: SSAValue) -> Value | None:
        """The sum of the contributions to a value, which are removed; None if there are none."""
        parts = self.pop(value, None)
        return None if parts is None else summed(value, parts)

    def cotangent_or_zero(self, value: SSAValue) -> Value:
        ct = self.cotangent(value)
        return densified(self.zero_of(value) if ct is None else ct)

    def zero_of(self, value: SSAValue) -> Value:
        """The cotangent of a value without contributions."""
        return zero_of(value, self.shared.gates.borders, self.emitter)

    def sum_so_far(self, value: SSAValue) -> Value:
        """The sum so far for a captured value; an op of this block adds to it.

        So an inner loop continues the sum of the outer one, instead of adding a sum of its own.
        """
        return self.cotangent_or_zero(self.shared.origin(value))

    def flowing_out(self) -> dict[SSAValue, Value]:
        """The cotangents of values from outside the block, after the walk."""
        sums = [(value, self.cotangent(value)) for value in list(self)]
        return {value: ct for value, ct in sums if ct is not None}

    # Checks.

    def check_none_inside(self, block: Block) -> None:
        """AssertionError if a contribution to the result of an op in a block is left after the
        walk; contributions to block arguments and to values from outside may be left."""
        for value in self:
            home = value.owner
            assert isinstance(home, Operation | Block)
            if home is not block and block.is_ancestor(home):
                raise lost(value, "came after the walk back had passed it")

    def check_none_left(self) -> None:
        """AssertionError if a contribution is left in a function's block."""
        for value in self:
            raise lost(value, "is left over")


def lost(value: SSAValue, fact: str) -> AssertionError:
    """The AssertionError for a contribution that would be in no gradient."""
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    place = "" if owner is None else f"{location_text(owner)}{op_name(owner)}: "
    return AssertionError(f"{place}the cotangent of {value_name(value)} {fact}")


def summed(value: SSAValue, parts: Sequence[Value]) -> Value:
    """The cotangent of a value from contributions, in reverse program order."""
    if is_tape(value.type) and len(parts) > 1:
        raise PassError(
            f"{value_name(value)}: a tape must be read once on each path, got {len(parts)} readers",
            value,
        )
    return accumulated(parts).named(cotangent_hint(value))


def zero_of(value: SSAValue, borders: Borders, emitter: Emitter) -> Value:
    """The cotangent of a value without contributions."""
    if is_tape(value.type):
        made = emitter.value(new_tape(borders.cotangent_type(value.type), emitter))
    else:
        made = zero(value.type, emitter)
    return made.named(cotangent_hint(value))


def cotangent_hint(value: SSAValue) -> str:
    return cotangent_name(value.name_hint)
