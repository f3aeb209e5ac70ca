"""Reverse mode on one function: from the seeds of its targets to the gradients of `wrt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.base.value_names import cotangent_name
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.gates import Gates
from gradir.dialects.grad.grad import AccumulateOp, ones, zero
from gradir.dialects.grad.slices import densified, slices_of, whole, zero_rows
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.activity import Activity, Dependence, analyze
from gradir.passes.analysis.effects import effect_problem
from gradir.passes.analysis.region_flow import ops_within, region_flow
from gradir.passes.analysis.regions import values_read
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.call_dependence import dependence
from gradir.passes.differentiate.call_masks import (
    CalleeMasks,
    masks_of_callee,
    note_gradients,
    open_seeds,
    refuse_calls,
)
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.refusals import check_differentiable
from gradir.passes.differentiate.selectors import Target
from gradir.passes.differentiate.shared import Shared
from gradir.passes.differentiate.structural_rule import Rules
from gradir.passes.differentiate.tables import Tables


class FunctionDifferentiator:
    """The forward and backward code of one function.

    `executions` is a bound on the calls of the function during the life of its tapes.
    `tapes_are_arguments` of a callee: its tapes are arguments and results of its halves, so that a
    call in a loop may push on the tapes of the caller.
    """

    def __init__(
        self,
        program: ModuleFunctions,
        rules: Rules,
        source: FuncOp,
        wrt: Sequence[Target],
        of: Sequence[Target],
        executions: int | None = 1,
        tapes_are_arguments: bool = False,
    ):
        self.program = program
        self.rules = rules
        self.source = source
        self.wrt = wrt
        self.of = of
        self.executions = executions
        self.tapes_are_arguments = tapes_are_arguments
        # of the last run, for callers
        self.masks = CalleeMasks(frozenset(), frozenset(), {})
        self.block = program.block(source)
        self.activity: Activity = analyze(
            self.block, [t.value for t in wrt], [t.value for t in of], self._dependence
        )
        tables = (t.value for t in wrt if t.request in ("slices", "rows"))
        self.tables = Tables(program, self.activity, tables)
        check_differentiable(source, self.block, self.activity, rules)
        self._check_effects()

    def run(self, seed_with_ones: bool) -> Derived:
        borders = Borders()
        borders.refuse_tapes(self._types_outside())
        shared, derived = self._run_once(borders, seed_with_ones)
        while borders.learn():
            shared.take_down()
            refuse_calls(borders)
            shared, derived = self._run_once(borders, seed_with_ones)
        self.masks = masks_of_callee(borders, self.source)
        shared.take_down(derived.forward, derived.backward)
        derived.clean(simplify_block)
        return derived

    def _run_once(self, borders: Borders, seed_with_ones: bool) -> tuple[Shared, Derived]:
        """The derivative with masks across certain borders; notes what it learns of borders."""
        stages, gates = self.dissolved_stages(), Gates(borders)
        shared = Shared(self.program, self.rules, self.activity, self.tables, stages, gates=gates)
        try:
            return shared, self._derived(shared, seed_with_ones)
        except BaseException:
            shared.take_down()
            raise

    def _derived(self, shared: Shared, seed_with_ones: bool) -> Derived:
        work = Differentiator(
            shared,
            self.block,
            self.source.location,
            self.executions,
            self.tapes_are_arguments,
            requested=[t.value for t in self.wrt],
            sparse=self.tables.names,
        )
        for argument in self.block.args:
            work.add_argument(argument)
        work.walk_forward()
        cotangents = self._seed(work, seed_with_ones)
        work.walk_back()
        grads = [gradient_of(work, t) for t in self.wrt]
        work.contributions.check_none_left()
        if self.tapes_are_arguments:
            note_gradients(shared.gates, self.source, grads, work.emitter)
        added = add_to_given(work, self.wrt, grads)
        results = [shared.primal[r] for r in self.program.results(self.source)]
        return Derived(
            self.source, work.forward, work.backward, results, cotangents, grads, work.tapes,
            added=added, loops=[shared.loops[op] for op in self.block.walk() if op in shared.loops],
        )  # fmt: skip

    def _types_outside(self) -> Iterator[Attribute]:
        """The types of what the function, or one that it calls, gets and returns."""
        yield from (argument.type for argument in self.block.args)
        yield from (result.type for result in self.program.results(self.source))
        for op in self.block.walk():
            if isinstance(op, CallOp):
                yield from (value.type for value in (*op.operands, *op.results))

    def _check_effects(self) -> None:
        """PassError at the first op with effects that reads an active value."""
        varied = self.activity.varied
        for op in ops_within(self.block):
            if isinstance(op, TensorOp) or region_flow(op) is not None:
                continue
            if read := varied.intersection(values_read(op)):
                in_order = (v for v in values_read(op) if v in read)
                if (problem := effect_problem(op, in_order)) is not None:
                    raise problem

    def dissolved_stages(self) -> set[Operation]:
        """The stages around requested values, which need cotangents from outside of the stage."""
        found: set[Operation] = set()
        for target in (*self.wrt, *self.of):
            owner = target.value.owner
            around = owner if isinstance(owner, Operation) else None
            while around is not None and (around := around.parent_op()) is not None:
                if isinstance(around, CheckpointOp):
                    found.add(around)
        return found

    def _dependence(self, op: Operation) -> Dependence | None:
        if not isinstance(op, CallOp):
            return None
        return lambda call, varied: dependence(self.program, cast(CallOp, call), varied)

    def _seed(self, work: Differentiator, with_ones: bool) -> list[SSAValue]:
        """Contribute the seed of each target; returns the cotangent arguments (of `backward`)."""
        arguments: list[SSAValue] = []
        for target in self.of:
            type_ = cotangent_type(target.value.type)
            if with_ones:
                seed = ones(type_, work.emitter).ssa
            else:
                seed = work.backward.insert_arg(type_, len(arguments))
                arguments.append(seed)
            seed.name_hint = cotangent_name(target.hint)
            work.contributions.add(target.value, work.emitter.value(seed))
        if self.tapes_are_arguments:
            open_seeds(work.shared.gates, self.source, arguments)
        return arguments


def gradient_of(work: Differentiator, target: Target) -> SSAValue:
    """The gradient of a target after the walk, in the requested form."""
    value, sums = target.value, work.contributions
    ct = sums.found.get(value) or sums.cotangent(value)
    if target.request == "slices":
        ct = _as_slices(ct, value, work)
    elif ct is None:
        ct = zero(value.type, work.emitter)
    elif target.request != "rows":
        ct = densified(ct)
    return ct.named(cotangent_name(target.hint)).ssa


def add_to_given(
    work: Differentiator, targets: Sequence[Target], grads: list[SSAValue]
) -> dict[int, SSAValue]:
    """Add the gradients of `add` to new arguments behind the cotangents; returns these."""
    added: dict[int, SSAValue] = {}
    emitter, block = work.emitter, work.backward
    for k, target in enumerate(targets):
        if target.request != "add":
            continue
        before = block.insert_arg(grads[k].type, len(block.args))
        before.name_hint = f"{target.hint}_before"
        old, grad = emitter.value(before), emitter.value(grads[k])
        # the whole gradient is one operand: the sum has the bits of before + gradient
        total = old + grad if isinstance(old, Scalar) else AccumulateOp.on(old, grad)
        grads[k] = total.named(cotangent_name(target.hint)).ssa
        added[k] = before
    return added


def _as_slices(ct: Value | None, value: SSAValue, work: Differentiator) -> Value:
    """A cotangent as slices: all rows of a tensor, no row without contributions."""
    if ct is None:
        return slices_of(*zero_rows(value.type, 0, work.emitter), value.type)
    return ct if is_slices(ct.ssa.type) else whole(ct)
