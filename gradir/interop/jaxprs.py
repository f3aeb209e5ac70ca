"""Jaxprs as foreign graphs: their equations, programs inside of them, derivative rules, lines.

Derivative rules are traced by JAX itself, with jax.jvp and jax.vjp of a program of one equation, so
that what JAX does with symbolic zeros, constants and nested arguments is not done again here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnknownLoc

from gradir.frontends.imported.graph import (
    DerivativeRule,
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    ForeignValue,
    Operand,
    live_nodes,
)
from gradir.frontends.tracing.source_locations import place_in
from gradir.interop.jax_keys import is_key, key_program
from gradir.interop.jax_rule_keys import rule_key
from gradir.interop.packages import folder_of, package

jax: Any = package("jax", "jax")
_core: Any = package("jax.extend.core", "jax")
_ad: Any = package("jax.interpreters.ad", "jax")

Known = Callable[[str], bool]
NOWHERE = UnknownLoc()


class JaxprReader:
    """Reads jaxprs; `knows` tells which primitives have a rule, or are refused by name.

    Each jaxpr is read once: one that is called twice is one graph.
    """

    def __init__(self, knows: Known):
        self._knows = knows
        self._read: dict[tuple[int, Any], tuple[Any, ForeignGraph]] = {}

    def graph(
        self, closed: Any, name: str, saves: Any = None, place: LocationAttr = NOWHERE
    ) -> ForeignGraph:
        """The graph of a closed jaxpr; `saves` is the policy of the checkpoint around it.

        `place` is that of equations without one.
        """
        key = id(closed), saves
        if key not in self._read:
            jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
            made = _Body(self, jaxpr, consts, saves, place).graph(name)
            self._read[key] = closed, made
        return self._read[key][1]

    def knows(self, primitive: str) -> bool:
        """Whether there is a rule for a primitive, or a reason against it."""
        return self._knows(primitive)

    def traced(self, function: Callable[..., Any], specs: Sequence[Any], name: str) -> ForeignGraph:
        """The graph of a function of JAX."""
        return self.graph(jax.make_jaxpr(function)(*specs), name)


class _Body:
    """One jaxpr while it is read."""

    def __init__(
        self, reader: JaxprReader, jaxpr: Any, consts: Sequence[Any], saves: Any,
        place: LocationAttr,
    ):  # fmt: skip
        self.reader, self.jaxpr, self.saves, self.place = reader, jaxpr, saves, place
        self.values: dict[Any, Operand] = {}
        self.nodes: list[ForeignNode] = []
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            self.values[var] = _constant(var.aval, const)

    def graph(self, name: str) -> ForeignGraph:
        inputs = tuple(self._result(var) for var in self.jaxpr.invars)
        for equation in self.jaxpr.eqns:
            self._read(equation)
        outputs = tuple(map(self.operand, self.jaxpr.outvars))
        nodes = tuple(live_nodes(self.nodes, outputs))
        return ForeignGraph(name, inputs, nodes, outputs, nodes[0].place if nodes else self.place)

    def operand(self, atom: Any) -> Operand:
        if hasattr(atom, "val"):
            return _constant(atom.aval, atom.val)
        return self.values[atom]

    def _result(self, var: Any) -> ForeignValue:
        made = ForeignValue(foreign_type(var.aval))
        self.values[var] = made
        return made

    def _read(self, equation: Any) -> None:
        place, variable = _place_of(equation, self.place)
        if equation.primitive.name == "platform_index":
            self.values[equation.outvars[0]] = _platform(equation)
            return
        operands = tuple(map(self.operand, equation.invars))
        name, params = self._meaning(equation, operands)
        if name != equation.primitive.name:
            operands = operands[-len(params["call_jaxpr"].in_avals) :] if operands else ()
        made, graphs = self._params(name, params, equation, place)
        results = tuple(map(self._result, equation.outvars))
        saved = self.saves is not None and _is_saved(self.saves, equation)
        self.nodes.append(
            ForeignNode(
                name, operands, results, made, place, graphs, _effect(equation), variable, saved
            )
        )

    def _meaning(
        self, equation: Any, operands: Sequence[Operand]
    ) -> tuple[str, Mapping[str, Any]]:
        """What a primitive is, for one without a rule a function of others; its parameters."""
        name, params = equation.primitive.name, equation.params
        if name == "cond" and isinstance(operands[0], ForeignConstant):
            chosen = min(max(int(operands[0].array), 0), len(params["branches"]) - 1)
            return "closed_call", {"call_jaxpr": params["branches"][chosen]}
        if self.reader.knows(name):
            return name, params
        program = key_program(equation)
        if program is not None:
            return "closed_call", {"call_jaxpr": program}
        if _has_rule(equation):
            return "custom_jvp_call", {"call_jaxpr": _implementation(equation), "name": name}
        return name, params

    def _params(
        self, name: str, params: Mapping[str, Any], equation: Any, place: LocationAttr
    ) -> tuple[dict[str, Any], tuple[ForeignGraph, ...]]:
        """Parameters with graphs for jaxprs, and these graphs."""
        graphs: list[ForeignGraph] = []
        label = str(params.get("name", name))
        inside = self.saves if name in _INLINED else None
        if name in _REMAT:
            inside = params["policy"] or (lambda *_, **__: False)

        def converted(value: Any) -> Any:
            if isinstance(value, (tuple, list)) and any(map(_is_jaxpr, value)):
                return tuple(map(converted, value))
            if not _is_jaxpr(value):
                return value
            graphs.append(self.reader.graph(value, _symbol(label), inside, place))
            return graphs[-1]

        made = {key: converted(value) for key, value in params.items()}
        if name in _CUSTOM:
            made["rule"] = _derivative(self.reader, equation, _CUSTOM[name])
        elif name == "linear_solve" or name == "custom_linear_solve":
            parts = [converted(each) for each in params["jaxprs"]]
            made["jaxprs"] = parts
        return made, tuple(graphs)


_INLINED = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call")
_REMAT = ("remat", "remat2", "checkpoint")
_CUSTOM = {"custom_jvp_call": "jvp", "custom_vjp_call": "vjp", "custom_vjp_call_jaxpr": "vjp"}


def foreign_type(aval: Any) -> ForeignType:
    """The type of a value of JAX; a key of threefry is an integer of 64 bits."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return ForeignType((), type(aval).__name__)
    name = str(aval.dtype)
    return ForeignType(tuple(aval.shape), "uint64" if is_key(aval) else name)


def spec_of_aval(aval: Any) -> Any:
    """An aval without a weak type."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, (_core.Jaxpr, _core.ClosedJaxpr))


def _constant(aval: Any, value: Any) -> ForeignConstant:
    if is_key(aval):
        words = np.asarray(jax.random.key_data(value)).astype(np.uint64)
        value = (words[..., 0] << np.uint64(32)) | words[..., 1]
    return ForeignConstant(foreign_type(aval), value)


def _effect(equation: Any) -> str:
    return ", ".join(sorted(type(each).__name__ for each in equation.effects))


def _symbol(name: str) -> str:
    made = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_")
    return made if made and not made[0].isdigit() else "main"


def _place_of(equation: Any, around: LocationAttr) -> tuple[LocationAttr, str | None]:
    """The line of an equation in the user's Python code, and the variable that it is assigned to.

    That of the program around it where it has none, or its traceback does not show its frames.
    """
    traceback = getattr(equation.source_info, "traceback", None)
    frames = getattr(traceback, "raw_frames", None)
    if frames is None:
        return around, None
    found = place_in(*frames(), folder_of(jax), folder_of(package("jaxlib", "jax")))
    return (around, None) if isinstance(found[0], UnknownLoc) else found


def _is_saved(policy: Any, equation: Any) -> bool:
    """Whether the policy of a checkpoint saves the results of an equation."""
    avals = [v.aval for v in equation.invars]
    found = policy(equation.primitive, *avals, **equation.params)
    return found is True or type(found).__name__ in ("SaveableType", "Saveable", "Offloadable")


# Derivative rules.


def _derivative(reader: JaxprReader, equation: Any, kind: str) -> DerivativeRule:
    """The derivative rule of a custom_jvp_call or custom_vjp_call."""
    function = _core.jaxpr_as_fun(_program(equation))
    specs = [spec_of_aval(v.aval) for v in equation.invars]
    floats = [k for k, v in enumerate(equation.invars) if _is_floating(v.aval)]
    outs = [k for k, v in enumerate(equation.outvars) if _is_floating(v.aval)]
    name, key = _symbol(str(equation.params.get("name", "f"))), rule_key(equation)
    if kind == "jvp":
        pushed = partial(_pushed, function, floats, outs)
        given = [*specs, *(specs[k] for k in floats)]
        return DerivativeRule(key, jvp=lambda: reader.traced(pushed, given, f"{name}_jvp"))
    halves = _Halves(reader, function, specs, floats, outs, name)
    return DerivativeRule(key, forward=halves.forward, backward=halves.backward)


def _pushed(function: Any, floats: Sequence[int], outs: Sequence[int], *given: Any) -> list[Any]:
    """The results of a program, and the tangents of the floating ones."""
    count = len(given) - len(floats)
    primals, known = given[:count], dict(zip(floats, given[count:], strict=True))
    tangents = [known.get(k, _no_tangent(x)) for k, x in enumerate(primals)]
    results, pushed = jax.jvp(lambda *xs: tuple(function(*xs)), primals, tuple(tangents))
    return [*results, *(pushed[k] for k in outs)]


class _Halves:
    """A custom_vjp's forward and backward functions as graphs."""

    def __init__(
        self, reader: JaxprReader, function: Any, specs: Sequence[Any],
        floats: Sequence[int], outs: Sequence[int], name: str,
    ):  # fmt: skip
        self.reader, self.function, self.specs = reader, function, specs
        self.floats, self.outs, self.name = floats, outs, name
        self.tree: Any = None
        self.residuals: list[Any] = []
        self.results: list[Any] = []

    def forward(self) -> ForeignGraph:
        def ahead(*primals: Any) -> list[Any]:
            results, back = jax.vjp(lambda *xs: tuple(self.function(*xs)), *primals)
            residuals, self.tree = jax.tree_util.tree_flatten(back)
            self.residuals = [spec_of_aval(jax.typeof(r)) for r in residuals]
            self.results = [spec_of_aval(jax.typeof(r)) for r in results]
            return [*results, *residuals]

        return self.reader.traced(ahead, self.specs, f"{self.name}_forward")

    def backward(self) -> ForeignGraph:
        """The backward function; `forward` was called before."""

        def back(*given: Any) -> list[Any]:
            count = len(self.residuals)
            pulled = jax.tree_util.tree_unflatten(self.tree, given[:count])
            known = dict(zip(self.outs, given[count:], strict=True))
            cotangents = [known.get(k, _no_tangent(r)) for k, r in enumerate(self.results)]
            found = pulled(tuple(cotangents))
            return [found[k] for k in self.floats]

        seeds = [*self.residuals, *(self.results[k] for k in self.outs)]
        return self.reader.traced(back, seeds, f"{self.name}_backward")


def _no_tangent(x: Any) -> Any:
    """The tangent of an array of integers or bools."""
    return np.zeros(x.shape, jax.dtypes.float0)


def _is_floating(aval: Any) -> bool:
    return jax.numpy.issubdtype(aval.dtype, jax.numpy.floating)


def _program(equation: Any) -> Any:
    """A program of one equation."""
    made = jax.make_jaxpr(lambda: None)()
    inputs = [_core.Var(v.aval) for v in equation.invars]
    outputs = [_core.Var(v.aval) for v in equation.outvars]
    only = equation.replace(invars=inputs, outvars=outputs)
    info = made.jaxpr.debug_info.with_unknown_names()
    jaxpr = made.jaxpr.replace(invars=inputs, outvars=outputs, eqns=[only], debug_info=info)
    return _core.ClosedJaxpr(jaxpr, ())


# Primitives of other packages.


def _has_rule(equation: Any) -> bool:
    """Whether a primitive is a function of others, and says its derivative: then it is custom."""
    return equation.primitive in _ad.primitive_jvps and _implementation(equation) is not None


def _implementation(equation: Any) -> Any:
    """What a primitive computes, by other primitives; None where it is not said in Python."""
    primitive = equation.primitive
    specs = [spec_of_aval(v.aval) for v in equation.invars]

    def run(*operands: Any) -> Any:
        found = primitive.impl(*operands, **equation.params)
        return found if primitive.multiple_results else [found]

    try:
        made = jax.make_jaxpr(run)(*specs)
    except Exception:
        # it computes with arrays, not with JAX's tracers: then there is no program of it
        return None
    inside = {each.primitive for each in made.jaxpr.eqns}
    called = {str(each.params.get("name")) for each in made.jaxpr.eqns}
    return None if primitive in inside or primitive.name in called else made


def _platform(equation: Any) -> ForeignConstant:
    """The number of the program for this platform, among those for several."""
    platforms = equation.params["platforms"]
    found = [k for k, names in enumerate(platforms) if names is None or "cpu" in names]
    aval = equation.outvars[0].aval
    return _constant(aval, np.asarray(found[0] if found else 0, aval.dtype))
