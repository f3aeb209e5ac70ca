"""StableHLO's calls, branches and loops; what regions read around them comes first."""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.stablehlo_rules.attributes import shared
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.branches import cond, switch
from gradir.frontends.transforms.vmap import vmap

RULES = RuleTable("StableHLO")


@RULES.rule("func.call")
def _called(call: Any, *operands: Any) -> Any:
    [graph] = call.graphs
    return call.replay.inside(graph, operands)


def _parts(call: Any, operands: Any) -> tuple[Any, Any]:
    """The op's own operands, and what its regions capture."""
    count = len(operands) - call.params["captured"]
    return operands[:count], operands[count:]


@RULES.rule("stablehlo.if")
def _branch(call: Any, *operands: Any) -> Any:
    [holds], captured = _parts(call, operands)
    then, other = (call.replay.function(graph) for graph in call.graphs)
    return cond(holds, then, other, *captured)


@RULES.rule("stablehlo.case", note="the last branch beyond the others")
def _case(call: Any, *operands: Any) -> Any:
    [index], captured = _parts(call, operands)
    branches = [call.replay.function(graph) for graph in call.graphs]
    if len(branches) == 1:
        return branches[0](*captured)
    last = len(branches) - 1
    outside = op.logical_or(op.less(index, 0), op.greater(index, last))
    return switch(gnp.where(outside, last, index), branches, *captured)


@RULES.rule("stablehlo.while")
def _while(call: Any, *operands: Any) -> Any:
    carried, captured = _parts(call, operands)
    condition, body = call.graphs
    params = {
        "cond_nconsts": len(captured), "body_nconsts": len(captured), "cond_jaxpr": condition,
        "body_jaxpr": body,
    }  # fmt: skip
    return shared("while", lambda call: params)(call, *captured, *captured, *carried)


@RULES.rule("stablehlo.map")
def _mapped(call: Any, *operands: Any) -> Any:
    xs, captured = _parts(call, operands)
    [graph] = call.graphs
    shape = call.type.shape
    if not xs or (is_bool(element(xs[0])) and not xs[0].size):
        raise refusal(f"{call.op}: an array with elements expected")
    function = call.replay.function(graph)

    def on_one(*ones: Any) -> Any:
        return function(*captured, *ones)[0]

    flat = [gnp.reshape(x, -1) for x in xs]
    return gnp.reshape(vmap(on_one)(*flat), shape)
