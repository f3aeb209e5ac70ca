"""gradir-split-complex: complex tensors become two real ones, their real and imaginary planes.

Carried values and results of regions, and columns of tapes, become two in place. In memory complex
numbers stay as NumPy has them: a function takes and returns `tensor<...x2xf32>` in the place of
`tensor<...xcomplex<f32>>`. Ops on complex numbers become ops on the planes (`dialects/planes/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.op_rules import decomposition
from gradir.dialects.base.shapes import has_open_types, is_complex_tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.pairs import PairRule
from gradir.dialects.grad.tape import TapeType
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.region_ops import is_carrier
from gradir.passes.cleanup.paired_values import PairedValues

# Programs without complex numbers, which pass through this stage too, do without the rules.
if TYPE_CHECKING:
    from gradir.dialects.planes.arithmetic import plane_type
    from gradir.dialects.planes.memory import interleaved, memory_type, planes_of
    from gradir.dialects.planes.rules import rule_of
else:
    plane_type = lazy_function("gradir.dialects.planes.arithmetic", "plane_type")
    interleaved = lazy_function("gradir.dialects.planes.memory", "interleaved")
    memory_type = lazy_function("gradir.dialects.planes.memory", "memory_type")
    planes_of = lazy_function("gradir.dialects.planes.memory", "planes_of")
    rule_of = lazy_function("gradir.dialects.planes.rules", "rule_of")


def split_complex(module: ModuleOp) -> None:
    """Needs: no row slices. Leaves: no complex value."""
    if any(map(_has_complex_values, module.walk())):
        _Splitting().run(module)


def split_block(block: Block) -> None:
    """Split the arguments and the ops of a block that stands alone."""
    _Splitting().block(block)


def _has_complex_values(op: Operation) -> bool:
    if isinstance(op, FuncOp):
        type_ = op.function_type
        return any(is_complex_tensor(t) for t in (*type_.inputs, *type_.outputs))
    return any(is_complex_tensor(r.type) for r in op.results)


class _Splitting(PairedValues):
    """One walk over a module, in which complex tensors become their planes."""

    NAMES: ClassVar[tuple[str, str]] = ("real", "imag")

    def parts(self, type_: Attribute) -> tuple[Attribute, Attribute] | None:
        if not is_complex_tensor(type_):
            return None
        plane = plane_type(type_)
        return plane, plane

    def changed(self, type_: Attribute) -> Attribute:
        if not isinstance(type_, TapeType):
            return type_
        columns = self.expanded(type_.columns.data)
        return type_ if columns == list(type_.columns.data) else type_.with_columns(columns)

    # Functions: one tensor in memory.

    def function(self, op: FuncOp) -> None:
        type_ = op.function_type
        inputs, outputs = (list(map(self._in_memory, t)) for t in (type_.inputs, type_.outputs))
        if (inputs, outputs) == (list(type_.inputs), list(type_.outputs)):
            return
        op.function_type = type(type_).from_lists(inputs, outputs)
        if not op.is_declaration:
            self._take_arguments(op.body.block)

    def _in_memory(self, type_: Attribute) -> Attribute:
        return memory_type(type_) if is_complex_tensor(type_) else self.changed(type_)

    def _take_arguments(self, block: Block) -> None:
        """The planes of the arguments at the beginning of a function."""
        first = block.first_op
        for argument in list(block.args):
            type_ = argument.type
            if self._in_memory(type_) == type_:
                continue
            ours = block.insert_arg(self._in_memory(type_), argument.index + 1)
            ours.name_hint = argument.name_hint
            ours.location = argument.location
            if is_complex_tensor(type_):
                location = None if first is None else first.location
                emitter = Emitter(block, location, before=first)
                self.pair(argument, *(v.ssa for v in planes_of(emitter.value(ours))))
            else:
                argument.replace_all_uses_with(ours)
            self.arguments.append((block, argument))

    def rule(self, op: Operation) -> PairRule | None:
        if isinstance(op, ReturnOp | CallOp):
            return None
        return rule_of(op)

    def op(self, op: Operation) -> None:
        if isinstance(op, ReturnOp | CallOp):
            self._at_boundary(op)
        elif self.rule(op) is None and not is_carrier(op) and self._take_apart(op):
            return
        else:
            super().op(op)

    def _at_boundary(self, op: ReturnOp | CallOp) -> None:
        """A return or a call of interleaved tensors."""
        emitter = Emitter(cast(Block, op.parent), op.location, before=op)
        operands = [self._interleaved(o, emitter) for o in op.operands]
        types = [self._in_memory(r.type) for r in op.results]
        made = type(op).create(
            operands=operands,
            result_types=types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        emitter.insert(made)
        for result, ours in zip(op.results, made.results, strict=True):
            if is_complex_tensor(result.type):
                self.pair(result, *(v.ssa for v in planes_of(emitter.value(ours))))
            else:
                ours.name_hint = result.name_hint
                result.replace_all_uses_with(ours)
        self.replaced.append(op)

    def _interleaved(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        """A value as functions take it."""
        found = self.pairs.get(value)
        if found is None:
            return value
        made = interleaved(emitter.value(found[0]), emitter.value(found[1]))
        return made.named(value.name_hint).ssa

    # Compound ops.

    def _take_apart(self, op: Operation) -> bool:
        """Replace a compound op by simpler ones, and these by ops on planes; False for others."""
        apart = decomposition(op)
        if apart is None or has_open_types(op):
            return False
        emitter = Emitter(cast(Block, op.parent), op.location, before=op, source=op.name)
        before = op.prev_op
        made = apart(*(emitter.value(o) for o in op.operands))
        values: Sequence[Value] = [made] if isinstance(made, Value) else made
        new: list[Operation] = []
        current = emitter.block.first_op if before is None else before.next_op
        while current is not None and current is not op:
            new.append(current)
            current = current.next_op
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value.ssa)
        erase(op)
        for each in new:
            if self.takes_part(each):
                self.op(each)
        return True

    def is_carrier(self, op: Operation) -> bool:
        return is_carrier(op)

    def refusal(self, op: Operation) -> PassError:
        return PassError(f"{op.name}: native code does not know this op on complex numbers", op)


@dataclass(frozen=True)
class SplitComplexPass(ModulePass):
    """Replace complex tensors by two real ones."""

    name = "gradir-split-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split_complex(op)
