"""The policies by name: the forward values that are kept for the backward code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad.grad import NameOp
from gradir.dialects.grad.policies import POLICIES
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.residuals import is_constant
from gradir.passes.recompute.costs import BYTES, Costs
from gradir.passes.recompute.rematerialize import Rematerialization

Keeps: TypeAlias = Callable[[SSAValue], bool]

# `auto` recomputes values that take at most this many times as long as their reads and writes.
NEARLY_FREE = 4


def recompute(derived: Derived, may_recompute: Keeps, mode: str) -> None:
    """Recompute in the backward code the values that need not be kept.

    A joint function has its results anyway, in the caller's memory.
    """
    plan = rematerialization(derived, may_recompute, mode)
    plan.run()
    derived.clean(simplify_block)


def rematerialization(derived: Derived, may_recompute: Keeps, mode: str) -> Rematerialization:
    """The stored and the recomputed values; constants are always made again."""
    held = [*derived.grads, *(derived.results if mode != "split" else ())]

    def may(value: SSAValue) -> bool:
        owner = value.owner
        return not (isinstance(owner, Operation) and is_constant(owner)) and may_recompute(value)

    return Rematerialization(derived.forward, derived.backward, may, held)


def policy_named(name: str, costs: Costs) -> Keeps:
    """The test of a policy for kept values; `name` is one of POLICIES."""
    rules: dict[str, Keeps] = {
        "keep_all": lambda value: True,
        "keep_none": lambda value: False,
        "keep_matmuls": lambda value: _is_contraction(value, costs),
        "keep_named": _is_named,
        "auto": lambda value: not is_nearly_free(value, costs),
    }
    assert rules.keys() == POLICIES.keys()
    return rules[name]


def _is_contraction(value: SSAValue, costs: Costs) -> bool:
    op = value.owner
    return isinstance(op, Operation) and costs.of(op).contraction_flops > 0


def _is_named(value: SSAValue) -> bool:
    """Whether grad.name names a value; the marker and its operand are one tensor."""
    return any(isinstance(use.operation, NameOp) for use in value.uses)


def is_nearly_free(value: SSAValue, costs: Costs) -> bool:
    """Whether a value is a view, or elementwise within NEARLY_FREE times its memory's time.

    In float32 and float64 an op of one math function is within it.
    """
    op = value.owner
    if not isinstance(op, Operation):
        return False
    cost = costs.of(op)
    limit = NEARLY_FREE * cost.bytes / BYTES
    return cost.is_free or (not cost.reduces and cost.seconds <= limit)
