"""gradir.jit: a Python function as native code, compiled once per kind of arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, cast

from gradir.cache.memory import Store
from gradir.compiler.dynamic import MOST_SIZES
from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ArgumentTypeError, TraceError
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.default_precision import checked_precision, in_precision
from gradir.frontends.tracing.source_locations import called_from, named_options, public
from gradir.frontends.tracing.still_values import with_still_objects
from gradir.frontends.tracing.trace import (
    Traced,
    function_name,
    ordered_names,
    parameter_names,
    traced,
)
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.calls import CallOptions, Calls, TraceOf
from gradir.frontends.transforms.donation import argument_numbers, require_not_donated
from gradir.frontends.transforms.program import Program
from gradir.frontends.transforms.wrapped import Parts, Wrapped, look_like

if TYPE_CHECKING:
    from gradir.frontends.transforms.named_shapes import NamedShapes
    from gradir.frontends.transforms.static_arguments import StaticArguments, refuse_unhashable
else:
    NamedShapes = lazy_function("gradir.frontends.transforms.named_shapes", "NamedShapes")
    StaticArguments = lazy_function(
        "gradir.frontends.transforms.static_arguments", "StaticArguments"
    )
    refuse_unhashable = lazy_function(
        "gradir.frontends.transforms.static_arguments", "refuse_unhashable"
    )

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Jitted(Wrapped, Generic[P, R_co]):
    """A Python function that runs as native code; called like the function.

    `lower(*args)` is the `Program` for such arguments, and `compiled(*args)` the same with its
    code: its `executable` has the plan and the code, its `module` is the program. `parts` are the
    transform that makes it and the arguments of that. Options of gradir.jit are `static` arguments,
    names of extents in `shapes`, `wait`, and the `precision` of products. Options of other
    transforms are `reads_out`: the function gets `out` too, and reads it; `knows_values`: Python
    code may ask for values of the arguments, and the function is traced for each path that these
    take; `trace`: it makes the programs.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        threads: int | None = None,
        donate_argnums: int | Sequence[int] = (),
        *,
        parts: Parts | None = None,
        static: StaticArguments | None = None,
        shapes: Any = None,
        wait: bool = False,
        reads_out: bool = False,
        knows_values: bool = False,
        trace: TraceOf | None = None,
        precision: str | None = None,
    ):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        super().__init__(function, parts or (jit, (function, threads, donate_argnums)))
        self._function, self._static, self._shapes = function, static, shapes
        donated = argument_numbers(donate_argnums)
        most = None if shapes is None else MOST_SIZES
        self._options = CallOptions(threads, wait, donated, knows_values, most)
        self._precision = precision
        self._takes_out = reads_out or "out" not in parameter_names(function)
        self._reads_out = reads_out
        self._named = None if shapes is None or static else NamedShapes(function, shapes)
        tracer = self._named.trace if self._named else self._trace
        trace = trace or tracer
        trace = trace if precision is None else in_precision(trace, precision)
        self._calls = Calls(function, trace, self._options)
        self._choices = Store[Hashable, Jitted[..., Any]]()
        self.quick = self._calls.quick

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        try:
            found = self.quick.call(args, kwargs)
            if found is not NotImplemented:
                return found
            if tracing() is None:
                return self._call(args, kwargs)
        except Exception as error:
            # its message gets the place of the call
            return called_from(sys._getframe(1), _raise, error)
        return called_from(sys._getframe(1), self.call_traced, args, kwargs)

    def call_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call in a trace: the function itself."""
        if self._static is not None:
            jitted, args, kwargs = self._chosen(args, kwargs)
            return jitted.call_traced(args, kwargs)
        if self._named is not None:
            self._named.check(args, kwargs)
        out = self._out_of(kwargs)
        if out is not None and not self._reads_out:
            raise TraceError("jit: out is for arrays, and a traced function has none")
        name, function = self._parts[0].__name__, self._function
        if self._precision is not None:
            function = in_precision(function, self._precision)
        return call_user(name, function, *args, **kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not native as a whole."""
        if self._static is not None:
            jitted, args, kwargs = self._chosen(args, kwargs)
            found = jitted.quick.call(args, kwargs)
            return jitted._call(args, kwargs) if found is NotImplemented else found
        out = self._out_of(kwargs)
        args, kwargs = self._handed_on(args, kwargs)
        leaves, tree = flatten((args, kwargs))
        results, nesting = self._calls.of_leaves(leaves, tree, out, lambda: (args, kwargs))
        return nesting.build(results)

    def _handed_on(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments; in a transform's, objects that are no arrays are still."""
        return with_still_objects(args, kwargs) if self._options.knows_values else (args, kwargs)

    def _out_of(self, kwargs: dict[str, Any]) -> Any:
        """The `out` of a call, which is left to a function that reads it."""
        if not kwargs or not self._takes_out:
            return None
        return kwargs.get("out") if self._reads_out else kwargs.pop("out", None)

    def of_leaves(self, leaves: Sequence[Any], tree: Tree) -> tuple[Sequence[Any], Tree]:
        """A call with flattened `(args, kwargs)`: the results as leaves and their nesting.

        That is one object for one kind of arguments.
        """
        return self._calls.of_leaves(leaves, tree, None, lambda: tree.build(leaves))

    @public
    def lower(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these, not compiled; a gradir.Spec can stand for an array.

        `lower(x).as_text()` is its IR, `lower(x).compile()` its native code.
        """
        return self.program(args, kwargs)[0]

    trace = lower

    @public
    def compiled(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these, compiled; a gradir.Spec can stand for an array."""
        program, _ = self.program(args, kwargs)
        _ = program.executable
        return program

    @public
    def profile(self, *args: Any, **kwargs: Any) -> Any:
        """The time of each kernel in calls with these arguments: a gradir.profiling.Profile.

        The function is compiled once more, with clocks between its kernels, and called some times.
        """
        if tracing() is not None:
            raise TraceError("jit: a profile is of calls with arrays, and this is a traced one")
        program, leaves = self.program(args, kwargs)
        require_not_donated(leaves, program.traced.names, program.name)
        return program.profile(leaves)

    @public
    def explore(self, *args: Any, **kwargs: Any) -> Any:
        """A page on the program for arguments like these: stages, memory, time and code.

        `page.save("page.html")` writes it, and a notebook shows it. gradir.Spec can stand for an
        array; with arrays alone the function is called, and the page has times.
        """
        from gradir.frontends.transforms.explored import explore_jitted

        if tracing() is not None:
            raise TraceError("jit: explore is for calls with arrays, and this is a traced one")
        return explore_jitted(self, args, kwargs)

    def program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Program, Sequence[Any]]:
        """The program that a call with these arguments runs, and the leaves of the arguments."""
        if self._static is not None:
            jitted, args, kwargs = self._chosen(args, kwargs)
            return jitted.program(args, kwargs)
        args, kwargs = self._handed_on(args, kwargs)
        leaves, tree = flatten((args, kwargs))
        return self._calls.program(leaves, tree, lambda: (args, kwargs)), leaves

    def after_trace(self, check: Callable[[], object]) -> None:
        """Call `check` after each trace."""
        self._calls.after_trace = check

    def _trace(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
        """The program for some arguments."""
        moving = _nothing if self._options.knows_values else None
        return traced("jit", self._function, args, kwargs, moving=moving, orders=0)

    def _chosen(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Jitted[..., Any], tuple[Any, ...], dict[str, Any]]:
        """The function jitted for the static values of a call, and the other arguments."""
        static = self._static
        assert static is not None
        key, rest, named = static.split(args, kwargs)
        try:
            found = self._choices.find(key)
        except TypeError:
            raise refuse_unhashable(static.choice(args, kwargs)) from None
        if found is None:

            def make() -> Jitted[..., Any]:
                choice = static.choice(args, kwargs)
                function, donated = static.function_of(choice)
                options = self._options
                jitted: Jitted[..., Any] = Jitted(
                    function, options.threads, donated, shapes=self._shapes, wait=options.wait,
                    precision=self._precision,
                )  # fmt: skip
                if choice.is_plain:
                    jitted.quick.are_part_of(self.quick, choice.by_position)
                return jitted

            found = self._choices.find_or_make(key, make)
        return found, rest, named

    def __repr__(self) -> str:
        many = f"for {len(self._choices)} static choices"
        if self._static is None:
            many = f"compiled {self._calls.count} times"
        return f"{super().__repr__()[:-1]}, {many}>"


def _raise(error: Exception) -> NoReturn:
    raise error


def _nothing(arguments: Tree) -> tuple[()]:
    return ()


def jit_transform(
    function: Callable[..., Any],
    shown: Callable[..., Any],
    transform: Callable[..., Any],
    *arguments: Any,
    reads_out: bool = False,
) -> Jitted[..., Any]:
    """What a transform makes of the function `shown`, as the traced `function` says.

    `arguments` are the transform's own, behind `shown`.
    """
    kind, name = transform.__name__, function_name(shown)
    look_like(function, shown)  # the names of the parameters
    function.__name__ = function.__qualname__ = f"{kind}_{name}"
    function.__doc__ = f"gradir.{kind} of {name}."
    parts: Parts = (transform, (shown, *arguments))
    return Jitted(function, parts=parts, reads_out=reads_out, knows_values=True)


@named_options
def jit(
    function: Callable[..., R],
    threads: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    shapes: Any = None,
    wait: bool = False,
    precision: str | None = None,
) -> Jitted[..., R]:
    """The function as native code: compiled at the first call with arguments of each kind.

    Arguments and results are arrays, numbers, and nested tuples, lists and dicts of them; their
    nesting, shapes and dtypes are the kind, and code is kept by kind. `threads` and `wait` are as
    for gradir.compile. Inside of a traced function it is the function itself.

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
    nesting of these like the argument's. The first sizes have code of their own; then code is made
    for many sizes, and a new one costs about a millisecond.

    `precision` is that of the function's products of float32, as gradir.default_matmul_precision
    sets it: "bf16", or None for that of the call.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
    chosen = (static_argnums, static_argnames)
    parts: Parts = (jit, (function, threads, donate_argnums, *chosen, shapes, wait, precision))
    static = None
    if static_argnums != () or static_argnames != ():
        donated = argument_numbers(donate_argnums)
        static = StaticArguments(function, static_argnums, static_argnames, donated)
        if isinstance(shapes, (tuple, list)):
            # static arguments are none of the traced function's
            shapes = dict(zip(ordered_names(function), cast(Sequence[Any], shapes), strict=False))
            shapes = {name: entry for name, entry in shapes.items() if entry is not None}
    return Jitted(
        function, threads, donate_argnums, parts=parts, static=static, shapes=shapes, wait=wait,
        precision=checked_precision(precision, "jit"),
    )  # fmt: skip
