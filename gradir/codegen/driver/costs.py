"""What the ops of a driver cost, so that its loops poll in time."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.ir import Operation

from gradir.codegen.bodies.op_table import OPS, cost
from gradir.codegen.programs.cost import MEMORY_COST
from gradir.codegen.text.kernel import Kernel
from gradir.codegen.text.polls import FUEL, LoopCosts
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp
from gradir.passes.analysis.region_flow import trips

# A kernel that polls may take much longer than one thinks, but little more than a poll's fuel.
POLLING_KERNEL_COST = FUEL / 16


def driver_costs(kernel_of: Callable[[KernelOp], Kernel]) -> LoopCosts:
    """The costs of a driver's loops; `kernel_of` gives the kernel of an op."""

    def cost_of(op: Operation) -> float:
        if isinstance(op, KernelOp):
            kernel = kernel_of(op)
            nanoseconds = sum(phase.cost for phase in kernel.phases)
            return max(nanoseconds, POLLING_KERNEL_COST) if kernel.polls else nanoseconds
        if isinstance(op, HostInvokeOp):
            return FUEL
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            return MEMORY_COST
        return cost(op) if type(op) in OPS else 0.0

    return LoopCosts(cost_of, trips)
