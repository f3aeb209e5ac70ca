"""The interpreter for what stages make of programs, up to buffers.

It also knows the ops of loop nests that no program may hold for the interpreter: they come from
gradir's own stages, which write no index out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from gradir.dialects.loopnest.body_ops import CheckIndexOp
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.dialects.loopnest.special import RemainderOp, SpecialOp
from gradir.errors import IndexOutOfRange
from gradir.interpreter.contractions import contract_values
from gradir.interpreter.interpreter import Interpreter, cast_to
from gradir.interpreter.nests import body_value, checked_index
from gradir.interpreter.programs import forall_values
from gradir.runtime.arrays import widened

Array = np.ndarray[Any, np.dtype[Any]]


_OPS = (ContractOp, ForallOp, CheckIndexOp, CheckOffsetOp, SpecialOp, RemainderOp)


class LoweredInterpreter(Interpreter):
    """Runs functions of tensors and loop nests, contractions and scalar programs among them."""

    def results(self, op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
        values = _lowered_values(op, [widened(o) for o in operands] if _knows(op) else [])
        if values is None:
            return super().results(op, operands)
        return [cast_to(v, r.type) for v, r in zip(values, op.results, strict=True)]


def _knows(op: Operation) -> bool:
    return isinstance(op, _OPS)


def _lowered_values(op: Operation, operands: Sequence[Array]) -> Sequence[Any] | None:
    """The results of an op of loop nests; None for other ops."""
    match op:
        case ContractOp(outputs=()):
            return contract_values(op, operands)
        case ForallOp(outputs=()):
            return forall_values(op, operands)
        case CheckIndexOp():
            return [checked_index(op, operands[0])]
        case CheckOffsetOp():
            return [_checked_offset(op, operands[0])]
        case SpecialOp() | RemainderOp():
            return [body_value(op, operands)]
        case _:
            return None


def _checked_offset(op: CheckOffsetOp, offset: Array) -> Array:
    bound, message = op.bound.value.data, op.message.data
    if not 0 <= int(offset) < bound:
        range_ = f": index {int(offset)} is out of range for a size of {bound}"
        raise IndexOutOfRange(message if op.plain is not None else message + range_)
    return offset
