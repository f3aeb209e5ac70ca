"""A limit on the bytes of all growing tapes of a derivative."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from gradir.dialects.grad.tape import TapeNewOp, TapeType
from gradir.passes.analysis.union_find import tape_families
from gradir.passes.differentiate.derived import Derived


def limit_tapes(derived: Derived, left: int) -> None:
    """Give each tape without a capacity its share of the bytes; a lower limit stays."""
    tapes = _growing(derived)
    count = sum(isinstance(v.owner, TapeNewOp) for v in tapes)
    for tape in tapes:
        type_ = tape.type
        assert isinstance(type_, TapeType)
        share = left // count
        own = type_.byte_limit
        limit = share if own is None else min(share, own)
        Rewriter.replace_value_with_new_type(tape, TapeType.of(list(type_.columns), None, limit))


def has_growing(derived: Derived) -> bool:
    """Whether a derivative has a growing tape of its own."""
    return bool(_growing(derived))


def _growing(derived: Derived) -> list[SSAValue]:
    """The tapes without a capacity, but for arguments and results: these lie in the caller's
    memory, and keep their types."""
    families = tape_families([derived.forward, derived.backward])
    outside = [*derived.forward.args, *derived.backward.args, *derived.results, *derived.grads]
    given = {families.of(v) for v in outside}
    return [v for v in _values(derived) if grows(v) and families.of(v) not in given]


def grows(value: SSAValue) -> bool:
    """Whether a value is a tape without a capacity."""
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
