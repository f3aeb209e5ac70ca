"""The derivative rules of JAX's functions as foreign graphs.

They are traced by JAX itself, with jax.jvp and jax.vjp of a program of one equation, so that what
JAX does with symbolic zeros, constants and nested arguments is not done again here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gradir.frontends.imported.graph import DerivativeRule, ForeignGraph
from gradir.interop.jax_activity import Flags, JaxprActivity
from gradir.interop.jax_rule_keys import rule_key
from gradir.interop.jax_types import is_floating, label_of, spec_of_aval, symbol_of
from gradir.packages import package

jax: Any = package("jax", "jax")
_core: Any = package("jax.extend.core", "jax")


class GraphReader(Protocol):
    """Reads a closed jaxpr; see JaxprReader."""

    activity: JaxprActivity

    def graph(self, closed: Any, name: str, flags: Flags | None = None) -> ForeignGraph: ...


def derivative_of(reader: GraphReader, equation: Any, kind: str, flags: Flags) -> DerivativeRule:
    """The derivative rule of a function with one, in the operands that have a derivative."""
    rule = _Rule(reader, equation, flags)
    key = rule_key(equation), flags
    if kind == "jvp":
        return DerivativeRule(key, rule.active, jvp=rule.jvp)
    return DerivativeRule(key, rule.active, forward=rule.forward, backward=rule.backward)


class _Rule:
    """A derivative rule as graphs."""

    def __init__(self, reader: GraphReader, equation: Any, flags: Flags):
        self.reader, self.flags = reader, flags
        self.function = _core.jaxpr_as_fun(_program(equation))
        self.specs = [spec_of_aval(v.aval) for v in equation.invars]
        self.active = tuple(k for k, flag in enumerate(flags) if flag)
        self.results = [spec_of_aval(v.aval) for v in equation.outvars]
        self.outs = [k for k, v in enumerate(equation.outvars) if is_floating(v.aval)]
        self.name = symbol_of(label_of(equation.primitive.name, equation.params))
        self.tree: Any = None
        self.residuals: list[Any] = []
        self.of_residuals: Flags = ()

    def _of_active(self, primals: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        """The function of the active operands alone, so that JAX knows the others as constants."""

        def function(*given: Any) -> tuple[Any, ...]:
            known = dict(zip(self.active, given, strict=True))
            return tuple(self.function(*(known.get(k, x) for k, x in enumerate(primals))))

        return function

    def jvp(self) -> ForeignGraph:
        def pushed(*given: Any) -> list[Any]:
            primals, tangents = given[: len(self.specs)], given[len(self.specs) :]
            inner = self._of_active(primals)
            results, made = jax.jvp(inner, tuple(primals[k] for k in self.active), tangents)
            return [*results, *(made[k] for k in self.outs)]

        given = [*self.specs, *(self.specs[k] for k in self.active)]
        flags = (*self.flags, *(True for _ in self.active))
        return self.reader.graph(jax.make_jaxpr(pushed)(*given), f"{self.name}_jvp", flags)

    def forward(self) -> ForeignGraph:
        def ahead(*primals: Any) -> list[Any]:
            inner = self._of_active(primals)
            results, back = jax.vjp(inner, *(primals[k] for k in self.active))
            residuals, self.tree = jax.tree_util.tree_flatten(back)
            self.residuals = [spec_of_aval(jax.typeof(r)) for r in residuals]
            return [*results, *residuals]

        closed = jax.make_jaxpr(ahead)(*self.specs)
        found = self.reader.activity.outputs(closed, self.flags)
        self.of_residuals = found[len(self.results) :]
        return self.reader.graph(closed, f"{self.name}_forward", self.flags)

    def backward(self) -> ForeignGraph:
        """The backward function; `forward` was called before."""

        def back(*given: Any) -> list[Any]:
            count = len(self.residuals)
            pulled = jax.tree_util.tree_unflatten(self.tree, given[:count])
            known = dict(zip(self.outs, given[count:], strict=True))
            cotangents = [known.get(k, _no_tangent(r)) for k, r in enumerate(self.results)]
            return list(pulled(tuple(cotangents)))

        seeds = [*self.residuals, *(self.results[k] for k in self.outs)]
        flags = (*self.of_residuals, *(True for _ in self.outs))
        return self.reader.graph(jax.make_jaxpr(back)(*seeds), f"{self.name}_backward", flags)


def _no_tangent(x: Any) -> Any:
    """The tangent of an array of integers or bools."""
    return np.zeros(x.shape, jax.dtypes.float0)


def _program(equation: Any) -> Any:
    """A program of one equation."""
    made = jax.make_jaxpr(lambda: None)()
    inputs = [_core.Var(v.aval) for v in equation.invars]
    outputs = [_core.Var(v.aval) for v in equation.outvars]
    only = equation.replace(invars=inputs, outvars=outputs)
    info = made.jaxpr.debug_info.with_unknown_names()
    jaxpr = made.jaxpr.replace(invars=inputs, outvars=outputs, eqns=[only], debug_info=info)
    return _core.ClosedJaxpr(jaxpr, ())
