"""Loop ops that differ in nothing but where in their buffers they begin, as one.

A block of rows of a tensor is read by an access with a constant: `%x[d0 + 256, d1]`. Anchored, the
op reads `%x[d0, d1]` behind a pointer that the caller moves. So blocks of one tensor share code.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from xdsl.ir import Attribute

from gradir.codegen.text.writer import LINE_BYTES
from gradir.dialects.base.access import Access
from gradir.dialects.base.shapes import byte_size, element_of
from gradir.dialects.base.traced_sizes import divides
from gradir.dialects.loopnest.loopnest import LoopOp, ShapedType


def anchored(op: LoopOp, places: Sequence[Hashable]) -> tuple[LoopOp, tuple[int, ...]]:
    """The op with accesses that begin at 0, and the bytes to move each operand's pointer by.

    `places` has the place of each operand's buffer. Operands in one place are moved alike or not at
    all: code tells their elements apart by the subscripts. Padded reads stay, whose subscripts are
    compared with bounds, and so do outputs whose whole buffer the op fills or converts first.
    """
    accesses: list[Access | None] = [*op.input_accesses, *op.output_accesses]
    updated = {k for k in op.starting_outputs if _is_summed_in_place(op, k)}
    may_move = [pad is None for pad in op.input_pads]
    may_move += [k in updated for k in range(len(op.outputs))]
    # at buffer level no operand stands between the inputs and the outputs; scratch is the last
    rows = zip(places, op.operands, accesses, may_move, strict=False)
    of_place: dict[Hashable, set[int]] = {}
    for place, operand, access, may in rows:
        of_place.setdefault(place, set()).add(_distance(operand.type, access) if may else 0)
    moved = {place for place, distances in of_place.items() if len(distances) == 1}
    distances = [min(of_place[p]) if p in moved else 0 for p in places[: len(accesses)]]
    if not any(distances):
        return op, (0,) * len(op.operands)
    begun = [
        access.at_zero if distance and access else access
        for access, distance in zip(accesses, distances, strict=True)
    ]
    made = op.clone()
    made.set_accesses(begun[: len(op.inputs)], cast(list[Access], begun[len(op.inputs) :]))
    rest = (0,) * (len(op.operands) - len(distances))
    return made, (*distances, *rest)


def _is_summed_in_place(op: LoopOp, number: int) -> bool:
    """Whether an output that starts from its buffer's contents is only touched where the op writes:
    numbers that are summed in a wider type are converted all, before and after."""
    return op.output_combiners[number] == "none" or op.is_stored_as_yielded(number)


def _distance(type_: Attribute, access: Access | None) -> int:
    """The bytes from a buffer's begin to the element of iteration 0, if code may begin there: code
    relies on buffers that begin with a line of the cache."""
    if access is None or access.at_zero is access:
        return 0
    shape = cast(ShapedType, type_).get_shape()
    distance = access.strides(shape)[1] * byte_size(element_of(type_))
    return distance if distance > 0 and divides(LINE_BYTES, distance) else 0
