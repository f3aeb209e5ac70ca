"""The rule of each op that has a form, and where forms begin."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.comparison import AstypeOp
from gradir.dialects.array.complex_parts import ConjOp, RealOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.dot_general import DotGeneralOp
from gradir.dialects.array.einsum import EinsumOp
from gradir.dialects.array.elementwise import AbsOp
from gradir.dialects.array.factorizations import EighOp, SvdOp
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, ReshapeOp
from gradir.dialects.array.reductions import MeanOp, SumOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.array.triangles import DiagonalBackwardOp
from gradir.dialects.base.op_rules import Decomposition
from gradir.dialects.base.shapes import is_complex_tensor, shape_of
from gradir.dialects.base.value import Value
from gradir.dialects.building.gate import GateOp
from gradir.dialects.spectral.complex_parts import (
    absolute_form,
    astype_form,
    conjugate_form,
    real_form,
)
from gradir.dialects.spectral.forms import Factors, Form, FormReader, Found
from gradir.dialects.spectral.moves import (
    broadcast_form,
    diagonal_form,
    permute_form,
    reshape_form,
    slice_form,
)
from gradir.dialects.spectral.numbers import elementwise_form, gate_form
from gradir.dialects.spectral.products import dot_general_form, matmul_form, sum_form


def in_simpler_ops(op: Operation) -> Decomposition | None:
    """The decomposition of an op whose parts have forms."""
    return op.decompose if isinstance(op, EinsumOp | MeanOp) else None


def begin(op: Operation, forms: dict[SSAValue, Form]) -> None:
    """The forms of the factors of a matrix."""
    assert isinstance(op, EighOp | SvdOp)
    factors = Factors(op)
    run = (0, shape_of(factors.values.type)[-1])
    forms[factors.values] = Form(factors, "w", run, vector=factors.values, steps=())
    if isinstance(op, EighOp):
        forms[op.v] = Form(factors, "c", run, (("v", None),))
    else:
        forms[op.u] = Form(factors, "c", run, (("u", None),))
        side = "V" if is_complex_tensor(op.vh.type) else "v"
        forms[op.vh] = Form(factors, "r", run, ((side, None),))


def spectral_function(op: Operation, forms: dict[SSAValue, Form]) -> Value | None:
    """The spectral function that an op completes, made before it; else its form is noted."""
    if not any(o in forms for o in op.operands):
        return None
    found = _RULES.get(type(op), elementwise_form)(FormReader(op, forms), op)
    if isinstance(found, Form):
        forms[op.results[0]] = found
        return None
    return found


_RULES: dict[type[Operation], Callable[[FormReader, Operation], Found]] = {
    ReshapeOp: reshape_form,
    BroadcastToOp: broadcast_form,
    PermuteDimsOp: permute_form,
    SliceOp: slice_form,
    DiagonalBackwardOp: diagonal_form,
    MatmulOp: matmul_form,
    DotGeneralOp: dot_general_form,
    SumOp: sum_form,
    GateOp: gate_form,
    AstypeOp: astype_form,
    ConjOp: conjugate_form,
    RealOp: real_form,
    AbsOp: absolute_form,
}
