"""gradir.custom_vjp: a Python function with a handwritten derivative, as in JAX.

A call of it in a traced function is a call of a function of the module; `grad.custom_vjp` beside
that function declares its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block

from gradir.dialects.base.shapes import element_of, is_float
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentTypeError
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.callbacks import called
from gradir.frontends.tracing.source_locations import location, public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import Traced, function_name, traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, element, filled, lifted, tracing
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced
from gradir.symbols import function_named


class CustomVjp(Copied):
    """A function with a derivative of its own; `defvjp` sets it."""

    def __init__(self, function: Callable[..., Any]):
        if not callable(function):
            raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
        look_like(self, function)
        self._function = function
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """`forward(*args)` returns (results, residuals), `backward(residuals, cotangents)` a tuple.

        The tuple has a cotangent per argument, nested like it, or None for zero. `cotangents` are
        nested like the results; those of integer results are None, those of integer arguments are
        not read.
        """
        self._rules = forward, backward

    def __reduce__(self) -> str | Parts:
        return reduced(self, "custom_vjp", (_with_rules, (self._function, *(self._rules or ()))))

    @public
    def __call__(self, *args: Any) -> Any:
        trace = tracing()
        if trace is None:
            return jit(self)(*args)
        if self._rules is None:
            raise refusal(
                f"custom_vjp: @{function_name(self._function)} has no derivative; call defvjp"
            )
        leaves, tree = flatten(tuple(args))
        values = [lifted(leaf) for leaf in leaves]
        inner = self._defined(trace, tree, values)
        types: list[Attribute] = list(trace.functions[inner.name].function_type.outputs)
        op = trace.emit(CallOp(inner.name, [trace.use(v) for v in values], types))
        made = [Tracer(trace, r, w) for r, w in zip(op.results, inner.weak, strict=True)]
        return inner.results.build(made)

    def _defined(self, trace: Trace, tree: Tree, values: Sequence[Tracer]) -> Traced:
        """The function of the module for arguments of these types."""
        key = self, tree, tuple((v.ssa.type, v.weak) for v in values)
        if key not in trace.custom:
            args = tree.build(values)
            inner = self._added(trace, self._function, args, function_name(self._function))
            # declared before the forward function, which may call it
            trace.custom[key] = inner
            forward, backward = cast(Any, self._rules)
            ahead = self._added(trace, _pair(forward), args, f"{inner.name}_forward")
            outputs = list(trace.functions[inner.name].function_type.outputs)
            transposed = _BackwardOnLeaves(backward, inner, ahead, values, outputs)
            seeds = _seeds(trace, ahead, outputs)
            back = self._added(trace, transposed, seeds, f"{inner.name}_backward")
            symbols = [SymbolRefAttr(n) for n in (inner.name, ahead.name, back.name)]
            fields = dict(zip(("function", "forward", "backward"), symbols, strict=True))
            declared = CustomVjpOp.create(properties=cast(dict[str, Attribute], fields))
            declared.location = location()
            trace.declarations.append(declared)
        return trace.custom[key]

    def _added(
        self, trace: Trace, function: Callable[..., Any], args: Sequence[Any], name: str
    ) -> Traced:
        """Trace a function of its own, which the current one may call."""
        inner = traced("custom_vjp", function, args, outer=trace, name=name)
        if inner.captured:
            raise refusal(
                f"custom_vjp: @{inner.name} must not use traced arrays from around it, got "
                f"{len(inner.captured)}; pass them as arguments"
            )
        made = function_named(inner.module.op, inner.name)
        made.detach()
        trace.functions[inner.name] = made
        return inner


def _pair(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def checked(*args: Any) -> Any:
        found = called("custom_vjp", forward, *args)
        if not (isinstance(found, tuple) and len(cast(Any, found)) == 2):
            raise refusal("custom_vjp: the forward function must return (results, residuals)")
        return cast(Any, found)

    return checked


def _seeds(trace: Trace, ahead: Traced, outputs: Sequence[Attribute]) -> list[Tracer]:
    """The traced arguments of the backward function: residuals, then cotangents."""
    count = len(outputs)
    residuals = list(trace.functions[ahead.name].function_type.outputs)[count:]
    cotangents = [t for t in outputs if is_float(element_of(t))]
    weak = [*ahead.weak[count:], *(False for _ in cotangents)]
    arguments = Block(arg_types=[*residuals, *cotangents]).args
    return [Tracer(trace, a, w) for a, w in zip(arguments, weak, strict=True)]


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
        seeds = [next(rest) if is_float(element_of(t)) else None for t in self.outputs]
        seeded = self.inner.results.build(seeds)
        found = called("custom_vjp", self.function, residuals, seeded)
        arguments = self.inner.arguments.children[0].children
        if not isinstance(found, tuple) or len(cast(Any, found)) != len(arguments):
            raise refusal(
                f"custom_vjp: the backward function must return a tuple of {len(arguments)} "
                "cotangents, one for each argument"
            )
        primals, made = iter(self.primals), cast(list[Tracer], [])
        for tree, value in zip(arguments, cast(tuple[Any, ...], found), strict=True):
            made += _cotangents(value, tree, [next(primals) for _ in range(tree.leaf_count)])
        return made


def _cotangents(value: Any, tree: Tree, primals: Sequence[Tracer]) -> list[Tracer]:
    """The cotangents of the floating leaves of an argument; zeros for None."""
    active = [k for k, p in enumerate(primals) if is_float(element(p))]
    leaves = [None] * tree.leaf_count if value is None else leaves_like(value, tree)
    if leaves is None:
        raise refusal("custom_vjp: a cotangent must be nested like its argument")
    made = [filled(0, primals[k].type) if leaves[k] is None else lifted(leaves[k]) for k in active]
    for k, place in enumerate(active):
        if made[k].weak:
            made[k] = converted(made[k], element(primals[place]))
        if made[k].type != primals[place].type:
            wanted, got = (type_text(t.type) for t in (primals[place], made[k]))
            raise refusal(f"custom_vjp: a cotangent must be {wanted}, got {got}")
    return made


def _with_rules(function: Callable[..., Any], *rules: Callable[..., Any]) -> CustomVjp:
    """A function with its derivative, after unpickling."""
    made = CustomVjp(function)
    if rules:
        made.defvjp(*rules)
    return made


def custom_vjp(function: Callable[..., Any]) -> CustomVjp:
    """The function with a handwritten derivative: `f.defvjp(forward, backward)`.

    The function's body is not differentiated. It must not use traced arrays from outside.
    """
    return CustomVjp(function)
