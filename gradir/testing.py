"""Checks for tests: gradients against central differences, native code against the interpreter.

gradir.testing.check_grads(loss, args)                    # a Python function of gradir.numpy
gradir.testing.check_grads((module, "loss"), args)
gradir.testing.check_op(SoftsignOp, [[(3, 4)], [()]])     # an op class, in cases of its operands
"""

from typing import TYPE_CHECKING

from gradir.checking.case import OpCase
from gradir.checking.gradients import GradientMismatch, check_grads
from gradir.checking.ops import check_op
from gradir.frontends.functions.missing_names import missing

__all__ = ["GradientMismatch", "OpCase", "check_grads", "check_op"]

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.testing", {})
