"""JAX's primitives that run programs: calls, loops, branches, recomputed stages, custom rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.graph import DerivativeRule
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.branches import cond, switch
from gradir.frontends.transforms.custom_derivatives import CustomJvp, CustomVjp
from gradir.frontends.transforms.flow import scan, while_loop
from gradir.frontends.transforms.markers import checkpoint

RULES = RuleTable("JAX")


@RULES.rule("jit", "pjit", "closed_call", "core_call", "eval_jaxpr")
def _called(call: Any, *operands: Any) -> Any:
    [graph] = call.graphs
    return call.replay.inside(graph, operands)


@RULES.rule("gradir_call", note="a function that gradir computes, in another one")
def _of_gradir(call: Any, *operands: Any) -> Any:
    return call["program"].function(*operands)


@RULES.rule("remat", "remat2", "checkpoint", note="policies keep what they keep in JAX")
def _recomputed(call: Any, *operands: Any) -> Any:
    [graph] = call.graphs
    policy = "keep_named" if any(node.kept for node in graph.nodes) else "keep_none"
    return checkpoint(call.replay.function(graph), policy=policy)(*operands)


@RULES.rule("cond")
def _chosen(call: Any, index: Any, *operands: Any) -> Any:
    branches = [call.replay.function(graph) for graph in call["branches"]]
    if len(branches) == 1:
        return branches[0](*operands)
    if len(branches) == 2:
        holds = index if is_bool(element(index)) else op.greater(index, 0)
        return cond(holds, branches[1], branches[0], *operands)
    return switch(index, branches, *operands)


@RULES.rule("while", note="reverse mode too; a predicate for each row stops rows one by one")
def _while(call: Any, *operands: Any) -> Any:
    first = call["cond_nconsts"]
    count = first + call["body_nconsts"]
    of_cond, of_body, init = operands[:first], operands[first:count], operands[count:]
    condition = call.replay.function(call["cond_jaxpr"])
    body = call.replay.function(call["body_jaxpr"])

    def goes_on(values: Sequence[Any]) -> Any:
        [holds] = condition(*of_cond, *values)
        return op.any(holds) if holds.ndim else holds

    def step(values: Sequence[Any]) -> list[Any]:
        made = body(*of_body, *values)
        if not is_of_rows:
            return list(made)
        [holds] = condition(*of_cond, *values)
        # a row that has ended stays as it is
        pairs = zip(made, values, strict=True)
        return [gnp.where(_beside(holds, new), new, old) for new, old in pairs]

    is_of_rows = bool(call["cond_jaxpr"].outputs[0].type.shape)
    return while_loop(goes_on, step, list(init)) if init else list(init)


def _beside(holds: Any, value: Any) -> Any:
    """A predicate for each row, in the rank of the rows."""
    return gnp.reshape(holds, [*holds.shape, *[1] * (value.ndim - holds.ndim)])


@RULES.rule("scan")
def _scan(call: Any, *operands: Any) -> Any:
    first = call["num_consts"]
    count = first + call["num_carry"]
    consts, carried, rows = operands[:first], operands[first:count], operands[count:]
    body, carries = call.replay.function(call["jaxpr"]), count - first

    def step(carry: Sequence[Any], row: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        made = body(*consts, *carry, *row)
        return made[:carries], made[carries:]

    last, stacked = scan(step, list(carried), list(rows), call["length"], call["reverse"])
    return [*last, *stacked]


# Functions with derivative rules of their own.


@RULES.rule("custom_jvp_call", note="with its rule, also in the rule itself")
def _custom_jvp(call: Any, *operands: Any) -> Any:
    return _declared(call, _with_jvp)(*operands)


@RULES.rule("custom_vjp_call", "custom_vjp_call_jaxpr", note="with its rule")
def _custom_vjp(call: Any, *operands: Any) -> Any:
    return _declared(call, _with_vjp)(*operands)


def _declared(call: Any, make: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its rule, one for all calls that have equal keys."""
    rule: DerivativeRule = call["rule"]
    if not rule.active:
        return call.replay.function(call["call_jaxpr"])
    made = call.replay.made
    if rule.key not in made:
        made[rule.key] = make(call, rule)
    return made[rule.key]


def _with_jvp(call: Any, rule: DerivativeRule) -> CustomJvp:
    replay, count = call.replay, len(call.results)
    function = CustomJvp(replay.function(call["call_jaxpr"]))

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        assert rule.jvp is not None
        pushed = replay.derived(rule.jvp())
        made = pushed(*primals, *(tangents[k] for k in rule.active))
        rest = iter(made[count:])
        return made[:count], [next(rest) if is_float(element(r)) else None for r in made[:count]]

    function.defjvp(jvp)
    return function


def _with_vjp(call: Any, rule: DerivativeRule) -> CustomVjp:
    replay, count = call.replay, len(call.results)
    function = CustomVjp(replay.function(call["call_jaxpr"]))

    def forward(*operands: Any) -> tuple[list[Any], list[Any]]:
        assert rule.forward is not None
        made = replay.derived(rule.forward())(*operands)
        return made[:count], [*made[count:]]

    def backward(residuals: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        assert rule.backward is not None
        seeds = [c for c in cotangents if c is not None]
        found = replay.derived(rule.backward())(*residuals, *seeds)
        grads = dict(zip(rule.active, found, strict=True))
        return tuple(map(grads.get, range(len(call.operands))))

    function.defvjp(forward, backward)
    return function
