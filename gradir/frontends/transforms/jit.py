"""gradir.jit: a Python function as native code, compiled once per kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from gradir.errors import ArgumentError, ArgumentTypeError, TraceError
from gradir.forking import RenewedLock
from gradir.frontends.tracing.callbacks import called
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.draws import Draws
from gradir.frontends.tracing.paths import Path
from gradir.frontends.tracing.source_locations import at, place_of_user, public
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trace import Traced, ordered_names, parameter_names, traced
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
from gradir.frontends.transforms.in_place import (
    InPlace,
    Taken,
    fitting,
    inputs_beside,
    taken_by,
    with_in_out,
)
from gradir.frontends.transforms.quick_calls import QuickCalls
from gradir.frontends.transforms.static_arguments import StaticallyJitted
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced

MOST_PATHS = 8
"""The paths that are kept for arguments of one kind."""

_Key = tuple[Tree, Attribute, tuple[Hashable, ...]]
"""The kind of arguments: their nesting, the default dtype, and the kinds of leaves."""

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Compiled:
    """The compiled function for one nesting, shapes and dtypes of arguments.

    It has code for each choice of arguments whose memory results take: `donation` has the one
    that all calls share, `out` of a call may add more. `is_general`: it is right for all values.
    """

    traced: Traced
    donation: Donation | None
    threads: int | None
    lock: RenewedLock
    is_general: bool = True
    codes: dict[Taken, InPlace] = field(default_factory=dict[Taken, InPlace])

    @cached_property
    def shared(self) -> InPlace:
        """The code of calls without `out`."""
        return self._code(self._donated)

    @property
    def executable(self) -> Any:
        """The native code of calls without `out`."""
        return self.shared.executable

    @cached_property
    def _donated(self) -> Taken:
        none = (None,) * self.traced.results.leaf_count
        return none if self.donation is None else self.donation.taken

    @cached_property
    def _fits(self) -> list[list[int]]:
        return fitting(self.traced)

    def _code(self, taken: Taken) -> InPlace:
        found = self.codes.get(taken)
        if found is None:
            # one thread compiles it, and the others wait
            with self.lock:
                found = self.codes.get(taken)
                if found is None:
                    found = self.codes[taken] = self._compiled(taken)
        return found

    def _compiled(self, taken: Taken) -> InPlace:
        made = self.traced
        module = with_in_out(made, taken)
        executable = shared_code.compiled(module, made.name, self.threads)
        return InPlace(executable, inputs_beside(taken, len(made.names)))

    def __call__(self, leaves: Sequence[Any], out: Any = None) -> Sequence[Any]:
        if self.donation is not None:
            self.donation.require_writable(leaves)
        entries = None if out is None else self._entries(out)
        taken = self._donated
        if entries is not None:
            taken = taken_by(leaves, entries, taken, self._fits)
        code = self._code(taken)

        def call(arrays: Sequence[Any], out: Any) -> Any:
            return code.executable(*arrays, out=out)

        return self._run(code, call, leaves, entries)

    def profile(self, leaves: Sequence[Any]) -> Any:
        """The profile of calls without `out`; donated arrays are copied, and stay."""
        code, outputs = self.shared, None
        if self.donation is not None:
            self.donation.require_writable(leaves)
            taken = self.donation.taken
            outputs = [None if leaf is None else np.array(leaves[leaf]) for leaf in taken]
        return code.executable.profile(*code.inputs(leaves), out=outputs)

    @property
    def nesting(self) -> Tree:
        """The nesting of the results."""
        return self.traced.results

    def attempt(self, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
        """The leaves of the results of a native call; None where Python must look."""
        if has_donated(leaves):
            return None
        code = self.shared
        return self._run(code, code.executable.attempt, leaves, None)

    def alone(self) -> Any:
        """A runner that needs nothing of this class; None without one."""
        return self.executable.alone() if self.donation is None else None

    def _run(
        self, code: InPlace, call: Callable[..., Any], leaves: Sequence[Any], entries: Any
    ) -> Any:
        donation = self.donation
        if donation is None:
            return call(code.inputs(leaves), entries)
        outputs = donation.outputs(leaves, entries)
        try:
            results = call(code.inputs(leaves), outputs)
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
    """What decides the function of a call, as far as it is quick to compare, and the function."""

    tree: Tree
    classes: tuple[type, ...]
    floats: Attribute
    made: Compiled


class _Paths:
    """The compiled functions that hold for a path of values alone, the last ones first."""

    def __init__(self) -> None:
        self._kept: dict[_Key, list[tuple[Path, Compiled]]] = {}

    def keep(self, key: _Key, path: Path, made: Compiled) -> None:
        if path.is_kept:
            self._kept[key] = [(path, made), *self._kept.get(key, ())][:MOST_PATHS]

    def find(self, key: _Key, leaves: Sequence[Any]) -> Compiled | None:
        """The function for arguments of this kind and these values."""
        kept = self._kept.get(key, ())
        for pair in kept:
            if pair[0].holds(leaves):
                self._kept[key] = [pair, *(other for other in kept if other is not pair)]
                return pair[1]
        return None


class Jitted(Copied):
    """A Python function that runs as native code; called like the function.

    `compiled(*args)` is the `Compiled` for such arguments: its `executable` has the plan and the
    code, its `traced.module` the program. `reads_out`: the function gets `out` too, and reads it.
    `knows_values`: Python code may ask for values of the arguments; the function is then traced for
    each path that these take.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        threads: int | None = None,
        donate_argnums: int | Sequence[int] = (),
        reads_out: bool = False,
        knows_values: bool = False,
    ):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        look_like(self, function)
        self._function = function
        self._threads = threads
        self._donated = argument_numbers(donate_argnums)
        self._takes_out = reads_out or "out" not in parameter_names(function)
        self._reads_out = reads_out
        self._knows_values = knows_values
        self._made: dict[_Key, Compiled] = {}
        self._paths = _Paths()
        self._last: _Last | None = None
        self._lock = RenewedLock()
        self.quick = QuickCalls()
        self.after_trace: Callable[[], object] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.quick.call(args, kwargs)
        return self.any_call(args, kwargs) if found is NotImplemented else found

    def any_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not native as a whole."""
        out = None
        if kwargs and self._takes_out:
            out = kwargs.get("out") if self._reads_out else kwargs.pop("out", None)
        if tracing() is not None:
            with at(place_of_user()):
                if out is not None and not self._reads_out:
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
        if last is not None and out is None and (tree, classes, default_element(float)) == last[:3]:
            # most calls are like the one before, whose code checks shapes and dtypes itself
            results = last.made.attempt(leaves)
            if results is not None:
                self._learn(last)
                return results, last.made.traced.results
        made = self._traced(leaves, tree, arguments or (lambda: tree.build(leaves)))
        require_not_donated(leaves, made.traced.names, made.traced.name)
        if not made.is_general:
            return made(leaves, out), made.traced.results
        self._last = last = _Last(tree, classes, default_element(float), made)
        results = made(leaves, out)
        if out is None:
            self._learn(last)
        return results, made.traced.results

    def _learn(self, last: _Last) -> None:
        """Make calls of this kind native; those with another default dtype are not."""
        if last.floats == f64:
            self.quick.learn(last.tree, last.classes, last.made)

    @public
    def compiled(self, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled function for arguments like these; a gradir.Spec can stand for an array."""
        leaves, tree = flatten((args, kwargs))
        made = self._traced(leaves, tree, lambda: (args, kwargs))
        _ = made.executable
        return made

    @public
    def profile(self, *args: Any, **kwargs: Any) -> Any:
        """The time of each kernel in calls with these arguments: a gradir.profiling.Profile.

        The function is compiled once more, with clocks between its kernels, and called some times.
        """
        if tracing() is not None:
            raise TraceError("jit: a profile is of calls with arrays, and this is a traced one")
        leaves, tree = flatten((args, kwargs))
        made = self._traced(leaves, tree, lambda: (args, kwargs))
        require_not_donated(leaves, made.traced.names, made.traced.name)
        return made.profile(leaves)

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Traced, list[Any]]:
        """The program that a call with these arguments runs, and its arguments."""
        leaves, tree = flatten((args, kwargs))
        return self._traced(leaves, tree, lambda: (args, kwargs)).traced, list(leaves)

    def _traced(
        self, leaves: Sequence[Any], tree: Tree, arguments: Callable[[], Arguments]
    ) -> Compiled:
        key = tree, default_element(float), tuple(map(_kind, leaves))
        found = self._made.get(key) or self._paths.find(key, leaves)
        if found is None:
            # one thread traces it, and the others wait
            with self._lock:
                found = self._made.get(key)
                if found is None:
                    found = self._newly_traced(tree, arguments, key)
        return found

    def _newly_traced(self, tree: Tree, arguments: Callable[[], Arguments], key: _Key) -> Compiled:
        draws = Draws(self._function) if self._knows_values else None
        with at(place_of_user()):
            made = self.trace(*arguments())
            donation = donated(made, tree, self._donated) if self._donated else None
        is_kept = draws is None or not draws.were_made()
        is_general = is_kept and made.path is None
        found = Compiled(made, donation, self._threads, self._lock, is_general)
        if is_general:
            self._made[key] = found
        elif is_kept and made.path is not None:
            self._paths.keep(key, made.path, found)
        if self.after_trace is not None:
            self.after_trace()
        return found

    def trace(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
        """The program for some arguments."""
        moving = _nothing if self._knows_values else None
        return traced("jit", self._function, args, kwargs, moving=moving)

    def __reduce__(self) -> str | Parts:
        return reduced(self, "jit", (jit, (self._function, self._threads, self._donated)))

    def __repr__(self) -> str:
        return f"<gradir.jit of {self._function!r}, compiled {len(self._made)} times>"


def _nothing(arguments: Tree) -> tuple[()]:
    return ()


def _kind(leaf: object) -> Hashable:
    """The kind of a leaf, its part of the key of compiled functions."""
    if isinstance(leaf, np.ndarray | np.generic | Spec):
        array = cast(Any, leaf)
        return array.shape, array.dtype
    return type(leaf) if is_number(leaf) else spec_of(leaf)


def _named_shapes(function: Callable[..., Any], *options: Any) -> Jitted:
    from gradir.frontends.transforms.named_shapes import NamedShapes

    return NamedShapes(function, *options)


def jit(
    function: Callable[..., Any],
    threads: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    shapes: Any = None,
) -> Jitted:
    """The function as native code: compiled at the first call with arguments of each kind.

    Arguments and results are arrays, numbers, and nested tuples, lists and dicts of them; their
    nesting, shapes and dtypes are the kind, and code is kept by kind. `threads` as for
    gradir.compile. Inside of a traced function it is the function itself.

    `out=` in a call takes arrays for the results, with their nesting, and None for new ones; a
    function with a parameter of that name gets it instead. An array there may be an argument, too,
    of the result's type: the function reads all that it needs before it writes; code for that is
    compiled once. After a call that failed while it ran, arrays in `out` may have changed.

    `donate_argnums` are the positions of arguments given up by the caller: each of their arrays
    becomes the first free result of its shape and dtype, so that an update like
    `params - lr * grads` works in place. A donated array is a C-contiguous, writable NumPy array
    and shares memory with no other argument. The array object of the caller is read-only
    afterwards and refused by gradir, after a call that failed while it ran as well; other views
    of its memory show the result. A UserWarning names donated arrays without a result.

    `static_argnums` and `static_argnames` are arguments that the function gets as they are: they
    choose the program, which is compiled for each of their values, and must be hashable.

    `shapes` names extents: the function is traced once for all their sizes, with arrays whose
    shapes have the names, and calls are checked. It has an entry for each argument by position, or
    is a dict by parameter names: a text such as `"n, 3"`, `"2*n + 1"` or `"n, ..."` (any extents
    may follow), a gradir.Spec, whose dtype is checked too, None for the shape of the call, or a
    nesting of these like that of the argument. Code is made for each tuple of sizes.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")

    def make(chosen: Callable[..., Any], donated: int | Sequence[int]) -> Jitted:
        if shapes is None:
            return Jitted(chosen, threads, donated)
        return _named_shapes(chosen, shapes, threads, donated)

    if static_argnums == () and static_argnames == ():
        return make(function, donate_argnums)
    if isinstance(shapes, (tuple, list)):
        # static arguments are none of the jitted function's
        shapes = dict(zip(ordered_names(function), cast(Sequence[Any], shapes), strict=False))
        shapes = {name: entry for name, entry in shapes.items() if entry is not None}

    made = StaticallyJitted(function, static_argnums, static_argnames, make, donate_argnums)
    return cast(Any, made)  # it has what users call of a Jitted
