"""Values of one type as two values each, in place: the walk of gradir-expand-slices and of
gradir-split-complex.

Block arguments, operands, carried values and results of regions become two where their type has
parts. The ops that compute with such values are replaced by the rules of the pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.pairs import Pair, PairRule
from gradir.passes.analysis.edits import erase


class PairedValues(ABC):
    """One walk over a module; `pairs` maps values to their two parts."""

    NAMES: ClassVar[tuple[str, str]]

    def __init__(self) -> None:
        self.pairs: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        self.replaced: list[Operation] = []
        self.arguments: list[tuple[Block, BlockArgument]] = []

    @abstractmethod
    def parts(self, type_: Attribute) -> tuple[Attribute, Attribute] | None:
        """The types of both parts; None for a type that stays one."""

    def changed(self, type_: Attribute) -> Attribute:
        """The type of a value that stays one."""
        return type_

    @abstractmethod
    def function(self, op: FuncOp) -> None:
        """Change a function's type, and its arguments."""

    @abstractmethod
    def rule(self, op: Operation) -> PairRule | None:
        """The rule of an op on values with parts; None where there is none."""

    @abstractmethod
    def is_carrier(self, op: Operation) -> bool:
        """Whether an op hands values on as they are, also into regions."""

    @abstractmethod
    def refusal(self, op: Operation) -> PassError:
        """The error for an op without a rule."""

    def run(self, module: Operation) -> None:
        """Walk over all ops of a module."""
        for op in list(module.walk()):
            if isinstance(op, FuncOp):
                self.function(op)
            elif self.takes_part(op):
                self.op(op)
        self.finish()

    def block(self, block: Block) -> None:
        """Change the arguments and the ops of a block that stands alone."""
        self.split_arguments(block)
        for op in list(block.ops):
            if self.takes_part(op):
                self.op(op)
        self.finish()

    def finish(self) -> None:
        """Erase what was replaced."""
        for op in reversed(self.replaced):
            erase(op)
        for block, argument in self.arguments:
            block.erase_arg(argument)

    def takes_part(self, op: Operation) -> bool:
        """Whether a value of an op has parts, or another type."""
        return any(map(self._is_other, (v.type for v in (*op.operands, *op.results))))

    def _is_other(self, type_: Attribute) -> bool:
        return self.parts(type_) is not None or self.changed(type_) != type_

    def expanded(self, types: Sequence[Attribute]) -> list[Attribute]:
        """The types of values, both for those with parts."""
        found: list[Attribute] = []
        for type_ in types:
            found += self.parts(type_) or [self.changed(type_)]
        return found

    def split_arguments(self, block: Block) -> None:
        """Put two arguments in the place of each one with parts."""
        for argument in list(block.args):
            if not self._is_other(argument.type):
                continue
            types = self.expanded([argument.type])
            ours = [block.insert_arg(t, argument.index + 1 + k) for k, t in enumerate(types)]
            self._stand_for(argument, ours)
            self.arguments.append((block, argument))

    def _stand_for(self, value: SSAValue, ours: Sequence[SSAValue]) -> None:
        """Two values, or one, in the place of a value."""
        if len(ours) == 2:
            self.pair(value, ours[0], ours[1])
            return
        if ours[0].name_hint is None:
            ours[0].name_hint = value.name_hint
        value.replace_all_uses_with(ours[0])

    def pair(self, value: SSAValue, first: SSAValue, second: SSAValue) -> None:
        """Note the parts of a value."""
        self.pairs[value] = first, second
        for part, what in zip((first, second), self.NAMES, strict=True):
            if part.name_hint is None and value.name_hint is not None:
                part.name_hint = f"{value.name_hint}_{what}"

    def op(self, op: Operation) -> None:
        """Replace an op."""
        block = op.parent
        assert block is not None
        emitter = Emitter(block, op.location, before=op, source=op.name)
        if (rule := self.rule(op)) is not None:
            made = rule(op, emitter, [self.value(o, emitter) for o in op.operands])
            results = made if isinstance(made, list) else [made]
            for result, ours in zip(op.results, results, strict=True):
                self._set(result, ours)
        elif self.is_carrier(op):
            self._carrier(op, emitter)
        else:
            raise self.refusal(op)
        self.replaced.append(op)

    def _set(self, result: SSAValue, ours: Value | Pair) -> None:
        if isinstance(ours, Value):
            ours.named(result.name_hint)
            result.replace_all_uses_with(ours.ssa)
        else:
            self.pair(result, ours[0].ssa, ours[1].ssa)

    def value(self, value: SSAValue, emitter: Emitter) -> Value | Pair:
        """A value to emit at, or its parts."""
        if value not in self.pairs:
            return emitter.value(value)
        first, second = self.pairs[value]
        return emitter.value(first), emitter.value(second)

    def flat(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Values, both parts of those that have them."""
        found: list[SSAValue] = []
        for value in values:
            found += self.pairs.get(value, (value,))
        return found

    def _carrier(self, op: Operation, emitter: Emitter) -> None:
        """The same op with two values for each one with parts."""
        for region in op.regions:
            for block in region.blocks:
                self.split_arguments(block)
        made = type(op).create(
            operands=self.flat(op.operands),
            result_types=self.expanded([r.type for r in op.results]),
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        emitter.insert(made)
        results = iter(made.results)
        for result in op.results:
            count = 1 if self.parts(result.type) is None else 2
            self._stand_for(result, [next(results) for _ in range(count)])
