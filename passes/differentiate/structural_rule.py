"""The rule of an op class in both modes, for ops that are not differentiated by a vjp alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from xdsl.ir import Operation

if TYPE_CHECKING:
    from gradir.dialects.base.interfaces import Cotangents
    from gradir.passes.differentiate.differentiator import Differentiator
    from gradir.passes.differentiate.forward_mode import ForwardRule
    from gradir.passes.differentiate.reverse_mode import Flowing, ReverseRule


class LazyRule:
    """A reverse rule that is made when it is used first: most programs have no loop, no branch."""

    def __init__(self, make: Callable[..., Any], *arguments: Any):
        self._make, self._arguments = make, arguments
        self._made: ReverseRule | None = None

    def _rule(self) -> ReverseRule:
        if self._made is None:
            self._made = self._make(*self._arguments)
        return self._made

    def forward(self, outer: Differentiator, op: Any) -> object:
        return self._rule().forward(outer, op)

    def backward(self, outer: Differentiator, op: Any, saved: Any, cts: Cotangents) -> Flowing:
        return self._rule().backward(outer, op, saved, cts)


class StructuralRule(NamedTuple):
    """The derivative of ops of one class: a call, an op with regions, an op on tapes.

    None in a mode: the ordinary rule, by the class's vjp.
    """

    reverse: ReverseRule | None
    forward: ForwardRule | None


Rules: TypeAlias = Mapping[type[Operation], StructuralRule]
"""The structural rules by class of op; passes/gradient/rule_table.py has them all."""
