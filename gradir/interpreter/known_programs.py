"""The known ops and values of programs, for native code and the interpreter.

Both check here first, so that they refuse the same programs with the same messages, dead code
included. Contractions, foralls and buffers run natively only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from gradir.passes.cleanup.decompose import without_compounds

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
        for op in _ops_that_run(function):
            _check_op(op)
            for value in op.results:
                _check_held(value.type, op.name, op)
            if is_compound(op):
                continue
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        _check_held(argument.type, value_name(argument), argument)


def _ops_that_run(op: Operation) -> Iterator[Operation]:
    """All ops in one, but for those in ops that are taken apart: they are no program's."""
    yield op
    if is_compound(op):
        return
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _ops_that_run(inner)


def is_compound(op: Operation) -> bool:
    """Whether an op of another dialect has a decomposition for its only meaning."""
    if isinstance(op, TensorOp) or type(op) in KNOWN_OPS:
        return False
    return decomposition(op) is not None and meaning(op) is None


def in_known_ops(
    functions: Mapping[str, func.FuncOp], reached: Iterable[func.FuncOp]
) -> dict[str, func.FuncOp]:
    """The functions, with copies in place of those that have compound ops."""
    apart = {f.sym_name.data: without_compounds(f, is_compound) for f in reached}
    return {**functions, **apart}


def _check_op(op: Operation) -> None:
    is_own = isinstance(op, TensorOp) or op.name.split(".")[0] in (*_OWN_DIALECTS, *_BELOW)
    if is_own or numbers_class(op) in KNOWN_OPS or decomposition(op) is not None:
        return
    hint = "; gradir.register_rule gives it decompose" if has_plugin_rule(type(op)) else ""
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
