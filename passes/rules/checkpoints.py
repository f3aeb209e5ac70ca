"""Differentiation of grad.checkpoint: its backward code is a stage that runs the first again.

    %y = grad.checkpoint { ... }     becomes     the same, and in the backward code
                                                 %x_ct = grad.checkpoint { replay; derivatives }

The replay reads the inputs of the stage through barriers; a value is recomputed at its first use.
Values kept by the policy become results of the forward stage. The replay also reads the outputs
that the backward code outside reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, OpResult, SSAValue, SSAValues

from gradir.dialects.base.diagnostics import PassError, kind_name
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.checkpoint import CheckpointOp, CheckpointYieldOp
from gradir.dialects.grad.gates import HandedSupports
from gradir.passes.analysis.kept_bits import from_bits, is_kept_as_bits, to_bits
from gradir.passes.analysis.region_flow import handed_through, region_flow
from gradir.passes.analysis.regions import captured, is_defined_in
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.crossing import crossed
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import is_constant
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.differentiate.row_slices import repacked, unpacked
from gradir.passes.recompute.costs import Costs
from gradir.passes.recompute.policies import policy_named
from gradir.passes.recompute.rematerialize import Rematerialization


@dataclass
class SavedStage:
    """The stage in the forward code, and its value for each one inside of the source's."""

    forward: CheckpointOp
    inside: dict[SSAValue, SSAValue]


class CheckpointRule:
    """The structural rule of grad.checkpoint; `costs` are for policies."""

    def __init__(self, costs: Costs):
        self.costs = costs

    def forward(self, outer: Differentiator, op: CheckpointOp) -> SavedStage | None:
        if op in outer.shared.dissolved_stages:
            outer.dissolve(op, op.body.block, op.yielded)
            return None
        inside = {value: outer.primal(value) for value in captured(op)}
        copy = op.clone(inside)
        copy.location = op.location
        outer.forward.add_op(copy)
        outer.set_primal(op.results, copy.results)
        self._join_equal(outer, op)
        return SavedStage(copy, inside)

    def _join_equal(self, outer: Differentiator, op: CheckpointOp) -> None:
        """Let an output that is a value from outside, or another output, share its contributions.

        So they are added in the same order as without the stage.
        """
        first = dict[SSAValue, SSAValue]()
        for result, value in zip(op.results, op.yielded, strict=True):
            made = _source_in_stage(value, op)
            if not is_defined_in(made, op):
                outer.shared.identify(result, made)
            elif outer.activity.is_active(result) and first.setdefault(made, result) != result:
                outer.shared.identify(result, first[made])

    def backward(
        self, outer: Differentiator, op: CheckpointOp, saved: SavedStage, cts: Cotangents
    ) -> Flowing:
        inner = Differentiator(
            outer.shared,
            op.body.block,
            op.location,
            tapes_are_arguments=False,
            sparse=outer.contributions.sparse,
        )
        inner.walk_forward()
        handed = self._hand_over(outer, inner, op, cts)
        inner.walk_back()
        for value, parts in handed.items():
            if [c.ssa for c in inner.contributions.get(value, [])] == [c.ssa for c in parts]:
                # the stage added nothing
                del inner.contributions[value]
                outer.contributions[value] = parts
        flowing = inner.contributions.flowing_out()
        types = [ct.ssa.type for ct in flowing.values()]
        parts = [part.ssa for part in unpacked(flowing.values())]
        # a zero of a selection in the stage must be one outside of it, too
        read = [ct if isinstance(v, OpResult) else None for v, ct in flowing.items()]
        supports = HandedSupports(outer.shared.gates, read)
        # and one of a loop's iteration in others
        across = {v: ct for v, ct in flowing.items() if _is_of_region(v) and not is_slices(ct.type)}
        crossing = crossed(outer, op, "arguments", list(across))
        masks = crossing.hand_back([ct.ssa for ct in across.values()], inner.emitter)
        inner.backward.add_op(CheckpointYieldOp(*parts, *supports.bools, *masks))
        simplify_block(inner.backward)
        self._rematerialize(outer, inner, op, saved)
        simplify_block(inner.backward)
        yielded = [*parts, *supports.bools, *masks]
        made = outer.emitter.insert(CheckpointOp([p.type for p in yielded], inner.backward))
        summed = list(repacked(types, map(outer.emitter.value, made.results)))
        first, end = len(parts), len(parts) + len(supports.bools)
        supports.set(summed, made.results[first:end])
        found = dict(zip(flowing, summed, strict=True))
        crossing.receive([found[value].ssa for value in across], made.results[end:])
        return list(found.items())

    def _hand_over(
        self, outer: Differentiator, inner: Differentiator, op: CheckpointOp, cts: Cotangents
    ) -> dict[SSAValue, list[Value]]:
        """Give the stage the cotangents of its outputs, and the sums to which it adds; returns the
        sums.

        So contributions to one value are added in the same order as without the stage.
        """
        handed: dict[SSAValue, list[Value]] = {}
        for value in dict.fromkeys(map(outer.shared.origin, captured(op))):
            if (parts := outer.contributions.pop(value, None)) is not None:
                handed[value] = parts
                inner.contributions[value] = [inner.emitter.value(part.ssa) for part in parts]
        for value, ct in zip(op.yielded, cts, strict=True):
            if ct is not None:
                inner.contributions.add(value, inner.emitter.value(ct.ssa))
        return handed

    def _rematerialize(
        self, outer: Differentiator, inner: Differentiator, op: CheckpointOp, saved: SavedStage
    ) -> None:
        """Let the backward code of the stage recompute its residuals."""
        kept = self._kept(outer, op, saved)
        keeps = policy_named(op.policy_name, self.costs)
        source = {outer.primal(r): r for o in op.body.block.ops for r in o.results}

        def may_recompute(value: SSAValue) -> bool:
            owner = value.owner
            if value in kept or value not in source:
                return value not in kept
            return (isinstance(owner, Operation) and is_constant(owner)) or not keeps(value)

        plan = Rematerialization(
            inner.forward, inner.backward, may_recompute, has_effects=outer.program.has_effects
        )
        missing = [v for v in plan.stored if v not in kept]
        for value in missing:
            if value not in source:
                raise _not_replayable(outer, op, value)
        plan.run(kept | _keep(inner, saved, {v: saved.inside[source[v]] for v in missing}))
        for forward in reversed(list(inner.forward.ops)):
            forward.detach()
            forward.erase(safe_erase=False)

    def _kept(
        self, outer: Differentiator, op: CheckpointOp, saved: SavedStage
    ) -> dict[SSAValue, SSAValue]:
        """The outputs of the stage that the outer backward code reads."""
        kept: dict[SSAValue, SSAValue] = {}
        for value, result in zip(op.yielded, saved.forward.results, strict=False):
            if any(outer.backward.is_ancestor(use.operation) for use in result.uses):
                kept[outer.primal(value)] = result
        return kept


def _is_of_region(value: SSAValue) -> bool:
    """Whether a value is an argument of a region's block, as of a loop's."""
    home = value.owner
    around = home.parent_op() if isinstance(home, Block) else None
    return around is not None and region_flow(around) is not None


def _keep(
    inner: Differentiator, saved: SavedStage, values: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """Keep values of the forward stage; returns what the backward code reads for each."""
    as_bits = [v for v in values if is_kept_as_bits(v)]
    results = _add_results(
        saved.forward, [to_bits(made) if v in as_bits else made for v, made in values.items()]
    )
    made = dict(zip(values, results, strict=True))
    emitter = Emitter(inner.backward, inner.location, before=inner.backward.first_op)
    return made | {v: from_bits(made[v], v, emitter) for v in as_bits}


def _source_in_stage(value: SSAValue, stage: CheckpointOp) -> SSAValue:
    """The source of a yielded value of a stage, through regions inside of the stage.

    Not through regions outside of it: the outer walk back reads contributions to the results of
    such ops, never those to values inside of them.
    """
    while isinstance(value, OpResult) and is_defined_in(value, stage):
        if (handed_back := handed_through(value)) is None:
            break
        value = handed_back
    return value


def _not_replayable(outer: Differentiator, stage: CheckpointOp, value: SSAValue) -> PassError:
    """The error for a stage that would repeat an op with effects.

    The stage's own values can be kept instead, but not those that only derivatives need.
    """
    owner = value.owner
    assert isinstance(owner, Operation)
    inner = next(filter(outer.program.has_own_effect, owner.walk()), owner)
    return PassError(
        f"{kind_name(inner)}: has effects, so that a checkpoint stage cannot run it again; move "
        "it out of the stage",
        inner,
        [("the stage that would run it again", stage)],
    )


def _add_results(op: CheckpointOp, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Add results to a stage for further values; returns these.

    The op stays the same object: its results are known as forward values by then.
    """
    last = op.body.block.last_op
    assert last is not None
    count = len(op.results)
    last.operands = [*last.operands, *values]
    added = [OpResult(v.type, op, count + k) for k, v in enumerate(values)]
    for result, value in zip(added, values, strict=True):
        result.name_hint = value.name_hint
    op.results = SSAValues((*op.results, *added))
    return added
