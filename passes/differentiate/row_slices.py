"""Row slices as two tensors, indices and values, where they leave a region or a function.

Code that reads a region's results, as its derivative does, finds tensors there: the slices are made
behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Attribute

from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Value
from gradir.dialects.grad.grad import AccumulateOp
from gradir.dialects.grad.slices import Pair, SlicesOp, concatenated, slices_of


def pair_of(slices: Value) -> Pair:
    """The indices and the values of a cotangent that is row slices."""
    owner, emitter = slices.ssa.owner, slices.emitter
    if isinstance(owner, AccumulateOp):
        return concatenated([pair_of(emitter.value(part)) for part in owner.operands])
    assert isinstance(owner, SlicesOp), f"slices of {owner}"
    return emitter.value(owner.indices), emitter.value(owner.values)


def unpacked(values: Iterable[Value]) -> list[Value]:
    """Values with a pair in the place of each one of slices."""
    found: list[Value] = []
    for value in values:
        found += pair_of(value) if is_slices(value.ssa.type) else [value]
    return found


def repacked(types: Iterable[Attribute], parts: Iterable[Value]) -> Iterator[Value]:
    """Values of these types from what `unpacked` made of them."""
    rest = iter(parts)
    for type_ in types:
        part = next(rest)
        yield slices_of(part, next(rest), type_.dense) if is_slices(type_) else part
