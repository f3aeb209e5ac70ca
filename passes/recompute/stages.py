"""The checkpoint stage of each op, and errors for markers that do not nest.

Every value computed from the result of a start_checkpoint is in its stage, up to an
end_checkpoint, which leaves the innermost stage of its operand. An op that reads values of two
stages makes them one stage with several inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, Place, value_name
from gradir.dialects.grad.grad import EndCheckpointOp, StartCheckpointOp
from gradir.passes.analysis.regions import MAX_REGION_DEPTH, region_depth, values_read


@dataclass(eq=False)
class MarkedStage:
    """A stage and its markers; `outer` is the stage around it, `merged` the stage it became."""

    outer: MarkedStage | None
    depth: int
    starts: list[StartCheckpointOp] = field(default_factory=list[StartCheckpointOp])
    ends: list[EndCheckpointOp] = field(default_factory=list[EndCheckpointOp])
    merged: MarkedStage | None = None


class Stages:
    """The stages of one block; PassError where a marker has no counterpart or a value leaks."""

    def __init__(self, block: Block):
        self._of_value: dict[SSAValue, MarkedStage] = {}
        self._of_op: dict[Operation, MarkedStage] = {}
        self._all: list[MarkedStage] = []
        for op in block.ops:
            self._place(op)
        _check_depth(self._all, region_depth(block))
        place = {op: k for k, op in enumerate(block.ops)}
        for stage in self._all:
            stage.starts.sort(key=place.__getitem__)
            stage.ends.sort(key=place.__getitem__)
            if stage.merged is None and not stage.ends:
                raise _endless(stage, self._leaving(stage, block))
        last = block.last_op
        for value in () if last is None else values_read(last):
            if (stage := self.of_value(value)) is not None:
                raise leak(last or stage.starts[0], value, stage)

    def of_value(self, value: SSAValue) -> MarkedStage | None:
        """The innermost stage of a value."""
        stage = self._of_value.get(value)
        return None if stage is None else find(stage)

    def home(self, op: Operation) -> MarkedStage | None:
        """The innermost stage of an op; a marker is in the one around its own."""
        stage = self._of_op.get(op)
        return None if stage is None else find(stage)

    def _place(self, op: Operation) -> None:
        stage = self._merged_stage(values_read(op))
        if isinstance(op, EndCheckpointOp):
            if stage is None:
                raise _startless(op)
            stage.ends.append(op)
            stage = stage.outer
        if stage is not None:
            self._of_op[op] = stage
        if isinstance(op, StartCheckpointOp):
            stage = MarkedStage(stage, 1 if stage is None else stage.depth + 1, [op])
            self._all.append(stage)
        if stage is not None:
            self._of_value.update((result, stage) for result in op.results)

    def _merged_stage(self, values: Sequence[SSAValue]) -> MarkedStage | None:
        """The innermost stage of several values; merges stages of one depth."""
        found = [s for v in dict.fromkeys(values) if (s := self.of_value(v)) is not None]
        if not found:
            return None
        deepest = max(found, key=lambda s: s.depth)
        for stage in found:
            _merge(stage, ancestor(deepest, stage.depth))
        return find(deepest)

    def _leaving(self, stage: MarkedStage, block: Block) -> Operation | None:
        """The last op of a stage without an end."""
        ops = [op for op in block.ops if self.home(op) is stage]
        last = block.last_op
        if last is not None and any(self.of_value(v) is stage for v in values_read(last)):
            return last
        return ops[-1] if ops else None


def _check_depth(stages: Sequence[MarkedStage], around: int) -> None:
    """PassError for stages that nest too deeply: each becomes a region."""
    for stage in stages:
        if around + stage.depth > MAX_REGION_DEPTH:
            raise PassError(
                f"grad.start_checkpoint: stages are nested too deeply: this one would be in "
                f"{around + stage.depth - 1} regions, the limit is {MAX_REGION_DEPTH} within each "
                f"other; end a stage before the next one starts",
                stage.starts[0],
            )


def find(stage: MarkedStage) -> MarkedStage:
    """The stage that this one was merged into, or itself."""
    root = stage
    while root.merged is not None:
        root = root.merged
    while stage.merged is not None:
        stage.merged, stage = root, stage.merged
    return root


def ancestor(stage: MarkedStage, depth: int) -> MarkedStage:
    """The stage at a depth around a stage, or itself."""
    stage = find(stage)
    while stage.depth > depth:
        assert stage.outer is not None
        stage = find(stage.outer)
    return stage


def _merge(one: MarkedStage | None, other: MarkedStage | None) -> None:
    """Merge two stages of one depth, and those around them."""
    while one is not None and other is not None:
        one, other = find(one), find(other)
        if one is other:
            return
        one.merged = other
        other.starts += one.starts
        other.ends += one.ends
        one, other = one.outer, other.outer


def around(stage: MarkedStage) -> MarkedStage | None:
    """The stage around a stage."""
    return None if stage.outer is None else find(stage.outer)


# Errors.


def _startless(op: EndCheckpointOp) -> PassError:
    return PassError(
        "grad.end_checkpoint: a stage must begin with grad.start_checkpoint, got "
        f"{value_name(op.x)}, which is not computed from one, or was ended already",
        op,
        [(f"{value_name(op.x)} is defined here", op.x)],
    )


def _endless(stage: MarkedStage, last: Operation | None) -> PassError:
    start = stage.starts[0]
    notes: list[tuple[str, Place]] = []
    if last is not None:
        notes.append((f"the last op of the stage is this {last.name}", last))
    return PassError(
        "grad.start_checkpoint: the stage must end with grad.end_checkpoint, got no end of what is "
        f"computed from {value_name(start.y)}",
        start,
        notes,
    )


def leak(op: Operation, value: SSAValue, stage: MarkedStage) -> PassError:
    """The error for a use of a stage's value behind its end."""
    return PassError(
        f"{op.name}: a stage is left through grad.end_checkpoint, got {value_name(value)}, which "
        "leaks around the end; end it too",
        op,
        list(_ends_of(stage)),
    )


def crossing(stages: Sequence[MarkedStage]) -> PassError:
    """The error for a cycle of stages: each reads a result of the next."""
    notes = [note for stage in stages for note in _ends_of(stage)]
    return PassError(
        "grad.start_checkpoint: stages must nest or follow each other, got "
        f"{len(stages)} that need each other's results",
        stages[0].starts[0],
        notes[1:],
    )


def _ends_of(stage: MarkedStage) -> Iterator[tuple[str, Place]]:
    start, end = stage.starts[0], stage.ends[0]
    yield f"the stage starts here, with {value_name(start.y)}", start
    yield f"and ends here, with {value_name(end.y)}", end
