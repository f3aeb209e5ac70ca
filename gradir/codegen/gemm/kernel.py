"""Contraction kernels as LLVM IR text: C = epilogue(sum over k of A[b, m, k] * B[b, k, n]).

    p = plan(contraction, target, threads)   # tiles, packing, phases, scratch bytes
    text = emit(p, "dense", epilogue)        # @dense.compute and before it perhaps @dense.pack

Each phase is one function that does the work items [%begin, %end). Items of one phase are
independent of each other; a barrier stands between phases.

Every output element is one chain acc = fma(a, b, acc) for k = 0, 1, 2, ... from 0, so its bits
depend on neither the vectors, the tiles nor the number of threads. (On a target without fma the
product is rounded before it is added.) The text is good code as it stands: it needs no optimizer
pass, and is compiled in half the time without.
"""

from __future__ import annotations

from math import prod

from gradir.codegen.gemm.choose import cost, plan
from gradir.codegen.gemm.compute import (
    Epilogue,
    Start,
    at_batch,
    batch_indices,
    divide,
    emit_compute,
    packed_rhs,
)
from gradir.codegen.gemm.pack import Panels, pack_rhs
from gradir.codegen.gemm.plan import (
    ELEMENT_BYTES,
    ELEMENT_NAMES,
    Contraction,
    GemmPhase,
    GemmPlan,
    Operand,
)
from gradir.codegen.gemm.tile import add, minimum, multiply
from gradir.codegen.text.functions import FunctionText

__all__ = [
    "ELEMENT_BYTES",
    "ELEMENT_NAMES",
    "Contraction",
    "Epilogue",
    "GemmPhase",
    "GemmPlan",
    "Operand",
    "Start",
    "cost",
    "emit",
    "plan",
]

PARAMETERS = (
    "ptr noalias readonly %lhs, ptr noalias readonly %rhs, ptr noalias %scratch, "
    "ptr noalias %out, i64 %begin, i64 %end"
)


def emit(
    plan: GemmPlan,
    name: str,
    epilogue: Epilogue,
    parameters: str = PARAMETERS,
    linkage: str = "internal",
    turned: bool = False,
    start: Start | None = None,
) -> str:
    """The text of all phases, `void @name.suffix(parameters)`.

    The epilogue is handed vectors of consecutive columns, or if `turned` of consecutive rows.
    Chains begin with 0, or with the sums that `start` loads.

    `parameters` declares %lhs, %rhs, %scratch (`scratch_bytes` aligned to `alignment`, or anything
    if that is 0), %begin, %end and what the epilogue reads and writes.
    """
    functions: list[str] = []
    for phase in plan.phases:
        f = FunctionText()
        if phase.suffix == "pack":
            _emit_pack(f, plan)
        else:
            emit_compute(f, plan, epilogue, turned, start)
        functions.append(
            f"define {linkage} void @{name}.{phase.suffix}({parameters}) "
            f"{plan.target.attributes} {{\nentry:\n{f.text()}\n  ret void\n}}\n"
        )
    return "\n".join(functions)


def _emit_pack(f: FunctionText, plan: GemmPlan) -> None:
    """An item is a few rows of the right operand of one batch element."""
    c = plan.contraction
    extents, strides = c.rhs_k
    chunks = -(-plan.packed_k // plan.pack_rows)
    with f.loop("%begin", "%end", hint="item") as item:
        chunk, rest = divide(f, item, chunks)
        outer, batch = divide(f, rest, prod(extents[:-1]))
        rhs = at_batch(f, "%rhs", c.rhs, batch_indices(f, batch, plan.rhs_batch))
        rhs = rhs.moved(f, batch_indices(f, outer, extents[:-1]), strides[:-1])
        begin = multiply(f, chunk, plan.pack_rows)
        end = minimum(f, add(f, begin, plan.pack_rows), plan.packed_k)
        panels = Panels(
            pointer=packed_rhs(f, plan, batch),
            panel_stride=c.k * plan.width,
            # the first k of these lies so many rows behind the beginning of a panel
            origin=multiply(f, outer, -plan.packed_k),
            first="0",
            last=str(plan.full_panels),
            tail="true" if plan.tail else None,
        )
        pack_rhs(f, plan, rhs, panels, begin, end)
