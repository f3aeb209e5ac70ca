"""The host functions by which compiled code has the factors of matrices (`array.svd`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute

from gradir.dialects.array.cofactors import CofactorSlopeOp
from gradir.dialects.array.factorizations import OPS, FactorOp
from gradir.dialects.array.polar import PolarOp
from gradir.dialects.array.sylvester import SylvesterOp
from gradir.dialects.base.value import Value
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.host_functions import HostFunction, register

FACTOR_OPS: tuple[type[FactorOp], ...] = (*OPS, PolarOp, SylvesterOp, CofactorSlopeOp)

for _op in FACTOR_OPS:
    register(HostFunction(_op.CALLEE, _op.factors, pure=True))


def called(op: FactorOp, operands: Sequence[Value]) -> Sequence[Value]:
    """The results of the host function of an op."""
    attributes: dict[str, Attribute] = {"callee": StringAttr(op.CALLEE), "pure": UnitAttr()}
    types, emitter = [r.type for r in op.results], operands[0].emitter
    ssa = [o.ssa for o in operands]
    made = HostCallOp.create(operands=ssa, result_types=types, attributes=attributes)
    return [emitter.value(r) for r in emitter.insert(made).results]
