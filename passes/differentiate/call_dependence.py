"""The dependences of a called function's results on its arguments, for activity.

The `Flow` of a function is computed once, callees first, by one walk with masks of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.op_rules import is_inactive
from gradir.passes.analysis.activity import carries_cotangent
from gradir.passes.analysis.call_graph import called_name, calls_in
from gradir.passes.analysis.effects import effect_problem
from gradir.passes.analysis.region_flow import RegionFlow, region_flow
from gradir.passes.analysis.regions import values_read
from gradir.passes.differentiate.program import Flow, ModuleFunctions


def dependence(program: ModuleFunctions, call: CallOp, varied: Sequence[bool]) -> Sequence[bool]:
    """For each result of a call, whether it depends on a varied operand."""
    given = sum(1 << k for k, flag in enumerate(varied) if flag)
    if called_name(call) in program.custom:
        return [bool(given)] * len(call.results)
    flow = _flow(program, callee_of(program, call))
    for error, mask in flow.refused.items():
        if mask & given:
            raise error
    return [bool(mask & given) for mask in flow.results]


def callee_of(program: ModuleFunctions, call: CallOp) -> FuncOp:
    """The callee of a call; PassError where it has no body."""
    callee = program.function(call.callee.root_reference.data, call)
    if callee.is_declaration:
        raise PassError(
            f"func.call: @{callee.sym_name.data} has no body, so that it has no derivative", call
        )
    return callee


def _flow(program: ModuleFunctions, function: FuncOp) -> Flow:
    """The flow of a function, after its callees'; an explicit stack, since chains of calls may be
    longer than Python's."""
    stack: list[tuple[FuncOp, Iterator[FuncOp]]] = []
    if function not in program.flows:
        stack.append((function, _callees(program, function)))
    underway = {function}
    while stack:
        current, callees = stack[-1]
        following = next((f for f in callees if f not in program.flows and f not in underway), None)
        if following is not None:
            underway.add(following)
            stack.append((following, _callees(program, following)))
            continue
        program.flows[current] = _Walk(program, current).flow()
        underway.discard(current)
        stack.pop()
    return program.flows[function]


def _callees(program: ModuleFunctions, function: FuncOp) -> Iterator[FuncOp]:
    for call in calls_in(function):
        if called_name(call) in program.custom:
            continue
        callee = program.functions.get(call.callee.root_reference.data)
        if callee is not None and not callee.is_declaration:
            yield callee


class _Walk:
    """One walk over a function; `masks` gives the arguments on which each value depends."""

    def __init__(self, program: ModuleFunctions, function: FuncOp):
        self.program = program
        self.function = function
        self.masks: dict[SSAValue, int] = {}
        self.refused: dict[PassError, int] = {}

    def flow(self) -> Flow:
        try:
            block = self.program.block(self.function)
        except PassError as error:
            everything = (1 << len(self.function.function_type.inputs)) - 1
            return Flow((0,) * len(self.function.function_type.outputs), {error: everything})
        for k, argument in enumerate(block.args):
            if carries_cotangent(argument):
                self.masks[argument] = 1 << k
        self._walk(block)
        results = self.program.results(self.function)
        return Flow(tuple(self.masks.get(r, 0) for r in results), self.refused)

    def _walk(self, block: Block) -> None:
        for op in block.ops:
            flow = region_flow(op)
            if flow is None:
                self._visit(op)
                continue
            spreads = True
            while spreads:
                self._follow(flow)
                for inner in flow.blocks:
                    self._walk(inner)
                spreads = self._follow(flow)

    def _follow(self, flow: RegionFlow) -> bool:
        """Follow the edges once; returns whether a mask has grown."""
        grown = False
        for source, target in flow.edges:
            before = self.masks.get(target, 0)
            after = before | self.masks.get(source, 0)
            if after != before and carries_cotangent(target):
                self.masks[target] = after
                grown = True
        return grown

    def _visit(self, op: Operation) -> None:
        given = [(v, self.masks.get(v, 0)) for v in values_read(op)]
        total = _union(mask for _, mask in given)
        if not total or is_inactive(op):
            return
        if isinstance(op, CallOp):
            masks = self._call(op, [mask for _, mask in given], total)
        else:
            problem = effect_problem(op, (v for v, mask in given if mask))
            if problem is not None:
                self.refused[problem] = total
            masks = [total] * len(op.results)
        for result, mask in zip(op.results, masks, strict=True):
            if carries_cotangent(result):
                self.masks[result] = mask

    def _call(self, op: CallOp, given: Sequence[int], total: int) -> Sequence[int]:
        if called_name(op) in self.program.custom:
            return [total] * len(op.results)
        try:
            callee = callee_of(self.program, op)
        except PassError as error:
            self.refused[error] = total
            return [total] * len(op.results)
        flow = self.program.flows.get(callee)
        if flow is None:
            # its walk is in progress
            self.refused[_recursive(op, callee)] = total
            return [total] * len(op.results)
        for error, mask in flow.refused.items():
            through = _through(mask, given)
            if through:
                self.refused[error] = self.refused.get(error, 0) | through
        return [_through(mask, given) for mask in flow.results]


def _recursive(call: CallOp, callee: FuncOp) -> PassError:
    return PassError(
        f"func.call: @{callee.sym_name.data} is recursive; only calls without recursion can be "
        "differentiated",
        call,
    )


def _through(mask: int, given: Sequence[int]) -> int:
    return _union(g for k, g in enumerate(given) if mask >> k & 1)


def _union(masks: Iterator[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total
