"""Ops replaced and erased. A value that stands for another one gets its name, unless it has one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue


def erase(op: Operation) -> None:
    """Remove an op without readers from its block."""
    op.detach()
    op.erase()


def replace_results(op: Operation, values: Iterable[SSAValue]) -> None:
    """Values in place of the results of an op, which is erased."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def insert_before(op: Operation, place: Operation) -> None:
    """Put an op in front of another, at its location in the source."""
    block = place.parent
    assert block is not None
    op.location = place.location
    block.insert_op_before(op, place)


def replace_op(op: Operation, new: Operation, results: Sequence[SSAValue] | None = None) -> None:
    """Put `new` in the place of `op`; its results replace all results of `op`, or `results`."""
    insert_before(new, op)
    for old, value in zip(op.results if results is None else results, new.results, strict=True):
        old.replace_all_uses_with(value)
    erase(op)
