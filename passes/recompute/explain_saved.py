"""A table for people of a derivative's kept values and their reasons, one line per value.

A tape without a capacity grows while the program runs; the table has the bytes of one record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import file_location, location_of, value_name
from gradir.dialects.grad.tape import TapeType, record_bytes
from gradir.passes.analysis.kept_bits import kept_bytes
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.residuals import is_constant
from gradir.passes.recompute.costs import Cost, Costs
from gradir.passes.recompute.tape_limits import grows


@dataclass(frozen=True)
class Saved:
    """A residual: a value of the forward code that the backward code reads.

    `bytes` is its size, None for a growing tape. `reader` is the first op that reads it; `cost`
    is what its op costs again, None for an argument.
    """

    value: SSAValue
    bytes: int | None
    reader: Operation
    readers: int
    cost: Cost | None


def saved_values(derived: Derived, costs: Costs) -> list[Saved]:
    """The kept values in program order."""
    readers: dict[SSAValue, list[Operation]] = {}
    for top in derived.backward.ops:
        for op in top.walk():
            for value in dict.fromkeys(op.operands):
                if _is_kept(value, derived.forward):
                    readers.setdefault(value, []).append(op)
    in_order = [*derived.forward.args, *(r for op in derived.forward.ops for r in op.results)]
    return [_saved(value, readers[value], costs) for value in in_order if value in readers]


def explain(derived: Derived, costs: Costs) -> str:
    """The table of kept values."""
    saved = saved_values(derived, costs)
    rows = [("bytes", "value", "made", "read first", "to recompute")]
    rows += [_row(each, derived) for each in saved]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(r, widths, strict=True)) for r in rows]
    head = f"@{derived.source.sym_name.data}: {len(saved)} values are kept, {_total(saved)}"
    lines += [f"{loop.op.name}{_at(loop.op)}: {loop.policy}" for loop in derived.loops]
    return "\n".join([head, *(f"  {line.rstrip()}" for line in lines)])


def _total(saved: Sequence[Saved]) -> str:
    """The text of the total: bytes of values computed by the forward code, growing tapes apart."""
    made = [each.bytes for each in saved if each.cost is not None]
    others = " and tapes that grow" if None in made else ""
    return f"{sum(filter(None, made))} bytes of them beside arguments{others}"


def _is_kept(value: SSAValue, forward: Block) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        return owner is forward
    return owner.parent is forward and not is_constant(owner)


def _saved(value: SSAValue, readers: Sequence[Operation], costs: Costs) -> Saved:
    owner = value.owner
    cost = costs.of(owner) if isinstance(owner, Operation) else None
    size = None if grows(value) else kept_bytes(value)
    return Saved(value, size, readers[0], len(readers), cost)


def _row(saved: Saved, derived: Derived) -> tuple[str, str, str, str, str]:
    owner = saved.value.owner
    made = "argument"
    if isinstance(owner, Operation):
        made = f"{owner.name}{_at(owner)}"
        made += ", a result too" if saved.value in derived.results else ""
    others = f" and {saved.readers - 1} more" if saved.readers > 1 else ""
    read = f"{saved.reader.name}{_at(saved.reader)}{others}"
    return _bytes_text(saved), value_name(saved.value), made, read, _cost_text(saved.cost)


def _bytes_text(saved: Saved) -> str:
    type_ = saved.value.type
    if saved.bytes is None and isinstance(type_, TapeType):
        return f"{record_bytes(type_)} a record"
    return str(saved.bytes)


def _at(op: Operation) -> str:
    place = file_location(location_of(op))
    return "" if place is None else f" at {place.line.data}:{place.column.data}"


def _cost_text(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    if cost.is_free:
        return "free"
    return f"{cost.flops} flops, {cost.bytes} bytes"
