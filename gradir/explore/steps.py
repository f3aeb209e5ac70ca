"""The steps from a program as it was read, or traced, to a module: what an exploration repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

Change = Callable[[ModuleOp], object]
"""A change of a module in place; or it returns another module."""


@dataclass(frozen=True)
class Step:
    """A change with its title. `limited` is the change for a memory limit in bytes, if any."""

    title: str
    change: Change
    limited: Callable[[int], Change] | None = None


@dataclass(frozen=True)
class Lineage:
    """The module at the beginning, which stays as it is, and the steps that were taken."""

    root: ModuleOp
    steps: tuple[Step, ...] = ()

    def after(self, *steps: Step) -> Lineage:
        """The lineage of what the steps make."""
        return Lineage(self.root, (*self.steps, *steps))

    @property
    def has_limit(self) -> bool:
        return any(step.limited is not None for step in self.steps)

    def with_limit(self, limit: int) -> ModuleOp:
        """The module again, its last derivative for a memory limit."""
        last = max(k for k, step in enumerate(self.steps) if step.limited is not None)
        module = self.root.clone()
        for k, step in enumerate(self.steps):
            change = step.change
            if k == last and step.limited is not None:
                change = step.limited(limit)
            module = applied(change, module)
        return module


def applied(change: Change, module: ModuleOp) -> ModuleOp:
    """The module after a change."""
    made = change(module)
    return made if isinstance(made, ModuleOp) else module


def step_of_pass(each: ModulePass) -> Step:
    """A pass as a step; with a limit, if it takes one for a gradient."""
    from gradir.registry import make_context

    def limited(limit: int) -> Change:
        some: Any = each
        return step_of_pass(replace(some, memory_limit=limit, policy="keep_all")).change

    has_limit = hasattr(each, "memory_limit") and getattr(each, "mode", "") != "jvp"

    def change(module: ModuleOp) -> None:
        each.apply(make_context(), module)

    return Step(each.name, change, limited if has_limit else None)
