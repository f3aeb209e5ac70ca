"""The host functions by which compiled code has the factors of matrices (`array.svd`).

Of complex matrices the function takes and gives the real and the imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute

from gradir.dialects.array.cofactors import CofactorSlopeOp
from gradir.dialects.array.eigenvalues import EigOp
from gradir.dialects.array.factorizations import OPS, FactorOp, of_each
from gradir.dialects.array.linear_systems import DetOp, LuFactorOp, SlogdetOp, lu_factors
from gradir.dialects.array.polar import PolarOp
from gradir.dialects.array.sylvester import SylvesterOp
from gradir.dialects.array.triangular import CholeskyOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    element_of,
    is_complex_tensor,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value
from gradir.dialects.building.pairs import Operands
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.host_functions import HostFunction, register

FACTOR_OPS: tuple[type[FactorOp], ...] = (*OPS, EigOp, PolarOp, SylvesterOp, CofactorSlopeOp)


def called(op: FactorOp, operands: Sequence[Value]) -> Sequence[Value]:
    """The results of the host function of an op."""
    return _called(op.CALLEE, operands, [r.type for r in op.results])


def _called(callee: str, operands: Sequence[Value], types: Sequence[Attribute]) -> list[Value]:
    attributes: dict[str, Attribute] = {"callee": StringAttr(callee), "pure": UnitAttr()}
    emitter = operands[0].emitter
    ssa = [o.ssa for o in operands]
    made = HostCallOp.create(operands=ssa, result_types=types, attributes=attributes)
    return [emitter.value(r) for r in emitter.insert(made).results]


# Complex matrices.


def _cholesky(a: Any) -> Any:
    hermitian = (a + np.conj(np.swapaxes(a, -1, -2))) * np.asarray(0.5, a.dtype)
    [made] = of_each(hermitian, [a.shape[-2:]], lambda x: [np.linalg.cholesky(x)])
    return [np.tril(made)]


COMPLEX: dict[type[TensorOp], tuple[str, Callable[..., Sequence[Any]]]] = {
    **{op: (op.CALLEE, op.factors) for op in FACTOR_OPS if op.COMPLEX},
    LuFactorOp: ("lapack.lu", lu_factors),
    CholeskyOp: ("lapack.cholesky", _cholesky),
    DetOp: ("lapack.det", lambda a: [np.linalg.det(a)]),
    SlogdetOp: ("lapack.slogdet", lambda a: tuple(np.linalg.slogdet(a))),
}
"""The ops that take complex matrices: how their functions are called, and what they compute."""


def _on_planes(
    function: Callable[..., Sequence[Any]], count: int
) -> Callable[..., tuple[Any, ...]]:
    """A function of `count` complex arrays, and others, as one of their planes."""

    def call(*arrays: Any) -> tuple[Any, ...]:
        given: list[Any] = []
        for k in range(count):
            real, imag = arrays[2 * k : 2 * k + 2]
            a = np.empty(real.shape, np.result_type(real, np.complex64))
            a.real, a.imag = real, imag
            given.append(a)
        planes: list[Any] = []
        for made in function(*given, *arrays[2 * count :]):
            array = np.asarray(made)
            planes += [array.real, array.imag] if array.dtype.kind == "c" else [array]
        return tuple(planes)

    return call


def called_on_planes(op: Any, operands: Operands) -> list[Value | tuple[Value, Value]]:
    """The results of an op with complex matrices, each complex one by its planes."""
    types: list[Attribute] = []
    for result in op.results:
        plane = tensor(shape_of(result.type), real_element(element_of(result.type)))
        types += [plane] * 2 if is_complex_tensor(result.type) else [result.type]
    callee, planes = COMPLEX[type(op)][0], list[Value]()
    if isinstance(operands[0], tuple):
        callee = f"{callee}.planes"
    for each in operands:
        planes += each if isinstance(each, tuple) else [each]
    further = op.further(planes[0]) if isinstance(op, FactorOp) else ()
    found = iter(_called(callee, [*planes, *further], types))
    made: list[Value | tuple[Value, Value]] = []
    for result in op.results:
        one = next(found)
        made.append((one, next(found)) if is_complex_tensor(result.type) else one)
    return made


for _op in FACTOR_OPS:
    register(HostFunction(_op.CALLEE, _on_planes(_op.factors, 0), pure=True))
for _op, (_callee, _function) in COMPLEX.items():
    _count = len(cast(Any, _op).get_irdl_definition().operands)
    register(HostFunction(f"{_callee}.planes", _on_planes(_function, _count), pure=True))
