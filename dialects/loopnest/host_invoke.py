"""loopnest.host_call: a call of a Python function on buffers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class HostInvokeOp(IRDLOperation):
    """A host call on buffers: reads the inputs, writes the outputs. Errors say `message`."""

    name = "loopnest.host_call"

    inputs = var_operand_def()
    outputs = var_operand_def()
    callee = prop_def(StringAttr)
    message = prop_def(StringAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$callee `(` $inputs `:` type($inputs) `)` `->` `(` $outputs `:` type($outputs) `)` "
        "`message` $message attr-dict"
    )

    def __init__(
        self, callee: str, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], message: str
    ):
        super().__init__(
            operands=[inputs, outputs],
            properties={"callee": StringAttr(callee), "message": StringAttr(message)},
        )

    def verify_(self) -> None:
        for value in (*self.inputs, *self.outputs):
            if not isinstance(value.type, MemRefType):
                raise VerifyException(f"{self.name}: expected buffers, got {value.type}")
