"""The costs of the ops of a driver: so that its loops poll in time, and of all its own work."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gradir.codegen.bodies.op_table import OPS, number_cost
from gradir.codegen.costs import CALL_COST, FUEL, MOST_UNKNOWN_TRIPS, POLLING_KERNEL_COST
from gradir.codegen.text.kernel import Kernel
from gradir.codegen.text.loop_costs import BlockCosts, LoopCosts
from gradir.dialects.base.traced_sizes import cost_of
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


def driver_cost(function: FuncOp) -> float:
    """The nanoseconds of a run of a function's driver, without kernels and host calls."""
    return BlockCosts(_own_cost, trips_or_many).block(function.body.block)


def trips_or_many(op: Operation) -> float:
    """How often the blocks of control flow run in this call; many times where nobody knows."""
    known = trips(op)
    return MOST_UNKNOWN_TRIPS if known is None else cost_of(known)


def _own_cost(op: Operation) -> float:
    if isinstance(op, KernelOp):
        return CALL_COST
    return number_cost(op) if type(op) in _COUNTED else 0.0
