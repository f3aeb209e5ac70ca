"""Every op by the table in op_cases.py: text, values, gradients to second order, native code.

Values and gradients come from the interpreter, in float64, and are held against references and
central differences; native code is held against the interpreter, in all floating types.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from itertools import product
from typing import Any

import numpy as np
import pytest
from op_answers import ANSWERS, Answer
from op_cases import CASES, ELEMENTS, OP_CLASSES, Case
from op_programs import (
    Array,
    Batch,
    function,
    interpret,
    is_active,
    limits_of,
    module_of,
    run_native,
    shared_operands,
)
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

import gradir
from gradir import Module
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import is_inactive, vjp_rule
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.kinds import BinaryOp, CompareOp, ElementwiseOp, UnaryOp
from gradir.errors import GradirError, IndexOutOfRange
from gradir.passes.cleanup.decompose import decompose_block, is_taken_apart
from gradir.testing import check_grads

ACTIVE = [case for case in CASES if is_active(case)]
case_of = pytest.mark.parametrize("case", CASES, ids=str)
op_of = pytest.mark.parametrize("op", OP_CLASSES)


# Building programs.


def text_of(op: Operation, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(op)
    return stream.getvalue()


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
    module = module_of(function(case, case.arrays(f32), f32))
    custom, generic = text_of(module, False), text_of(module, True)
    assert f'"{case.op}"' in generic and f'"{case.op}"' not in custom
    for text in (custom, generic):
        parsed = gradir.parse(text)
        assert text_of(parsed.op, False) == custom
        assert text_of(parsed.op, True) == generic


@case_of
def test_value(case: Case):
    arrays = case.arrays(f64)
    found = interpret(module_of(function(case, arrays, f64)), "f", arrays)
    for one, expected in zip(found, reference_results(case, arrays), strict=True):
        assert one.shape == np.shape(expected)
        np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-13)


def reference_results(case: Case, arrays: Sequence[Array]) -> Sequence[Any]:
    if case.reference is None:
        op = function(case, arrays, f64).body.block.first_op
        assert isinstance(op, TensorOp)
        return _as_results(op.numpy(*arrays))
    if not callable(case.reference):
        return [case.reference]
    with np.errstate(all="ignore"):
        return _as_results(case.reference(*arrays, **case.attributes))


def _as_results(values: Any) -> Sequence[Any]:
    return values if isinstance(values, tuple) else [values]


@pytest.mark.parametrize("case", [c for c in ACTIVE if c.is_derivative], ids=str)
def test_gradients(case: Case):
    """First and second order against central differences, also with one value for two operands."""
    arrays = case.arrays(f64)
    whole = function(case, arrays, f64)
    check(whole, arrays, case.wrt)
    for op, kept in shared_operands(whole, case.wrt):
        check(op, [arrays[k] for k in kept], [kept.index(k) for k in case.wrt if k in kept])


def check(op: FuncOp, arrays: Sequence[Array], wrt: Sequence[int]) -> None:
    module = Module(module_of(op))
    check_grads((module, "f"), arrays, order=2, wrt=wrt, atol=1e-8, rtol=1e-8, native=False)


@pytest.mark.parametrize("case", ACTIVE, ids=str)
def test_halves_agree(case: Case):
    """The forward and the backward function give what the vjp gives, to the bit."""
    arrays = case.arrays(f64)
    module = Module(module_of(function(case, arrays, f64)))
    results = [r for r in gradir.interpret(module, "f", *arrays) if r.dtype.kind == "f"]
    cts = [np.linspace(-1, 0.7, r.size).reshape(r.shape) for r in results]
    split, joint = (module.gradient("f", case.wrt, mode) for mode in ("split", "vjp"))
    forward = gradir.interpret(split, "f_fwd", *arrays)
    count = len(gradir.interpret(module, "f", *arrays))
    halves = [*forward[:count], *gradir.interpret(split, "f_bwd", *forward[count:], *cts)]
    for one, other in zip(halves, gradir.interpret(joint, "f_vjp", *arrays, *cts), strict=True):
        np.testing.assert_array_equal(one, other)


@op_of
def test_rules_emit_ops_with_rules(op: str):
    for case in (c for c in CASES if c.op == op and is_active(c)):
        source = function(case, case.arrays(f64), f64).body.block.first_op
        assert source is not None
        if (rule := vjp_rule(source)) is None:
            assert is_inactive(source), f"{op} has no derivative, and is not inactive"
            continue
        block = Block(arg_types=[o.type for o in source.operands])
        emitter = Emitter(block)
        operands = [emitter.value(a) for a in block.args]
        block.add_op(copy := source.clone(dict(zip(source.operands, block.args, strict=True))))
        if is_taken_apart(copy):
            decompose_block(block)
        else:
            cts = [emitter.value(block.insert_arg(r.type, len(block.args))) for r in source.results]
            rule(copy, cts, [emitter.value(r) for r in copy.results], operands)
        for emitted in block.ops:
            closed = is_inactive(emitted) or vjp_rule(emitted) is not None
            assert closed, f"{op}: its vjp emits {emitted.name}, which has no derivative"


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


def batch_of(op: str, names: Sequence[str], order: int) -> Batch:
    """All cases of an op, as vjps of some order where there is one, in several floating types."""
    batch = Batch()
    for k, case in enumerate(c for c in CASES if c.op == op):
        for name in names:
            arrays = case.arrays(ELEMENTS[name])
            source = function(case, arrays, ELEMENTS[name], f"f{k}_{name}")
            batch.add(source, arrays, case.wrt, order if is_active(case) else 0)
    return batch


def batch_of_shared(op: str) -> Batch:
    """The vjps of an op's first case with one value for several operands."""
    batch = Batch()
    case = next(c for c in CASES if c.op == op)
    arrays = case.arrays(f64)
    source = function(case, arrays, f64)
    for one, kept in shared_operands(source, case.wrt):
        wrt = [kept.index(k) for k in case.wrt if k in kept]
        batch.add(one, [arrays[k] for k in kept], wrt, 1)
    return batch


@op_of
def test_native(op: str):
    batch_of(op, ["float64"], 2).compare()
    if len(next(c for c in CASES if c.op == op).wrt) > 1:
        batch_of_shared(op).compare()


@op_of
def test_native_single(op: str):
    batch_of(op, ["float32"], 2).compare()


@pytest.mark.parametrize(
    "op", [name for name, op in OP_CLASSES.items() if getattr(op, "TAKES_HALF", True)]
)
def test_native_half(op: str):
    batch_of(op, ["float16", "bfloat16"], 1).compare()


# Special numbers, other element types, errors.

SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -3.0, 20.0, -95.0, 1e4, np.inf, -np.inf, np.nan)


def special(element: Attribute, *more: float) -> Array:
    limits = limits_of(numpy_dtype(element))
    ends = [float(limits.max), float(limits.smallest_normal), float(limits.smallest_subnormal)]
    with np.errstate(over="ignore"):
        numbers = np.array([*SPECIAL, *ends, *(-v for v in ends), *more])
        return numbers.astype(numpy_dtype(element))


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
    batch = Batch()
    for name, element in ELEMENTS.items():
        if not is_float(element):
            continue
        numbers = special(element)
        count = 1 if issubclass(OP_CLASSES[op], UnaryOp) else 2
        arrays = [g.ravel() for g in np.meshgrid(*[numbers] * count)]
        case = Case(op, arrays)
        order = int(is_active(case) and element in (f64, f32))
        batch.add(function(case, arrays, element, f"f_{name}"), arrays, case.wrt, order)
    batch.compare(scaled=False)


@op_of
def test_other_element_types(op: str):
    """Native values on integers and bools, where the op takes them, of its first cases."""
    batch = Batch()
    for k, case in enumerate([c for c in CASES if c.op == op][:2]):
        for name, element in ELEMENTS.items():
            arrays = case.arrays(f64)
            if is_float(element) or not arrays or not case.wrt:
                continue
            for index in case.wrt:
                arrays[index] = whole_numbers(arrays[index], element)
            try:
                source = function(case, arrays, element, f"f{k}_{name}")
                module_of(source.clone())
            except (VerifyException, LocatedError):
                continue
            batch.add(source, arrays)
    batch.compare()


def whole_numbers(array: Array, element: Attribute) -> Array:
    """Integers over the whole range of a type, its ends included; or bools."""
    dtype = numpy_dtype(element)
    if is_bool(element):
        return array > 0
    limits = np.iinfo(dtype)
    generator = np.random.default_rng(array.size)
    low, high = int(limits.min), int(limits.max)
    made: Any = generator.integers(low, high, array.size, dtype, endpoint=True)
    numbers: list[int] = made.tolist()
    ends = [int(limits.min), int(limits.max)]
    return np.array([*ends, *numbers][: array.size], dtype).reshape(array.shape)


def test_astype():
    """Native conversions between all pairs of element types."""
    batch = Batch()
    for (source, a), target in product(ELEMENTS.items(), ELEMENTS):
        if is_float(a):
            values = special(a, 127.5, 300, 2**63, 1e10, -1e10, 1 + 2**-9 + 2**-40, 1 + 3 * 2**-9)
        else:
            values = whole_numbers(np.arange(-20.0, 20.0), a)
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
