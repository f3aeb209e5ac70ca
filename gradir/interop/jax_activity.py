"""Which values of a jaxpr have a derivative in its active arguments.

Rules of derivatives ask for it: JAX hands them zeros as objects, and some refuse any other tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradir.interop.jax_types import scan_counts

Flags = tuple[bool, ...]

_ZERO = frozenset(
    "stop_gradient floor ceil round sign is_finite nextafter argmax argmin clz population_count "
    "bitcast_convert_type iota random_bits random_wrap random_unwrap threefry2x32".split()
)
_CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr", "remat": "jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr",
}  # fmt: skip


class JaxprActivity:
    """The activity of jaxprs, each found once for each choice of active arguments."""

    def __init__(self, is_floating: Callable[[Any], bool]):
        self._is_floating = is_floating
        self._known: dict[tuple[int, Flags], tuple[Any, Flags]] = {}

    def outputs(self, closed: Any, flags: Sequence[bool]) -> Flags:
        """Which results of a jaxpr are active, for arguments that are."""
        jaxpr = getattr(closed, "jaxpr", closed)
        key = id(jaxpr), tuple(flags)
        if key not in self._known:
            active = {v for v, is_active in zip(jaxpr.invars, flags, strict=True) if is_active}
            for equation in jaxpr.eqns:
                found = self.results(equation, [is_in(v, active) for v in equation.invars])
                active |= {v for v, flag in zip(equation.outvars, found, strict=True) if flag}
            self._known[key] = jaxpr, tuple(is_in(v, active) for v in jaxpr.outvars)
        return self._known[key][1]

    def results(self, equation: Any, flags: Sequence[bool]) -> Flags:
        """Which results of an equation are active, for operands that are."""
        name, params = equation.primitive.name, equation.params
        outs = [self._is_floating(v.aval) for v in equation.outvars]
        if not any(flags) or name in _ZERO:
            return (False,) * len(outs)
        if name in _CALLS:
            return self.outputs(params[_CALLS[name]], flags)
        if name == "cond":
            each = [self.outputs(branch, flags[1:]) for branch in params["branches"]]
            return tuple(map(any, zip(*each, strict=True)))
        if name == "while":
            return self.inside_while(params, flags)[1]
        if name == "scan":
            return self.inside_scan(params, flags)[1]
        return tuple(outs)

    def inside_while(self, params: Any, flags: Sequence[bool]) -> tuple[tuple[Flags, Flags], Flags]:
        """The active arguments of the condition and the body of a loop, and its active results."""
        first = params["cond_nconsts"]
        count = first + params["body_nconsts"]
        carried = tuple(flags[count:])
        while True:
            given = (*flags[first:count], *carried)
            found = self.outputs(params["body_jaxpr"], given)
            after = tuple(a or b for a, b in zip(carried, found, strict=True))
            if after == carried:
                return ((*flags[:first], *carried), given), carried
            carried = after

    def inside_scan(self, params: Any, flags: Sequence[bool]) -> tuple[Flags, Flags]:
        """The active arguments of the body of a scan, and its active results."""
        first, carries = scan_counts(params)
        count = first + carries
        carried = tuple(flags[first:count])
        while True:
            given = (*flags[:first], *carried, *flags[count:])
            found = self.outputs(params["jaxpr"], given)
            after = tuple(a or b for a, b in zip(carried, found, strict=False))
            if after == carried:
                return given, (*carried, *found[len(carried) :])
            carried = after


def is_in(atom: Any, active: set[Any]) -> bool:
    """Whether a variable is one of some; literals never are."""
    return not hasattr(atom, "val") and atom in active
