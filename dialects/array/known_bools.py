"""array: what is known of bools while a derivative is made: true everywhere, or on each line.

Masks of cotangents that are true everywhere need no gate. In `-log_probs[arange(n), labels]` each
row has a cotangent, whatever the labels are, and so has each row of a causal mask.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any, TypeGuard

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.array.comparison import AstypeOp, GreaterOp, LogicalAndOp, LogicalOrOp
from gradir.dialects.array.creation import ConstantOp, CreationOp, FullOp
from gradir.dialects.array.indexing import IndexingOp
from gradir.dialects.array.movement import BroadcastToOp, FlipOp, MovementOp
from gradir.dialects.array.slicing import PadOp, SliceOp
from gradir.dialects.array.statistics import AnyOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, is_static, is_tensor, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import ElementwiseOp

# Deeper trees of ops, and constants of more ops or elements, are not looked into.
_DEEPEST = 8
_MOST_OPS = 100
_MOST_ELEMENTS = 1 << 20
_MOST_WRITTEN = 1 << 12
"""The elements of a constant that is made."""
_VARIES = "gradir varies"
"""The attribute of a value that was found to be no constant."""


def are_true(bools: SSAValue, deep: int = _DEEPEST) -> bool:
    """Whether all bools of a tensor are true, as far as the ops that make them tell."""
    op = bools.owner
    if not isinstance(op, TensorOp) or not deep:
        return False
    if isinstance(op, FullOp):
        return op.number != 0
    # other ops that move elements may put 0 beside them
    if op.IS_VIEW or isinstance(op, FlipOp | SliceOp):
        return are_true(op.operands[0], deep - 1)
    if isinstance(op, LogicalOrOp | LogicalAndOp):
        known = (are_true(each, deep - 1) for each in op.operands)
        if isinstance(op, LogicalAndOp):
            return all(known)
        return any(known) or _cover_each_other(op, deep)
    if isinstance(op, AnyOp):
        return is_each_line_true(op.operands[0], op.axes)
    constant = constant_of(bools)
    return constant is not None and bool(constant.all())


def _cover_each_other(either: LogicalOrOp, deep: int) -> bool:
    """Whether bools that are true in parts, side by side along an axis, are true everywhere."""
    shape, spans = shape_of(either.y.type), dict[int, list[tuple[int, int]]]()
    pending: list[SSAValue] = [either.y]
    seen = set[SSAValue]()  # parts are shared, and ways to them many
    while pending:
        bools = pending.pop()
        if bools in seen:
            continue
        seen.add(bools)
        match bools.owner:
            case LogicalOrOp(operands=[x, y]):
                pending += [x, y]
            case PadOp() as pad if are_true(pad.x, deep - 1):
                for box in pad.boxes():
                    parts = [(d, *span) for d, (*span, n) in enumerate(box) if span != [0, n]]
                    if len(parts) == 1:
                        axis, begin, stop = parts[0]
                        spans.setdefault(axis, []).append((begin, stop))
            case _:
                pass
    return any(_fill(sorted(each), shape[axis]) for axis, each in spans.items())


def _fill(spans: Sequence[tuple[int, int]], extent: int) -> bool:
    """Whether sorted spans, from a place to before another, cover an axis."""
    end = 0
    for begin, stop in spans:
        end = max(end, stop) if begin <= end else end
    return end >= extent


def is_each_line_true(bools: SSAValue, axes: Collection[int]) -> bool:
    """Whether one bool is true on each line along axes, as far as the ops that make them tell."""
    if not is_static(bools.type) or 0 in shape_of(bools.type):
        return False
    if are_true(bools) or _is_each_line_counted(bools, axes):
        return True
    constant = constant_of(bools)
    return constant is not None and bool(constant.any(axis=tuple(axes)).all())


def known_lines(bools: Value, axes: Collection[int]) -> Value | None:
    """Whether one is true along axes, which stay with extent 1, as a constant; None if unknown."""
    constant = constant_of(bools.ssa)
    if constant is not None:
        lines = constant.any(axis=tuple(axes), keepdims=True)
    elif is_each_line_true(bools.ssa, axes):
        lines = np.ones([1 if d in axes else n for d, n in enumerate(bools.shape)], bool)
    else:
        return None
    return _constant_bools(lines, bools.emitter)


def _constant_bools(array: Any, emitter: Emitter) -> Value | None:
    """The constant, whose equal parts along an axis are written once; None where it is long."""
    part, type_ = array, tensor(array.shape, i1)
    for axis in range(array.ndim):
        first = part.take([0], axis)
        part = first if (part == first).all() else part
    if part.size == 1:
        return emitter.value(emitter.insert(FullOp.fill(part.item(), type_)).y)
    if part.size > _MOST_WRITTEN:
        return None
    op = emitter.insert(ConstantOp.of_array(part, i1))
    return BroadcastToOp.on(emitter.value(op.y), type=type_)


def _is_each_line_counted(bools: SSAValue, axes: Collection[int]) -> bool:
    """Whether they are the places at which an op adds something, and it adds to each line."""
    match bools.owner:
        case GreaterOp(operands=[counts, zeros]) if isinstance(adding := counts.owner, IndexingOp):
            numbers = adding.operands[adding.ADDED] if adding.ADDED is not None else None
            is_whole = numbers is not None and _are_ones(numbers)
            return is_whole and _is_zero(zeros) and adding.adds_to_each_line(axes)
        case _:
            return False


def _are_ones(numbers: SSAValue) -> bool:
    """Whether they are bools as numbers, all true."""
    op = numbers.owner
    return isinstance(op, AstypeOp) and element_of(op.x.type) == i1 and are_true(op.x)


def _is_zero(numbers: SSAValue) -> bool:
    return isinstance(numbers.owner, FullOp) and numbers.owner.whole == 0


def constant_of(value: SSAValue) -> Any:
    """The NumPy array that a tensor always is; None where that is unknown, it is large or empty."""
    ops = _constant_ops(value)
    if ops is None:
        return None
    found: dict[SSAValue, Any] = {}
    with np.errstate(all="ignore"):
        for op in ops:
            found[op.results[0]] = np.asarray(op.numpy(*(found[each] for each in op.operands)))
    return found[value]


def _constant_ops(value: SSAValue) -> list[TensorOp] | None:
    """The ops that make a constant, in an order in which they can run; None if it is none.

    A value that is none is marked: the next search comes to it from its uses.
    """
    stack: list[SSAValue | TensorOp] = [value]
    order, seen = list[TensorOp](), set[SSAValue]()
    while stack:
        item = stack.pop()
        if isinstance(item, TensorOp):
            order.append(item)
        elif item not in seen:
            op = item.owner
            if _VARIES in vars(item) or not (_is_read_through(op) and _is_small(item)):
                vars(item)[_VARIES] = vars(value)[_VARIES] = True
                return None
            if len(seen) == _MOST_OPS:
                return None
            seen.add(item)
            stack += [op, *op.operands]
    return order


def _is_small(value: SSAValue) -> bool:
    type_ = value.type
    return is_tensor(type_) and is_static(type_) and 0 < prod(shape_of(type_)) <= _MOST_ELEMENTS


def _is_read_through(op: Operation | Block) -> TypeGuard[TensorOp]:
    """Whether an op's value is quickly found."""
    if not isinstance(op, TensorOp):
        return False
    return isinstance(op, ConstantOp | CreationOp | ElementwiseOp | MovementOp) or op.name in _MORE


_MORE = frozenset({"array.tril", "array.triu", "array.stack", "array.concat", "array.any"})
