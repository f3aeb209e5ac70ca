"""The programs in StableHLO's ops that join two numbers, by name."""

from __future__ import annotations

from typing import Any

from gradir.frontends.tracing.source_locations import refusal

JOINS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def combiner_of(call: Any, graph: Any) -> str:
    """The op of a region that joins its two arguments by it alone; "set" for the second one."""
    captured = _number(call.params.get("captured", 0))
    inputs = graph.inputs[captured:]
    if len(inputs) == 2 and not graph.nodes and graph.outputs[0] is inputs[1]:
        return "set"
    if len(graph.nodes) == 1 and len(inputs) == 2:
        [node] = graph.nodes
        name = node.op.partition(".")[2]
        is_plain = set(map(id, node.operands)) == set(map(id, inputs))
        if name in JOINS and is_plain and graph.outputs == node.results:
            return name
    ops = ", ".join(node.op for node in graph.nodes) or "nothing"
    raise refusal(f"{call.op}: only {', '.join(JOINS)} of two numbers are there, got {ops}")


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
