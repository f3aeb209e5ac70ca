"""The axis of rows by a name: collectives of a group of that name are between the rows.

    vmap(lambda x: x - pmean(x, "batch"), axis_name="batch")

`comm.all_reduce {group = "batch"}` is then a sum over the rows, which gives a value without rows.
"""

from __future__ import annotations

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from gradir.dialects.base.between_ranks import BetweenRanksOp
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.analysis.call_graph import called_name
from gradir.passes.differentiate.program import ModuleFunctions


class NamedAxis:
    """The ops of a program that see the other rows; none without a name."""

    def __init__(self, program: ModuleFunctions, name: str | None):
        self.name, self._program = name, program
        self._functions: dict[str, bool] = {}

    def is_over(self, op: Operation) -> bool:
        """Whether an op is a collective between the rows."""
        return self.name is not None and isinstance(op, BetweenRanksOp) and op.group == self.name

    def sees_rows(self, op: Operation) -> bool:
        """Whether an op, one inside of it, or one of a function that it calls, is one."""
        if self.name is None:
            return False
        return any(self.is_over(each) or self._calls_one(each) for each in op.walk())

    def _calls_one(self, op: Operation) -> bool:
        if not isinstance(op, CallOp | DerivativeOp):
            return False
        name = called_name(op)
        if name not in self._functions:
            self._functions[name] = False  # a recursion is refused elsewhere
            self._functions[name] = self.sees_rows(self._program.function(name, op))
        return self._functions[name]
