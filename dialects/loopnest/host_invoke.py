"""loopnest.host_call: a call of a registered function on buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, FunctionType, MemRefType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class HostInvokeOp(IRDLOperation):
    """A host call on buffers: reads the inputs, writes the outputs. Errors say `message`.

    `exec = "async"`: it reads the inputs at its place, and may write the outputs as late as before
    the next op that touches one of them, or at the end of the block. `exec = "started"` likewise;
    "lent": it may read the inputs as late, so that no op writes them before.

    `unread` has the types of the results that nobody reads, by their numbers: they have no buffer.
    """

    name = "loopnest.host_call"

    inputs = var_operand_def()
    outputs = var_operand_def()
    callee = prop_def(StringAttr)
    message = prop_def(StringAttr)
    of = opt_prop_def(FunctionType)
    exec = opt_prop_def(StringAttr)
    unread = opt_prop_def(DictionaryAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$callee `(` $inputs `:` type($inputs) `)` `->` `(` $outputs `:` type($outputs) `)` "
        "`message` $message attr-dict"
    )

    def __init__(
        self,
        callee: StringAttr,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        message: str,
        of: FunctionType | None = None,
        unread: Mapping[int, Attribute] | None = None,
        exec: StringAttr | None = None,
    ):
        properties: dict[str, Attribute | None] = {
            "callee": callee, "message": StringAttr(message), "of": of, "exec": exec,
        }  # fmt: skip
        if unread:
            properties["unread"] = DictionaryAttr({str(k): t for k, t in unread.items()})
        super().__init__(operands=[inputs, outputs], properties=properties)

    @property
    def is_async(self) -> bool:
        return self.exec is not None and self.exec.data == "async"

    @property
    def is_started(self) -> bool:
        return self.exec is not None and self.exec.data in ("started", "lent")

    @property
    def is_lent(self) -> bool:
        return self.exec is not None and self.exec.data == "lent"

    @property
    def without_buffer(self) -> dict[int, Attribute]:
        """The types of the results that nobody reads, by their numbers."""
        return {} if self.unread is None else {int(k): t for k, t in self.unread.data.items()}

    def verify_(self) -> None:
        for value in (*self.inputs, *self.outputs):
            if not isinstance(value.type, MemRefType):
                raise VerifyException(f"{self.name}: expected buffers, got {value.type}")
        if self.unread is None:
            return
        count = len(self.outputs) + len(self.unread.data)
        for place, type_ in self.unread.data.items():
            is_number = place in map(str, range(count))
            if not (is_number and isinstance(type_, MemRefType) and type_.has_static_shape()):
                raise VerifyException(
                    f"{self.name}: unread must be static buffer types by the numbers of results, "
                    f"got {place} = {type_}"
                )
