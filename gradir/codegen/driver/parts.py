"""A driver that does nothing but call kernels, and many, as functions of a few calls each.

LLVM's time for one block of n calls grows faster than n, and so does that for pointers which live
through all of it. A part is a function of its own, with the pointers that its calls need.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref
from xdsl.ir import Block

from gradir.codegen.driver.threads import RETURN, SharedWork
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp, ReshapeOp

# Calls of a part, and those from which on a driver without control flow has parts.
LONG_LIST = 64

_PARAMETERS = "ptr %table, i64 %thread, i64 %threads, ptr %barrier"


def is_long_list(block: Block) -> bool:
    """Whether a function does nothing but call kernels, and many."""
    plain = (
        *(KernelOp, HostInvokeOp, ReshapeOp, arith.ConstantOp, func.ReturnOp),
        *(memref.ViewOp, memref.GetGlobalOp),
    )
    calls = sum(isinstance(op, KernelOp) for op in block.ops)
    return calls >= LONG_LIST and all(isinstance(op, plain) for op in block.ops)


class DriverParts:
    """Moves a driver's written code to functions, which the driver then calls.

    A part returns whether the call ends before its time.
    """

    def __init__(self, work: SharedWork, target: MachineTarget):
        self.work, self.target = work, target
        self.texts: list[str] = []

    def cut(self) -> None:
        """All that is written so far is a part."""
        work = self.work
        work.join()
        work.end("i1 false", "i1 true")
        self.texts.append(self.define(f"gradir_part_{len(self.texts)}", "i1"))
        work.new_function()

    def define(self, name: str, result: str) -> str:
        """A function of all that is written, for all threads."""
        text = self.work.text
        text.prologue.insert(0, "  %first = icmp eq i64 %thread, 0")
        attributes = f"noinline {self.target.attributes}"
        return text.define(name, _PARAMETERS, attributes, result=result)

    def calls(self) -> None:
        """The body of the driver."""
        text = self.work.text
        for k in range(len(self.texts)):
            stopped, following = text.call("i1", f"@gradir_part_{k}", _PARAMETERS), f"part.{k}"
            text.branch(stopped, RETURN, following)
            text.label(following)
        text.jump(RETURN)
        text.label(RETURN)
        text.ret()
