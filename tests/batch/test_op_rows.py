"""Every op on rows: each row is what the op gives of the row alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from op_cases import CASES, ELEMENTS, Case
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradir
from gradir.dialects.base.shapes import tensor
from gradir.passes.batch.vmap import vmap
from gradir.passes.verify.verify import verify

SIZE = 3


def module_of(case: Case, types: Sequence[Any]) -> gradir.Module:
    """@f with the op alone."""
    block = Block(arg_types=types)
    op = case.op_class.of(block.args, case.result_types(f64), **case.attributes)
    block.add_ops([op, ReturnOp(*op.results)])
    function = FuncOp("f", (types, [r.type for r in op.results]), Region(block))
    return gradir.Module(ModuleOp([function]))


def masks(count: int) -> Iterator[list[bool]]:
    """Which operands have rows: all, and each alone."""
    yield [True] * count
    if count > 1:
        yield from ([k == j for k in range(count)] for j in range(count))


def rows_of(array: Any) -> Any:
    """Rows like an operand: floats in its domain, indices as they are."""
    if array.dtype.kind != "f":
        return np.stack([array] * SIZE)
    return np.stack([array * (1 - 0.1 * k) for k in range(SIZE)])


@pytest.mark.parametrize("op", sorted({case.op for case in CASES if case.operands}))
def test_rows(op: str) -> None:
    for case in (c for c in CASES if c.op == op):
        arrays = case.arrays(f64)
        types = [tensor(a.shape, ELEMENTS[a.dtype.name]) for a in arrays]
        for mask in masks(len(arrays)):
            module = module_of(case, types)
            vmap(module.op, "f", SIZE, [k for k, has in enumerate(mask) if has])
            verify(module.op)
            given = [rows_of(a) if m else a for a, m in zip(arrays, mask, strict=True)]
            found = gradir.interpret(module, "f_vmap", *given)
            single = [
                gradir.interpret(
                    module, "f", *(g[r] if m else g for g, m in zip(given, mask, strict=True))
                )
                for r in range(SIZE)
            ]
            for k, rows in enumerate(found):
                wanted = np.stack([one[k] for one in single])
                assert rows.dtype == wanted.dtype
                np.testing.assert_allclose(rows, wanted, rtol=1e-12, atol=1e-13, err_msg=str(case))
