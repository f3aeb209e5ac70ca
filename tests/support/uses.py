"""What holds of a module between passes: all that is used and all that uses it is in it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue


def check_uses(module: ModuleOp) -> None:
    """AssertionError where an op reads a value from outside of the module, or a user of one
    is outside of it: a later pass that looks at uses would find a removed op."""
    ops = list(module.walk())
    known = set(ops)
    values: set[SSAValue] = {r for op in ops for r in op.results}
    values.update(a for op in ops for region in op.regions for b in region.blocks for a in b.args)
    for op in ops:
        for operand in op.operands:
            assert operand in values, f"{op.name} reads {operand}, which is not in the module"
    for value in values:
        for use in value.uses:
            assert use.operation in known, _text(use.operation, value)
            assert use.operation.operands[use.index] is value


def _text(op: Operation, value: SSAValue) -> str:
    return f"{value} has a use in {op.name}, which is not in the module"
