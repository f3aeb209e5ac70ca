"""What the ops of a driver cost, so that its loops poll in time."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.ir import Operation

from gradir.dialects.forall import ForallOp
from gradir.dialects.host_invoke import HostInvokeOp
from gradir.dialects.loopnest import LoopOp
from gradir.lowering.forall_cost import MEMORY_COST
from gradir.lowering.kernel import Kernel
from gradir.lowering.polls import FUEL, Costs
from gradir.lowering.scalar_ops import OPS, cost
from gradir.passes.region_flow import trips

# A kernel that polls may take much longer than one thinks, but little more than a poll's fuel.
POLLING_KERNEL_COST = FUEL / 16


def driver_costs(kernel_of: Callable[[LoopOp | ForallOp], Kernel]) -> Costs:
    """The costs of a driver's loops; `kernel_of` gives the kernel of an op."""

    def cost_of(op: Operation) -> float:
        if isinstance(op, LoopOp | ForallOp):
            kernel = kernel_of(op)
            nanoseconds = sum(phase.cost for phase in kernel.phases)
            return max(nanoseconds, POLLING_KERNEL_COST) if kernel.polls else nanoseconds
        if isinstance(op, HostInvokeOp):
            return FUEL
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            return MEMORY_COST
        return cost(op) if type(op) in OPS else 0.0

    return Costs(cost_of, trips)
