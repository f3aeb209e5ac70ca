"""A limit on the bytes of all tapes of a derivative that grow while it runs."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from gradir.dialects.tape import TapeNewOp, TapeType
from gradir.passes.derived_functions import Derived
from gradir.passes.families import tape_families


def limit_tapes(derived: Derived, left: int) -> None:
    """Give each tape without a capacity its share of the bytes; a lower limit stays.

    What comes in or is returned lies in the caller's memory, and keeps its type.
    """
    families = tape_families([derived.forward, derived.backward])
    outside = [*derived.forward.args, *derived.backward.args, *derived.results, *derived.grads]
    given = {families.of(v) for v in outside}
    tapes = [v for v in _values(derived) if grows(v) and families.of(v) not in given]
    count = sum(isinstance(v.owner, TapeNewOp) for v in tapes)
    for tape in tapes:
        type_ = tape.type
        assert isinstance(type_, TapeType)
        share = left // count
        own = type_.byte_limit
        limit = share if own is None else min(share, own)
        Rewriter.replace_value_with_new_type(tape, TapeType.of(list(type_.columns), None, limit))


def grows(value: SSAValue) -> bool:
    """It is a tape without a capacity."""
    return isinstance(value.type, TapeType) and value.type.records is None


def _values(derived: Derived) -> Iterator[SSAValue]:
    """All values of the forward and the backward code."""
    for block in (derived.forward, derived.backward):
        yield from block.args
        for op in block.walk():
            yield from op.results
            for region in op.regions:
                for inner in region.blocks:
                    yield from inner.args
