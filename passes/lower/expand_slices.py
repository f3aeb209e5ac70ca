"""gradir-expand-slices: row slices become pairs of tensors, their indices and their values.

Arguments and results of functions and calls, carried values and results of regions: each becomes
two, in place. The ops on slices become ops on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.grad import AccumulateOp, ZeroOp
from gradir.dialects.grad.slices import (
    CoalesceOp,
    DensifyOp,
    Pair,
    SliceIndicesOp,
    SlicesOp,
    coalesced,
    concatenated,
    scattered,
)
from gradir.passes.analysis.arguments import TIES, tie
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.region_ops import is_carrier


def expand_slices(module: ModuleOp) -> None:
    """Needs: nothing. Leaves: no value of slices type."""
    work = _Expansion()
    for op in list(module.walk()):
        if isinstance(op, FuncOp):
            work.function(op)
        elif any(is_slices(v.type) for v in (*op.operands, *op.results)):
            work.op(op)
    work.finish()


class _Expansion:
    """One walk over a function; `pairs` maps slices values to their two tensors."""

    def __init__(self) -> None:
        self.pairs: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        self.replaced: list[Operation] = []
        self.arguments: list[tuple[Block, BlockArgument]] = []

    def function(self, op: FuncOp) -> None:
        type_ = op.function_type
        inputs, outputs = list(type_.inputs.data), list(type_.outputs.data)
        if not any(map(is_slices, (*inputs, *outputs))):
            return
        if op.arg_attrs is not None:
            attributes: list[DictionaryAttr] = []
            places = accumulate((1 + is_slices(t) for t in outputs), initial=0)
            results = dict(enumerate(places))
            for given, type_of in zip(op.arg_attrs, inputs, strict=True):
                moved = _moved(given, results)
                attributes += [moved, DictionaryAttr({})] if is_slices(type_of) else [moved]
            op.arg_attrs = ArrayAttr(attributes)
        op.function_type = type(type_).from_lists(expanded(inputs), expanded(outputs))
        if not op.is_declaration:
            self._block(op.body.block)

    def _block(self, block: Block) -> None:
        """Put two arguments in the place of each one of slices."""
        for argument in list(block.args):
            type_ = argument.type
            if not is_slices(type_):
                continue
            place = argument.index
            indices = block.insert_arg(type_.indices, place + 1)
            values = block.insert_arg(type_.values, place + 2)
            self._pair(argument, indices, values)
            self.arguments.append((block, argument))

    def _pair(self, value: SSAValue, indices: SSAValue, values: SSAValue) -> None:
        self.pairs[value] = indices, values
        for part, what in ((indices, "indices"), (values, "values")):
            if part.name_hint is None and value.name_hint is not None:
                part.name_hint = f"{value.name_hint}_{what}"

    def op(self, op: Operation) -> None:
        block = op.parent
        assert block is not None
        emitter = Emitter(block, op.location, before=op, source=op.name)
        if (expand := _EXPAND.get(type(op))) is not None:
            made = expand(op, emitter, [self._value(o, emitter) for o in op.operands])
            if isinstance(made, Value):
                made.named(op.results[0].name_hint)
                op.results[0].replace_all_uses_with(made.ssa)
            else:
                self._pair(op.results[0], made[0].ssa, made[1].ssa)
        elif isinstance(op, ReturnOp | CallOp) or is_carrier(op):
            self._carrier(op, emitter)
        else:
            raise PassError(f"{op.name}: native code does not know this op on row slices", op)
        self.replaced.append(op)

    def _value(self, value: SSAValue, emitter: Emitter) -> Value | Pair:
        if value not in self.pairs:
            return emitter.value(value)
        indices, values = self.pairs[value]
        return emitter.value(indices), emitter.value(values)

    def _carrier(self, op: Operation, emitter: Emitter) -> None:
        """The same op with two values for each one of slices."""
        operands: list[SSAValue] = []
        for operand in op.operands:
            operands += self.pairs.get(operand, (operand,))
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        made = type(op).create(
            operands=operands,
            result_types=expanded([r.type for r in op.results]),
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        emitter.insert(made)
        results = iter(made.results)
        for result in op.results:
            if is_slices(result.type):
                self._pair(result, next(results), next(results))
            else:
                (ours := next(results)).name_hint = result.name_hint
                result.replace_all_uses_with(ours)

    def finish(self) -> None:
        """Erase the replaced ops."""
        for op in reversed(self.replaced):
            erase(op)
        for block, argument in self.arguments:
            block.erase_arg(argument)


def _moved(given: DictionaryAttr, results: Mapping[int, int]) -> DictionaryAttr:
    """The attributes of an argument, with new places of results."""
    moved = dict(given.data)
    for name in TIES:
        if isinstance(place := given.data.get(name), IntegerAttr):
            result = cast(IntegerAttr[Any], place).value.data
            moved |= tie(name, results.get(result, result))
    return DictionaryAttr(moved)


def expanded(types: Sequence[Attribute]) -> list[Attribute]:
    """The types of values; for row slices the types of both parts."""
    found: list[Attribute] = []
    for type_ in types:
        found += [type_.indices, type_.values] if is_slices(type_) else [type_]
    return found


# Ops on slices; operands are values, or pairs for slices.

_Operands = Sequence[Any]


def _slices(op: SlicesOp, emitter: Emitter, operands: _Operands) -> Pair:
    return operands[0], operands[1]


def _densify(op: DensifyOp, emitter: Emitter, operands: _Operands) -> Value:
    zero = emitter.value(emitter.insert(ZeroOp.create(result_types=[op.y.type])).y)
    return scattered(zero, operands[0], op.name)


def _coalesce(op: CoalesceOp, emitter: Emitter, operands: _Operands) -> Pair:
    type_ = op.slices.type
    assert is_slices(type_)
    if type_.rows < 0:
        raise PassError(
            f"{op.name}: native code needs a static number of slices, got {type_}; write the count",
            op,
        )
    return coalesced(operands[0], shape_of(type_.dense)[0], op.is_mean)


def _slice_indices(op: SliceIndicesOp, emitter: Emitter, operands: _Operands) -> Value:
    return operands[0][0]


def _accumulate(op: AccumulateOp, emitter: Emitter, operands: _Operands) -> Value | Pair:
    pairs: list[Pair] = []
    total: Value | None = None
    for x in operands:
        if isinstance(x, Value):
            total = x if total is None else AccumulateOp.on(total, x)
        else:
            pairs.append(x)
        if pairs and total is not None:
            total = scattered(total, _one_pair(pairs), op.name)
            pairs.clear()
    return _one_pair(pairs) if total is None else total


def _one_pair(pairs: Sequence[Pair]) -> Pair:
    return pairs[0] if len(pairs) == 1 else concatenated(pairs)


_EXPAND: dict[type[Operation], Callable[[Any, Emitter, _Operands], Value | Pair]] = {
    SlicesOp: _slices,
    DensifyOp: _densify,
    CoalesceOp: _coalesce,
    SliceIndicesOp: _slice_indices,
    AccumulateOp: _accumulate,
}


@dataclass(frozen=True)
class ExpandSlicesPass(ModulePass):
    """Replace row slices by pairs of tensors: indices and values."""

    name = "gradir-expand-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_slices(op)
