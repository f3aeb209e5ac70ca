"""The known ops and values of programs, for native code and the interpreter.

Both check here first, so that they refuse the same programs with the same messages, dead code
included. Contractions, foralls and buffers run natively only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.diagnostics import LocatedError, op_name, value_name
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import decomposition, has_plugin_rule, meaning
from gradir.dialects.base.shapes import (
    as_integer_type,
    element_of,
    is_complex_tensor,
    is_scalar,
)
from gradir.dialects.base.slice_type import SlicesType
from gradir.dialects.foreign.elements import numbers_class
from gradir.dialects.grad.tape import TapeType
from gradir.interpreter.control_flow import REGION_OPS, TENSOR_OPS
from gradir.interpreter.numbers import NUMBER_OPS
from gradir.interpreter.tape import TAPE_OPS

KNOWN_OPS: frozenset[type[Operation]] = frozenset(
    {
        *(*NUMBER_OPS, *REGION_OPS, *TENSOR_OPS, *TAPE_OPS),
        *(arith.ConstantOp, func.CallOp, func.ReturnOp, func.FuncOp),
        *(scf.YieldOp, scf.ConditionOp),
    }
)
"""Ops that both run, beside the ops of gradir's own dialects."""

_OWN_DIALECTS = ("array", "nn", "grad", "comm", "loopnest")
_BELOW = ("loopnest", "memref")
"""Dialects of code that has been lowered."""

_WIDTHS = (1, 8, 16, 32, 64)
"""The widths of integers in programs."""


def check_program(functions: Iterable[func.FuncOp]) -> None:
    """LocatedError at an unknown op or value."""
    for function in functions:
        for op in function.walk():
            _check_op(op)
            for value in op.results:
                _check_held(value.type, op.name, op)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        _check_held(argument.type, value_name(argument), argument)


def _check_op(op: Operation) -> None:
    is_own = isinstance(op, TensorOp) or op.name.split(".")[0] in (*_OWN_DIALECTS, *_BELOW)
    if is_own or numbers_class(op) in KNOWN_OPS:
        return
    if decomposition(op) is None or meaning(op) is None:
        hint = ""
        if has_plugin_rule(type(op)):
            hint = "; gradir.register_rule gives it decompose and numpy"
        raise LocatedError(
            f"{op_name(op)}: neither native code nor the interpreter knows this op{hint}", op
        )


def _check_held(type_: Attribute, what: str, place: Operation | SSAValue) -> None:
    """LocatedError at a value of unsupported numbers, such as i24 or f80: their size in memory is
    no power of two, or more than a slot holds."""
    for part in _parts(type_):
        is_shaped = isinstance(part, TensorType | MemRefType)
        element = element_of(cast(Attribute, part)) if is_shaped else part
        if is_complex_tensor(part):
            continue
        if not is_scalar(element):
            raise LocatedError(f"{what}: values must be numbers or tensors, got {type_}", place)
        integer = as_integer_type(element)
        if integer is not None and integer.width.data not in _WIDTHS:
            *others, last = map(str, _WIDTHS)
            widths = f"{', '.join(others)} or {last}"
            raise LocatedError(f"{what}: integers must have {widths} bits, got {type_}", place)


def _parts(type_: Attribute) -> Sequence[Attribute]:
    """The types of a value's parts."""
    match type_:
        case TapeType():
            return type_.columns.data
        case SlicesType():
            return (type_.dense,)
        case _:
            return (type_,)
