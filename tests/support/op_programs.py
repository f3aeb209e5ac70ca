"""The programs of gradir.checking, under the name that tests have for them, and real cases."""

from op_cases import CASES, ELEMENTS, Case
from xdsl.dialects.builtin import ComplexType

from gradir.checking.programs import (
    ELEMENT_OF,
    Array,
    assert_close,
    bits_of,
    function,
    interpret,
    is_active,
    largest,
    limits_of,
    module_of,
    quick_results,
    run_native,
    shared_operands,
)
from gradir.checking.programs import CompiledTogether as Batch
from gradir.dialects.base.shapes import element_of, is_tensor

__all__ = [
    "COMPLEX_OPS",
    "ELEMENT_OF",
    "Array",
    "Batch",
    "assert_close",
    "bits_of",
    "first_real_case",
    "function",
    "interpret",
    "is_active",
    "largest",
    "limits_of",
    "module_of",
    "quick_results",
    "run_native",
    "shared_operands",
]


COMPLEX_OPS = ("array.complex", "array.real", "array.imag", "array.conj", "array.fft")
"""Ops that only make or take complex numbers."""


def first_real_case(op: str) -> Case:
    """The first case of an op without complex operands and results."""
    return next(case for case in CASES if case.op == op and _is_real(case))


def _is_real(case: Case) -> bool:
    element = ELEMENTS["float32"]
    types = function(case, case.arrays(element), element).function_type
    every = [*types.inputs, *types.outputs]
    return not any(isinstance(element_of(t), ComplexType) for t in every if is_tensor(t))
