"""gradir.jit: a Python function as native code, compiled once per kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gradir.api import compile
from gradir.errors import ArgumentTypeError
from gradir.forking import RenewedLock
from gradir.frontends.tracing.callbacks import called
from gradir.frontends.tracing.source_locations import at, place_of_user, public
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.tracing import is_number, tracing
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced


@dataclass(frozen=True)
class Compiled:
    """The compiled function for one nesting, shapes and dtypes of arguments."""

    traced: Traced
    executable: Any

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return self.traced.results.build(self.executable(*leaves))


class Jitted(Copied):
    """A Python function that runs as native code; called like the function.

    `compiled(*args)` is the `Compiled` for such arguments: its `executable` has the plan and the
    code, its `traced.module` the program.
    """

    def __init__(self, function: Callable[..., Any], threads: int | None = None):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        look_like(self, function)
        self._function = function
        self._threads = threads
        self._made: dict[tuple[Tree, tuple[Hashable, ...]], Compiled] = {}
        self._lock = RenewedLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if tracing() is not None:
            with at(place_of_user()):
                return called("jit", self._function, *args, **kwargs)
        leaves, tree = flatten((args, kwargs))
        return self._compiled(leaves, tree, args, kwargs)(leaves)

    @public
    def compiled(self, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled function for arguments like these; a gradir.Spec can stand for an array."""
        leaves, tree = flatten((args, kwargs))
        return self._compiled(leaves, tree, args, kwargs)

    def _compiled(
        self, leaves: Sequence[Any], tree: Tree, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Compiled:
        key = tree, tuple(map(_kind, leaves))
        found = self._made.get(key)
        if found is None:
            # one thread compiles it, and the others wait
            with self._lock:
                found = self._made.get(key)
                if found is None:
                    with at(place_of_user()):
                        made = traced("jit", self._function, args, kwargs)
                    executable = compile(made.module, made.name, self._threads)
                    found = self._made[key] = Compiled(made, executable)
        return found

    def __reduce__(self) -> str | Parts:
        return reduced(self, "jit", (jit, (self._function, self._threads)))

    def __repr__(self) -> str:
        return f"<gradir.jit of {self._function!r}, compiled {len(self._made)} times>"


def _kind(leaf: object) -> Hashable:
    """The kind of a leaf, its part of the key of compiled functions."""
    if isinstance(leaf, np.ndarray | np.generic | Spec):
        array = cast(Any, leaf)
        return array.shape, array.dtype
    return type(leaf) if is_number(leaf) else spec_of(leaf)


def jit(function: Callable[..., Any], threads: int | None = None) -> Jitted:
    """The function as native code: compiled at the first call with arguments of each kind.

    Arguments and results are arrays, numbers, and nested tuples, lists and dicts of them; their
    nesting, shapes and dtypes are the kind, and code is kept by kind. `threads` as for
    gradir.compile. Inside of a traced function it is the function itself.
    """
    return Jitted(function, threads)
