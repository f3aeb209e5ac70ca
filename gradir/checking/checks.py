"""What holds of an op in its cases: text, value, gradients to second order, native code, rows.

Values and gradients come from the interpreter, in float64, and are held against references and
central differences; native code is held against the interpreter, in all floating types. Each check
raises an AssertionError, or gradir's error where the op is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gradir.api import Module, interpret, parse
from gradir.checking.case import ELEMENTS, Array, OpCase
from gradir.checking.gradients import check_grads
from gradir.checking.programs import (
    CompiledTogether,
    function,
    is_active,
    limits_of,
    module_of,
    shared_operands,
)
from gradir.checking.programs import interpret as interpreted
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import is_inactive, vjp_rule
from gradir.dialects.base.shapes import c128, is_bool, is_complex_tensor, is_float, is_inexact
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.kinds import BinaryOp, CompareOp, UnaryOp
from gradir.passes.batch.vmap import vmap
from gradir.passes.cleanup.decompose import decompose_block, is_taken_apart, taken_apart
from gradir.passes.verify.verify import verify

ROWS = 3
"""The rows of a check of vectorization."""

SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -3.0, 20.0, -95.0, 1e4, np.inf, -np.inf, np.nan)


# Each case: by the interpreter.


def check_text(case: OpCase) -> None:
    """The custom and the generic form parse back."""
    module = module_of(function(case, case.arrays(f32), f32))
    custom, generic = text_of(module, False), text_of(module, True)
    assert f'"{case.op}"' in generic and f'"{case.op}"' not in custom
    for text in (custom, generic):
        parsed = parse(text)
        assert text_of(parsed.op, False) == custom
        assert text_of(parsed.op, True) == generic


def text_of(op: Operation, generic: bool) -> str:
    """The text of an op, in the generic or in the custom form."""
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(op)
    return stream.getvalue()


def check_value(case: OpCase) -> None:
    """The value is the reference's, or the op's own NumPy function's."""
    arrays = case.arrays(f64)
    found = interpreted(module_of(function(case, arrays, f64)), "f", arrays)
    for one, expected in zip(found, reference_results(case, arrays), strict=True):
        assert one.shape == np.shape(expected)
        np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-13)


def reference_results(case: OpCase, arrays: Sequence[Array]) -> Sequence[Any]:
    """What the results of a case must be."""
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


def check_gradients(case: OpCase) -> None:
    """First and second order are central differences, also with one value for two operands."""
    if not (is_active(case) and case.is_derivative):
        return
    arrays = case.arrays(f64)
    whole = function(case, arrays, f64)
    _check_gradients(whole, arrays, case.wrt)
    for op, kept in shared_operands(whole, case.wrt):
        wrt = [kept.index(k) for k in case.wrt if k in kept]
        _check_gradients(op, [arrays[k] for k in kept], wrt)


def _check_gradients(op: FuncOp, arrays: Sequence[Array], wrt: Sequence[int]) -> None:
    module = Module(module_of(op))
    check_grads((module, "f"), arrays, order=2, wrt=wrt, atol=1e-8, rtol=1e-8, native=False)


def check_halves(case: OpCase) -> None:
    """The forward and the backward function give what the vjp gives, to the bit."""
    if not is_active(case):
        return
    arrays = case.arrays(f64)
    module = Module(module_of(function(case, arrays, f64)))
    results = [r for r in interpret(module, "f", *arrays) if r.dtype.kind in "fc"]
    cts = [np.linspace(-1, 0.7, r.size).reshape(r.shape).astype(r.dtype) for r in results]
    split, joint = (module.gradient("f", case.wrt, mode) for mode in ("split", "vjp"))
    forward = interpret(split, "f_fwd", *arrays)
    count = len(interpret(module, "f", *arrays))
    halves = [*forward[:count], *interpret(split, "f_bwd", *forward[count:], *cts)]
    for one, other in zip(halves, interpret(joint, "f_vjp", *arrays, *cts), strict=True):
        np.testing.assert_array_equal(one, other)


def check_closed(case: OpCase) -> None:
    """Each op that the derivative emits has one itself, or is inactive."""
    if not is_active(case):
        return
    source = function(case, case.arrays(f64), f64).body.block.first_op
    assert source is not None
    if (rule := vjp_rule(source)) is None:
        assert is_inactive(source), f"{case.op} has no derivative, and is not inactive"
        return
    block = Block(arg_types=[o.type for o in source.operands])
    emitter = Emitter(block)
    operands = [emitter.value(a) for a in block.args]
    block.add_op(copy := source.clone(dict(zip(source.operands, block.args, strict=True))))
    if is_taken_apart(copy):
        decompose_block(block, taken_apart)
    else:
        cts = [emitter.value(block.insert_arg(r.type, len(block.args))) for r in source.results]
        rule(copy, cts, [emitter.value(r) for r in copy.results], operands)
    for emitted in block.ops:
        closed = is_inactive(emitted) or vjp_rule(emitted) is not None
        assert closed, f"{case.op}: its vjp emits {emitted.name}, which has no derivative"


def check_rows(case: OpCase) -> None:
    """Each row of a vectorized op is what the op gives of the row alone."""
    arrays = case.arrays(f64)
    for mask in _masks(len(arrays)):
        module = Module(module_of(function(case, arrays, f64)))
        vmap(module.op, "f", ROWS, [k for k, has in enumerate(mask) if has])
        verify(module.op)
        given = [_rows_of(a) if m else a for a, m in zip(arrays, mask, strict=True)]
        found = interpret(module, "f_vmap", *given)
        single = [
            interpret(module, "f", *(g[r] if m else g for g, m in zip(given, mask, strict=True)))
            for r in range(ROWS)
        ]
        for k, rows in enumerate(found):
            wanted = np.stack([one[k] for one in single])
            assert rows.dtype == wanted.dtype
            np.testing.assert_allclose(rows, wanted, rtol=1e-12, atol=1e-13, err_msg=str(case))


def _masks(count: int) -> Iterator[list[bool]]:
    """Which operands have rows: all, and each alone."""
    if count:
        yield [True] * count
    if count > 1:
        yield from ([k == j for k in range(count)] for j in range(count))


def _rows_of(array: Array) -> Array:
    """Rows like an operand: floats in its domain, indices as they are."""
    if array.dtype.kind not in "fc":
        return np.stack([array] * ROWS)
    return np.stack([array * (1 - 0.1 * k) for k in range(ROWS)])


# All cases of an op: native code against the interpreter.


def check_native(cases: Sequence[OpCase]) -> None:
    """Native code in float64, with vjps to second order, and with values that operands share."""
    batch_of(cases, ["float64"], 2).compare()
    if len(cases[0].wrt) > 1:
        _batch_of_shared(cases[0]).compare()


def check_native_single(cases: Sequence[OpCase]) -> None:
    """Native code in float32, with vjps to second order."""
    batch_of(cases, ["float32"], 2).compare()


def check_native_half(cases: Sequence[OpCase]) -> None:
    """Native code in float16 and bfloat16, with vjps."""
    if getattr(cases[0].op_class, "TAKES_HALF", True):
        batch_of(cases, ["float16", "bfloat16"], 1).compare()


def batch_of(cases: Sequence[OpCase], names: Sequence[str], order: int) -> CompiledTogether:
    """All cases of an op, as vjps of some order where there is one, in several floating types."""
    batch = CompiledTogether()
    for k, case in enumerate(cases):
        for name in names:
            arrays = case.arrays(ELEMENTS[name])
            source = function(case, arrays, ELEMENTS[name], f"f{k}_{name}")
            batch.add(source, arrays, case.wrt, order if is_active(case) else 0)
    return batch


def _batch_of_shared(case: OpCase) -> CompiledTogether:
    """The vjps of a case with one value for several operands."""
    batch = CompiledTogether()
    arrays = case.arrays(f64)
    source = function(case, arrays, f64)
    for one, kept in shared_operands(source, case.wrt):
        wrt = [kept.index(k) for k in case.wrt if k in kept]
        batch.add(one, [arrays[k] for k in kept], wrt, 1)
    return batch


def check_special_numbers(cases: Sequence[OpCase]) -> None:
    """Native values and gradients of zeros, infinities, nan, and the ends of each type.

    Of elementwise ops of floats alone.
    """
    op = cases[0].op_class
    if not issubclass(op, UnaryOp | BinaryOp | CompareOp):
        return
    if getattr(op, "DOMAIN", "") in ("bool", "integer", "bits"):
        return
    batch = CompiledTogether()
    for name, element in ELEMENTS.items():
        is_half = is_float(element) and element not in (f64, f32)
        if not is_float(element) or (is_half and not getattr(op, "TAKES_HALF", True)):
            continue
        numbers = special(element)
        count = 1 if issubclass(op, UnaryOp) else 2
        arrays = [g.ravel() for g in np.meshgrid(*[numbers] * count)]
        case = OpCase(op.name, arrays)
        order = int(is_active(case) and element in (f64, f32))
        batch.add(function(case, arrays, element, f"f_{name}"), arrays, case.wrt, order)
    batch.compare(scaled=False)


def special(element: Attribute, *more: float) -> Array:
    """Numbers where formulas fail, in a floating type."""
    limits = limits_of(numpy_dtype(element))
    ends = [float(limits.max), float(limits.smallest_normal), float(limits.smallest_subnormal)]
    with np.errstate(over="ignore"):
        numbers = np.array([*SPECIAL, *ends, *(-v for v in ends), *more])
        return numbers.astype(numpy_dtype(element))


# On complex numbers, where the op takes them.


def complex_function(case: OpCase, arrays: Sequence[Array], name: str = "f") -> FuncOp | None:
    """The op on complex arrays; None for a case that is of real numbers."""
    try:
        made = function(case, arrays, c128, name)
        module_of(made.clone())
    except (VerifyException, LocatedError):
        return None
    types = (*made.function_type.inputs, *made.function_type.outputs)
    return made if any(map(is_complex_tensor, types)) else None


def check_complex(case: OpCase) -> None:
    """First and second derivatives are central differences of both parts; rows are vectorized.

    Not of vectors, whose phases nothing determines.
    """
    if not (case.op_class.COMPLEX and is_active(case) and case.is_derivative):
        return
    if case.op_class.HAS_PHASES:
        return
    arrays = case.arrays(c128)
    whole = complex_function(case, arrays)
    if whole is not None:
        _check_gradients(whole, arrays, case.wrt)


def check_native_complex(cases: Sequence[OpCase]) -> None:
    """Native code on complex128, with vjps."""
    batch = CompiledTogether()
    for k, case in enumerate(cases):
        arrays = case.arrays(c128) if case.op_class.COMPLEX else []
        whole = complex_function(case, arrays, f"f{k}") if case.op_class.COMPLEX else None
        if whole is not None:
            batch.add(whole, arrays, case.wrt, int(is_active(case)))
    if batch.own:
        batch.compare()


def check_other_types(cases: Sequence[OpCase]) -> None:
    """Native values on integers and bools, where the op takes them, of its first cases."""
    batch = CompiledTogether()
    for k, case in enumerate(cases[:2]):
        for name, element in ELEMENTS.items():
            arrays = case.arrays(f64)
            if is_inexact(element) or not arrays or not case.wrt:
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


OF_CASES: Mapping[str, Callable[[OpCase], None]] = {
    "text": check_text,
    "value": check_value,
    "gradients": check_gradients,
    "halves": check_halves,
    "closed": check_closed,
    "rows": check_rows,
    "complex": check_complex,
}
"""The checks of each case, by name."""

OF_OPS: Mapping[str, Callable[[Sequence[OpCase]], None]] = {
    "native": check_native,
    "native_single": check_native_single,
    "native_half": check_native_half,
    "special_numbers": check_special_numbers,
    "other_types": check_other_types,
    "native_complex": check_native_complex,
}
"""The checks of all cases of an op together, by name."""
