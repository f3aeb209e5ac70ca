"""Calls of jitted functions without Python: arguments like an earlier call's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gradir.codegen.driver.tree_call import CONSTANT, DICT, LEAF, LIST, OTHER, SAME, TUPLE
from gradir.frontends.tracing.nodes import NODES
from gradir.frontends.tracing.tracing import IN_PYTHON
from gradir.frontends.tracing.trees import Tree, maker
from gradir.frontends.transforms.donation import GIVEN_UP
from gradir.frontends.transforms.program import Program
from gradir.runtime.native_call import is_due
from gradir.runtime.native_ways import Call, Way, WayNode, caller

MOST_WAYS = 16
"""The kinds of arguments of one function that are called natively: each is tried in turn."""


_Kind = tuple[Tree, tuple[type, ...], Program]
"""A nesting of arguments, the classes of leaves, and the program for their shapes and dtypes."""

_Fixed = Sequence[tuple[int, Any]]
"""Objects that decide the program, by their places among the positional arguments."""


class QuickCalls:
    """The native calls of one function. `call` makes one, or returns NotImplemented."""

    def __init__(self) -> None:
        self.call: Call = _missed
        self._ways: dict[_Kind, Way] = {}
        self._whole: tuple[QuickCalls, _Fixed] | None = None

    def are_part_of(self, whole: QuickCalls, fixed: _Fixed) -> None:
        """Say that calls here are those of another function with these objects at these places.

        They are known by their addresses, so that they must never change.
        """
        self._whole = whole, fixed

    def learn(
        self, arguments: Tree, classes: tuple[type, ...], program: Program, fixed: _Fixed = ()
    ) -> None:
        """Make later calls of this kind native; `arguments` is the nesting of (args, kwargs)."""
        if self._whole is not None:
            whole, placed = self._whole
            whole.learn(arguments, classes, program, placed)
        key = arguments, classes, program
        if not is_due() or key in self._ways or len(self._ways) >= MOST_WAYS:
            return
        try:
            given = list(_nodes_of_call(arguments, iter(classes), dict(fixed)))
        except _NotNative:
            return
        runner = program.single_runner()
        if runner is not None:
            run, fail = runner
            runner = run, lambda: self._failed(key, fail)
        results = list(_result_nodes(program.nesting))
        way = Way(given, len(classes), results, program.call_native, runner)
        self._renew({**self._ways, key: way})

    def _failed(self, key: _Kind, fail: Callable[[], object]) -> object:
        # with the table of a failed run; the next call of this kind makes another
        self._renew({k: way for k, way in self._ways.items() if k != key})
        return fail()

    def _renew(self, ways: dict[_Kind, Way]) -> None:
        self._ways = ways
        self.call = caller([*ways.values()], IN_PYTHON, *GIVEN_UP) or _missed


def _missed(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return NotImplemented


class _NotNative(Exception):
    """A container that native code does not walk through."""


_TUPLE_ITEMS: object = getattr(tuple, "__iter__")  # noqa: B009
_LIST_ITEMS: object = getattr(list, "__iter__")  # noqa: B009


def _nodes_of_call(
    arguments: Tree, classes: Iterator[type], fixed: Mapping[int, Any]
) -> Iterator[WayNode]:
    """The nodes that the positional arguments and the others must match."""
    positional, named = arguments.children
    count = len(positional.children) + len(fixed)
    yield WayNode(TUPLE, tuple, count)
    rest = iter(positional.children)
    for place in range(count):
        if place in fixed:
            yield WayNode(SAME, type(fixed[place]), 0, fixed[place])
        else:
            yield from _argument_nodes(next(rest), classes)
    yield from _argument_nodes(named, classes)


def _argument_nodes(tree: Tree, classes: Iterator[type]) -> Iterator[WayNode]:
    """The nodes that an argument must match."""
    kind, count = tree.kind, len(tree.children)
    # native code walks through subclasses that iterate as tuple or list does
    items: object = getattr(kind, "__iter__", None)
    if kind in NODES:
        raise _NotNative
    if kind is None:
        yield WayNode(LEAF, next(classes))
    elif kind is type(None):
        yield WayNode(CONSTANT, kind)
    elif kind is dict:
        yield WayNode(DICT, dict, count, tree.keys)
    elif items is _TUPLE_ITEMS:
        yield WayNode(TUPLE, kind, count)
    elif items is _LIST_ITEMS:
        yield WayNode(LIST, kind, count)
    else:
        raise _NotNative
    for child in tree.children:
        yield from _argument_nodes(child, classes)


_CONTAINERS = {None: LEAF, type(None): CONSTANT, tuple: TUPLE, list: LIST, dict: DICT}


def _result_nodes(tree: Tree) -> Iterator[WayNode]:
    """The nodes that a result is built from."""
    kind = _CONTAINERS.get(tree.kind, OTHER)
    keys = tree.keys if kind == DICT else None
    made_by = maker(tree) if kind == OTHER else None
    yield WayNode(kind, made_by, len(tree.children), keys)
    for child in tree.children:
        yield from _result_nodes(child)
