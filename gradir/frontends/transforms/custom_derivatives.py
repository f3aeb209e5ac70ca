"""gradir.custom_vjp and custom_jvp: Python functions with a handwritten derivative, as in JAX.

A call of one in a traced function is a call of a function of the module; `grad.custom_vjp` beside
that function declares its derivative, whose rules are traced when it is differentiated.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import islice
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block

from gradir.dialects.base.shapes import AnyTensor, element_of, is_inexact
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentTypeError
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.copying import as_called
from gradir.frontends.tracing.default_precision import in_precision
from gradir.frontends.tracing.default_types import default_precision
from gradir.frontends.tracing.named_axes import Axes, axes, within
from gradir.frontends.tracing.nodes import static_key
from gradir.frontends.tracing.source_locations import at, location, named_options, public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import Traced, function_name, traced_callee
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, element, filled, lifted, tracing
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like
from gradir.frontends.transforms.derivatives import vjp
from gradir.frontends.transforms.derived_calls import call_of, results_of
from gradir.frontends.transforms.donation import argument_numbers
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced

Rule = Callable[..., Any]


class CustomFunction(Copied, ABC):
    """A function with a derivative of its own; `_rules` are the functions that define it."""

    KIND: str
    SETTER: str
    """How users call what sets the rules."""

    def __init__(self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        look_like(self, function)
        self._function = function
        self._static = argument_numbers(nondiff_argnums, "nondiff_argnums")
        self._rules: tuple[Rule, ...] = ()
        self._jitted = jit(self, static_argnums=self._static) if self._static else jit(self)

    def __repr__(self) -> str:
        rule = "" if self._rules else f", without a rule: call {self.SETTER}"
        return f"<gradir.{self.KIND} of {self._function!r}{rule}>"

    def __reduce__(self) -> str | Parts:
        parts = type(self), self._static, self._function, *self._rules
        return reduced(self, self.KIND, (_with_rules, parts))

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._positional(args, kwargs)
        trace = tracing()
        if trace is None:
            return self._jitted(*args)
        if not self._rules:
            name = function_name(self._function)
            raise refusal(f"{self.KIND}: @{name} has no derivative; call {self.SETTER}")
        static = [args[k] for k in self._static if k < len(args)]
        arrays = tuple(a for k, a in enumerate(args) if k not in self._static)
        leaves, tree = flatten(arrays)
        values = [lifted(leaf) for leaf in leaves]
        inner = self._defined(trace, tree, values, static)
        operands = [trace.use(v) for v in values]
        return results_of(inner, call_of(trace, trace.functions[inner.name], operands))

    def _positional(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call by position."""
        if not kwargs:
            return args
        try:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
        except TypeError as error:
            raise refusal(f"{self.KIND}: {function_name(self._function)}: {error}") from None
        if bound.kwargs:
            name = next(iter(bound.kwargs))
            raise refusal(f"{self.KIND}: {name} must be a positional parameter")
        return bound.args

    def _defined(
        self, trace: Trace, tree: Tree, values: Sequence[Tracer], static: Sequence[Any]
    ) -> Traced:
        """The function of the module for arguments of these types."""
        chosen = tuple((static_key(value), cast(Hashable, value)) for value in static)
        key = self, tree, tuple((v.ssa.type, v.weak) for v in values), chosen, axes()
        key = *key, default_precision()
        try:
            known = key in trace.custom
        except TypeError:
            raise refusal(f"{self.KIND}: arguments of nondiff_argnums must be hashable") from None
        if not known:
            args = tree.build(values)
            inner = self.added(trace, self.with_static(self._function, static), args)
            trace.custom[key] = inner
            declared = CustomVjpOp.of([inner.name])
            declared.location = location()
            trace.declarations.append(declared)
            types = [(v.ssa.type, v.weak) for v in values]
            place = location(), axes()
            rule = partial(self._rule, inner, types, static, place)
            trace.rules[inner.name] = in_precision(rule, default_precision())
        return trace.custom[key]

    def _rule(
        self,
        inner: Traced,
        types: Sequence[tuple[Attribute, bool]],
        static: Sequence[Any],
        place: tuple[LocationAttr, Axes],
        trace: Trace,
    ) -> list[str]:
        """Trace the rules for arguments of these types, at the place of the call."""
        with at(place[0]), within(place[1]):
            return self._declared(trace, inner, _arguments(trace, types), static)

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        """Set what defines the derivative, in the order of `_rules`."""
        self._rules = rules

    @abstractmethod
    def _declared(
        self, trace: Trace, inner: Traced, values: Sequence[Tracer], static: Sequence[Any]
    ) -> list[str]:
        """Trace the rules; the names of all functions that grad.custom_vjp declares."""

    def with_static(self, function: Callable[..., Any], static: Sequence[Any]) -> Rule:
        """The function of the other arguments."""
        if not static:
            return function

        @wraps(function)
        def whole(*args: Any) -> Any:
            every = list(args)
            for place, value in zip(self._static, static, strict=False):
                every.insert(place, value)
            return as_called(function)(*every)

        return whole

    def added(
        self, trace: Trace, function: Rule, args: Sequence[Any], name: str | None = None
    ) -> Traced:
        """Trace a function of its own, which the current one may call."""
        found = name or function_name(self._function)
        inner = traced_callee(self.KIND, function, args, trace, found)
        if inner.captured:
            raise refusal(
                f"{self.KIND}: @{inner.name} must not use traced arrays from around it, got "
                f"{len(inner.captured)}; pass them as arguments"
            )
        return inner


class CustomVjp(CustomFunction):
    """A function with a vjp of its own; `defvjp` sets it."""

    KIND, SETTER = "custom_vjp", "defvjp"

    def defvjp(self, forward: Rule, backward: Rule, jvp: Rule | None = None) -> None:
        """`forward(*args)` returns (results, residuals), `backward(residuals, cotangents)` a tuple.

        The tuple has a cotangent per argument, nested like it, or None for zero. `cotangents` are
        nested like the results, with None for integer results; cotangents of integer arguments are
        not read. Arguments of `nondiff_argnums` have no cotangent: `backward` gets them in front.

        Forward mode is refused without `jvp(primals, tangents)`, as of `CustomJvp.defjvp`.
        """
        self._rules = (forward, backward) if jvp is None else (forward, backward, jvp)

    def _declared(
        self, trace: Trace, inner: Traced, values: Sequence[Tracer], static: Sequence[Any]
    ) -> list[str]:
        forward, backward, *jvps = self._rules
        args = inner.arguments.children[0].build(values)
        wrapped = _pair(self.with_static(forward, static))
        ahead = self.added(trace, wrapped, args, f"{inner.name}_forward")
        outputs = list(trace.functions[inner.name].function_type.outputs)
        backward = partial(backward, *static) if static else backward
        transposed = _BackwardOnLeaves(backward, inner, ahead, values, outputs)
        seeds = _seeds(trace, ahead, outputs)
        back = self.added(trace, transposed, seeds, f"{inner.name}_backward")
        names = [inner.name, ahead.name, back.name]
        for jvp in jvps:
            rule = _JvpOnLeaves(partial(jvp, *static) if static else jvp, inner, outputs)
            names.append(rule.added(self, trace, values).name)
        return names


class CustomJvp(CustomFunction):
    """A function with a jvp of its own; `defjvp` or `defjvps` sets it."""

    KIND, SETTER = "custom_jvp", "defjvp"

    def defjvp(self, jvp: Rule) -> None:
        """`jvp(primals, tangents)` returns (results, tangents of the results).

        Both arguments are tuples with an entry per argument of the function; tangents are nested
        like primals, None for integers. Returned tangents are nested likewise (entries of integer
        results are not read). The function must be linear in the tangents: its transpose is the
        vjp. Arguments of `nondiff_argnums` have no tangent: `jvp` gets them in front.
        """
        self._rules = (jvp,)

    def defjvps(self, *jvps: Rule | None) -> None:
        """The jvp as a sum: a function (tangent, results, *primals) per argument, or None for 0."""
        if self._static:
            raise ArgumentTypeError("custom_jvp: defjvps is not for functions of nondiff_argnums")
        self.defjvp(_Summed(self, jvps))

    def _declared(
        self, trace: Trace, inner: Traced, values: Sequence[Tracer], static: Sequence[Any]
    ) -> list[str]:
        tree = inner.arguments.children[0]
        args = tree.build(values)
        types = list(trace.functions[inner.name].function_type.outputs)
        (jvp,) = self._rules
        rule = _JvpOnLeaves(partial(jvp, *static) if static else jvp, inner, types)
        saved = _saving(self.with_static(self, static))
        ahead = self.added(trace, saved, args, f"{inner.name}_forward")
        pushed = rule.added(self, trace, values)
        seeds = _seeds(trace, ahead, types)
        back = self.added(trace, _Transposed(rule, values), seeds, f"{inner.name}_backward")
        return [inner.name, ahead.name, back.name, pushed.name]


def _pair(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def checked(*args: Any) -> Any:
        found = call_user("custom_vjp", forward, *args)
        if not (isinstance(found, tuple) and len(cast(Any, found)) == 2):
            raise refusal("custom_vjp: the forward function must return (results, residuals)")
        return cast(Any, found)

    return checked


def _seeds(trace: Trace, ahead: Traced, outputs: Sequence[Attribute]) -> list[Tracer]:
    """The traced arguments of the backward function: residuals, then cotangents."""
    count = len(outputs)
    residuals = list(trace.functions[ahead.name].function_type.outputs)[count:]
    cotangents = [t for t in outputs if is_inexact(element_of(t))]
    weak = [*ahead.weak[count:], *(False for _ in cotangents)]
    return _arguments(trace, zip([*residuals, *cotangents], weak, strict=True))


def _arguments(trace: Trace, types: Iterable[tuple[Attribute, bool]]) -> list[Tracer]:
    """Traced arrays of some types, of which the second of each pair says whether it is weak."""
    found = list(types)
    arguments = Block(arg_types=[type_ for type_, _ in found]).args
    return [Tracer(trace, a, w) for a, (_, w) in zip(arguments, found, strict=True)]


class _BackwardOnLeaves:
    """The backward function on leaves: residuals and cotangents in, cotangents out."""

    def __init__(
        self,
        function: Callable[..., Any],
        inner: Traced,
        ahead: Traced,
        primals: Sequence[Tracer],
        outputs: Sequence[Attribute],
    ):
        self.function = function
        self.inner = inner
        self.outputs = outputs
        self.residuals = ahead.results.children[1]
        self.primals = primals

    def __call__(self, *leaves: Tracer) -> list[Tracer]:
        count, rest = self.residuals.leaf_count, iter(leaves)
        residuals = self.residuals.build([next(rest) for _ in range(count)])
        seeds = [next(rest) if is_inexact(element_of(t)) else None for t in self.outputs]
        seeded = self.inner.results.build(seeds)
        found = call_user("custom_vjp", self.function, residuals, seeded)
        arguments = self.inner.arguments.children[0].children
        if not isinstance(found, tuple) or len(cast(Any, found)) != len(arguments):
            raise refusal(
                f"custom_vjp: the backward function must return a tuple of {len(arguments)} "
                "cotangents, one for each argument"
            )
        types, made = iter([p.type for p in self.primals]), cast(list[Tracer], [])
        for tree, value in zip(arguments, cast(tuple[Any, ...], found), strict=True):
            own = list(islice(types, tree.leaf_count))
            made += _linear("custom_vjp", "cotangent", "argument", value, tree, own)
        return made


def _saving(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its arguments as residuals."""

    @wraps(function)
    def ahead(*args: Any) -> Any:
        return as_called(function)(*args), args

    return ahead


class _JvpOnLeaves:
    """A jvp on leaves: primals and tangents of floating ones in, results and their tangents out."""

    def __init__(self, function: Rule, inner: Traced, types: Sequence[Attribute]):
        self.function, self.inner, self.types = function, inner, types

    def added(self, of: CustomFunction, trace: Trace, values: Sequence[Tracer]) -> Traced:
        """Trace it for primals like these values."""
        active = [v for v in values if is_inexact(element(v))]
        return of.added(trace, self, [*values, *active], f"{self.inner.name}_jvp")

    def __call__(self, *leaves: Tracer) -> list[Tracer]:
        count = self.inner.arguments.leaf_count
        results, tangents = self.pushed(leaves[:count], leaves[count:])
        return [*results, *tangents]

    def pushed(
        self, primals: Sequence[Tracer], tangents: Sequence[Tracer]
    ) -> tuple[list[Tracer], list[Tracer]]:
        """The leaves of the results, and the tangents of the floating ones."""
        rest, tree = iter(tangents), self.inner.arguments.children[0]
        given = tree.build([next(rest) if is_inexact(element(p)) else None for p in primals])
        found = call_user("custom_jvp", self.function, tree.build(primals), given)
        if not (isinstance(found, tuple) and len(cast(Any, found)) == 2):
            raise refusal("custom_jvp: the jvp must return (results, tangents)")
        results, pushed = cast(tuple[Any, Any], found)
        made = leaves_like(results, self.inner.results)
        if made is None or any(leaf is None for leaf in made):
            raise refusal("custom_jvp: the results of the jvp must be nested like the function's")
        return list(map(lifted, made)), _linear(
            "custom_jvp", "tangent", "result", pushed, self.inner.results, self.types
        )


class _Transposed:
    """The transpose of a jvp in its tangents: primals and cotangents in, cotangents out."""

    def __init__(self, rule: _JvpOnLeaves, primals: Sequence[Tracer]):
        self.rule = rule
        self.active = [v.type for v in primals if is_inexact(element(v))]

    def __call__(self, *leaves: Tracer) -> list[Tracer]:
        count = self.rule.inner.arguments.leaf_count
        primals, seeds = leaves[:count], leaves[count:]
        nothing = [filled(0, type_) for type_ in self.active]
        if not seeds or not nothing:
            return nothing

        def pushed(*tangents: Tracer) -> list[Tracer]:
            return self.rule.pushed(primals, tangents)[1]

        pushed.__name__ = f"{self.rule.inner.name}_tangents"
        _, back = vjp(pushed, *nothing)
        return list(back([*seeds]))


class _Summed:
    """A jvp from one function per argument; see `CustomJvp.defjvps`."""

    def __init__(self, function: CustomJvp, jvps: Sequence[Rule | None]):
        self.function, self.jvps = function, tuple(jvps)

    def __call__(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        if len(self.jvps) != len(primals):
            raise refusal(
                f"custom_jvp: defjvps: expected {len(primals)} functions, one for each argument, "
                f"got {len(self.jvps)}"
            )
        results = self.function(*primals)
        parts = [
            call_user("custom_jvp", jvp, tangent, results, *primals)
            for jvp, tangent in zip(self.jvps, tangents, strict=True)
            if jvp is not None and tangent is not None
        ]
        if not parts:
            return results, None
        leaves = zip(*(flatten(part)[0] for part in parts), strict=True)
        return results, flatten(results)[1].build([sum(each[1:], each[0]) for each in leaves])


def _linear(
    kind: str, what: str, of: str, value: Any, tree: Tree, types: Sequence[Attribute]
) -> list[Tracer]:
    """The (co)tangents of the floating leaves of values of these types; zeros for None."""
    leaves = [None] * tree.leaf_count if value is None else leaves_like(value, tree)
    if leaves is None:
        raise refusal(f"{kind}: a {what} must be nested like its {of}")
    made: list[Tracer] = []
    for leaf, type_ in zip(leaves, types, strict=True):
        if is_inexact(element_of(type_)):
            one = filled(0, cast(AnyTensor, type_)) if leaf is None else lifted(leaf)
            made.append(converted(one, element_of(type_)) if one.weak else one)
            if made[-1].type != type_:
                wanted, got = type_text(type_), type_text(made[-1].type)
                raise refusal(f"{kind}: a {what} must be {wanted}, got {got}")
    return made


def _with_rules(
    kind: type[CustomFunction], static: tuple[int, ...], function: Rule, *rules: Rule
) -> CustomFunction:
    """A function with its derivative, after unpickling."""
    made = kind(function, static)
    made.set_rules(rules)
    return made


@named_options
def custom_vjp(
    function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()
) -> CustomVjp:
    """The function with a handwritten derivative: `f.defvjp(forward, backward)`.

    The function's body is not differentiated. It must not use traced arrays from outside.
    `nondiff_argnums`: positions of arguments that are not arrays, but hashable Python values.
    Forward mode through it is refused: see `gradir.custom_jvp`.
    """
    return CustomVjp(function, nondiff_argnums)


@named_options
def custom_jvp(
    function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()
) -> CustomJvp:
    """The function with a handwritten derivative for forward and reverse mode: `f.defjvp(jvp)`.

    The transpose of the jvp in its tangents is the vjp. Otherwise as `gradir.custom_vjp`.
    """
    return CustomJvp(function, nondiff_argnums)
