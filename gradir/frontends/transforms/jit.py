"""gradir.jit: a Python function as native code, compiled once per kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from gradir.errors import ArgumentError, ArgumentTypeError, TraceError
from gradir.forking import RenewedLock
from gradir.frontends.tracing.callbacks import called
from gradir.frontends.tracing.source_locations import at, place_of_user, public
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trace import Traced, parameter_names, traced
from gradir.frontends.tracing.tracing import is_number, tracing
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like
from gradir.frontends.transforms import shared_code
from gradir.frontends.transforms.donation import (
    Donation,
    argument_numbers,
    donated,
    has_donated,
    require_not_donated,
)
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Compiled:
    """The compiled function for one nesting, shapes and dtypes of arguments."""

    traced: Traced
    executable: Any
    donation: Donation | None = None

    def __call__(self, leaves: Sequence[Any], out: Any = None) -> Sequence[Any]:
        entries = None if out is None else self._entries(out)
        if self.donation is not None:
            self.donation.require_writable(leaves)
        return self._run(self._checked, leaves, entries)

    def attempt(self, leaves: Sequence[Any]) -> Sequence[Any] | None:
        """The leaves of the results of a native call; None where Python must look."""
        return self._run(self.executable.attempt, leaves, None)

    def _checked(self, arrays: Sequence[Any], out: Any) -> Any:
        return self.executable(*arrays, out=out)

    def _run(self, call: Callable[..., Any], leaves: Sequence[Any], entries: Any) -> Any:
        donation = self.donation
        if donation is None:
            return call(tuple(leaves), entries)
        outputs = donation.outputs(leaves, entries)
        try:
            results = call(donation.inputs(leaves), outputs)
        except ArgumentError:  # before anything runs
            donation.require_apart(leaves)
            raise
        except BaseException:
            donation.lose(leaves)
            raise
        return None if results is None else donation.results(leaves, results)

    def _entries(self, out: Any) -> Sequence[Any]:
        entries = leaves_like(out, self.traced.results)
        if entries is None:
            raise ArgumentTypeError(
                f"{self.traced.name}: out: expected arrays, or None, nested as the results are"
            )
        return entries


class _Last(NamedTuple):
    """The nesting of the arguments of a call, the classes of its leaves, and its function."""

    tree: Tree
    classes: tuple[type, ...]
    made: Compiled


class Jitted(Copied):
    """A Python function that runs as native code; called like the function.

    `compiled(*args)` is the `Compiled` for such arguments: its `executable` has the plan and the
    code, its `traced.module` the program.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        threads: int | None = None,
        donate_argnums: int | Sequence[int] = (),
    ):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        look_like(self, function)
        self._function = function
        self._threads = threads
        self._donated = argument_numbers(donate_argnums)
        self._has_out = "out" in parameter_names(function)
        self._made: dict[tuple[Tree, tuple[Hashable, ...]], Compiled] = {}
        self._last: _Last | None = None
        self._lock = RenewedLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = None if self._has_out or not kwargs else kwargs.pop("out", None)
        if tracing() is not None:
            with at(place_of_user()):
                if out is not None:
                    raise TraceError("jit: out is for arrays, and a traced function has none")
                return called("jit", self._function, *args, **kwargs)
        leaves, tree = flatten((args, kwargs))
        results, nesting = self.of_leaves(leaves, tree, out, lambda: (args, kwargs))
        return nesting.build(results)

    def of_leaves(
        self,
        leaves: Sequence[Any],
        tree: Tree,
        out: Any = None,
        arguments: Callable[[], Arguments] | None = None,
    ) -> tuple[Sequence[Any], Tree]:
        """A call with flattened `(args, kwargs)`: the results as leaves and their nesting.

        That is one object for one kind of arguments. `arguments` are those of the trace.
        """
        classes, last = tuple(map(type, leaves)), self._last
        if last is not None and out is None and (tree, classes) == last[:2]:
            # most calls are like the one before, whose code checks shapes and dtypes itself
            results = None if has_donated(leaves) else last.made.attempt(leaves)
            if results is not None:
                return results, last.made.traced.results
        made = self._compiled(leaves, tree, arguments or (lambda: tree.build(leaves)))
        self._last = _Last(tree, classes, made)
        require_not_donated(leaves, made.traced.names, made.traced.name)
        return made(leaves, out), made.traced.results

    @public
    def compiled(self, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled function for arguments like these; a gradir.Spec can stand for an array."""
        leaves, tree = flatten((args, kwargs))
        return self._compiled(leaves, tree, lambda: (args, kwargs))

    def _compiled(
        self, leaves: Sequence[Any], tree: Tree, arguments: Callable[[], Arguments]
    ) -> Compiled:
        key = tree, tuple(map(_kind, leaves))
        found = self._made.get(key)
        if found is None:
            # one thread compiles it, and the others wait
            with self._lock:
                found = self._made.get(key)
                if found is None:
                    with at(place_of_user()):
                        made = traced("jit", self._function, *arguments())
                        donation = donated(made, tree, self._donated) if self._donated else None
                    module = made.module if donation is None else donation.module
                    executable = shared_code.compiled(module, made.name, self._threads)
                    found = self._made[key] = Compiled(made, executable, donation)
        return found

    def __reduce__(self) -> str | Parts:
        return reduced(self, "jit", (jit, (self._function, self._threads, self._donated)))

    def __repr__(self) -> str:
        return f"<gradir.jit of {self._function!r}, compiled {len(self._made)} times>"


def _kind(leaf: object) -> Hashable:
    """The kind of a leaf, its part of the key of compiled functions."""
    if isinstance(leaf, np.ndarray | np.generic | Spec):
        array = cast(Any, leaf)
        return array.shape, array.dtype
    return type(leaf) if is_number(leaf) else spec_of(leaf)


def jit(
    function: Callable[..., Any],
    threads: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Jitted:
    """The function as native code: compiled at the first call with arguments of each kind.

    Arguments and results are arrays, numbers, and nested tuples, lists and dicts of them; their
    nesting, shapes and dtypes are the kind, and code is kept by kind. `threads` as for
    gradir.compile. Inside of a traced function it is the function itself.

    `out=` in a call takes arrays for the results, with their nesting, and None for new ones; a
    function with a parameter of that name gets it instead.

    `donate_argnums` are the positions of arguments given up by the caller: each of their arrays
    becomes the first free result of its shape and dtype, so that an update like
    `params - lr * grads` works in place. A donated array is a C-contiguous, writable NumPy array
    and shares memory with no other argument. The array object of the caller is read-only
    afterwards and refused by gradir, after a call that failed while it ran as well; other views
    of its memory show the result. A UserWarning names donated arrays without a result.
    """
    return Jitted(function, threads, donate_argnums)
