"""The provenance of a module, which decides whether it may become native code.

Text at loop-nest or buffer level could read and write outside of its tensors. The doubts about a
text are kept beside the module parsed from it, and beside the results of passes: never in the
program, where text could claim anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.analysis.call_graph import called_name, calls_in, functions_by_name

if TYPE_CHECKING:
    from gradir.passes.verify.prove_bounds import doubts_of
else:
    doubts_of = lazy_function("gradir.passes.verify.prove_bounds", "doubts_of")

_KNOWN = ("cse", "canonicalize", "dce", "licm")
"""Passes of xDSL that change no access, and move no code between functions."""


@dataclass(frozen=True)
class Provenance:
    """The doubts: about single functions, and about all. gradir's own programs have none.

    `is_text`: it began as untrusted text.
    """

    doubts: Mapping[str, PassError] = field(default_factory=dict[str, PassError])
    doubt: PassError | None = None
    is_text: bool = False

    @staticmethod
    def of_text(module: ModuleOp) -> Provenance:
        """The provenance of a verified module parsed from untrusted text."""
        doubts: dict[str, PassError] = {}
        for op in module.ops:
            found = next(doubts_of(op), None)
            if found is not None and not isinstance(op, FuncOp):
                return Provenance(doubt=found, is_text=True)
            if found is not None and isinstance(op, FuncOp):
                doubts[op.sym_name.data] = found
        return Provenance(doubts, is_text=True)

    @property
    def is_trusted(self) -> bool:
        """Whether there is no doubt."""
        return self._first() is None

    def derived(self) -> Provenance:
        """The provenance after passes: a function may be inlined in any other one."""
        return Provenance(doubt=self._first(), is_text=self.is_text)

    def beside(self, other: Provenance) -> Provenance:
        """The provenance of the functions of two modules in one."""
        doubts = {**self.doubts, **other.doubts}
        return Provenance(doubts, self.doubt or other.doubt, self.is_text or other.is_text)

    def of_gradient(self, module: ModuleOp, function: str) -> Provenance:
        """The provenance with the derivative of a function added.

        The derivative comes from the function and its callees. If there is no doubt about these,
        only other functions with doubts, and their callers, keep them: they may be inlined there.
        """
        if self.is_trusted or self.doubt is not None or _refers_elsewhere(module, function):
            return self.derived()
        if self._of(module, function) is not None:
            return self.derived()
        found = {name: self._of(module, name) for name in functions_by_name(module)}
        kept = {name: doubt for name, doubt in found.items() if doubt is not None}
        return Provenance(kept, is_text=self.is_text)

    def after(self, passes: Iterable[str], made: ModuleOp) -> Provenance:
        """The provenance after passes of these names. Results of others than gradir's passes on
        text are text again, since some run rewrites contained in the text."""
        if all(n in _KNOWN for n in passes):
            return self
        if not self.is_text or all(n.startswith("gradir-") or n in _KNOWN for n in passes):
            return self.derived()
        return Provenance(doubt=self._first() or Provenance.of_text(made)._first(), is_text=True)

    def check(self, module: ModuleOp, function: str) -> None:
        """PassError where a function may run code without a proof of safety."""
        doubt = self.doubt if self.doubt or not self.doubts else self._of(module, function)
        if doubt is not None:
            raise doubt

    def _of(self, module: ModuleOp, name: str) -> PassError | None:
        for function in _reached(module, name):
            if function.sym_name.data in self.doubts:
                return self.doubts[function.sym_name.data]
            if any(isinstance(op, DerivativeOp) for op in function.walk()):
                # it runs derivatives of other functions
                return self._first()
        return None

    def _first(self) -> PassError | None:
        return self.doubt or next(iter(self.doubts.values()), None)


def _reached(module: ModuleOp, name: str) -> Iterator[FuncOp]:
    """A function and its callees."""
    functions = functions_by_name(module)
    pending, seen = [name], {name}
    while pending:
        function = functions.get(pending.pop())
        if function is None:
            continue
        yield function
        for call in calls_in(function):
            if called_name(call) not in seen:
                seen.add(called_name(call))
                pending.append(called_name(call))


def _refers_elsewhere(module: ModuleOp, name: str) -> bool:
    """Whether the derivative of a function may contain code of others than its callees.

    Ops beside functions declare it, and so may ops that hold symbols.
    """
    if not all(isinstance(op, FuncOp) for op in module.ops):
        return True
    return any(
        "@" in str(attribute)  # symbols as text, in any attribute
        for function in _reached(module, name)
        for op in function.walk()
        if not isinstance(op, CallOp)
        for attribute in (*op.attributes.values(), *op.properties.values())
    )
