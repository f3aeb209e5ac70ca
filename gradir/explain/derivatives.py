"""Which ops of a program are derivatives, and of what: by their names and their locations.

An op of a derivative has the location of the op that it belongs to, and the names of cotangents
and tangents are made from their primals' names. Both are for readers, and so is all of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from gradir.dialects.base.diagnostics import file_location, location_of
from gradir.dialects.base.value_names import derivative_by_name

_PREPARING = ("array.astype", "array.broadcast_to", "array.expand_dims", "array.reshape")
"""What a frontend puts before the op of a line."""
_BACKWARD = "_bwd"
"""In the names of backward halves."""


class Derivatives:
    """What is a derivative in the functions of a module; each function is looked at once."""

    def __init__(self, functions: Sequence[FuncOp]) -> None:
        self._functions = functions
        self._words: dict[SSAValue, str] = {}
        self._primals: dict[tuple[FuncOp, LocationAttr], list[Operation]] = {}
        self._known: set[FuncOp] = set()

    def word(self, value: SSAValue) -> str | None:
        """ "cotangent" or "tangent" where a value is one; None for a primal."""
        self._know(_function_of(value))
        return self._words.get(value)

    def primal_of(self, op: Operation) -> Operation | None:
        """The op that an op of a derivative belongs to: in its function, or else in another."""
        if not op.results or self.word(op.results[0]) is None:
            return None
        own = _function_of(op.results[0])
        for function in [*(f for f in (own,) if f is not None), *self._functions]:
            self._know(function)
            for each in self._primals.get((function, location_of(op)), ()):
                if each.name not in _PREPARING:
                    return each
        return None

    def primals_of(self, op: Operation) -> Sequence[SSAValue]:
        """The operands of the op that an op of a derivative belongs to, if it runs with them."""
        found = self.primal_of(op)
        if found is None or found.parent is None or not _encloses(found.parent, op):
            return ()
        return list(found.operands)

    def source_of(self, op: Operation) -> Operation | None:
        """The op of another place that made the cotangent, or tangent, that an op starts from."""
        place, here = location_of(op), op
        while True:
            before = next((v for v in here.operands if self.word(v) is not None), None)
            if not isinstance(before, OpResult):
                return None
            here = before.owner
            if here.regions or file_location(location_of(here)) is None:
                return None
            if location_of(here) != place:
                return here

    def _know(self, function: FuncOp | None) -> None:
        if function is None or function in self._known:
            return
        self._known.add(function)
        is_forward = _BACKWARD not in function.sym_name.data
        for op in function.walk():
            values = (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
            for value in values:
                word = self._word_of(value)
                if word is not None:
                    self._words[value] = word
            # what stands behind the first cotangent belongs to rules, too
            is_forward &= not any(r in self._words for r in op.results)
            if is_forward and op.operands and op.results and not op.regions:
                self._primals.setdefault((function, location_of(op)), []).append(op)

    def _word_of(self, value: SSAValue) -> str | None:
        """By its name, or else by the first operand that is a derivative."""
        found = derivative_by_name(value.name_hint or "")
        if found is not None:
            return found[0]
        if isinstance(value, BlockArgument) or not isinstance(value, OpResult):
            return None
        operands: Iterator[SSAValue] = iter(() if value.owner.regions else value.owner.operands)
        return next((self._words[v] for v in operands if v in self._words), None)


def primal_name(value: SSAValue) -> str | None:
    """The name of a derivative's primal, from the value or from a reader at the same location."""
    here: SSAValue | None = value
    place = location_of(value)
    while here is not None and location_of(here) == place:
        found = derivative_by_name(here.name_hint or "")
        if found is not None and found[1]:
            return found[1]
        use = here.first_use
        results = () if use is None else use.operation.results
        here = results[0] if results else None
    return None


def _function_of(value: SSAValue) -> FuncOp | None:
    op = value.owner if isinstance(value, OpResult) else None
    if isinstance(value, BlockArgument):
        op = value.owner.parent_op()
    while op is not None and not isinstance(op, FuncOp):
        op = op.parent_op()
    return op


def _encloses(block: Block, op: Operation) -> bool:
    here: Operation | None = op
    while here is not None and here.parent is not block:
        here = here.parent_op()
    return here is not None
