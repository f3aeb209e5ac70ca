"""What is recomputed, and how it is remembered: by numbers of values and ops.

The search of a plan compiles many of them. A `Note` has the decision of an earlier search on equal
code: derivations are the same from run to run, so that numbers find the values again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.differentiate.derived import Derived
from gradir.passes.gradient.gradient import Derivation
from gradir.passes.recompute.chain import Kept
from gradir.passes.recompute.policies import recompute

if TYPE_CHECKING:
    from gradir.passes.gradient.measured_peak import Note


@dataclass(frozen=True)
class Decision:
    """A derivative under policies for loops of the source, and the forward values that it keeps.

    `kept` is None where nothing is recomputed; `peak` are the bytes that were measured, if any.
    """

    derived: Derived
    policies: Mapping[Operation, LoopPolicyAttr]
    kept: Kept | None
    peak: int | None = None

    def applied(self, mode: str) -> Derived:
        """The derivative, with its recomputation."""
        kept = self.kept
        if kept is not None:
            recompute(self.derived, lambda value: value not in kept, mode)
        return self.derived


Search: TypeAlias = Callable[[Derivation], Decision]


def decided(search: Search, note: Note, derivation: Derivation) -> Decision:
    """The decision that is remembered, or else a new one by `search`."""
    found = _restored(note.read(), derivation)
    if found is None:
        found = search(derivation)
        said = _said(found, derivation)
        if said is not None:
            note.write(said)
    return found


def _said(decision: Decision, derivation: Derivation) -> dict[str, Any] | None:
    """A decision by numbers; None where it is about others than numbered ones."""
    values = {value: k for k, value in enumerate(_values(decision.derived))}
    ops = {op: k for k, op in enumerate(derivation.source.walk())}
    if (
        not (decision.kept or frozenset()) <= values.keys()
        or not decision.policies.keys() <= ops.keys()
    ):
        return None
    policies = [
        (ops[op], policy.kind.data, policy.number.data if isinstance(policy.number, IntAttr) else 0)
        for op, policy in decision.policies.items()
    ]
    return {
        "values": len(values),
        "ops": len(ops),
        "policies": policies,
        "kept": None if decision.kept is None else sorted(values[v] for v in decision.kept),
        "peak": decision.peak,
    }


def _restored(said: Any, derivation: Derivation) -> Decision | None:
    """The decision for a derivation that numbers describe."""
    ops = list(derivation.source.walk())
    if said is None or said["ops"] != len(ops):
        return None
    named = cast(list[tuple[int, str, int]], said["policies"])
    policies = {ops[k]: LoopPolicyAttr.of(kind, number or None) for k, kind, number in named}
    derived = derivation.derived(policies)
    values = list(_values(derived))
    if said["values"] != len(values):
        return None
    numbers = cast(list[int] | None, said["kept"])
    kept = None if numbers is None else frozenset(values[k] for k in numbers)
    return Decision(derived, policies, kept, said["peak"])


def _values(derived: Derived) -> Iterator[SSAValue]:
    """The forward values in order."""
    yield from derived.forward.args
    for op in derived.forward.ops:
        yield from op.results
