"""The rule of an op class in both modes, for ops that are not differentiated by a vjp alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xdsl.ir import Operation

if TYPE_CHECKING:
    from gradir.passes.differentiate.forward_mode import ForwardRule
    from gradir.passes.differentiate.reverse_mode import ReverseRule


class StructuralRule(NamedTuple):
    """The derivative of ops of one class: a call, an op with regions, an op on tapes.

    None in a mode: the ordinary rule, by the class's vjp.
    """

    reverse: ReverseRule | None
    forward: ForwardRule | None


Rules: TypeAlias = Mapping[type[Operation], StructuralRule]
"""The structural rules by class of op; passes/gradient/rule_table.py has them all."""
