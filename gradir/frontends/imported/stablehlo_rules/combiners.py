"""The programs in StableHLO's ops that join or compare two numbers, read as what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradir.frontends.imported.graph import ForeignConstant, ForeignNode, Operand
from gradir.frontends.tracing.source_locations import refusal

JOINS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def joined_by(graph: Any, captured: int) -> str | None:
    """The op of a region that joins its two arguments by it alone; "set" for the second one."""
    inputs = graph.inputs[captured:]
    if len(inputs) != 2:
        return None
    if not graph.nodes and graph.outputs[0] is inputs[1]:
        return "set"
    if len(graph.nodes) == 1:
        [node] = graph.nodes
        name = node.op.partition(".")[2]
        is_plain = set(map(id, node.operands)) == set(map(id, inputs))
        if name in JOINS and is_plain and graph.outputs == node.results:
            return name
    return None


def combiner_of(call: Any, graph: Any) -> str:
    """`joined_by`, or a refusal of another program."""
    found = joined_by(graph, call.params["captured"])
    if found is None:
        ops = ", ".join(node.op for node in graph.nodes) or "nothing"
        raise refusal(f"{call.op}: only {', '.join(JOINS)} of two numbers are there, got {ops}")
    return found


def direction_of(graph: Any, captured: int) -> str:
    """How a region compares its two arguments, and nothing else; "" for another program."""
    inputs = tuple(graph.inputs[captured:])
    if len(graph.nodes) != 1 or graph.nodes[0].op != "stablehlo.compare":
        return ""
    [node] = graph.nodes
    is_plain = node.operands == inputs and graph.outputs == node.results
    return _text(node, "comparison_direction") if is_plain else ""


def _text(node: ForeignNode, name: str) -> str:
    value = node.params.get(name)
    return "" if value is None else value.text.data


@dataclass(frozen=True)
class SortKey:
    """The array that a sort compares; `canonical` are "zero" and "nan" where all are alike."""

    key: int
    descending: bool
    is_total: bool
    canonical: frozenset[str]


def key_of(graph: Any, captured: int) -> SortKey | None:
    """What a sort's region compares: two elements of one array by LT or GT; None for others.

    As JAX writes it, each may be made canonical before: 0 for -0, one nan for all.
    """
    made = {id(node.results[0]): node for node in graph.nodes if node.results}
    last = made.get(id(graph.outputs[0]))
    if last is None or last.op != "stablehlo.compare":
        return None
    direction = _text(last, "comparison_direction")
    left, right = (_root(made, operand) for operand in last.operands)
    inputs = {id(value): k for k, value in enumerate(graph.inputs[captured:])}
    places = [inputs.get(id(value), -1) for value, _ in (left, right)]
    is_pair = places[0] >= 0 and places[0] % 2 == 0 and places[1] == places[0] + 1
    # all of the region belongs to the two roots
    if direction not in ("LT", "GT") or not is_pair or left[1] != right[1]:
        return None
    is_total = _text(last, "compare_type") == "TOTALORDER"
    return SortKey(places[0] // 2, direction == "GT", is_total, left[1])


def _root(made: Mapping[int, ForeignNode], value: Operand) -> tuple[Operand, frozenset[str]]:
    """What a value is but for its signs of zeros and its nans, and which of both are alike."""
    found: frozenset[str] = frozenset()
    while (node := made.get(id(value))) is not None and node.op == "stablehlo.select":
        condition, case, rest = node.operands
        test = made.get(id(condition))
        if test is None or test.op != "stablehlo.compare" or not isinstance(case, ForeignConstant):
            break
        direction, number = _text(test, "comparison_direction"), np.asarray(case.array)
        first, second = test.operands
        is_zero = direction == "EQ" and isinstance(second, ForeignConstant) and not number and (
            not np.asarray(second.array)
        )  # fmt: skip
        is_nan = direction == "NE" and first is second and bool(np.isnan(number))
        root = _root(made, rest)[0]
        if not (is_zero or is_nan) or first is not root:
            break
        value, found = rest, found | {"zero" if is_zero else "nan"}
    return value, found
