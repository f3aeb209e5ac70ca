"""gradir-expand-slices: row slices become pairs of tensors, their indices and their values.

Arguments and results of functions and calls, carried values and results of regions: each becomes
two, in place. The ops on slices become ops on tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.pairs import Operands, Pair, PairRule
from gradir.dialects.grad.grad import AccumulateOp, ZeroOp
from gradir.dialects.grad.slices import (
    CoalesceOp,
    DensifyOp,
    SliceIndicesOp,
    SlicesOp,
    coalesced,
    concatenated,
    scattered,
)
from gradir.passes.analysis.arguments import TIES, tie
from gradir.passes.analysis.region_ops import is_carrier
from gradir.passes.cleanup.paired_values import PairedValues


def expand_slices(module: ModuleOp) -> None:
    """Needs: nothing. Leaves: no value of slices type."""
    _Expansion().run(module)


class _Expansion(PairedValues):
    """One walk over a module, in which slices become their indices and their values."""

    NAMES: ClassVar[tuple[str, str]] = ("indices", "values")

    def parts(self, type_: Attribute) -> tuple[Attribute, Attribute] | None:
        return (type_.indices, type_.values) if is_slices(type_) else None

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
        op.function_type = type(type_).from_lists(self.expanded(inputs), self.expanded(outputs))
        if not op.is_declaration:
            self.split_arguments(op.body.block)

    def rule(self, op: Operation) -> PairRule | None:
        return _EXPAND.get(type(op))

    def is_carrier(self, op: Operation) -> bool:
        return isinstance(op, ReturnOp | CallOp) or is_carrier(op)

    def refusal(self, op: Operation) -> PassError:
        return PassError(f"{op.name}: native code does not know this op on row slices", op)


def _moved(given: DictionaryAttr, results: Mapping[int, int]) -> DictionaryAttr:
    """The attributes of an argument, with new places of results."""
    moved = dict(given.data)
    for name in TIES:
        if isinstance(place := given.data.get(name), IntegerAttr):
            result = cast(IntegerAttr[Any], place).value.data
            moved |= tie(name, results.get(result, result))
    return DictionaryAttr(moved)


# Ops on slices; operands are values, or pairs for slices.


def _slices(op: SlicesOp, emitter: Emitter, operands: Operands) -> Pair:
    return operands[0], operands[1]


def _densify(op: DensifyOp, emitter: Emitter, operands: Operands) -> Value:
    zero = emitter.value(emitter.insert(ZeroOp.create(result_types=[op.y.type])).y)
    return scattered(zero, operands[0], op.name)


def _coalesce(op: CoalesceOp, emitter: Emitter, operands: Operands) -> Pair:
    type_ = op.slices.type
    assert is_slices(type_)
    if type_.rows < 0:
        raise PassError(
            f"{op.name}: native code needs a static number of slices, got {type_}; write the count",
            op,
        )
    return coalesced(operands[0], shape_of(type_.dense)[0], op.is_mean)


def _slice_indices(op: SliceIndicesOp, emitter: Emitter, operands: Operands) -> Value:
    return operands[0][0]


def _accumulate(op: AccumulateOp, emitter: Emitter, operands: Operands) -> Value | Pair:
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


_EXPAND: dict[type[Operation], PairRule] = {
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
