"""Where a module is from, as far as that decides whether native code may be made of it.

Text at loop-nest or buffer level could read and write outside of its tensors. What is not proven of
a text is kept beside the module that was read from it, and beside all that passes make of that:
never in the program, where text could say anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.analysis.call_graph import called_name, functions_by_name
from gradir.passes.verify.prove_bounds import doubts_of

_KNOWN = ("cse", "canonicalize", "dce", "licm")
"""Passes of xDSL that change no access."""


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

    def after(self, passes: Iterable[str], made: ModuleOp) -> Provenance:
        """That of what passes of these names made: what other passes than gradir's make of text is
        text again, since some run rewrites that the text itself holds."""
        if not self.is_text or all(n.startswith("gradir-") or n in _KNOWN for n in passes):
            return self.derived()
        return Provenance(doubt=self._first() or Provenance.of_text(made)._first(), is_text=True)

    def check(self, module: ModuleOp, function: str) -> None:
        """PassError where a function may run code that is not proven to be safe."""
        doubt = self.doubt if self.doubt or not self.doubts else self._of(module, function)
        if doubt is not None:
            raise doubt

    def _of(self, module: ModuleOp, name: str) -> PassError | None:
        functions = functions_by_name(module)
        pending, seen = [name], {name}
        while pending:
            name = pending.pop()
            if name in self.doubts:
                return self.doubts[name]
            for op in functions[name].walk() if name in functions else ():
                if isinstance(op, DerivativeOp):
                    # it runs what others are differentiated to
                    return self._first()
                if isinstance(op, CallOp) and called_name(op) not in seen:
                    seen.add(called_name(op))
                    pending.append(called_name(op))
        return None

    def _first(self) -> PassError | None:
        return self.doubt or next(iter(self.doubts.values()), None)
