"""The attribute `#grad.loop<...>`: the residuals that a loop keeps for its backward code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE

MOST = 2**63 - 1
"""The greatest number of a policy: it becomes an index of the program."""

POLICIES: dict[str, str | None] = {
    "store_all": None,
    "every": "iterations",
    "binomial": "slots",
    "online": "slots",
}
"""The meaning of each policy's number; None for a policy without one."""


@irdl_attr_definition
class LoopPolicyAttr(ParametrizedAttribute):
    """The source of residuals in the backward code of a loop.

    store_all: every iteration pushes its residuals on a tape (the default).
    every = k: a snapshot of the carried values before each k-th iteration; the backward code runs
    the k iterations after it again, with a tape. binomial = s: at most s snapshots at a time, and
    no tape; the number of repeated iterations is the least possible (Griewank and Walther,
    "Algorithm 799: revolve", 2000). online = s: the same for a loop whose number of iterations is
    unknown at its start; up to an eighth more iterations run than if it were known. For a scf.for
    it is binomial. All policies give the same bits.
    """

    name = "grad.loop"

    kind: StringAttr
    number: IntAttr | NoneAttr

    @staticmethod
    def of(kind: str, number: int | None = None) -> LoopPolicyAttr:
        return LoopPolicyAttr(StringAttr(kind), NoneAttr() if number is None else IntAttr(number))

    @property
    def count(self) -> int:
        """The policy's number; for policies with one."""
        assert isinstance(self.number, IntAttr)
        return self.number.data

    def verify(self) -> None:
        kind = self.kind.data
        if kind not in POLICIES:
            *others, last = POLICIES
            known = f"{', '.join(others)} or {last}"
            raise VerifyException(f"grad.loop: the policy must be {known}, got {kind}")
        if POLICIES[kind] is None and not isinstance(self.number, NoneAttr):
            raise VerifyException(f"grad.loop: {kind} takes no number")
        if POLICIES[kind] is not None and not (isinstance(self.number, IntAttr) and self.count > 0):
            got = self.number.data if isinstance(self.number, IntAttr) else "none"
            raise VerifyException(
                f"grad.loop: {kind} takes a number of {POLICIES[kind]} above 0, got {got}"
            )
        if isinstance(self.number, IntAttr) and self.count > MOST:
            raise VerifyException(
                f"grad.loop: {kind} takes a number of {POLICIES[kind]} of at most {MOST}, got "
                f"{self.count}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier()
            number: Attribute = NoneAttr()
            if parser.parse_optional_punctuation("=") is not None:
                number = IntAttr(parser.parse_integer(allow_boolean=False))
        return [StringAttr(kind), number]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.kind.data)
            if isinstance(self.number, IntAttr):
                printer.print_string(f" = {self.number.data}")


def loop_policy(op: Operation) -> LoopPolicyAttr:
    """The policy of a loop; store_all where none is written."""
    found = op.attributes.get(POLICY_ATTRIBUTE)
    return found if isinstance(found, LoopPolicyAttr) else LoopPolicyAttr.of("store_all")
