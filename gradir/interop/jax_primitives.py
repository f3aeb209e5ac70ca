"""Primitives of other packages: functions of JAX's own, with derivative rules."""

from __future__ import annotations

from typing import Any

from gradir.interop.jax_types import spec_of_aval
from gradir.packages import package

jax: Any = package("jax", "jax")
_core: Any = package("jax.extend.core", "jax")
_ad: Any = package("jax.interpreters.ad", "jax")


def is_of_jax(primitive: Any) -> bool:
    """Whether a primitive is JAX's own, and no other package's of the same name."""
    return _OWN.get(primitive.name, primitive) is primitive


_OWN = {each.name: each for each in vars(_core.primitives).values() if hasattr(each, "name")}


def kind_of(primitive: Any, program: Any) -> str:
    """How a primitive that is a function of others is differentiated: by its rules, if there are.

    With a transpose it is JAX that transposes: what a primitive computes may hold a constant, such
    as the factors of a matrix, in place of an operand that the transpose reads. The identity holds
    none, and its transpose may be an error for what no gradient reaches. A call is its program:
    its rule is a call of a program made by differentiation, so that such rules would have no end.
    """
    if primitive not in _ad.primitive_jvps or _is_call(primitive):
        return "closed_call"
    is_linear = primitive in _ad.primitive_transposes and program.jaxpr.eqns
    return "custom_vjp_call" if is_linear else "custom_jvp_call"


def _is_call(primitive: Any) -> bool:
    """Whether JAX made a primitive as a call of a program, as jax.extend.core makes them."""
    known = {each.name: rule for each, rule in _ad.primitive_jvps.items()}.get("eval_jaxpr")
    rule = getattr(known, "func", None)
    return rule is not None and getattr(_ad.primitive_jvps[primitive], "func", None) is rule


def implementation_of(equation: Any) -> Any:
    """What a primitive computes, by other primitives; None where it is not said in Python."""
    primitive = equation.primitive
    specs = [spec_of_aval(v.aval) for v in equation.invars]

    def run(*operands: Any) -> Any:
        if (tree := getattr(equation.params.get("_prim"), "in_tree", None)) is not None:
            # from JAX 0.11 on: a primitive of trees, which says what it is made of
            expanded = equation.params["_prim"].expand(*jax.tree.unflatten(tree, operands))
            return jax.tree.leaves(expanded)
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
