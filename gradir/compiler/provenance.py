"""Where a module is from, as far as that decides whether native code may be made of it.

Text at loop-nest or buffer level could read and write outside of its tensors. What is not proven of
a text is kept beside the module that was read from it, and beside all that passes make of that:
never in the program, where text could say anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.analysis.call_graph import called_name, calls_in, functions_by_name
from gradir.passes.verify.prove_bounds import doubts_of

_KNOWN = ("cse", "canonicalize", "dce", "licm")
"""Passes of xDSL that change no access, and take nothing from one function to another."""


@dataclass(frozen=True)
class Provenance:
    """What is not proven: of single functions, and of all of them. Nothing, of what gradir made.

    `is_text`: it began as text that nobody vouches for.
    """

    doubts: Mapping[str, PassError] = field(default_factory=dict[str, PassError])
    doubt: PassError | None = None
    is_text: bool = False

    @staticmethod
    def of_text(module: ModuleOp) -> Provenance:
        """That of a verified module that was read from text which nobody vouches for."""
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
        """Nothing is left to prove."""
        return self._first() is None

    def derived(self) -> Provenance:
        """That of what passes make of the module: a function may end up in any other one."""
        return Provenance(doubt=self._first(), is_text=self.is_text)

    def of_gradient(self, module: ModuleOp, function: str) -> Provenance:
        """That of a module with the derivative of a function beside it.

        What is made comes from the function and what that calls. If nothing of these is doubted,
        only the others that are, and those that call them, stay so: they may be inlined there.
        """
        if self.is_trusted or self.doubt is not None or _refers_elsewhere(module, function):
            return self.derived()
        if self._of(module, function) is not None:
            return self.derived()
        found = {name: self._of(module, name) for name in functions_by_name(module)}
        kept = {name: doubt for name, doubt in found.items() if doubt is not None}
        return Provenance(kept, is_text=self.is_text)

    def after(self, passes: Iterable[str], made: ModuleOp) -> Provenance:
        """That of what passes of these names made: what other passes than gradir's make of text is
        text again, since some run rewrites that the text itself holds."""
        if all(n in _KNOWN for n in passes):
            return self
        if not self.is_text or all(n.startswith("gradir-") or n in _KNOWN for n in passes):
            return self.derived()
        return Provenance(doubt=self._first() or Provenance.of_text(made)._first(), is_text=True)

    def check(self, module: ModuleOp, function: str) -> None:
        """PassError where a function may run code that is not proven to be safe."""
        doubt = self.doubt if self.doubt or not self.doubts else self._of(module, function)
        if doubt is not None:
            raise doubt

    def _of(self, module: ModuleOp, name: str) -> PassError | None:
        for function in _reached(module, name):
            if function.sym_name.data in self.doubts:
                return self.doubts[function.sym_name.data]
            if any(isinstance(op, DerivativeOp) for op in function.walk()):
                # it runs what others are differentiated to
                return self._first()
        return None

    def _first(self) -> PassError | None:
        return self.doubt or next(iter(self.doubts.values()), None)


def _reached(module: ModuleOp, name: str) -> Iterator[FuncOp]:
    """A function and those that it may call."""
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
    """The derivative of a function may hold code of others than those that it calls.

    Ops beside functions declare such, and ops that hold symbols may.
    """
    if not all(isinstance(op, FuncOp) for op in module.ops):
        return True
    return any(
        "@" in str(attribute)  # as symbols are written, in whatever attribute they are
        for function in _reached(module, name)
        for op in function.walk()
        if not isinstance(op, CallOp)
        for attribute in (*op.attributes.values(), *op.properties.values())
    )
