"""Jaxprs as foreign graphs: their equations, programs inside of them, derivative rules, lines.

Derivative rules are traced by JAX itself, with jax.jvp and jax.vjp of a program of one equation, so
that what JAX does with symbolic zeros, constants and nested arguments is not done again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
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
from gradir.interop.jax_activity import Activity, Flags, is_in
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
        self._read: dict[Any, tuple[Any, ForeignGraph]] = {}
        self.activity = Activity(_is_floating)

    def graph(
        self, closed: Any, name: str, flags: Flags | None = None, saves: Any = None,
        place: LocationAttr = NOWHERE,
    ) -> ForeignGraph:  # fmt: skip
        """The graph of a closed jaxpr; `saves` is the policy of the checkpoint around it.

        `flags` tell which arguments have a derivative, by default all floating ones. `place` is
        that of equations without one.
        """
        jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
        flags = tuple(_is_floating(v.aval) for v in jaxpr.invars) if flags is None else flags
        key = id(closed), flags, saves
        if key not in self._read:
            made = _Body(self, jaxpr, consts, flags, saves, place).graph(name)
            self._read[key] = closed, made
        return self._read[key][1]

    def knows(self, primitive: str) -> bool:
        """Whether there is a rule for a primitive, or a reason against it."""
        return self._knows(primitive)


class _Body:
    """One jaxpr while it is read."""

    def __init__(
        self, reader: JaxprReader, jaxpr: Any, consts: Sequence[Any], flags: Flags, saves: Any,
        place: LocationAttr,
    ):  # fmt: skip
        self.reader, self.jaxpr, self.saves, self.place = reader, jaxpr, saves, place
        pairs = zip(jaxpr.invars, flags, strict=True)
        self.active = {var for var, is_active in pairs if is_active}
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
        found = self.reader.activity.results(equation, self._flags(equation))
        pairs = zip(equation.outvars, found, strict=True)
        self.active |= {var for var, is_active in pairs if is_active}
        results = tuple(map(self._result, equation.outvars))
        saved = self.saves is not None and _is_saved(self.saves, equation)
        self.nodes.append(
            ForeignNode(
                name, operands, results, made, place, graphs, _effect(equation), variable, saved
            )
        )

    def _meaning(self, equation: Any, operands: Sequence[Operand]) -> tuple[str, Mapping[str, Any]]:
        """What a primitive is, for one without a rule a function of others; its parameters."""
        name, params = equation.primitive.name, equation.params
        if name == "cond" and isinstance(operands[0], ForeignConstant):
            chosen = min(max(int(operands[0].array), 0), len(params["branches"]) - 1)
            return "closed_call", {"call_jaxpr": params["branches"][chosen]}
        if self.reader.knows(name) and _is_of_jax(equation.primitive):
            return name, params
        program = key_program(equation)
        if program is not None:
            return "closed_call", {"call_jaxpr": program}
        made = None if self.reader.knows(name) else _implementation(equation)
        if made is None:
            return name, params
        return _kind_of(equation.primitive, made), {"call_jaxpr": made, "name": name}

    def _flags_inside(self, name: str, equation: Any, given: Flags) -> Iterator[Flags | None]:
        """Which arguments have a derivative, for each program in an equation's parameters."""
        activity = self.reader.activity
        if name == "while":
            of_condition, of_body = activity.inside_while(equation.params, given)[0]
            order = [key for key in equation.params if key in ("cond_jaxpr", "body_jaxpr")]
            return iter([of_condition if key == "cond_jaxpr" else of_body for key in order])
        if name == "scan":
            return iter([activity.inside_scan(equation.params, given)[0]])
        if name == "cond" or equation.primitive.name == "cond":
            return repeat(given[1:])
        if name in _CUSTOM:  # what has a rule is not differentiated itself
            return repeat((False,) * len(given))
        return repeat(given if name in _INLINED or name in _REMAT else None)

    def _flags(self, equation: Any) -> Flags:
        """Which operands have a derivative."""
        return tuple(is_in(v, self.active) for v in equation.invars)

    def _params(
        self, name: str, params: Mapping[str, Any], equation: Any, place: LocationAttr
    ) -> tuple[dict[str, Any], tuple[ForeignGraph, ...]]:
        """Parameters with graphs for jaxprs, and these graphs."""
        if not self.reader.knows(name):
            return dict(params), ()
        graphs: list[ForeignGraph] = []
        label = _label(name, params)
        inside = self.saves if name in _INLINED else None
        given = self._flags(equation)
        of_graphs = self._flags_inside(name, equation, given)
        if name in _REMAT:
            inside = params["policy"] or (lambda *_, **__: False)

        def converted(value: Any) -> Any:
            if isinstance(value, (tuple, list)) and any(map(_is_jaxpr, value)):
                return tuple(map(converted, value))
            if not _is_jaxpr(value):
                return value
            flags = next(of_graphs)
            graphs.append(self.reader.graph(value, _symbol(label), flags, inside, place))
            return graphs[-1]

        made = {key: converted(value) for key, value in params.items()}
        if name in _CUSTOM:
            made["rule"] = _derivative(self.reader, equation, _CUSTOM[name], given)
        elif name == "custom_linear_solve":
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
        with jax.ensure_compile_time_eval():  # a trace of JAX may be around
            words = np.asarray(jax.random.key_data(value)).astype(np.uint64)
        value = (words[..., 0] << np.uint64(32)) | words[..., 1]
    return ForeignConstant(foreign_type(aval), value)


def _effect(equation: Any) -> str:
    return ", ".join(sorted(type(each).__name__ for each in equation.effects))


def _label(name: str, params: Mapping[str, Any]) -> str:
    """A name for the function that an equation calls."""
    called = getattr(params.get("call_jaxpr"), "jaxpr", None)
    known = getattr(getattr(called, "debug_info", None), "func_name", None)
    return str(params.get("name") or known or name)


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


def _derivative(reader: JaxprReader, equation: Any, kind: str, flags: Flags) -> DerivativeRule:
    """The derivative rule of a function with one, in the operands that have a derivative."""
    rule = _Rule(reader, equation, flags)
    key = rule_key(equation), flags
    if kind == "jvp":
        return DerivativeRule(key, rule.active, jvp=rule.jvp)
    return DerivativeRule(key, rule.active, forward=rule.forward, backward=rule.backward)


class _Rule:
    """A derivative rule as graphs."""

    def __init__(self, reader: JaxprReader, equation: Any, flags: Flags):
        self.reader, self.flags = reader, flags
        self.function = _core.jaxpr_as_fun(_program(equation))
        self.specs = [spec_of_aval(v.aval) for v in equation.invars]
        self.active = tuple(k for k, flag in enumerate(flags) if flag)
        self.results = [spec_of_aval(v.aval) for v in equation.outvars]
        self.outs = [k for k, v in enumerate(equation.outvars) if _is_floating(v.aval)]
        self.name = _symbol(_label(equation.primitive.name, equation.params))
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


def _is_of_jax(primitive: Any) -> bool:
    """Whether a primitive is JAX's own, and no other package's of the same name."""
    return _OWN.get(primitive.name, primitive) is primitive


_OWN = {each.name: each for each in vars(_core.primitives).values() if hasattr(each, "name")}


def _kind_of(primitive: Any, program: Any) -> str:
    """How a primitive that is a function of others is differentiated: by its rules, if there are.

    With a transpose it is JAX that transposes: what a primitive computes may hold a constant, such
    as the factors of a matrix, in place of an operand that the transpose reads. The identity holds
    none, and its transpose may be an error for what no gradient reaches.
    """
    if primitive not in _ad.primitive_jvps:
        return "closed_call"
    is_linear = primitive in _ad.primitive_transposes and program.jaxpr.eqns
    return "custom_vjp_call" if is_linear else "custom_jvp_call"


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
