"""gradir.jit with named extents: one trace for all sizes, and checks of what the names say.

The shapes of a call give the values of the names; the traced program gets these values, and is
compiled. What tracing took for true of large extents may be false of small ones: a call with such
extents is traced by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, ModuleOp

from gradir.api import Module
from gradir.cache.memory import Store
from gradir.compiler.dynamic import SpecializingExecutable, specialized
from gradir.compiler.provenance import Provenance
from gradir.dialects.base.extent_values import Named, holds, values_of_shapes
from gradir.dialects.base.extents import ExtentError, Size, is_extent
from gradir.errors import ArgumentError, ArgumentTypeError, gradir_errors
from gradir.explore.steps import Lineage
from gradir.frontends.tracing.default_types import defaults
from gradir.frontends.tracing.source_locations import SOURCES, location
from gradir.frontends.tracing.spec import Spec, as_shape, named_extents, spec_of, type_text
from gradir.frontends.tracing.trace import Traced, argument_names, function_name, traced
from gradir.frontends.tracing.trees import (
    LEAF,
    NO_NAMES,
    Tree,
    flatten,
    grown,
    spread_leaves,
)
from gradir.frontends.transforms.program import compile_once, settings
from gradir.gc_pause import paused_gc
from gradir.passes.shapes.name_values import conditions_of
from gradir.symbols import function_named

REST = "..."


@dataclass(frozen=True)
class Wanted:
    """The shape that an argument must have; `rest`: any further extents may follow."""

    shape: tuple[Size, ...]
    rest: bool = False
    dtype: Any = None

    @classmethod
    def of(cls, given: str | Spec) -> Wanted:
        if isinstance(given, Spec):
            return cls(given.shape, dtype=given.dtype)
        bare = given.strip().strip("()").rstrip(", ")
        has_rest = bare.endswith(REST)
        return cls(as_shape(named_extents(bare.removesuffix(REST))), has_rest)

    def whole(self, found: Sequence[int]) -> tuple[Size, ...]:
        """The shape for an array: its own further extents, where any may follow."""
        return (*self.shape, *found[len(self.shape) :]) if self.rest else self.shape


@dataclass(frozen=True)
class _Call:
    """The arguments of a call, and the shapes that they must have; None for any."""

    leaves: Sequence[Any]
    tree: Tree
    names: Sequence[str]
    wanted: Sequence[Wanted | None]

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...] | None, ...]:
        """The shapes of the arguments that must have some."""
        pairs = zip(self.leaves, self.wanted, strict=True)
        return tuple(None if w is None else _shape(leaf) for leaf, w in pairs)

    @cached_property
    def values(self) -> dict[str, int]:
        """The values of the names; ExtentError where shapes do not fit."""
        named: list[Named] = [
            (name, wanted.whole(shape), shape)
            for name, wanted, shape in zip(self.names, self.wanted, self.shapes, strict=True)
            if wanted is not None and shape is not None and not any(map(is_extent, shape))
        ]
        return values_of_shapes(named)


class _LaterModule(Module):
    """The program for some shapes: made when somebody looks at it, as calls run other code."""

    _sources, _provenance, rules = SOURCES, Provenance(), None

    def __init__(self, make: Callable[[], ModuleOp]):
        self._make = make

    @cached_property
    def _op(self) -> ModuleOp:
        return self._make()

    @cached_property
    def _lineage(self) -> Lineage:
        return Lineage(self._op)


@dataclass(frozen=True)
class _ManySizes:
    """The code of a traced program for some shapes, out of that for all shapes."""

    codes: Store[Hashable, Any]
    traced: Traced
    shapes: tuple[tuple[int, ...] | None, ...]
    place: LocationAttr

    def executable(self, threads: int | None, wait: bool) -> Any:
        """The native code, a gradir.Executable."""
        made = self.traced
        key = id(made), threads, wait, settings()
        code = self.codes.find_or_make(
            key, lambda: compile_once(made.module, made.name, threads, wait)
        )
        if not isinstance(code, SpecializingExecutable):
            return code
        with gradir_errors(SOURCES, self.place):
            return code.for_shapes(self.shapes)


class NamedShapes:
    """Named extents of a function's arguments: one trace for all sizes; see `gradir.jit`."""

    def __init__(self, function: Callable[..., Any], shapes: Any):
        self._function, self._shapes = function, shapes
        if not isinstance(shapes, (tuple, list, dict)):
            raise ArgumentTypeError(
                "jit: shapes: expected a tuple with an entry for each argument, or a dict by the "
                f"names of parameters, got {shapes!r}"
            )
        self._traced = Store[Hashable, Traced]()
        self._codes = Store[Hashable, Any]()
        self._said = Store[Tree, tuple[list[str], list[Wanted | None]]]()

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """ArgumentError for arrays of other shapes, where a trace knows theirs."""
        self._call(args, {name: v for name, v in kwargs.items() if name != "out"})

    def trace(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
        """The program for the shapes of some arguments."""
        call = self._call(args, kwargs)
        made = self._traced_once(call)
        function = function_named(made.module.op, made.name)
        for condition in conditions_of(function):
            if not holds(condition, {**dict.fromkeys(condition.left.symbols, 0), **call.values}):
                return traced("jit", self._function, args, kwargs, orders=0)
        place = location()

        def of_these_shapes() -> ModuleOp:
            with gradir_errors(SOURCES, place), paused_gc():
                return specialized(made.module.op, made.name, call.shapes)

        sizes = _ManySizes(self._codes, made, call.shapes, place)
        return replace(made, module=_LaterModule(of_these_shapes), sizes=sizes)

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Call:
        """What a call says; ArgumentError for shapes other than the wanted ones."""
        leaves, tree = flatten((tuple(args), dict(kwargs)))
        label = function_name(self._function)
        names, wanted = self._said.find_or_make(tree, lambda: self._said_of(tree))
        call = _Call(leaves, tree, names, wanted)
        try:
            _ = call.values
        except ExtentError as error:
            raise ArgumentError(f"{label}: {error}") from None
        return call

    def _traced_once(self, call: _Call) -> Traced:
        """The program with names, for one nesting and kinds of arguments."""
        label = function_name(self._function)
        specs = [
            leaf if w is None else _spec(leaf, w, f"{label}: {name}")
            for leaf, w, name in zip(call.leaves, call.wanted, call.names, strict=True)
        ]
        key = call.tree, defaults(), tuple(map(_kind, specs))
        args, kwargs = call.tree.build(specs)
        return self._traced.find_or_make(
            key, lambda: traced("jit", self._function, args, kwargs, orders=0)
        )

    def _said_of(self, tree: Tree) -> tuple[list[str], list[Wanted | None]]:
        """The names of the leaves of arguments, and what is said of each."""
        names = argument_names(self._function, tree)
        return [f"argument {name}" for name in names], self._wanted(tree)

    def _wanted(self, tree: Tree) -> list[Wanted | None]:
        """What is said of each leaf of the arguments."""
        by_position, by_keyword = tree.children
        names = [*_parameters(self._function, len(by_position.children)), *by_keyword.keys]
        children = [*by_position.children, *by_keyword.children]
        shapes: Any = self._shapes
        if isinstance(shapes, dict):
            given = dict(cast("dict[str, Any]", shapes))
        else:
            given = dict(zip(names, shapes, strict=False))
            if len(shapes) > len(by_position.children):
                raise ArgumentTypeError(
                    f"jit: shapes: {len(shapes)} entries for "
                    f"{len(by_position.children)} arguments by position; give a dict for the rest"
                )
        pairs = zip(names, children, strict=True)
        found = [
            entry for name, child in pairs for entry in _spread(given.pop(name, None), child, name)
        ]
        if given and isinstance(shapes, dict):
            raise ArgumentTypeError(
                f"jit: shapes: no argument {next(iter(given))}; arguments: {', '.join(names)}"
            )
        return [None if entry is None else Wanted.of(entry) for entry in found]


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    """A name for each argument by position."""
    arguments = Tree(tuple, (), (Tree(tuple, (), (LEAF,) * count), NO_NAMES))
    return argument_names(function, arguments)


def _is_entry(value: object) -> bool:
    return value is None or isinstance(value, str | Spec)


def _spread(entry: Any, tree: Tree, name: str) -> list[Any]:
    """An entry of `shapes` for each leaf of an argument; one for a part is for all in it."""
    leaves, prefix = flatten(entry, is_leaf=_is_entry)
    wrong = next((leaf for leaf in leaves if not _is_entry(leaf)), None)
    if wrong is not None:
        raise ArgumentTypeError(
            f'jit: shapes: expected text such as "n, 3", a gradir.Spec or None for {name}, '
            f"got {wrong!r}"
        )
    if grown(prefix, tree) != tree:
        raise ArgumentTypeError(f"jit: shapes: the entry of {name} must be nested like it")
    return spread_leaves(iter(leaves), prefix, tree)


def _shape(leaf: Any) -> tuple[int, ...]:
    shape = getattr(leaf, "shape", None)
    return tuple(np.shape(leaf)) if shape is None else tuple(shape)


def _spec(leaf: Any, wanted: Wanted, place: str) -> Any:
    """What the trace gets of an argument."""
    found = spec_of(leaf)
    if found is None:
        raise ArgumentTypeError(f"{place}: expected an array, got {type(leaf).__name__}")
    type_, _ = found
    own = Spec(_shape(leaf), leaf.dtype) if hasattr(leaf, "dtype") else Spec((), "float64")
    if wanted.dtype is not None and own.dtype != wanted.dtype:
        raise ArgumentTypeError(
            f"{place} has dtype {own.dtype}, expected {wanted.dtype}, got {type_text(type_)}"
        )
    shape = wanted.whole(own.shape)
    return _named_spec(shape, own.dtype) if any(map(is_extent, shape)) else leaf


@lru_cache(1 << 8)
def _named_spec(shape: tuple[Size, ...], dtype: Any) -> Spec:
    return Spec(shape, dtype)


def _kind(spec: Any) -> Hashable:
    if isinstance(spec, Spec):
        return tuple(map(str, spec.shape)), spec.dtype
    found = spec_of(spec)
    return found if found is None or found[1] else found[0]
