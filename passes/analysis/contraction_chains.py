"""Properties of a contraction's code by its types, bounds and accesses: whether each element is one
chain of multiply-adds, and the factors that are copied before a write.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type
from xdsl.ir import Attribute

from gradir.dialects.base.access import Access
from gradir.dialects.base.sum_order import LONG_SUM
from gradir.dialects.loopnest.loopnest import ContractOp, ShapedType


def is_single_chain(op: ContractOp) -> bool:
    """Whether the tiled kernel computes the elements, each by a single chain."""
    if op.precision is not None:
        return True
    kinds = [cast(ShapedType, v.type).element_type for v in op.inputs[:2]]
    accumulator = op.accumulator_type
    if not isinstance(accumulator, Float32Type | Float64Type):
        return False
    if not all(_widens(kind, accumulator) for kind in kinds):
        return False
    sizes: dict[str, int] = dict.fromkeys("bmnk", 1)
    left, right = (cast(Access, access).used for access in op.input_accesses[:2])
    for dim, (role, extent) in enumerate(zip(op.dim_roles, op.extents, strict=True)):
        sizes[role] *= extent
        if extent > 1 and dim in {"m": right, "n": left}.get(role, ()):
            return False
    return not (sizes["m"] == sizes["n"] == 1 and sizes["k"] >= LONG_SUM)


def _widens(kind: Attribute, accumulator: Float32Type | Float64Type) -> bool:
    if not isinstance(kind, Float16Type | BFloat16Type | Float32Type | Float64Type):
        return False
    return kind.bitwidth <= accumulator.bitwidth


def copied_factors(op: ContractOp) -> list[int]:
    """The factors with padding, which the tiled kernel cannot read in place."""
    return [index for index in range(2) if not _is_strided(op, index)]


def _is_strided(op: ContractOp, index: int) -> bool:
    """Whether each element of a factor is read from its own place in memory, with no padding."""
    access, shape = op.input_accesses[index], cast(ShapedType, op.inputs[index].type).get_shape()
    return (
        access is not None
        and all(row.symbol is None for row in access.rows)
        and (op.input_pads[index] is None or access.is_in_bounds(op.extents, shape))
    )


def may_overwrite(op: ContractOp, index: int, access: Access) -> bool:
    """Whether a result of a factor's type, with this access, may be written over the factor.

    Code generation copies a padded factor as a whole first; or, where the first dimension is the
    outermost one of all operands along it, by parts, each before the same part of the result.
    """
    return (
        index in copied_factors(op)
        and is_single_chain(op)
        and set(op.output_combiners) == {"none"}
        and all(row.symbol is None for row in access.rows)
    )
