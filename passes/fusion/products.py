"""Products of matrices made in another way, with the same chain over k for each element.

One that repeats along a dimension, as no factor varies along it, is made once and spread: the
gradient of a sum of x @ w by w has equal columns. One that is only read transposed is made
transposed, (A B)^T as B^T A^T:

    %p = loopnest.contract [64, 256, 16] (%x[d2, d0], %ct[d2, d1]) -> ([d0, d1] : 64x256)
    %w_ct = loopnest.nest [256, 64] (%sum[d0, d1], %p[d1, d0])

The gradient of `x @ w.T` by w is such a product. Made as `ct.T @ x` it is stored row by row where
its reader wants it, and can be fused with it. The factor that changes to the right must lie there
as kernels read it fast, with n along its last axis.
"""

from __future__ import annotations

from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.nests import view
from gradir.dialects.loopnest.loopnest import ContractOp, IndexOp, NestOp
from gradir.passes.analysis.contraction_chains import is_single_chain


def make_once(op: ContractOp) -> None:
    """Make a product without the dimensions along which it repeats; a view spreads it."""
    if not _is_plain(op):
        return
    varying = frozenset[int]().union(*(a.used for a in op.input_accesses if a is not None))
    before, free = op.extents, range(op.free_dims)
    repeated = [d for d in free if d not in varying and before[d] > 1]
    if not repeated:
        return
    op.set_extents([1 if d in repeated else n for d, n in enumerate(before)])
    if not is_single_chain(op):  # a dot product has another order
        op.set_extents(before)
        return
    [result], block = op.results, op.parent
    assert block is not None
    type_, emitter = result.type, Emitter(block, op.location, before=op.next_op)
    small = tensor([op.extents[d] for d in free], element_of(type_))
    result = Rewriter.replace_value_with_new_type(result, small)
    rows = (constant_row(len(free), 0) if d in repeated else dim_row(len(free), d) for d in free)
    [spread] = view(emitter, type_, result, Access(len(free), tuple(rows)))
    result.replace_uses_with_if(spread, lambda use: use.operation is not spread.owner)


def turn_products(block: Block) -> None:
    """Turn the products of a block that are only read transposed."""
    for op in block.ops:
        if isinstance(op, ContractOp) and _is_plain(op) and _turns_well(op):
            _turn(op)


def _is_plain(op: ContractOp) -> bool:
    """Whether it is a product of matrices, or a batch of products, whose place no epilogue asks."""
    return (
        op.roles is None
        and len(op.results) == 1
        and op.output_accesses[0].dims == tuple(range(op.free_dims))
        and not op.inits
        and is_single_chain(op)
        and not any(isinstance(inner, IndexOp) for inner in op.body.block.ops)
    )


def _turns_well(op: ContractOp) -> bool:
    """Whether all readers are nests over the transposed matrices, and the left factor's rows lie
    as columns of a right one."""
    [result], left = op.results, op.input_accesses[0]
    if left is None or not left.rows or left.rows[-1].dim != op.free_dims - 2:
        return False
    rank = len(shape_of(result.type))
    turned = (*range(rank - 2), rank - 1, rank - 2)
    return result.first_use is not None and all(
        isinstance(nest := use.operation, NestOp)
        and nest.parent is op.parent
        and use.index < len(nest.inputs)
        and nest.input_pads[use.index] is None
        and (access := nest.input_accesses[use.index]) is not None
        and access.dims == turned
        and len(nest.extents) == rank
        for use in result.uses
    )


def _turn(op: ContractOp) -> None:
    """Swap the dimensions m and n, the factors, and the last two axes of the result."""
    [result] = op.results
    for use in list(result.uses):
        nest = use.operation
        assert isinstance(nest, NestOp)
        accesses = list(nest.input_accesses)
        accesses[use.index] = Access.identity(len(nest.extents))
        nest.set_accesses(accesses, nest.output_accesses)
    *batch, m, n, k = range(len(op.extents))
    swapped = [*batch, n, m, k]
    through = Access.of_dims(len(op.extents), swapped)
    accesses = [a and a.compose(through) for a in op.input_accesses]
    order = [1, 0, *range(2, len(accesses))]
    inputs, pads = list(op.inputs), op.input_pads
    op.set_inputs(
        [inputs[j] for j in order], [accesses[j] for j in order], [pads[j] for j in order]
    )
    op.set_extents([op.extents[d] for d in swapped])
    *outer, rows, columns = shape_of(result.type)
    turned = tensor([*outer, columns, rows], element_of(result.type))
    Rewriter.replace_value_with_new_type(result, turned)
