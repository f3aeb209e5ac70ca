"""Tables of rules: for each op of a system the function of traced arrays that it is, or why not.

docs/jax.md and docs/torch.md are written from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Rule: TypeAlias = Callable[..., Any]
"""`rule(call, *operands)` gives the traced result of an op, or a sequence of several."""


@dataclass
class RuleTable:
    """The rules of a system. `notes` say where an op has a limit; `absent` why one is not there.

    `exact` ops have the same bits wherever they run: of known numbers they are known when read.
    """

    system: str
    rules: dict[str, Rule] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set[str])

    @classmethod
    def joined(cls, system: str, *parts: RuleTable) -> RuleTable:
        """The rules of several tables, none of which is in two of them."""
        made = cls(system)
        for part in parts:
            assert made.rules.keys().isdisjoint(part.rules), part.rules.keys() & made.rules.keys()
            made.rules |= part.rules
            made.absent |= part.absent
            made.notes |= part.notes
            made.exact |= part.exact
        return made

    def rule(self, *names: str, note: str = "") -> Callable[[Rule], Rule]:
        """A decorator: the function is the rule of these ops."""

        def added(rule: Rule) -> Rule:
            for name in names:
                self._add(name, rule, note)
            return rule

        return added

    def plain(self, **functions: Callable[..., Any]) -> None:
        """Ops that are a function of their operands alone."""
        for name, function in functions.items():
            self._add(name.rstrip("_"), _of_operands(function), "")

    def refuse(self, why: str, *names: str) -> None:
        """Ops that are not there."""
        for name in names:
            assert name not in self.rules, name
            self.absent[name] = why

    def _add(self, name: str, rule: Rule, note: str) -> None:
        assert name not in self.rules, name
        self.rules[name] = rule
        if note:
            self.notes[name] = note


def _of_operands(function: Callable[..., Any]) -> Rule:
    def rule(call: Any, *operands: Any) -> Any:
        del call
        return function(*operands)

    return rule
