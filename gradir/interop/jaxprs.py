"""Jaxprs as foreign graphs: their equations, programs inside of them, derivative rules, lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnknownLoc

from gradir.errors import GradirError
from gradir.frontends.imported.graph import (
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    ForeignValue,
    Operand,
    live_nodes,
)
from gradir.frontends.tracing.source_locations import place_in
from gradir.interop.foreign import refused
from gradir.interop.jax_activity import Flags, JaxprActivity, is_in
from gradir.interop.jax_derivatives import derivative_of
from gradir.interop.jax_keys import is_key, key_program
from gradir.interop.jax_primitives import implementation_of, is_of_jax, kind_of
from gradir.interop.jax_types import is_floating, label_of, scan_counts, symbol_of
from gradir.packages import folder_of, package

jax: Any = package("jax", "jax")
_core: Any = package("jax.extend.core", "jax")

Known = Callable[[str], bool]
NOWHERE = UnknownLoc()


class JaxprReader:
    """Reads jaxprs; `knows` tells which primitives have a rule, or are refused by name.

    Each jaxpr is read once: one that is called twice is one graph.
    """

    def __init__(self, knows: Known):
        self._knows = knows
        self._read: dict[Any, tuple[Any, ForeignGraph]] = {}
        self.activity = JaxprActivity(is_floating)

    def graph(
        self, closed: Any, name: str, flags: Flags | None = None, saves: Any = None,
        place: LocationAttr = NOWHERE,
    ) -> ForeignGraph:  # fmt: skip
        """The graph of a closed jaxpr; `saves` is the policy of the checkpoint around it.

        `flags` tell which arguments have a derivative, by default all floating ones. `place` is
        that of equations without one.
        """
        jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
        flags = tuple(is_floating(v.aval) for v in jaxpr.invars) if flags is None else flags
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
        if name in _CUSTOM and _is_of_gradir(params["call_jaxpr"]):
            # a function of gradir's is differentiated here, not by programs of its own
            return "closed_call", {"call_jaxpr": params["call_jaxpr"]}
        if self.reader.knows(name) and is_of_jax(equation.primitive):
            return name, params
        program = key_program(equation)
        if program is not None:
            return "closed_call", {"call_jaxpr": program}
        made = None if self.reader.knows(name) else implementation_of(equation)
        if made is None:
            return name, params
        return kind_of(equation.primitive, made), {"call_jaxpr": made, "name": name}

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
        label = label_of(name, params)
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
            graphs.append(self.reader.graph(value, symbol_of(label), flags, inside, place))
            return graphs[-1]

        made = {key: converted(value) for key, value in params.items()}
        if name == "scan":
            made["num_consts"], made["num_carry"] = scan_counts(params)
        if name in _CUSTOM:
            made["rule"] = derivative_of(self.reader, equation, _CUSTOM[name], given)
        elif name == "custom_linear_solve":
            parts = [converted(each) for each in params["jaxprs"]]
            made["jaxprs"] = parts
        return made, tuple(graphs)


_INLINED = (
    "jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "custom_jvp_call", "custom_vjp_call",
)  # fmt: skip
_REMAT = ("remat", "remat2", "checkpoint")
_CUSTOM = {"custom_jvp_call": "jvp", "custom_vjp_call": "vjp", "custom_vjp_call_jaxpr": "vjp"}


def foreign_type(aval: Any) -> ForeignType:
    """The type of a value of JAX; a key of threefry is an integer of 64 bits."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return ForeignType((), type(aval).__name__)
    name = str(aval.dtype)
    return ForeignType(tuple(aval.shape), "uint64" if is_key(aval) else name)


def _is_of_gradir(program: Any) -> bool:
    """Whether a program is one call of a function that gradir computes."""
    return [each.primitive.name for each in program.jaxpr.eqns] == ["gradir_call"]


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, (_core.Jaxpr, _core.ClosedJaxpr))


def _constant(aval: Any, value: Any) -> ForeignConstant:
    if isinstance(value, jax.core.Tracer):
        raise refused(
            "a traced array of JAX is used that is not an argument, such as one that a derivative "
            "rule has captured; pass it as an argument",
            GradirError,
        )
    if is_key(aval):
        with jax.ensure_compile_time_eval():  # a trace of JAX may be around
            words = np.asarray(jax.random.key_data(value)).astype(np.uint64)
        value = (words[..., 0] << np.uint64(32)) | words[..., 1]
    return ForeignConstant(foreign_type(aval), value)


def _effect(equation: Any) -> str:
    return ", ".join(sorted(type(each).__name__ for each in equation.effects))


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


def _platform(equation: Any) -> ForeignConstant:
    """The number of the program for this platform, among those for several."""
    platforms = equation.params["platforms"]
    found = [k for k, names in enumerate(platforms) if names is None or "cpu" in names]
    aval = equation.outvars[0].aval
    return _constant(aval, np.asarray(found[0] if found else 0, aval.dtype))
