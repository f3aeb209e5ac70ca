"""The costs of the ops of a driver, so that its loops poll in time; and of a whole run, before it
is written."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gradir.codegen.bodies.op_table import OPS, number_cost
from gradir.codegen.costs import FUEL, MOST_UNKNOWN_TRIPS, POLLING_KERNEL_COST
from gradir.codegen.programs.cost import program_cost
from gradir.codegen.text.kernel import Kernel
from gradir.codegen.text.loop_costs import BlockCosts, LoopCosts
from gradir.dialects.base.traced_sizes import cost_of
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp
from gradir.passes.analysis.region_flow import trips
from gradir.passes.recompute.costs import kernel_cost

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


def run_cost(function: FuncOp) -> float:
    """The nanoseconds of a run of a function at buffer level on one thread.

    It is for a choice before any code is written. Loops whose trips nobody knows count as long.
    """
    block = BlockCosts(_estimate, lambda loop: trips(loop) or MOST_UNKNOWN_TRIPS)
    return block.block(function.body.block)


def _estimate(op: Operation) -> float:
    if isinstance(op, ForallOp):
        return cost_of(prod(op.extents) * program_cost(op))
    if isinstance(op, KernelOp):
        return 1e9 * kernel_cost(op).seconds
    return number_cost(op) if type(op) in _COUNTED else 0.0
