"""gradir-scalarize: in loops, tensors of one element become numbers.

A nest of one iteration becomes arith and math on extracted elements, and a carried tensor of one
element a carried number: native code keeps them in registers, and a loop of numbers alone runs
without a kernel. A result of a larger nest stays in memory, and so do values carried from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from gradir.dialects.base.access import Access
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_float, shape_of
from gradir.dialects.grad.tape import TapePopOp, TapePushOp, TapeType, is_tape
from gradir.dialects.loopnest.loopnest import IndexOp, LoadOp, NestOp, ViewOp, scalar_type
from gradir.passes.analysis.edits import erase, insert_before
from gradir.passes.analysis.liveness import flow_blocks, is_control_flow
from gradir.passes.analysis.region_ops import is_loop, rebuilt, region_flow, terminator
from gradir.passes.analysis.regions import defining_block
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.lower.number_nests import is_number


def scalarize(module: ModuleOp) -> None:
    """Needs: loop nests, not fused. Leaves: fewer of them in loops."""
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            for block in function.body.blocks:
                _scalarize_block(block)
            _retype_function(function)


def _retype_function(function: FuncOp) -> None:
    """Update a function's type for its tapes; any of several blocks may return."""
    first = function.body.first_block
    returns = (op for block in function.body.blocks if isinstance(op := block.last_op, ReturnOp))
    last = next(returns, None)
    if first is not None and last is not None:
        inputs, outputs = ([v.type for v in values] for values in (first.args, last.operands))
        function.function_type = FunctionType.from_lists(inputs, outputs)


def _scalarize_block(block: Block) -> None:
    blocks = flow_blocks(block)
    scalarize_tapes(blocks)
    loops = [op for b in blocks for op in b.ops if is_loop(op)]
    if not loops:
        return
    numbers = _Numbers(blocks, set(loops))
    for inner in blocks:
        for op in list(inner.ops):
            if isinstance(op, NestOp) and not numbers.found.isdisjoint(op.results):
                _replace_nest(op)
            elif isinstance(op, ViewOp) and op.result in numbers.found:
                _replace_view(op)
    for inner in blocks:
        for op in list(inner.ops):
            if is_control_flow(op):
                _retype(op, numbers.found)
    for inner in flow_blocks(block):
        _fold_extracts(inner)
        remove_dead_ops(inner)


def scalarize_tapes(blocks: Sequence[Block]) -> None:
    """Change tape columns from tensors of one element to numbers."""
    for block in blocks:
        for argument in block.args:
            if is_tape(argument.type):
                Rewriter.replace_value_with_new_type(argument, _narrow(argument.type))
        for op in list(block.ops):
            for value in op.results:
                if is_tape(value.type):
                    Rewriter.replace_value_with_new_type(value, _narrow(value.type))
            if isinstance(op, TapePushOp):
                _retype_operands(op, [k for k, v in enumerate(op.operands) if is_single(v.type)])
            elif isinstance(op, TapePopOp):
                places = [k for k, r in enumerate(op.results) if is_single(r.type)]
                _retype_results(op, places)


def _narrow(tape: Attribute) -> TapeType:
    assert isinstance(tape, TapeType)
    return tape.with_columns([element_of(c) if is_single(c) else c for c in tape.columns])


def is_single(type_: Attribute) -> bool:
    """Whether a type is a tensor of one element that scalar code can hold."""
    return is_number(type_) and scalar_type(element_of(type_)) == element_of(type_)


class _Numbers:
    """The tensors of one element in loops that can be numbers, carried ones included.

    First all, then without those whose sources in the loop are not numbers: a fixed point.
    """

    def __init__(self, blocks: Sequence[Block], loops: set[Operation]):
        self.loops = loops
        self.found: set[SSAValue] = set()
        sources: dict[SSAValue, list[SSAValue]] = {}
        for block in blocks:
            inside = _is_inside(block, loops)
            for op in block.ops:
                if is_control_flow(op):
                    _flow_sources(op, inside, sources)
                elif inside:
                    for result in op.results:
                        if is_single(result.type):
                            sources[result] = _op_sources(op, result)
        self.found = set(sources)
        self._narrow(sources)

    def _narrow(self, sources: dict[SSAValue, list[SSAValue]]) -> None:
        readers: dict[SSAValue, list[SSAValue]] = {}
        for value, needed in sources.items():
            for source in needed:
                readers.setdefault(source, []).append(value)
        pending = [v for v, needed in sources.items() if not all(map(self._may_be, needed))]
        while pending:
            value = pending.pop()
            if value in self.found:
                self.found.remove(value)
                pending += readers.get(value, [])

    def _may_be(self, source: SSAValue) -> bool:
        """Whether a source is still a candidate, or from outside of all loops: extracted there."""
        if source in self.found:
            return True
        block = defining_block(source)
        return is_single(source.type) and block is not None and not _is_inside(block, self.loops)


def _is_inside(block: Block, loops: set[Operation]) -> bool:
    place = block.parent_op()
    while place is not None and is_control_flow(place):
        if place in loops:
            return True
        place = place.parent_op()
    return False


def _op_sources(op: Operation, result: OpResult) -> list[SSAValue]:
    """The tensors of one element that must be numbers for a result to be one."""
    if isinstance(op, NestOp) and _is_scalar_nest(op):
        return [v for v in op.inputs if is_single(v.type)]
    if isinstance(op, ViewOp):
        return [op.operand]
    if isinstance(op, tensor.FromElementsOp | TapePopOp) or _constant_of(result) is not None:
        return []
    return [_NEVER]


_NEVER: SSAValue = arith.ConstantOp(IntegerAttr(0, i64)).result


def _flow_sources(op: Operation, inside: bool, sources: dict[SSAValue, list[SSAValue]]) -> None:
    """The entries of slots of one element, and the values that share a slot's type: all of a slot
    become numbers, or none."""
    if not (inside or is_loop(op)):
        return
    flow = region_flow(op)
    assert flow is not None
    for slot in flow.slots:
        if is_single(slot.values[0].type):
            taken = [e.value for e in slot.entries if e.reader is not op]
            for value in slot.values:
                sources[value] = [*taken, *(v for v in slot.values if v is not value)]


# Nests.


def _is_scalar_nest(op: NestOp) -> bool:
    """Whether a nest has one iteration, and outputs of its body's types."""
    if any(n != 1 for n in op.extents) or any(pad is not None for pad in op.input_pads):
        return False
    if op.inits or not all(is_single(r.type) for r in op.results):
        return False
    if any(scalar_type(element_of(v.type)) != element_of(v.type) for v in op.inputs):
        return False
    symbols = any(r.symbol is not None for a in op.output_accesses for r in a.rows)
    types = [element_of(r.type) for r in op.results]
    return not symbols and [v.type for v in op.yielded] == types


def _replace_nest(op: NestOp) -> None:
    mapping: dict[SSAValue, SSAValue] = {}
    wholes: dict[SSAValue, SSAValue] = {}
    arguments = op.body.block.args
    for argument, value, access in zip(arguments, op.inputs, op.input_accesses, strict=True):
        if access is None:
            wholes[argument] = value
        else:
            mapping[argument] = _extract(value, _first_indices(access), op)
    for inner in op.body.block.ops:
        if inner.next_op is not None:
            _copy_body_op(inner, op, mapping, wholes)
    for result, value in zip(op.results, op.yielded, strict=True):
        _wrap(mapping[value], result, op)
    erase(op)


def _copy_body_op(
    inner: Operation,
    op: NestOp,
    mapping: dict[SSAValue, SSAValue],
    wholes: dict[SSAValue, SSAValue],
) -> None:
    if isinstance(inner, IndexOp):
        zero = arith.ConstantOp(IntegerAttr(0, i64))
        mapping[inner.result] = _insert(zero, op).results[0]
    elif isinstance(inner, LoadOp):
        indices = [
            _insert(arith.IndexCastOp(mapping[i], IndexType()), op).results[0]
            for i in inner.indices
        ]
        mapping[inner.result] = _extract(wholes[inner.source], indices, op)
    else:
        copy = _insert(inner.clone(mapping), op)
        for old, new in zip(inner.results, copy.results, strict=True):
            mapping[old] = new


def _first_indices(access: Access) -> list[int]:
    """The subscripts of the only iteration."""
    return [row.constant for row in access.rows]


def _replace_view(op: ViewOp) -> None:
    value = _extract(op.operand, [0] * len(shape_of(op.operand.type)), op)
    _wrap(value, op.result, op)
    erase(op)


def _extract(value: SSAValue, indices: Sequence[int | SSAValue], before: Operation) -> SSAValue:
    places = [
        _insert(arith.ConstantOp(IntegerAttr(i, IndexType())), before).results[0]
        if isinstance(i, int)
        else i
        for i in indices
    ]
    op = tensor.ExtractOp(value, places, element_of(value.type))
    return _insert(op, before).results[0]


def _insert(op: Operation, before: Operation) -> Operation:
    insert_before(op, before)
    return op


# Carried values.


def _retype(op: Operation, found: set[SSAValue]) -> None:
    """Change carried tensors and results of a region op to numbers, where possible."""
    flow = region_flow(op)
    assert flow is not None
    chosen = [slot for slot in flow.slots if slot.values[0] in found]
    for reader in (op, *map(terminator, flow.blocks)):
        entries = (e for slot in chosen for e in slot.entries if e.reader is reader)
        _retype_operands(reader, [e.index for e in entries])
    values = {value for slot in chosen for value in slot.values}
    for block in flow.blocks:
        _retype_arguments(block, [k for k, a in enumerate(block.args) if a in values])
    _retype_results(op, [k for k, r in enumerate(op.results) if r in values])


def _retype_operands(op: Operation, places: Sequence[int]) -> None:
    if not places:
        return
    operands = list(op.operands)
    for k in places:
        operands[k] = _extract(operands[k], [0] * len(shape_of(operands[k].type)), op)
    op.operands = operands


def _retype_arguments(block: Block, places: Sequence[int]) -> None:
    for k in places:
        old = block.args[k]
        new = block.insert_arg(element_of(old.type), k)
        new.name_hint = old.name_hint
        _wrap(new, old, block.first_op)
        block.erase_arg(old)


def _retype_results(op: Operation, places: Sequence[int]) -> None:
    if not places:
        return
    types = [element_of(r.type) if k in places else r.type for k, r in enumerate(op.results)]
    made = rebuilt(op, types)
    for k, (old, new) in enumerate(zip(op.results, made.results, strict=True)):
        new.name_hint = old.name_hint
        if k in places:
            _wrap(new, old, op)
        else:
            old.replace_all_uses_with(new)
    erase(op)


def _wrap(number: SSAValue, value: SSAValue, before: Operation | None) -> None:
    """Replace a tensor by a tensor of a number."""
    assert before is not None
    made = tensor.FromElementsOp(number, result_type=value.type)
    _insert(made, before)
    value.replace_all_uses_with(made.result)


def _fold_extracts(block: Block) -> None:
    """Replace extracts from tensors of numbers by the numbers."""
    for op in list(block.ops):
        if not isinstance(op, tensor.ExtractOp):
            continue
        source = op.tensor.owner
        if isinstance(source, tensor.FromElementsOp) and len(source.elements) == 1:
            op.result.replace_all_uses_with(source.elements[0])
        elif (number := _constant_of(op.tensor)) is not None:
            made = _insert(arith.ConstantOp(number), op)
            op.result.replace_all_uses_with(made.results[0])


def _constant_of(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """The number in a constant tensor of one element; 0 for tensor.empty."""
    op = value.owner
    if not is_single(value.type):
        return None
    if isinstance(op, tensor.EmptyOp):
        element = element_of(value.type)
        if is_float(element):
            return FloatAttr(0.0, element)
        return IntegerAttr(0, cast(IntegerType, element))
    if not isinstance(op, TensorOp) or not op.has_trait(ConstantLike):
        return None
    dense = op.attributes["value"]
    number = dense.get_attrs()[0] if isinstance(dense, DenseIntOrFPElementsAttr) else None
    return number if isinstance(number, IntegerAttr | FloatAttr) else None


@dataclass(frozen=True)
class ScalarizePass(ModulePass):
    """Turn tensors of one element in loops into numbers."""

    name = "gradir-scalarize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scalarize(op)
