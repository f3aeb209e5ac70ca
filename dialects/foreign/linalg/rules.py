"""linalg as ops of `array` and `nn`: each op's decomposition, which is also its derivative.

Importing this registers them; `gradir.dialects.foreign.linalg` is imported with the dialect, when
text has an op of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation, NamedOperation
from xdsl.ir import Attribute, Block, Operation
from xdsl.ir.affine import AffineMap

from gradir.dialects.array.cumulative import CumulativeProdOp, CumulativeSumOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import register_decomposition
from gradir.dialects.base.value import Value
from gradir.dialects.foreign.linalg import named
from gradir.dialects.foreign.linalg.bodies import BodyOnTensors
from gradir.dialects.foreign.linalg.pools import pooled
from gradir.dialects.foreign.linalg.products import product_of
from gradir.dialects.foreign.linalg.structured import (
    COMBINERS,
    Structured,
    permuted,
    starts_from,
)
from gradir.dialects.foreign.linalg.text import RunningOp

Results = Sequence[Value]


def _require_tensors(op: Operation) -> None:
    """PassError for an op on memrefs."""
    for value in op.operands:
        if isinstance(value.type, Attribute) and value.type.name == "memref":
            raise PassError(
                f"{op.name}: expected tensors, got {value.type}; take the program before "
                "bufferization",
                op,
            )


def decomposed(op: Operation, space: Structured) -> Results:
    """The results of an iteration space: a product, windows, or its body on tensors."""
    _require_tensors(op)
    reduction = space.only_reduction()
    if reduction is not None:
        for special in (product_of, pooled):
            found = special(space, reduction)
            if found is not None:
                return [space.joined(0, reduction, found)]
    return space.values()


def _require_known_attributes(op: Operation) -> None:
    """PassError for an attribute of a named op that may change its meaning, such as `cast`.

    Those of other dialects have a dot in their names.
    """
    unknown = sorted(name for name in op.attributes if "." not in name)
    if isinstance(op, NamedOperation) and unknown:
        raise PassError(f"{op.name}: attribute {unknown[0]} is not known", op)


def _structured(op: LinalgStructuredOperation, *operands: Value) -> Results:
    _require_known_attributes(op)
    space = Structured(
        op,
        [each.data for each in op.get_indexing_maps()],
        [each.data.value for each in op.get_iterator_types()],
        _body(op),
        operands,
        len(op.inputs),
    )
    return decomposed(op, space)


def _body(op: LinalgStructuredOperation) -> Block:
    if isinstance(op, linalg.PoolingNchwMaxOp):  # xDSL's body does not read the output
        kind = named.op_class("pooling_nchw_max")
        return kind.get_hidden_region(op.inputs, op.outputs).block
    return op.body.block


def _fill(op: linalg.FillOp, *operands: Value) -> Results:
    _require_tensors(op)
    [type_] = op.res.types
    number = op.inputs[0]
    if isinstance(number.type, TensorType):
        return [BroadcastToOp.on(operands[0], type=type_)]
    return [BodyOnTensors(operands[1].emitter, type_.get_shape()).value(number)]


def _transpose(op: linalg.TransposeOp, *operands: Value) -> Results:
    _require_tensors(op)
    return [permuted(operands[0], list(op.permutation.get_values()))]


def _broadcast(op: linalg.BroadcastOp, *operands: Value) -> Results:
    _require_tensors(op)
    x, out = operands
    new = set(op.dimensions.get_values())
    shape = [1 if d in new else n for d, n in enumerate(out.shape)]
    return [BroadcastToOp.on(reshaped(x, shape), type=out.type)]


def _reduce(op: linalg.ReduceOp, *operands: Value) -> Results:
    x, _ = operands
    gone = set(op.dimensions.get_values())
    rank = len(x.shape)
    kept = [d for d in range(rank) if d not in gone]
    identity = AffineMap.identity(rank)
    maps = [identity, AffineMap(rank, 0, tuple(identity.results[d] for d in kept))]
    kinds = ["reduction" if d in gone else "parallel" for d in range(rank)]
    space = Structured(op, maps, kinds, op.region.block, operands, 1)
    return decomposed(op, space)


_RUNNING: dict[type[Operation], type[TensorOp]] = {
    arith.AddfOp: CumulativeSumOp,
    arith.AddiOp: CumulativeSumOp,
    arith.MulfOp: CumulativeProdOp,
    arith.MuliOp: CumulativeProdOp,
}


def _scan(op: RunningOp, *operands: Value) -> Results:
    """Running sums or products, and the last of them.

    torch-mlir's loop stores the last one from its second iteration on.
    """
    _require_tensors(op)
    x, _, start = operands
    join = _join_of(op.body.block)
    kind = None if join is None else _RUNNING.get(type(join))
    if join is None or kind is None or not starts_from(start.ssa, COMBINERS[type(join)].neutral):
        raise PassError(
            "tm_tensor.scan: expected a sum or a product that starts from its neutral number", op
        )
    dim = op.dimension.value.data
    running = kind.on(x, axis=dim, exclusive=not op.inclusive.value.data)
    count = x.shape[dim]
    if count < 2:
        return [running, start]
    first = [count - 1 if d == dim else 0 for d in range(len(x.shape))]
    last = SliceOp.on(running, start=first, stop=list(x.shape))
    return [running, reshaped(last, start.shape)]


def _join_of(block: Block) -> Operation | None:
    """The one op of a body that gives `op(first argument, second argument)`, in either order."""
    join, end = block.first_op, block.last_op
    if join is None or end is None or join.next_op is not end:
        return None
    is_of_both = len(join.operands) == 2 and set(join.operands) == set(block.args)
    return join if is_of_both and tuple(end.operands) == tuple(join.results) else None


_OWN: dict[type[Operation], Callable[..., Any]] = {
    linalg.FillOp: _fill,
    linalg.TransposeOp: _transpose,
    linalg.BroadcastOp: _broadcast,
    linalg.ReduceOp: _reduce,
    RunningOp: _scan,
}


def register(classes: Sequence[type[Operation]]) -> None:
    """Give the dialect's ops their decompositions."""
    for op_class in classes:
        if op_class in _OWN:
            register_decomposition(op_class, _OWN[op_class])
        elif issubclass(op_class, LinalgStructuredOperation):
            register_decomposition(op_class, _structured)
