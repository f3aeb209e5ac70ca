"""The cotangents of captured values as a backward loop carries them: one sum for each.

A sum is a tensor, which starts from the cotangent so far. For a table read by rows it is row
slices: room for the slices of all iterations, and their number so far. Each iteration writes its
slices behind the ones of the iteration before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.slice_type import SlicesType, is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import Integers, name_all, named
from gradir.dialects.grad.slices import slices_of, zero_rows
from gradir.passes.analysis.regions import defined_inside, values_read_inside
from gradir.passes.differentiate.contributions import cotangent_hint, zero_of
from gradir.passes.differentiate.crossing import Crossing, crossed
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.row_slices import pair_of

INDEX = IndexType()

Parts = list[SSAValue]
"""The carried values of one sum."""


@dataclass(frozen=True)
class Sum:
    """The sum of a captured active value: a tensor, or row slices with room for `room` of them.

    Behind a tensor are the masks that cross the border of the loop with it.
    """

    value: SSAValue
    crossing: Crossing = field(compare=False)
    room: int | None = None

    @property
    def types(self) -> list[Attribute]:
        if self.room is None:
            return [*self.crossing.types, *self.crossing.mask_types]
        slices = SlicesType.of(self.value.type, self.room)
        return [slices.indices, slices.values, INDEX]

    @property
    def names(self) -> list[str]:
        hint = cotangent_hint(self.value)
        if self.room is None:
            return [hint, *self.crossing.mask_names([hint])]
        return [f"{hint}_indices", f"{hint}_values", "filled"]

    def start(self, outer: Differentiator) -> Parts:
        """The sum before the loop."""
        if self.room is None:
            so_far = [outer.contributions.sum_so_far(self.value).ssa]
            self.crossing.refuse_unknown(so_far)
            return [*so_far, *self.crossing.hand_over(so_far, outer.emitter)]
        return self.nothing(outer.emitter)

    def nothing(self, emitter: Emitter) -> Parts:
        """The sum without contributions."""
        if self.room is None:
            nothing = [zero_of(self.value, self.crossing.gates.borders, emitter).ssa]
            return [*nothing, *self.crossing.hand_over(nothing, emitter)]
        pair = zero_rows(self.value.type, self.room, emitter)
        return [*(part.ssa for part in pair), Integers(INDEX, emitter).constant(0)]

    def begin(self, before: Parts, emitter: Emitter) -> Value:
        """The sum so far of a tensor, in an iteration."""
        self.crossing.receive(before[:1], before[1:])
        return emitter.value(before[0])

    def after(self, before: Parts, ct: Value, parts: Sequence[Value]) -> Parts:
        """The sum after an iteration, whose contribution to a tensor's sum includes that.

        `parts` are the contributions to a tensor, the sum so far among them.
        """
        if self.room is None:
            added = [part.ssa for part in parts if part.ssa is not before[0]]
            return [ct.ssa, *self.crossing.hand_back([ct.ssa], ct.emitter, added)]
        assert is_slices(ct.ssa.type), f"{cotangent_hint(self.value)} is no row slices"
        if not self.room:  # no iteration, or none with slices
            return before
        *columns, filled = before
        pair = pair_of(ct)
        written = [
            _written(p.ssa, c, filled, ct.emitter) for p, c in zip(pair, columns, strict=True)
        ]
        index = Integers(INDEX, ct.emitter)
        [count] = pair[0].shape
        return [*written, index.value(index.add(filled, count))]

    def cotangent(self, parts: Parts, emitter: Emitter) -> Value:
        """The contribution of the whole loop."""
        name_all(parts, self.names)
        if self.room is None:
            return self.begin(parts, emitter)
        first, *others = map(emitter.value, parts)
        return slices_of(first, others[0], self.value.type)


def sums_of(outer: Differentiator, op: Operation) -> list[Sum]:
    """The sums of a loop: of the captured active values, also those read as a carried value that
    never changes."""
    inside, rows = defined_inside(op), outer.tables_by_rows(op)
    read = dict.fromkeys(map(outer.shared.origin, values_read_inside(op)))
    captured = (v for v in read if v not in inside and outer.activity.is_active(v))
    return [
        Sum(value, crossed(outer, op, f"sum {k}", [value]), rows.get(value))
        for k, value in enumerate(captured)
    ]


def _written(part: SSAValue, column: SSAValue, place: SSAValue, emitter: Emitter) -> SSAValue:
    """A column with the elements of a part from a place on."""
    sizes = shape_of(part.type)
    first = [DYNAMIC_INDEX, *(0 for _ in sizes[1:])]
    made = tensor.InsertSliceOp.get(part, column, sizes, first, [1] * len(sizes), offsets=[place])
    return named(emitter.insert(made).result, column.name_hint)
