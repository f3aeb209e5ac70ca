"""Contractions at tensor level: the chain of products over k for each element, then the body.

Products are added one after the other in the type of the accumulator. Native code fuses each
product with its sum, so its last bits differ; but not where the contraction has a precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from gradir.dialects.base.access import Access
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.interpreter.conversions import as_elements
from gradir.interpreter.nests import RunGrid, outputs_of, read_elements
from gradir.interpreter.precision import rounded_factor, step_of
from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, np.dtype[Any]]


def contract_values(op: ContractOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a contraction, given its inputs and inits."""
    count = len(op.inputs)
    inputs, inits = operands[:count], operands[count:]
    grid = RunGrid(op, tuple(1 if r == "k" else n for n, r in _dims(op)))
    grid.values[op.body.block.args[0]] = as_elements(_summed(op, grid, inputs), op.accumulator_type)
    return outputs_of(op, grid, grid.run(inputs), inits)


def _dims(op: ContractOp) -> list[tuple[int, str]]:
    return list(zip(op.extents, op.dim_roles, strict=True))


def _summed(op: ContractOp, grid: RunGrid, inputs: Sequence[Array]) -> Array:
    """The sums of the products of the two factors, over the grid without k."""
    if op.precision is not None:
        return _summed_exactly(op, grid, inputs)
    dtype = dtype_of(op.accumulator_type)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    total = np.zeros(grid.bounds, wide)
    for left, right in _factors(op, grid, inputs):
        total = total + left.astype(wide) * right.astype(wide)
    return total


def _summed_exactly(op: ContractOp, grid: RunGrid, inputs: Sequence[Array]) -> Array:
    """The sums of rounded factors, bit for bit as native code."""
    rounded = [rounded_factor(array) for array in inputs[:2]]
    step = step_of(*rounded)
    total = np.zeros(grid.bounds, np.float32)
    for left, right in _factors(op, grid, rounded):
        total = step(total, left, right)
    return total


def _factors(
    op: ContractOp, grid: RunGrid, inputs: Sequence[Array]
) -> Iterator[tuple[Array, Array]]:
    """The two factors over the grid without k, for one k after the other."""
    ranges = [range(n) if r == "k" else range(1) for n, r in _dims(op)]
    accesses, pads = op.input_accesses[:2], op.input_pads[:2]
    for k in product(*ranges):
        factors: list[Array] = []
        for array, access, pad in zip(inputs[:2], accesses, pads, strict=True):
            assert access is not None
            factors.append(read_elements(grid, array, _at(access, k), pad))
        yield factors[0], factors[1]


def _at(access: Access, k: Sequence[int]) -> Access:
    """The access with some dimensions moved to fixed places."""
    rows = tuple(
        replace(row, constant=row.constant + sum(row.coefficients[d] * k[d] for d in row.used))
        for row in access.rows
    )
    return replace(access, rows=rows)
