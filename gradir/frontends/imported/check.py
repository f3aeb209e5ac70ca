"""What a foreign graph has that cannot be replayed: all of it in one error, with its lines."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import ForeignGraph, ForeignNode, ForeignType, Refusals
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import COMPLEX_NAMES, ELEMENTS

MOST_PLACES = 4
"""The places that are listed for one reason."""
_NO_RULE = "there is no rule for it"


def require_replayable(graph: ForeignGraph, table: RuleTable) -> None:
    """ImportedProgramError for ops, effects and dtypes without a rule, all of them at once."""
    found = Refusals()
    for value in graph.inputs:
        _check_type(value.type, f"argument of {graph.name}", graph.place, found)
    _collect(graph, table, found, set())
    if not found.reasons:
        return
    lines = [_line(what, why, places) for (what, why), places in found.reasons.items()]
    known = (place for places in found.reasons.values() for place in places if _is_known(place))
    heading = f"{table.system}: @{graph.name} has what cannot be imported:"
    raise refusal("\n".join([heading, *lines]), ImportedProgramError, next(known, None))


def _collect(graph: ForeignGraph, table: RuleTable, found: Refusals, seen: set[int]) -> None:
    if id(graph) in seen:
        return
    seen.add(id(graph))
    for node in graph.nodes:
        _check_node(node, table, found)
        for inner in node.graphs:
            _collect(inner, table, found, seen)


def _check_node(node: ForeignNode, table: RuleTable, found: Refusals) -> None:
    if node.refused:
        found.add(node.op, node.refused, node.place)
        return
    if node.op not in table.rules:
        found.add(node.op, table.absent.get(node.op, _NO_RULE), node.place)
        return
    # that of an op in it is told there
    if node.effect and not any(each.effect for graph in node.graphs for each in graph.nodes):
        found.add(node.op, f"it has an effect ({node.effect}), and programs have none", node.place)
        return
    for value in (*node.operands, *node.results):
        _check_type(value.type, node.op, node.place, found)


def _check_type(type_: ForeignType, what: str, place: LocationAttr, found: Refusals) -> None:
    if type_.is_known and type_.dtype not in ELEMENTS:
        found.add(what, f"there are no elements of type {type_.dtype}", place)
    elif type_.dtype in COMPLEX_NAMES:
        found.add(what, f"programs with elements of type {type_.dtype} are not read", place)


def _line(what: str, why: str, places: list[LocationAttr]) -> str:
    times = "once" if len(places) == 1 else f"{len(places)} times"
    texts = list(dict.fromkeys(map(_text, places)))
    listed = ", ".join(texts[:MOST_PLACES]) + (", ..." if len(texts) > MOST_PLACES else "")
    return f"  {what} ({times}; {listed}): {why}"


def _is_known(place: LocationAttr) -> bool:
    return isinstance(place, FileLineColLoc)


def _text(place: LocationAttr) -> str:
    if not isinstance(place, FileLineColLoc):
        return "at an unknown place"
    return f"{place.filename.data}:{place.line.data}:{place.column.data}"
