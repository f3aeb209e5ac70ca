"""The policies: which values of the forward code are kept for the backward code, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad import NameOp
from gradir.dialects.policies import POLICIES
from gradir.passes.costs import Costs

Keeps: TypeAlias = Callable[[SSAValue], bool]

# `auto` recomputes what takes no longer than this many times reading and writing the value.
NEARLY_FREE = 4.0


def policy_named(name: str, costs: Costs) -> Keeps:
    """Whether a policy keeps a value. `name` is one of POLICIES."""
    rules: dict[str, Keeps] = {
        "keep_all": lambda value: True,
        "keep_none": lambda value: False,
        "keep_matmuls": lambda value: _is_contraction(value, costs),
        "keep_named": _is_named,
        "auto": lambda value: not _is_nearly_free(value, costs),
    }
    assert rules.keys() == POLICIES.keys()
    return rules[name]


def _is_contraction(value: SSAValue, costs: Costs) -> bool:
    op = value.owner
    return isinstance(op, Operation) and costs.of(op).contraction_flops > 0


def _is_named(value: SSAValue) -> bool:
    """What goes through grad.name; the name and what it names are one tensor: that is kept."""
    return any(isinstance(use.operation, NameOp) for use in value.uses)


def _is_nearly_free(value: SSAValue, costs: Costs) -> bool:
    """Elementwise, without math functions, or a view."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    cost = costs.of(op)
    return cost.is_free or (not cost.contraction_flops and cost.seconds <= cost.bytes * 4e-10)
