"""The functions of a module, and the state of their differentiation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import has_trait
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.tape import TapeType
from gradir.passes.analysis.call_graph import called_name, callees_first, functions_by_name
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.effects import check_arguments
from gradir.passes.cleanup.dead_code import has_no_effect

if TYPE_CHECKING:
    from gradir.passes.differentiate.call_masks import CalleeMasks


@dataclass(frozen=True)
class Flow:
    """The arguments on which each result of a function depends, as masks.

    `refused`: errors, each raised when an argument of its mask is active.
    """

    results: tuple[int, ...]
    refused: dict[PassError, int]


@dataclass(frozen=True)
class CalleeHalves:
    """A callee's functions of mode split, the tapes that both take and return, last, and which of
    their cotangents have masks."""

    forward: FuncOp
    backward: FuncOp
    tapes: tuple[TapeType, ...]
    masks: CalleeMasks


class ModuleFunctions:
    """The functions of a module by name, and the state of their differentiation.

    `functions` resolve calls during differentiation: prepared copies may stand for functions of the
    module, which is unchanged but for added functions. `rows_read` are the counts of row slices,
    by argument, that backward halves return, for a call's pattern (tables.py).
    """

    def __init__(self, module: ModuleOp, functions: Mapping[str, FuncOp] | None = None):
        self.module = module
        self.in_module = functions_by_name(module)
        self.functions = dict(self.in_module if functions is None else functions)
        self.custom = {op.names[0]: op for op in module.ops if isinstance(op, CustomVjpOp)}
        self.halves: dict[Hashable, CalleeHalves] = {}
        self.flows: dict[FuncOp, Flow] = {}
        self.looping: dict[FuncOp, bool] = {}
        self.rows_read: dict[Hashable, dict[int, int]] = {}
        self.effects: dict[FuncOp, bool] = {}
        self._added: list[FuncOp] = []

    def function(self, name: str, place: Operation | None = None) -> FuncOp:
        """The function @name; PassError with the candidates if there is none."""
        if name not in self.functions:
            known = ", ".join(f"@{n}" for n in self.functions) or "none"
            raise PassError(f"no function @{name}; functions: {known}", place or self.module)
        return self.functions[name]

    def block(self, function: FuncOp) -> Block:
        """The one block of a function; PassError if it has none, several, or works on buffers."""
        name = function.sym_name.data
        if function.is_declaration:
            raise PassError(f"@{name} has no body, so that it has no derivative", function)
        first = function.body.blocks.first
        assert first is not None
        if first is not function.body.blocks.last:
            raise PassError(
                f"@{name} has several blocks; write branches and loops with scf", function
            )
        check_arguments(function)
        return first

    def has_effects(self, op: Operation) -> bool:
        """Whether a second run of an op, with its regions, would be observable."""
        return any(map(self.has_own_effect, op.walk()))

    def has_own_effect(self, op: Operation) -> bool:
        """As `has_effects`, without the op's regions; a call has its callee's effects."""
        if isinstance(op, CallOp):
            return self._callee_has_effects(op)
        return not (op.regions or has_trait(op, IsTerminator) or has_no_effect(op))

    def _callee_has_effects(self, call: CallOp) -> bool:
        callee = self.function(called_name(call), call)
        if callee not in self.effects:
            for each in callees_first(self.functions, [callee]):
                if each not in self.effects:
                    self.effects[each] = any(map(self.has_own_effect, each.body.walk()))
        return self.effects[callee]

    def results(self, function: FuncOp) -> Sequence[SSAValue]:
        """The returned values of a function."""
        last = self.block(function).last_op
        assert last is not None
        return last.operands

    def add(self, function: FuncOp, after: FuncOp) -> FuncOp:
        """Insert a function behind another, unless it is there; PassError if its name is taken."""
        name = function.sym_name.data
        if (found := self.functions.get(name)) is not None:
            if found.is_structurally_equivalent(function):
                return found
            raise PassError(f"@{name} exists already; rename it, or differentiate once", after)
        return self._insert(function, after)

    def share(self, function: FuncOp, after: FuncOp) -> FuncOp:
        """Insert a function behind another, unless it is there, under a free name."""
        name = wanted = function.sym_name.data
        copies = 0
        while (found := self.functions.get(name)) is not None:
            if found.is_structurally_equivalent(function):
                return found
            copies += 1
            name = f"{wanted}__{copies}"
            function.sym_name = StringAttr(name)
        return self._insert(function, after)

    def _insert(self, function: FuncOp, after: FuncOp) -> FuncOp:
        place = self.in_module[after.sym_name.data]
        block = place.parent
        assert block is not None
        function.location = after.location
        block.insert_op_after(function, place)
        self.functions[function.sym_name.data] = function
        self.in_module[function.sym_name.data] = function
        self._added.append(function)
        return function

    def take_back(self) -> None:
        """Remove the functions that were inserted."""
        for function in self._added:
            erase(function)
