"""The costs of the ops of a driver, so that its loops poll in time."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.ir import Operation

from gradir.codegen.bodies.op_table import OPS, number_cost
from gradir.codegen.costs import FUEL, POLLING_KERNEL_COST
from gradir.codegen.text.kernel import Kernel
from gradir.codegen.text.loop_costs import LoopCosts
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp
from gradir.passes.analysis.region_flow import trips

# Other ops of a driver are free.
_COUNTED = {*OPS, memref.LoadOp, memref.StoreOp}


def driver_costs(kernel_of: Callable[[KernelOp], Kernel]) -> LoopCosts:
    """The costs of a driver's loops; `kernel_of` gives the kernel of an op."""

    def cost_of(op: Operation) -> float:
        if isinstance(op, KernelOp):
            kernel = kernel_of(op)
            nanoseconds = sum(phase.cost for phase in kernel.phases)
            return max(nanoseconds, POLLING_KERNEL_COST) if kernel.polls else nanoseconds
        if isinstance(op, HostInvokeOp):
            return FUEL
        return number_cost(op) if type(op) in _COUNTED else 0.0

    return LoopCosts(cost_of, trips)
