"""Calls of functions of nested arguments without Python, by codegen/driver/tree_call.py."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gradir.codegen.driver.call_text import NODE, WAY, WAYS
from gradir.codegen.driver.tree_call import TREE_ENTRY
from gradir.runtime.native_call import Runner, native_function, structure

Call = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]
"""Takes positional arguments and others; returns NotImplemented where Python must look."""

_Node, _Way, _Ways = map(structure, (NODE, WAY, WAYS))


class WayNode(NamedTuple):
    """A node of a nesting before its children.

    `kind` is one of tree_call.py; `type` is the class that a value must have, or the function that
    makes an OTHER one; `keys` are a DICT's keys, or the value of a CONSTANT or SAME.
    """

    kind: int
    type: object
    count: int = 0
    keys: object = None


class Way:
    """The calls of one program by arguments of one nesting and with leaves of the same classes.

    `arguments` are the nodes of the tuple of positional arguments and of the dict of others.
    `attempt` takes the flat tuple of leaves and returns the tuple of results, or None before a run;
    `alone` is a runner for one call at a time, and what raises the error that it left.
    """

    def __init__(
        self,
        arguments: Sequence[WayNode],
        leaves: int,
        results: Sequence[WayNode],
        attempt: Callable[[tuple[Any, ...]], tuple[Any, ...] | None],
        alone: tuple[Runner, Callable[[], Any]] | None,
    ):
        run, failed = alone or (None, None)
        given, made = _nodes(arguments), _nodes(results)
        self._kept = (arguments, results, given, made, run, failed, attempt)
        self.record = _Way(
            ctypes.addressof(given), leaves, ctypes.addressof(made), 0,
            *(None if thing is None else id(thing) for thing in (run, failed, attempt)),
        )  # fmt: skip


def caller(
    ways: Sequence[Way],
    stops: Collection[object],
    doubt: Collection[object],
    loss: Collection[object],
) -> Call | None:
    """A call that tries these ways in their order; None if there is no native code for it.

    It tries none while there are `stops`, and each by `attempt` while there is a `doubt` or `loss`.
    """
    places = (ctypes.c_void_p * len(ways))(*(ctypes.addressof(way.record) for way in ways))
    containers = (stops, doubt, loss)
    record = _Ways(*map(id, containers), len(ways), ctypes.addressof(places))
    return native_function(TREE_ENTRY, record, ways, places, containers)


def _nodes(nodes: Sequence[WayNode]) -> Any:
    rows = [_Node(n.kind, id(n.type), n.count, id(n.keys)) for n in nodes]
    return (_Node * len(rows))(*rows)
