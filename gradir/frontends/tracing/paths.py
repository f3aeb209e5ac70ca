"""The paths of programs that hold for some values alone: what Python asked, and the answers.

A later call on other arrays runs the ops behind each question again, in the interpreter, and takes
the program of the path on which all answers are the same. That takes a hundredth of a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import element_of
from gradir.errors import ExecutionError
from gradir.passes.analysis.call_graph import called_name, callees_first

if TYPE_CHECKING:
    from gradir.interpreter.interpreter import run_ops
else:
    run_ops = lazy_function("gradir.interpreter.interpreter", "run_ops")

Array = np.ndarray[Any, Any]

MOST_BYTES = 1 << 16
"""Bytes of answers from which on a path is not kept: they are data rather than decisions."""


class _Question(NamedTuple):
    ops: tuple[Operation, ...]
    value: SSAValue
    answer: bytes


class Path:
    """The questions of a trace, in the order in which Python asked.

    It has copies of all ops that they need, which passes do not change. `is_kept`: a program for
    equal answers does the same; it does not where values became text, which is to be seen again.
    """

    def __init__(self, types: Sequence[Attribute]):
        self.is_kept = True
        self.questions: list[_Question] = []
        self._block = Block(arg_types=types)
        self._given = len(types)
        self._constants: dict[SSAValue, Array] = {}
        self._copies: dict[SSAValue, SSAValue] = {}
        self._functions: dict[str, FuncOp] = {}
        self._waiting: list[Operation] = []
        self._bytes = 0

    # While tracing.

    def argument(self, argument: SSAValue, index: int) -> None:
        """Note an argument of the whole function."""
        self._copies[argument] = self._block.args[index]

    def same(self, inside: SSAValue, around: SSAValue) -> None:
        """Note that an argument of an inner function stands for a value around it."""
        self._copies[inside] = self._copies[around]

    def constant(self, inside: SSAValue, array: Array) -> None:
        """Note an argument of an inner function that stands for an array of its own."""
        made = self._block.insert_arg(inside.type, len(self._block.args))
        self._copies[inside], self._constants[made] = made, array

    def add(self, ops: Sequence[Operation], functions: Mapping[str, FuncOp]) -> None:
        """Note ops that ran for a question, and the functions that they call."""
        for op in ops:
            calls = [each for each in op.walk() if isinstance(each, CallOp)]
            called = [functions[called_name(call)] for call in calls]
            for function in callees_first(dict(functions), called):
                self._functions.setdefault(function.sym_name.data, function.clone())
            copy = op.clone(self._copies)
            copy.location = op.location
            self._block.add_op(copy)
            self._waiting.append(copy)

    def ask(self, value: SSAValue, answer: Array) -> None:
        """Note a question and its answer."""
        self._bytes += answer.nbytes
        self.is_kept = self.is_kept and self._bytes <= MOST_BYTES
        ops = tuple(self._waiting)
        self._waiting.clear()
        self.questions.append(_Question(ops, self._copies[value], answer.tobytes()))

    def close(self) -> None:
        """End the trace: the ops of the program are not needed any more."""
        self._copies.clear()

    # Afterwards.

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether arrays of the same types give the same answers."""
        values = dict(self._constants)
        try:
            for argument, leaf in zip(self._block.args[: self._given], leaves, strict=True):
                values[argument] = np.asarray(leaf, numpy_dtype(element_of(argument.type)))
            for ops, value, answer in self.questions:
                run_ops(ops, values, self._functions)
                if values[value].tobytes() != answer:
                    return False
        except (ExecutionError, LocatedError, OverflowError):
            return False  # a trace then finds the fault and its place
        return True
