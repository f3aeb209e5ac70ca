"""Forward mode: `@f_jvp(primals, tangents) -> (results, tangents of the results)`.

One walk copies the function and puts behind each active op the code for its tangents. That code
is the transpose of the op's vjp, so that one rule serves both modes: the vjp is emitted on dummy
cotangents; its ops on them are a linear program, and the derivative of that program with respect
to the dummies, by the rules of its own ops, gives the tangents. Its ops on primal values alone
stay, as the coefficients; the linear program itself is erased. There are no residuals: loops carry
tangents along without tapes, and checkpoints have no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.diagnostics import PassError, kind_name, op_name
from gradir.dialects.base.interfaces import Cotangents, is_terminator
from gradir.dialects.base.op_rules import vjp_rule
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.gates import Gates, Wanted
from gradir.dialects.grad.grad import accumulated, zero
from gradir.dialects.grad.host_call import HostCallOp, tangent_call
from gradir.dialects.grad.join import JoinOp
from gradir.dialects.grad.tape import cotangent_type, is_floating
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.region_flow import executions_within, region_flow, yielded
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.cleanup.call_boundaries import remove_joins
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.cleanup.decompose import decompose_block
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.contributions import lost
from gradir.passes.differentiate.crossing import Crossing
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.program import Program
from gradir.passes.differentiate.rule import Rules
from gradir.passes.differentiate.selectors import Target
from gradir.passes.gradient.prepare import is_taken_apart
from gradir.passes.rules.calls import Key, derive_callees, key_of, suffix
from gradir.passes.rules.custom_vjp import custom_of, tangent_function

Callees = dict[Key, FuncOp]


def jvp_function(
    program: Program, rules: Rules, source: FuncOp, wrt: Sequence[Target], of: Sequence[Target]
) -> FuncOp:
    """Insert `@f_jvp` behind `@f`; tangents are in the orders of `wrt` and `of`."""
    analysis = FunctionDifferentiator(program, rules, source, wrt, of)
    callees: Callees = {}

    def derive(key: Key, callee: FunctionDifferentiator) -> None:
        made = _function(program, callee, callees, suffix(program, key))
        callees[key] = program.share(made, key.callee)

    derive_callees(analysis, callees, derive)
    return program.add(_function(program, analysis, callees, ""), source)


def _function(
    program: Program, analysis: FunctionDifferentiator, callees: Callees, ending: str
) -> FuncOp:
    source, borders = analysis.source, Borders()
    block = _block(program, analysis, callees, borders)
    while borders.learn():
        block = _block(program, analysis, callees, borders)
    remove_joins(block)
    simplify_block(block)
    name = f"{source.sym_name.data}_jvp{ending}"
    return function_around(name, block, argument_attributes(source))


def _block(
    program: Program, analysis: FunctionDifferentiator, callees: Callees, borders: Borders
) -> Block:
    """The code of a function with its tangents, which cross certain borders with masks."""
    source, block = analysis.source, Block()
    gates = Gates(borders)
    work = ForwardMode(program, analysis.activity, callees, block, analysis.executions, gates)
    work.dissolved_stages = analysis.dissolved_stages()
    for argument in analysis.block.args:
        work.add_argument(argument, argument.type, argument.name_hint)
    for target in analysis.wrt:
        hint = f"{target.hint}_tangent"
        tangent = work.add_argument(None, cotangent_type(target.value.type), hint)
        work.given[target.value] = tangent
    emitter = Emitter(block, source.location)
    work.set_tangents(analysis.block.args, [None] * len(analysis.block.args), emitter)
    work.ops(analysis.block)
    last = analysis.block.last_op
    assert last is not None
    emitter = Emitter(block, last.location)
    results = [work.primal[r] for r in program.results(source)]
    tangents = [work.tangent_or_zero(t.value, emitter) for t in analysis.of]
    emitter.insert(ReturnOp(*results, *tangents))
    return block


class ForwardMode:
    """Copies ops into a block, with their tangents.

    `primal` and `tangent` map values of the source to new ones; a value without a tangent has the
    tangent 0. `given` are tangents that are added to the computed ones.
    """

    def __init__(
        self,
        program: Program,
        activity: Activity,
        callees: Callees,
        block: Block,
        executions: int | None,
        gates: Gates,
    ):
        self.program = program
        self.activity = activity
        self.callees = callees
        self.block = block
        # a bound on the block's runs, a part of the callees' keys
        self.executions = executions
        self.primal: dict[SSAValue, SSAValue] = {}
        self.tangent: dict[SSAValue, SSAValue] = {}
        self.given: dict[SSAValue, SSAValue] = {}
        self.gates = gates
        # stages with a requested value inside
        self.dissolved_stages: set[Operation] = set()

    # Values.

    def add_argument(self, source: SSAValue | None, type_: Attribute, hint: str | None) -> SSAValue:
        """Add an argument to the block, for a value of the source if there is one."""
        ours = self.block.insert_arg(type_, len(self.block.args))
        ours.name_hint = hint
        if source is not None:
            self.primal[source] = ours
        return ours

    def set_tangents(
        self, values: Sequence[SSAValue], tangents: Sequence[SSAValue | None], emitter: Emitter
    ) -> None:
        """Set the tangents of values; given ones are added."""
        for value, flowing in zip(values, tangents, strict=True):
            parts = [t for t in (self.given.get(value), flowing) if t is not None]
            if parts and self.activity.is_active(value):
                total = accumulated([emitter.value(t) for t in parts])
                self.tangent[value] = total.named(_hint(value)).ssa

    def tangent_or_zero(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        found = self.tangent.get(value)
        return zero(value.type, emitter).ssa if found is None else found

    def _active(self, values: Sequence[SSAValue]) -> list[int]:
        return [k for k, value in enumerate(values) if self.activity.is_active(value)]

    # Ops.

    def ops(self, block: Block) -> None:
        """Copy the ops of a block of the source without its terminator."""
        for op in block.ops:
            if is_terminator(op):
                continue
            if op in self.dissolved_stages:
                self._dissolve(op)
            elif not any(map(self.activity.is_active, op.results)):
                self._copy(op)
            elif isinstance(op, CallOp):
                self._call(op)
            elif isinstance(op, scf.ForOp):
                self._for(op)
            elif isinstance(op, scf.WhileOp):
                self._while(op)
            elif region_flow(op) is not None:
                self._branches(op)
            elif isinstance(op, HostCallOp):
                self._host_call(op)
            else:
                self._plain(op)

    def _copy(self, op: Operation) -> Operation:
        copy = op.clone(self.primal)
        copy.location = op.location
        self.block.add_op(copy)
        return copy

    def _plain(self, op: Operation) -> None:
        copy = self._copy(op)
        tangents = [self.tangent.get(o) for o in op.operands]
        wanted = [self.activity.is_active(r) for r in op.results]
        emitter = Emitter(self.block, op.location)
        if not isinstance(op, JoinOp):
            tangents = pushed_forward(copy, tangents, wanted, emitter, self.gates)
        self.set_tangents(op.results, tangents, emitter)

    def _host_call(self, op: HostCallOp) -> None:
        copy, emitter = cast(HostCallOp, self._copy(op)), Emitter(self.block, op.location)
        operands = [op.inputs[k] for k in op.differentiable(op.inputs)]
        made = tangent_call(copy, [self.tangent_or_zero(o, emitter) for o in operands])
        if made is None:
            raise PassError(
                f"{kind_name(op)}: it has no jvp; use reverse mode, or give its gradir.custom_op a "
                "jvp",
                op,
            )
        results = [op.results[k] for k in op.differentiable(op.outputs)]
        self.set_tangents(results, emitter.insert(made).results, emitter)

    def _call(self, op: CallOp) -> None:
        """A call of @g_jvp, from tangents of active arguments to those of active results.

        A declared one is for all floating arguments and results.
        """
        if (declared := custom_of(self.program, op)) is not None:
            callee = tangent_function(self.program, op, declared)
            wrt, of = _floating(op.operands), _floating(op.results)
        else:
            key = key_of(self.program, op, self.activity, self.executions)
            callee, wrt, of = self.callees[key], key.wrt, key.of
        emitter = Emitter(self.block, op.location)
        operands = [self.primal[o] for o in op.operands]
        tangents = [self.tangent_or_zero(op.operands[k], emitter) for k in wrt]
        types = callee.function_type.outputs.data
        made = emitter.insert(CallOp(callee.sym_name.data, [*operands, *tangents], list(types)))
        self._take_over(op, made, of)

    def _take_over(self, op: Operation, made: Operation, active: Sequence[int]) -> None:
        """Map the results of `op` to those of `made`; behind them are the active ones' tangents."""
        count = len(op.results)
        for result, ours in zip(op.results, made.results, strict=False):
            ours.name_hint = result.name_hint
            self.primal[result] = ours
        emitter = Emitter(self.block, op.location)
        values = [op.results[k] for k in active]
        self.set_tangents(values, made.results[count : count + len(active)], emitter)

    # Ops with regions: tangents stand behind the carried values and results, and their masks behind
    # the tangents.

    def _crossing(self, op: Operation, group: str, values: Sequence[SSAValue]) -> Crossing:
        """The border of an op's regions for the tangents of some of its values."""
        return Crossing.of(self.gates, op, group, [cotangent_type(v.type) for v in values])

    def _region(
        self,
        op: Operation,
        block: Block,
        carried: Sequence[int],
        entry: Crossing,
        end: Sequence[int],
        crossing: Crossing,
    ) -> Region:
        """A copy of a block with tangents for `carried` arguments and `end` operands, which cross
        the borders `entry` and `crossing`."""
        executions = executions_within(self.executions, op)
        inner = ForwardMode(
            self.program, self.activity, self.callees, Block(), executions, self.gates
        )
        inner.primal, inner.tangent, inner.given = self.primal, self.tangent, self.given
        for argument in block.args:
            inner.add_argument(argument, argument.type, argument.name_hint)
        for k in carried:
            value = block.args[k]
            type_ = cotangent_type(value.type)
            self.tangent[value] = inner.add_argument(None, type_, _hint(value))
        names = entry.mask_names([_hint(block.args[k]) for k in carried])
        masks = [
            inner.add_argument(None, type_, name)
            for type_, name in zip(entry.mask_types, names, strict=True)
        ]
        entry.receive([self.tangent[block.args[k]] for k in carried], masks)
        inner.ops(block)
        last = block.last_op
        assert last is not None
        emitter = Emitter(inner.block, last.location)
        tangents = [inner.tangent_or_zero(yielded(block)[k], emitter) for k in end]
        ours = last.clone(self.primal)
        ours.location = last.location
        masks = (crossing.hand_back if entry.types else crossing.hand_over)(tangents, emitter)
        ours.operands = [*ours.operands, *tangents, *masks]
        emitter.insert(ours)
        simplify_block(inner.block)
        return Region(inner.block)

    def _with_regions(
        self,
        op: Operation,
        tangents: Sequence[SSAValue],
        passed: Sequence[int],
        crossing: Crossing,
        *regions: Region,
    ) -> None:
        """A copy of `op` with tangents, and masks, as further operands and results, and with other
        regions."""
        types = [*crossing.types, *crossing.mask_types]
        made = type(op).create(
            operands=[*(self.primal[o] for o in op.operands), *tangents],
            result_types=[*(r.type for r in op.results), *types],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=regions,
        )
        Emitter(self.block, op.location).insert(made)
        first, end = len(op.results), len(op.results) + len(passed)
        crossing.receive(made.results[first:end], made.results[end:])
        self._take_over(op, made, passed)

    def _dissolve(self, op: Operation) -> None:
        block = op.regions[0].block
        self.ops(block)
        for result, value in zip(op.results, yielded(block), strict=True):
            self.primal[result] = self.primal[value]
            if (tangent := self.tangent.get(value)) is not None:
                self.tangent[result] = tangent

    def _branches(self, op: Operation) -> None:
        flow = region_flow(op)
        assert flow is not None
        active = self._active(op.results)
        crossing = self._crossing(op, "results", [op.results[k] for k in active])
        nothing = self._crossing(op, "arguments", [])
        regions = [self._region(op, b, [], nothing, active, crossing) for b in flow.blocks]
        self._with_regions(op, [], active, crossing, *regions)

    def _initial(
        self, values: Sequence[SSAValue], op: Operation, crossing: Crossing
    ) -> list[SSAValue]:
        emitter = Emitter(self.block, op.location)
        tangents = [self.tangent_or_zero(v, emitter) for v in values]
        return [*tangents, *crossing.hand_over(tangents, emitter)]

    def _for(self, op: scf.ForOp) -> None:
        block = op.body.block
        carried = sorted({*self._active(op.results), *self._active(block.args[1:])})
        starts = [op.iter_args[k] for k in carried]
        crossing = self._crossing(op, "carried", starts)
        initial = self._initial(starts, op, crossing)
        body = self._region(op, block, [k + 1 for k in carried], crossing, carried, crossing)
        self._with_regions(op, initial, carried, crossing, body)

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        carried = self._active(before.args)
        passed = sorted({*self._active(op.results), *self._active(after.args)})
        starts = [op.arguments[k] for k in carried]
        entry = self._crossing(op, "carried", starts)
        end = self._crossing(op, "passed", [op.results[k] for k in passed])
        initial = self._initial(starts, op, entry)
        first = self._region(op, before, carried, entry, passed, end)
        second = self._region(op, after, passed, end, carried, entry)
        self._with_regions(op, initial, passed, end, first, second)


def _floating(values: Sequence[SSAValue]) -> list[int]:
    return [k for k, value in enumerate(values) if is_floating(value.type)]


def _hint(value: SSAValue) -> str:
    return f"{value.name_hint}_tangent" if value.name_hint else "tangent"


# The transpose of a rule.


def pushed_forward(
    op: Operation,
    tangents: Sequence[SSAValue | None],
    wanted: Sequence[bool],
    emitter: Emitter,
    gates: Gates,
) -> Sequence[SSAValue | None]:
    """Append the tangents of the wanted results of an op, given those of its operands.

    None is 0. The op is in the emitter's block.
    """
    rule = vjp_rule(op)
    assert rule is not None, f"{op.name} has no derivative"
    before = emitter.block.last_op
    dummies = Block(arg_types=[cotangent_type(r.type) for r in op.results])
    cts = [emitter.value(a) if w else None for a, w in zip(dummies.args, wanted, strict=True)]
    operands, results = (list(map(emitter.value, values)) for values in (op.operands, op.results))
    flowing = _in_parts(rule(op, cts, results, operands), before, emitter)
    contributions: dict[SSAValue, list[Value]] = {}
    for ct, tangent in zip(flowing, tangents, strict=True):
        if ct is not None and tangent is not None:
            contributions.setdefault(ct.ssa, []).append(emitter.value(tangent))
    linear = _linear_ops(_ops_behind(before, emitter.block), dummies)
    # what the rule itself selects needs no gate: its other factors are finite there
    is_gated = any(gates.may_have_support(t) for t in tangents if t is not None)
    _transpose(linear, dummies, contributions, emitter, gates if is_gated else None)
    _erase(linear, op)
    return [accumulated(p).ssa if (p := contributions.get(a)) else None for a in dummies.args]


def _in_parts(flowing: Cotangents, before: Operation | None, emitter: Emitter) -> Cotangents:
    """The results of a rule after a decomposition of the ops it emitted behind `before`."""
    held = emitter.insert(ReturnOp(*(ct.ssa for ct in flowing if ct is not None)))
    decompose_block(emitter.block, is_taken_apart, before)
    found = iter(held.operands)
    flowing = [None if ct is None else emitter.value(next(found)) for ct in flowing]
    erase(held)
    return flowing


def _ops_behind(op: Operation | None, block: Block) -> Iterator[Operation]:
    current = block.first_op if op is None else op.next_op
    while current is not None:
        yield current
        current = current.next_op


def _linear_ops(ops: Iterator[Operation], dummies: Block) -> list[Operation]:
    """The ops that depend on the dummy cotangents."""
    dependent: set[SSAValue] = set(dummies.args)
    found: list[Operation] = []
    for op in ops:
        if any(o in dependent for o in op.operands):
            dependent.update(op.results)
            found.append(op)
    return found


def _transpose(
    linear: Sequence[Operation],
    dummies: Block,
    contributions: dict[SSAValue, list[Value]],
    emitter: Emitter,
    gates: Gates | None,
) -> None:
    """Run a linear program backward, from the contributions to its results."""
    dependent = {*dummies.args, *(r for op in linear for r in op.results)}
    for op in reversed(linear):
        cts = [accumulated(p) if (p := contributions.pop(r, None)) else None for r in op.results]
        if not any(cts):
            continue
        rule = vjp_rule(op)
        assert rule is not None, f"{op.name} has no derivative"
        operands, results = (
            list(map(emitter.value, values)) for values in (op.operands, op.results)
        )
        before = emitter.block.last_op
        if gates is None:
            flowing = rule(op, cts, results, operands)
        else:
            flowing = gates.flow(op, rule, cts, results, operands, _is_wanted(op, dependent))
        kept: set[SSAValue] = set()
        for operand, ct in zip(op.operands, flowing, strict=True):
            if ct is not None and operand in dependent:
                kept.add(ct.ssa)
                contributions.setdefault(operand, []).append(ct)
        remove_dead_ops(emitter.block, before, kept)
    for value in dependent.difference(dummies.args).intersection(contributions):
        raise lost(value, "is left over in the transpose of a vjp")


def _is_wanted(op: Operation, dependent: Set[SSAValue]) -> Wanted:
    """Whether the operand at a place is one of the dependent values."""
    return lambda place: op.operands[place] in dependent


def _erase(linear: Sequence[Operation], source: Operation) -> None:
    """Erase the linear program; AssertionError where one of its values is read."""
    for op in reversed(linear):
        read = any(r.first_use is not None for r in op.results)
        assert not read, f"{op_name(source)}: its vjp is not linear in the cotangent, at {op.name}"
        erase(op)
