"""Functions of a matrix that are written with its eigenvectors or singular vectors become ops.

v diag(f(w)) v^T does not depend on the choice of the vectors v of equal values w, but its
derivative by the rules of v and w does: there each part is infinite or unknown. So sums over the
vectors, each times a function f of its value, are found before a program is differentiated:

    %fw = array.exp %w                           %y = grad.spectral %a, %w, %v, %fw, ...
    %p = array.multiply %v, %fw         becomes
    %y = array.matmul %p, transposed %v

and the derivative of `grad.spectral` is one of the matrix. What is found: f of elementwise ops
with constants, and one number per matrix that scales or shifts the values or scales the result;
all vectors, or those in a slice; products with v on both sides, of v^T b with itself, and
their sums over the vectors, for `array.eigh` and `array.svd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import is_static
from gradir.passes.analysis.edits import replace_results
from gradir.passes.cleanup.decompose import decompose_block

if TYPE_CHECKING:
    from gradir.dialects.spectral.forms import Form
    from gradir.dialects.spectral.rules import begin, in_simpler_ops, spectral_function
else:
    begin = lazy_function("gradir.dialects.spectral.rules", "begin")
    in_simpler_ops = lazy_function("gradir.dialects.spectral.rules", "in_simpler_ops")
    spectral_function = lazy_function("gradir.dialects.spectral.rules", "spectral_function")


def gives_vectors(op: Operation) -> bool:
    """Whether an op gives the vectors of which spectral functions are made."""
    return isinstance(op, TensorOp) and op.GIVES_VECTORS and is_static(op.operands[0].type)


def recognize_spectral_functions(block: Block) -> None:
    """Replace the spectral functions of a block (not of regions in it) by ops."""
    if not any(map(gives_vectors, block.ops)):
        return
    decompose_block(block, in_simpler_ops)
    forms: dict[SSAValue, Form] = {}
    op = block.first_op
    while op is not None:
        following = op.next_op
        if gives_vectors(op):
            begin(op, forms)
        else:
            made = spectral_function(op, forms)
            if made is not None:
                assert made.type == op.results[0].type, f"{op.name} became {made.type}"
                replace_results(op, [made.ssa])
        op = following
