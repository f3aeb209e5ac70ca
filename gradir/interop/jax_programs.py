"""JAX functions as programs of gradir: `trace` gives a module, `differentiable` a JAX function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gradir.api import Module
from gradir.cache.memory import Store
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError
from gradir.frontends.imported.jax_rules.random import key_of_words, words_of_key
from gradir.frontends.imported.jax_rules.table import JAX
from gradir.frontends.imported.replay import Replay
from gradir.frontends.tracing.source_locations import at, location_of_function, place_of_user
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import Traced, function_name, ordered_names, traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.wrapped import Wrapped
from gradir.interop.foreign import hashable_key, refused, require_between, require_no_complex
from gradir.interop.jax_calls import run_program
from gradir.interop.jax_keys import THREEFRY, is_key
from gradir.interop.jaxprs import JaxprReader
from gradir.interop.programs import Differentiable, WrapOptions
from gradir.packages import folder_of, package

jax: Any = package("jax", "jax")

_EXPECTED = "differentiable: arguments must be arrays, or hashable static values"

OLDEST, NEWEST = (0, 10), (0, 13)
"""The versions of JAX whose jaxprs are read: from the first, below the second."""


def trace(function: Callable[..., Any], *specs: Any) -> Module:
    """The program of a JAX function for arguments of some shapes and dtypes.

    `specs` are the arguments, nested as JAX nests them: arrays, jax.ShapeDtypeStruct, gradir.Spec,
    and Python numbers, which are arrays of rank 0 in JAX's dtype for them. Their leaves in JAX's
    order are the program's arguments, and so are the results. Derivative rules (custom_jvp,
    custom_vjp), stop_gradient and checkpoints are kept. ImportedProgramError names all ops, dtypes
    and effects that cannot be imported, with their lines.
    """
    leaves, tree = jax.tree_util.tree_flatten((specs, {}))
    _require_version()
    with at(place_of_user(*_systems())):
        made = _imported(function, [_spec_of(leaf) for leaf in leaves], tree, ()).traced
    _define_rules(made)
    return made.module


def differentiable(
    function: Callable[..., Any] | None = None,
    *,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    threads: int | None = None,
) -> Any:
    """The JAX function, computed and differentiated by gradir; in JAX it is a function as any.

    jax.grad of it differentiates what JAX does not (while_loop), to every order, with gradir's
    policies and memory limits, as `wrap` has them. Arguments and results are nested as JAX nests
    them; leaves of arguments that are not arrays or numbers are static. Arrays of JAX that the
    function captures are constants; one with a derivative is refused. Without a function: a
    decorator.
    """
    options = WrapOptions(policy, memory_limit, threads)
    if function is None:
        return partial(ImportedFunction, options=options)
    return ImportedFunction(function, options)


@dataclass(frozen=True)
class _Imported:
    """A function as a program: `nesting` is that of its results, `keys` are those that are keys.

    `run` gives the results of traced arrays.
    """

    traced: Traced
    run: Callable[..., list[Any]]
    nesting: Any
    keys: tuple[bool, ...]


class ImportedFunction(Wrapped):
    """A JAX function that gradir computes; see `differentiable`."""

    def __init__(self, function: Callable[..., Any], options: WrapOptions):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        super().__init__(function, (ImportedFunction, (function, options)))
        self._function, self._options = function, options
        self._programs = Store[Hashable, tuple[Differentiable, _Imported]]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs), is_leaf=_is_traced)
        if tracing() is not None:
            return _replayed(self._function, leaves, tree)
        given = [_as_array(leaf) for leaf in leaves]
        arrays = [x for x in given if _is_array(x)]
        static = tuple(
            (k, hashable_key(x, _EXPECTED)) for k, x in enumerate(given) if not _is_array(x)
        )
        avals = tuple(map(_aval, arrays))
        program, made = self._programs.find_or_make(
            (tree, avals, static), lambda: self._made(given, tree)
        )
        results = list(run_program(program, [_without_key(x) for x in arrays]))
        for k, is_of_keys in enumerate(made.keys):
            if is_of_keys:
                results[k] = jax.random.wrap_key_data(results[k], impl="threefry2x32")
        return jax.tree_util.tree_unflatten(made.nesting, results)

    def _made(self, given: Sequence[Any], tree: Any) -> tuple[Differentiable, _Imported]:
        _require_version()
        static = tuple((k, x) for k, x in enumerate(given) if not _is_array(x))
        specs = [jax.typeof(x) for x in given if _is_array(x)]
        with at(place_of_user(*_systems())):
            made = _imported(self._function, specs, tree, static)
        program = Differentiable(made.traced.module, made.traced.name, self._options, made.run)
        return program, made


def _imported(
    function: Callable[..., Any], specs: Sequence[Any], tree: Any, static: Sequence[tuple[int, Any]]
) -> _Imported:
    """The program of a function; `tree` nests (args, kwargs), of which static leaves are given."""
    flat = _Flat(function, tree, static)
    graph, nesting, avals = flat.graph(specs)
    keys = [is_key(spec) for spec in specs]
    replay = Replay(JAX)

    def run(*arrays: Any) -> list[Any]:
        pairs = zip(arrays, keys, strict=True)
        given = [key_of_words(x) if is_of_keys else x for x, is_of_keys in pairs]
        made = replay.run(graph, given)
        return [words_of_key(r) if is_key(a) else r for r, a in zip(made, avals, strict=True)]

    run.__name__ = function_name(function)
    given = [
        Spec((*s.shape, 2), "uint32") if is_key(s) else _gradir_spec(s, k)
        for k, s in enumerate(specs)
    ]
    names = _argument_names(function, tree, static)
    run.__signature__ = names  # pyrefly: ignore[missing-attribute]
    # rules of functions are read when a derivative asks for them
    made = traced("trace", run, given, place=location_of_function(function), orders=0)
    return _Imported(made, run, nesting, tuple(map(is_key, avals)))


def _define_rules(made: Traced) -> None:
    """Add the derivative rules that can be read, for two orders: a gradient refuses the others."""
    rules = made.module.rules
    assert rules is not None
    for _ in range(2):
        with suppress(GradirError):
            rules.define(made.module.op, made.name)


class _Flat:
    """A function of nested arguments as one of their leaves that are arrays."""

    def __init__(self, function: Callable[..., Any], tree: Any, static: Sequence[tuple[int, Any]]):
        self.function, self.tree, self.static = function, tree, dict(static)
        self.nesting: Any = None

    def __call__(self, *arrays: Any) -> list[Any]:
        rest = iter(arrays)
        count = self.tree.num_leaves
        leaves = [self.static[k] if k in self.static else next(rest) for k in range(count)]
        args, kwargs = jax.tree_util.tree_unflatten(self.tree, leaves)
        found, self.nesting = jax.tree_util.tree_flatten(self.function(*args, **kwargs))
        return found

    def graph(self, specs: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
        """The graph, the nesting of the results, and their avals."""
        closed = jax.make_jaxpr(self)(*specs)
        for const in closed.consts:
            if isinstance(const, jax.core.Tracer):
                raise refused(
                    f"differentiable: {function_name(self.function)} uses a traced array of JAX "
                    "that is not one of its arguments, and would be a constant without a "
                    "gradient; pass it as an argument",
                    GradirError,
                )
        reader = JaxprReader(lambda name: name in JAX.rules or name in JAX.absent)
        graph = reader.graph(closed, function_name(self.function))
        return graph, self.nesting, [v.aval for v in closed.jaxpr.outvars]


def _replayed(function: Callable[..., Any], leaves: Sequence[Any], tree: Any) -> Any:
    """A call in a trace of gradir: the function's ops on its traced arrays."""
    static = tuple((k, x) for k, x in enumerate(leaves) if not isinstance(x, Tracer | np.ndarray))
    arrays = [x for x in leaves if isinstance(x, Tracer | np.ndarray)]
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    graph, nesting, _ = _Flat(function, tree, static).graph(specs)
    return jax.tree_util.tree_unflatten(nesting, Replay(JAX).run(graph, arrays))


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, Tracer)


# Arguments.


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


def _as_array(leaf: Any) -> Any:
    """Arrays of NumPy and Python numbers as arrays of JAX; other leaves as they are."""
    if isinstance(leaf, np.ndarray | np.generic):
        return jax.numpy.asarray(leaf)
    if isinstance(leaf, bool | int | float):
        # weak, as an argument of jax.jit
        return _identity(leaf)
    return leaf


def _identity(x: Any) -> Any:
    return _jitted_identity(x)


_jitted_identity = jax.jit(lambda x: x)


def _aval(x: Any) -> Hashable:
    return x.shape, str(x.dtype), bool(getattr(jax.typeof(x), "weak_type", False))


def _without_key(x: Any) -> Any:
    return jax.random.key_data(x) if str(x.dtype) == THREEFRY else x


def _spec_of(leaf: Any) -> Any:
    """What jax.make_jaxpr takes for an argument of `trace`."""
    if isinstance(leaf, Spec):
        if any(not isinstance(n, int) for n in leaf.shape):
            raise refused("trace: shapes of JAX functions must be integers", ArgumentError)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    if isinstance(leaf, bool | int | float) and not isinstance(leaf, np.generic):
        return jax.typeof(_identity(leaf))
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        kind = type(leaf).__name__
        raise refused(f"trace: expected an array, a spec or a number, got {kind}",
                      ArgumentTypeError)  # fmt: skip
    return leaf


def _gradir_spec(spec: Any, place: int) -> Spec:
    try:
        made = Spec(tuple(spec.shape), spec.dtype)
        require_no_complex(made)
        return made
    except ArgumentTypeError as error:
        raise refused(f"trace: argument {place}: {error}", ArgumentTypeError) from None


def _argument_names(
    function: Callable[..., Any], tree: Any, static: Sequence[tuple[int, Any]]
) -> inspect.Signature:
    """A parameter for each leaf that is an array, named after the function's and its keys."""
    args, kwargs = jax.tree_util.tree_unflatten(tree, range(tree.num_leaves))
    parameters = ordered_names(function)
    names: dict[int, str] = {}
    for k, value in enumerate(args):
        _name_leaves(parameters[k] if k < len(parameters) else f"arg{k}", value, names)
    for key, value in kwargs.items():
        _name_leaves(key, value, names)
    kept, taken = list[str](), set[str]()
    for k in sorted(names):
        if k not in {place for place, _ in static}:
            kept.append(names[k] if names[k] not in taken else f"{names[k]}_{k}")
            taken.add(kept[-1])
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in kept])


def _name_leaves(name: str, value: Any, names: dict[int, str]) -> None:
    """Names for the leaves of a nested value, which are their numbers."""
    for path, number in jax.tree_util.tree_flatten_with_path(value)[0]:
        text = str(jax.tree_util.keystr(path))
        keys = "".join(c if c.isalnum() and c.isascii() else " " for c in text)
        names[number] = "_".join([name, *keys.split()])


def _systems() -> tuple[str, ...]:
    return folder_of(jax), folder_of(package("jaxlib", "jax"))


def _require_version() -> None:
    """GradirError for a JAX whose jaxprs may be others than those that are read here."""
    require_between("JAX", jax.__version__, OLDEST, NEWEST)
