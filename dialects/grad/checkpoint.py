"""grad.checkpoint: a stage whose values are recomputed for the derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.grad.policies import POLICIES


@irdl_op_definition
class CheckpointYieldOp(AbstractYieldOperation[Attribute]):
    """Ends a stage with its outputs."""

    name = "grad.yield"
    traits = traits_def(IsTerminator(), Pure())


@irdl_op_definition
class CheckpointOp(IRDLOperation):
    """A stage: runs its region once; its results are the yielded values.

    The region may read any value from outside. The derivative keeps the values that the stage
    reads, and the values of its own that the policy names (default: none); the backward code
    recomputes the others. Stages nest.

        %y = grad.checkpoint policy "keep_matmuls" -> (tensor<4xf32>) {
          %a = array.sin %x : tensor<4xf32>
          %b = array.tanh %a : tensor<4xf32>
          grad.yield %b : tensor<4xf32>
        }
    """

    name = "grad.checkpoint"
    policy = opt_prop_def(StringAttr)
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, types: Sequence[Attribute], body: Region | Block, policy: str | None = None):
        region = Region(body) if isinstance(body, Block) else body
        super().__init__(
            result_types=[list(types)],
            regions=[region],
            properties={"policy": StringAttr(policy)} if policy is not None else {},
        )

    @property
    def policy_name(self) -> str:
        return "keep_none" if self.policy is None else self.policy.data

    @property
    def yielded(self) -> Sequence[SSAValue]:
        last = self.body.block.last_op
        return () if last is None else last.operands

    def verify_(self) -> None:
        if self.policy_name not in POLICIES:
            known = ", ".join(POLICIES)
            raise VerifyException(
                f"{self.name}: policy must be one of {known}, got {self.policy_name!r}"
            )
        block = self.body.block
        if block.args:
            raise VerifyException(
                f"{self.name}: the region takes no arguments, got {len(block.args)}; "
                "read the values from outside"
            )
        if not isinstance(block.last_op, CheckpointYieldOp):
            raise VerifyException(f"{self.name}: the region must end with {CheckpointYieldOp.name}")
        types = [value.type for value in self.yielded]
        if types != [result.type for result in self.outputs]:
            wanted, got = (", ".join(map(str, t)) or "none" for t in (self.outputs.types, types))
            raise VerifyException(f"{self.name}: results of {wanted} must be yielded, got {got}")

    # Text.

    def print(self, printer: Printer) -> None:
        if self.policy is not None:
            printer.print_string(" policy ")
            printer.print_attribute(self.policy)
        if self.outputs:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.attributes:
            printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        policy = None
        if parser.parse_optional_keyword("policy") is not None:
            policy = parser.parse_str_literal()
        types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        op = cls(types, parser.parse_region(), policy)
        op.attributes |= parser.parse_optional_attr_dict()
        return op


OPS: tuple[type[Operation], ...] = (CheckpointOp, CheckpointYieldOp)
