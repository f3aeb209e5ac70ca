"""Every op by the table in op_cases.py: text, values, gradients to second order, native code.

Values and gradients come from the interpreter, in float64, and are held against references and
central differences; native code is held against the interpreter, in all floating types.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from op_answers import ANSWERS, Answer
from op_cases import CASES, ELEMENTS, OP_CLASSES, Case
from op_programs import (
    Batch,
    function,
    is_active,
    module_of,
    run_native,
)
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.utils.exceptions import VerifyException

import gradir
from gradir import Module
from gradir.checking import checks
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import c128, is_complex, is_float
from gradir.dialects.building.kinds import BinaryOp, CompareOp, ElementwiseOp, UnaryOp
from gradir.errors import GradirError, IndexOutOfRange

ACTIVE = [case for case in CASES if is_active(case)]
case_of = pytest.mark.parametrize("case", CASES, ids=str)
op_of = pytest.mark.parametrize("op", OP_CLASSES)


def cases_of(op: str) -> list[Case]:
    """The cases of an op."""
    return [case for case in CASES if case.op == op]


# The table.


def test_every_op_has_a_case():
    missing = OP_CLASSES.keys() - {case.op for case in CASES}
    assert not missing, f"no case in tests/support/op_cases.py for {', '.join(sorted(missing))}"


def test_references_are_independent():
    """Only the op's NumPy function may stand for itself."""
    own = [
        case.op
        for case in CASES
        if case.reference is None and case.op_class.numpy is not ElementwiseOp.numpy
        and not getattr(case.op_class, "NUMPY", "")
    ]  # fmt: skip
    assert not own, f"no reference in tests/support/op_cases.py for {', '.join(sorted(set(own)))}"


# Text, value, gradients: by the interpreter.


@case_of
def test_text_parses_back(case: Case):
    checks.check_text(case)


@case_of
def test_value(case: Case):
    checks.check_value(case)


@pytest.mark.parametrize("case", [c for c in ACTIVE if c.is_derivative], ids=str)
def test_gradients(case: Case):
    """First and second order against central differences, also with one value for two operands."""
    checks.check_gradients(case)


@pytest.mark.parametrize("case", ACTIVE, ids=str)
def test_halves_agree(case: Case):
    """The forward and the backward function give what the vjp gives, to the bit."""
    checks.check_halves(case)


@op_of
def test_rules_emit_ops_with_rules(op: str):
    for case in cases_of(op):
        checks.check_closed(case)


# Answers where a rule decides.


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_answer(answer: Answer):
    case = answer.case()
    arrays = case.arrays(f64)
    module = Module(module_of(function(case, arrays, f64))).gradient("f", mode="vjp")
    ct = np.ones_like(gradir.interpret(module, "f", *arrays)[0])
    for run in (gradir.interpret, run_native):
        value, *grads = run(module, "f_vjp", *arrays, ct)
        np.testing.assert_allclose(value, answer.value, rtol=1e-12)
        for found, expected in zip(grads, answer.grads, strict=True):
            if expected is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


# Native code against the interpreter.


@op_of
def test_native(op: str):
    checks.check_native(cases_of(op))


@op_of
def test_native_single(op: str):
    checks.check_native_single(cases_of(op))


@pytest.mark.parametrize(
    "op", [name for name, op in OP_CLASSES.items() if getattr(op, "TAKES_HALF", True)]
)
def test_native_half(op: str):
    checks.check_native_half(cases_of(op))


# On complex numbers.

COMPLEX = [name for name, op in OP_CLASSES.items() if op.COMPLEX]


@pytest.mark.parametrize("case", [c for c in ACTIVE if c.op in COMPLEX], ids=str)
def test_complex_gradients(case: Case):
    """First and second order against central differences of both parts."""
    checks.check_complex(case)


@pytest.mark.parametrize("op", COMPLEX)
def test_native_complex(op: str):
    checks.check_native_complex(cases_of(op))


@pytest.mark.parametrize("op", COMPLEX)
def test_a_case_is_complex(op: str):
    """What an op says of itself is true of a case."""
    pairs = [(case, element) for case in cases_of(op) for element in (c128, f64)]
    assert any(checks.complex_function(c, c.arrays(e)) is not None for c, e in pairs)


@pytest.mark.parametrize("op", [name for name, op in OP_CLASSES.items() if not op.COMPLEX])
def test_other_ops_refuse_complex_numbers(op: str):
    for case in cases_of(op):
        arrays = case.arrays(c128)
        if any(a.dtype.kind == "c" for a in arrays):
            with pytest.raises((VerifyException, GradirError)):
                module_of(function(case, arrays, c128))


# Special numbers, other element types, errors.


@pytest.mark.parametrize(
    "op",
    [
        name
        for name, op in OP_CLASSES.items()
        if issubclass(op, UnaryOp | BinaryOp | CompareOp)
        and getattr(op, "DOMAIN", "") not in ("bool", "integer", "bits")
    ],
)
def test_special_numbers(op: str):
    """Native values and gradients of zeros, infinities, nan, and the ends of each type."""
    checks.check_special_numbers(cases_of(op))


@op_of
def test_other_element_types(op: str):
    """Native values on integers and bools, where the op takes them, of its first cases."""
    checks.check_other_types(cases_of(op))


def test_astype():
    """Native conversions between all pairs of element types."""
    batch = Batch()
    real = {name: element for name, element in ELEMENTS.items() if not is_complex(element)}
    for (source, a), target in product(real.items(), real):
        if is_float(a):
            values = checks.special(
                a, 127.5, 300, 2**63, 1e10, -1e10, 1 + 2**-9 + 2**-40, 1 + 3 * 2**-9
            )
        else:
            values = checks.whole_numbers(np.arange(-20.0, 20.0), a)
        case = Case("array.astype", [values], results=[(values.shape, target)])
        batch.add(function(case, [values], a, f"{source}_to_{target}"), [values])
    batch.compare(scaled=False)


@pytest.mark.parametrize(
    "case",
    [
        Case("array.take", [(3, 4), np.array([0, 3])]),
        Case("array.take", [(3, 4), np.array([-5])], {"axis": 1}),
        Case("array.take", [(3,), np.array([2**64 - 1], np.uint64)]),
        Case("array.scatter_add", [(3,), np.array([3], np.int8), (1,)]),
        Case("array.take_along_axis", [(3, 2), np.array([[0, -4]])]),
        Case(
            "grad.take_along_axis_backward", [(1, 2), np.array([[0, 3]])], results=[((3, 2), None)]
        ),
        Case("array.gather_nd", [(2, 3), np.array([[1, 2], [0, 3]])]),
        Case("array.gather_nd", [(2, 3), np.array([[0], [-4]])], {"batch_dims": 1}),
        Case("array.scatter_nd_add", [(2, 3), np.array([[-3]]), (1, 3)]),
        Case("array.index_update", [(2, 3), np.array([0, 3]), (2, 2)], {"axis": 1}),
        Case("array.one_hot", [np.array([0, 3])], {"depth": 3}, results=[((2, 3), None)]),
        Case("nn.embedding", [(3, 4), np.array([-4])]),
        Case("nn.nll_loss", [(2, 3), np.array([0, 3])]),
        Case("nn.cross_entropy", [(2, 3), np.array([-4, 0]), (3,)]),
        Case("grad.nll_loss_backward", [(), np.array([0, 3])], results=[((2, 3), None)]),
        Case("nn.nll_loss", [(2, 3), np.array([0, -1])]),
        Case("nn.cross_entropy", [(2, 3), np.array([-1, 0], np.int8)], {"ignore_index": -2}),
        Case("grad.nll_loss_backward", [(), np.array([0, -1])], results=[((2, 3), None)]),
        Case("grad.class_index", [np.array([0, -1])], {"classes": 3}),
    ],
    ids=str,
)
def test_index_out_of_range(case: Case):
    arrays = case.arrays(f32)
    module = Module(module_of(function(case, arrays, f32)))
    for run in (gradir.interpret, run_native):
        with pytest.raises(IndexOutOfRange, match=r"index -?\d+ is out of range for a size of \d"):
            run(module, "f", *arrays)


def test_mean_of_more_than_f16_can_count():
    count = 70_000
    case = Case("array.mean", [np.ones(count)])
    arrays = case.arrays(f16)
    module = Module(module_of(function(case, arrays, f16))).gradient("f", mode="vjp")
    for run in (gradir.interpret, run_native):
        _, grad = run(module, "f_vjp", *arrays, np.array(1, np.float16))
        np.testing.assert_array_equal(grad, np.float16(1 / count))


@pytest.mark.parametrize(
    ("value", "name"), [(0.5, "int64"), (200.0, "int8"), (-1.0, "uint8"), (2.0, "bool")]
)
def test_numbers_that_no_element_can_be(value: float, name: str):
    full = Case("array.full", [], {"value": value}, results=[((2,), name)])
    with pytest.raises(VerifyException, match=r"array\.full: value must be an integer in"):
        module_of(function(full, [], f32))
    array = np.zeros(2, numpy_dtype(ELEMENTS[name]))
    with pytest.raises(VerifyException, match="value must be an integer in"):
        function(Case("array.pad", [array], {"low": 1, "high": 1, "value": value}), [array], f32)


def test_class_weights_have_no_derivative():
    case = Case("nn.nll_loss", [(2, 3), np.array([0, 2]), (3,)])
    module = Module(module_of(function(case, case.arrays(f32), f32)))
    with pytest.raises(GradirError, match=r"nn\.nll_loss: no derivative in operand 2"):
        module.gradient("f")
