"""A gradir function called with arrays of another system: one program per kind of arguments."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from gradir.cache.memory import Store
from gradir.errors import ArgumentTypeError, GradirError
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import at, place_of_user, refusal
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import argument_names, function_name, traced
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.wrapped import Parts, Wrapped
from gradir.interop.programs import Differentiable, WrapOptions

ErrorT = TypeVar("ErrorT", bound=GradirError)


class _Made(NamedTuple):
    """The program for one kind of arguments, and the nesting of its results."""

    program: Differentiable
    nesting: Tree


class Foreign(Wrapped, ABC):
    """A function for another system; objects other than that system's arrays are static.

    A program is made for each nesting, shapes, dtypes and static values. In a traced function
    it is the function itself.
    """

    array: str
    """What the system calls an array, in messages."""
    types: type | tuple[type, ...]
    """The classes of its arrays."""
    captured: type[Exception]
    """What its arrays raise where a constant is made of one that has a derivative."""
    common: frozenset[type] = frozenset()
    """Those for which calls with nothing else are made fast."""

    def __init__(self, function: Callable[..., Any], options: WrapOptions, parts: Parts):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        super().__init__(function, parts)
        self._function, self._options = function, options
        self._programs = Store[Hashable, _Made]()

    @abstractmethod
    def run(self, program: Differentiable, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of a program, as arrays of the system."""

    def flattened(self, arguments: Any) -> tuple[list[Any], Tree]:
        """The leaves of the arguments, and their nesting."""
        return flatten(arguments)

    def kinds(self, arrays: Sequence[Any]) -> tuple[Hashable, ...]:
        """What a program is made for: the shape and the dtype of each array."""
        return tuple([(x.shape, x.dtype) for x in arrays])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if tracing() is not None:
            with at(_place()):
                return call_user("wrap", self._function, *args, **kwargs)
        if not kwargs and self.common.issuperset(map(type, args)):
            # most calls are so; flattening takes microseconds
            kinds = self.kinds(args)
            made = self._programs.find(kinds)
            if made is None:
                made = self._for(*self.flattened((args, kwargs)))
                self._programs.keep(kinds, made)
            return made.nesting.build(self.run(made.program, args))
        leaves, tree = self.flattened((args, kwargs))
        made = self._for(leaves, tree)
        return made.nesting.build(self.run(made.program, self._arrays(leaves)))

    def _arrays(self, leaves: Sequence[Any]) -> list[Any]:
        return [leaf for leaf in leaves if isinstance(leaf, self.types)]

    def _for(self, leaves: Sequence[Any], tree: Tree) -> _Made:
        rest = [None if isinstance(x, self.types) else key_of_static(x) for x in leaves]
        key = tree, self.kinds(self._arrays(leaves)), tuple(rest)
        try:
            found = self._programs.find(key)
        except TypeError:
            raise self._not_static(leaves, tree) from None
        if found is not None:
            return found
        if not all(map(self._is_taken, leaves)):
            raise self._not_static(leaves, tree)
        with at(_place()):
            return self._programs.find_or_make(key, lambda: self._traced(leaves, tree))

    def _traced(self, leaves: Sequence[Any], tree: Tree) -> _Made:
        function, names = self._function, argument_names(self._function, tree)
        chosen = [isinstance(leaf, self.types) for leaf in leaves]
        # the program outlives the arrays of the call, which it must not hold
        others: list[Any] = [
            None if is_array else x for x, is_array in zip(leaves, chosen, strict=True)
        ]

        def of_arrays(*tracers: Any) -> Any:
            rest, given = iter(tracers), list(others)
            for k, name in enumerate(names):
                if chosen[k]:
                    given[k] = next(rest)
                    given[k].named(name)
            args, kwargs = tree.build(given)
            return call_user("wrap", function, *args, **kwargs)

        of_arrays.__name__ = function_name(function)
        of_arrays.__wrapped__ = function  # pyrefly: ignore[missing-attribute]
        arrays = [
            self._spec(leaf, name)
            for leaf, name, is_array in zip(leaves, names, chosen, strict=True)
            if is_array
        ]
        try:
            made = traced("wrap", of_arrays, arrays)
        except self.captured as error:
            raise self._refused(error) from None

        def of_leaves(*tracers: Any) -> list[Any]:
            return flatten(of_arrays(*tracers))[0]

        program = Differentiable(made.module, made.name, self._options, of_leaves)
        return _Made(program, made.results)

    def _spec(self, array: Any, name: str) -> Spec:
        try:
            return Spec(array.shape, array.dtype)
        except ArgumentTypeError as error:
            raise refusal(f"wrap: {name}: {error}", ArgumentTypeError) from None

    def _refused(self, error: Exception) -> Exception:
        return refusal(
            f"wrap: {function_name(self._function)} uses {self.array} that is not one of its "
            f"arguments, and would be a constant without a gradient; pass it as an "
            f"argument ({str(error).splitlines()[0]})"
        )

    def _is_taken(self, leaf: object) -> bool:
        """Whether a leaf is an array of the system, or may be static: no array of another one."""
        if isinstance(leaf, self.types):
            return True
        try:
            hash(leaf)
        except TypeError:
            return False
        return not hasattr(type(leaf), "__dlpack__")

    def _not_static(self, leaves: Sequence[object], tree: Tree) -> Exception:
        """The refusal of the first leaf that is neither an array of the system nor static."""
        pairs = zip(argument_names(self._function, tree), leaves, strict=True)
        name, leaf = next((n, x) for n, x in pairs if not self._is_taken(x))
        return _not_hashable(
            f"wrap: {name}: expected {self.array}, or a hashable static value", leaf
        )


def _place() -> LocationAttr:
    """The user's place: the systems may be between it and gradir."""
    modules = [sys.modules.get(name) for name in ("jax", "torch")]
    return place_of_user(
        *(os.path.join(os.path.dirname(m.__file__), "") for m in modules if m and m.__file__)
    )


def refused(message: str, kind: type[ErrorT]) -> ErrorT:
    """An error of a running call or gradient, which keeps no place of its own."""
    return refusal(message, kind, _place())


def require_between(
    system: str, version: str, oldest: tuple[int, int], newest: tuple[int, int]
) -> None:
    """GradirError for a system of another version than from `oldest` on, below `newest`."""
    major, minor = map(int, version.partition("+")[0].split(".")[:2])
    if not oldest <= (major, minor) < newest:
        ends = [".".join(map(str, end)) for end in (oldest, newest)]
        raise refused(
            f"{system} {version} is not supported: its programs are read from {ends[0]} on, below "
            f"{ends[1]}",
            GradirError,
        )


def require_no_complex(spec: Spec) -> None:
    """ArgumentTypeError for complex numbers, which programs of other systems are not read with."""
    if spec.dtype.kind == "c":
        raise ArgumentTypeError(
            f"dtype: expected real numbers, got {spec.dtype}: programs with complex ones are not "
            "read"
        )


def hashable_key(leaf: object, expected: str) -> Hashable:
    """`key_of_static`; ArgumentTypeError, with what is expected, for values without a hash."""
    try:
        hash(leaf)
    except TypeError:
        raise _not_hashable(expected, leaf) from None
    return key_of_static(leaf)


def _not_hashable(expected: str, leaf: object) -> ArgumentTypeError:
    kind = type(leaf)
    got = f"{kind.__name__} of {kind.__module__.partition('.')[0]}"
    return refused(f"{expected}, got {got}", ArgumentTypeError)


def key_of_static(leaf: object) -> Hashable:
    """A static value as a part of a key: 1, 1.0 and True are different, 0.0 and -0.0 as well."""
    kind = type(leaf)
    return kind, repr(leaf) if issubclass(kind, float | complex | np.generic) else leaf
