"""mode=jvp: `@f_jvp(primals, tangents) -> (results, tangents of the results)`, by forward mode
(passes/differentiate/forward_mode.py)."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block

from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.gates import Gates
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.region_ops import terminator
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.cleanup.call_boundaries import remove_joins
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.forward_mode import ForwardMode, walk_block_with_tangents
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.rules.calls import Key, derive_callees, suffix

Callees = dict[Hashable, FuncOp]


def jvp_function(analysis: FunctionDifferentiator) -> FuncOp:
    """Insert `@f_jvp` behind `@f`; tangents are in the orders of `wrt` and `of`."""
    program, callees = analysis.program, Callees()

    def derive(key: Key, callee: FunctionDifferentiator) -> None:
        made = _function(callee, callees, suffix(program, key))
        callees[key] = program.share(made, key.callee)

    derive_callees(analysis, callees, derive)
    return program.add(_function(analysis, callees, ""), analysis.source)


def _function(analysis: FunctionDifferentiator, callees: Callees, ending: str) -> FuncOp:
    source, borders = analysis.source, Borders()
    block = _block(analysis, callees, borders)
    while borders.learn():
        block = _block(analysis, callees, borders)
    remove_joins(block)
    simplify_block(block)
    name = f"{source.sym_name.data}_jvp{ending}"
    return function_around(name, block, argument_attributes(source))


def _block(analysis: FunctionDifferentiator, callees: Callees, borders: Borders) -> Block:
    """The code of a function with its tangents, which cross certain borders with masks."""
    source, block = analysis.source, Block()
    work = ForwardMode(analysis, callees, block, analysis.executions, Gates(borders))
    for argument in analysis.block.args:
        work.add_argument(argument, argument.type, argument.name_hint)
    for target in analysis.wrt:
        hint = f"{target.hint}_tangent"
        tangent = work.add_argument(None, cotangent_type(target.value.type), hint)
        work.given[target.value] = tangent
    emitter = Emitter(block, source.location)
    work.set_tangents(analysis.block.args, [None] * len(analysis.block.args), emitter)
    walk_block_with_tangents(work, analysis.block)
    emitter = work.emitter(terminator(analysis.block))
    results = [work.primal[r] for r in analysis.program.results(source)]
    tangents = [work.tangent_or_zero(t.value, emitter) for t in analysis.of]
    emitter.insert(ReturnOp(*results, *tangents))
    return block
