"""Code for other machines than this one: CPU levels, their bits, and what they leave to libraries.

Code of each level that this machine has is run; of the others, and of aarch64, the object is made,
and its undefined symbols are read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import vector_math_harness as vector_math
from op_cases import ELEMENTS, OP_CLASSES
from op_programs import (
    COMPLEX_OPS,
    Batch,
    assert_close,
    first_real_case,
    function,
    is_active,
    largest,
)

import gradir
from gradir import Module
from gradir.codegen.driver.growing_memory import GROWING_SYMBOLS
from gradir.codegen.driver.pool import BARRIER, RUN
from gradir.codegen.driver.program import emit_program
from gradir.codegen.text.callback_functions import HOST_SYMBOL, POLL_SYMBOL
from gradir.codegen.text.target import LEVELS, MachineTarget, host, target_of
from gradir.codegen.vector_math import FUNCTIONS, definitions
from gradir.codegen.vector_math.target_functions import LIBRARY_FUNCTIONS, completed
from gradir.compiler.compiler import compile_function, emit_object, isolate_function
from gradir.compiler.pipeline import STAGES, Machine, run_stages
from gradir.dialects.grad.lapack import FACTOR_OPS
from gradir.errors import ArgumentError, CompileError
from gradir.runtime import executable, jit
from gradir.runtime.jit import undefined_symbols
from gradir.runtime.llvm import assembly, compile_object
from gradir.runtime.native_code import symbols_of
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

RUNNABLE = [level for level in LEVELS if not target_of(level).lacking]
OURS = {HOST_SYMBOL, POLL_SYMBOL, *GROWING_SYMBOLS, BARRIER, RUN}
HALVES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
FOR_A_TARGET = [stage.name for stage in STAGES].index("gradir-allocate-scratch")
"""The first stage that is not the same for all targets."""
level_of = pytest.mark.parametrize("level", LEVELS)
running = pytest.mark.parametrize("level", RUNNABLE)


def check_symbols(data: bytes, level: str) -> None:
    found = undefined_symbols([data])
    assert found is not None
    unknown = set(found) - {*LIBRARY_FUNCTIONS, *OURS}
    assert not unknown, f"{level}: {unknown}"


# The op table.

GROUPS = 12


def lean_batch(ops: Sequence[str]) -> Batch:
    """The first case of each op and its vjp, in f32 and in half precision where it takes that."""
    batch = Batch()
    for k, op in enumerate(ops):
        case = first_real_case(op)
        halves = ["float16", "bfloat16"] if getattr(OP_CLASSES[op], "TAKES_HALF", True) else []
        for name in ("float32", *halves):
            arrays = case.arrays(ELEMENTS[name])
            source = function(case, arrays, ELEMENTS[name], f"f{k}_{name}")
            batch.add(source, arrays, case.wrt, 1 if is_active(case) else 0)
    return batch


@pytest.mark.parametrize("group", range(GROUPS))
def test_ops(group: int) -> None:
    """The stages run once; what depends on the target is done for each.

    Those of comm and factors of matrices are calls of a library, which code is loaded with.
    """
    # the derivative of grad.cofactor is one of these calls
    calls = (*(op.name for op in FACTOR_OPS), "grad.cofactor")
    left = (*calls, *COMPLEX_OPS)  # planes are real code, which the other ops have
    names = [n for n in OP_CLASSES if not n.startswith("comm.") and n not in left][group::GROUPS]
    for some in (names[k : k + 3] for k in range(0, len(names), 3)):
        batch = lean_batch(some)
        expected = batch.expected()
        counts = batch.add_driver()
        isolate_function(batch.module, "driver")
        run_stages(batch.module, Machine.here(), stages=STAGES[:FOR_A_TARGET])
        for level in LEVELS:
            target = target_of(level)
            data, program = emitted(batch.module.clone(), target)
            check_symbols(data, f"{level}: {some}")
            if target.lacking:
                continue
            code = jit.LoadedCode([data], (program.entry,), symbols_of(program))
            run = executable.Executable(program, code, target, 1)
            values = iter(run(*(a for _, arrays in batch.calls for a in arrays)))
            found = [tuple(next(values) for _ in range(count)) for count in counts]
            compare(batch, expected, found, level)


def emitted(module: Any, target: MachineTarget) -> tuple[bytes, Any]:
    run_stages(module, Machine(target, 1), stages=STAGES[FOR_A_TARGET:])
    program = emit_program(function_named(module, "driver"), target, 1)
    assert " half" not in program.text or target.converts_half
    assert "bfloat" not in program.text
    return compile_object(program.text, target).data, program


def compare(batch: Batch, expected: Any, found: Any, level: str) -> None:
    for (name, arrays), some, others in zip(batch.calls, expected, found, strict=True):
        scale = max(map(largest, (*arrays, *some)), default=0)
        for k, (one, other) in enumerate(zip(others, some, strict=True)):
            assert_close(one, other, scale, f"{level}: @{name}, result {k}")


# Half precision: the same bits everywhere.

CONVERSIONS = """
func.func @vectors(%h: tensor<65536xHALF>, %x: tensor<COUNTxf32>, %y: tensor<COUNTxf64>)
    -> (tensor<65536xf32>, tensor<65536xf64>, tensor<COUNTxHALF>, tensor<COUNTxHALF>) {
  %0 = array.astype %h : tensor<65536xHALF> -> tensor<65536xf32>
  %1 = array.astype %h : tensor<65536xHALF> -> tensor<65536xf64>
  %2 = array.astype %x : tensor<COUNTxf32> -> tensor<COUNTxHALF>
  %3 = array.astype %y : tensor<COUNTxf64> -> tensor<COUNTxHALF>
  func.return %0, %1, %2, %3
      : tensor<65536xf32>, tensor<65536xf64>, tensor<COUNTxHALF>, tensor<COUNTxHALF>
}
func.func @scalars(%h: HALF, %x: f32, %y: f64) -> (f32, f64, HALF, HALF, HALF) {
  %0 = arith.extf %h : HALF to f32
  %1 = arith.extf %h : HALF to f64
  %2 = arith.truncf %x : f32 to HALF
  %3 = arith.truncf %y : f64 to HALF
  %4 = arith.negf %h : HALF
  func.return %0, %1, %2, %3, %4 : f32, f64, HALF, HALF, HALF
}
"""


@cache
def halfway(half: str) -> tuple[Array, Array]:
    """Numbers of f32 and f64: all of the half type, those between two and next to these."""
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[half])
    finite = np.sort(every[np.isfinite(every.astype(np.float32))].astype(np.float64))
    middle = (finite[1:] + finite[:-1]) / 2
    last = finite[-1] + (finite[-1] - middle[-1])
    singles = np.concatenate([finite, middle, [last, -last, np.inf, -np.inf, np.nan]])
    singles = singles.astype(np.float32)
    next_to = [np.nextafter(singles, np.float32(end)) for end in (np.inf, -np.inf)]
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 1 << 32, 5000, dtype=np.uint32).view(np.float32)
    singles = np.concatenate([singles, *next_to, patterns])
    with np.errstate(all="ignore"):
        doubles = singles.astype(np.float64)
        near = np.nextafter(doubles, rng.choice([-np.inf, np.inf], doubles.size))
    return singles, np.where(rng.random(doubles.size) < 0.5, near, doubles)


def once_rounded(x: Array, half: str) -> Array:
    """f64 rounded once: to odd in f32, and from there to nearest."""
    single = x.astype(np.float32)
    bits = single.view(np.int32)
    inexact = np.isfinite(x) & (single.astype(np.float64) != x)
    lower = bits - (inexact & (np.abs(single.astype(np.float64)) > np.abs(x)))
    odd = (lower | inexact).astype(np.int32).view(np.float32)
    return odd.astype(HALVES[half])


def bits_of(x: Array) -> Array:
    """The bits, with one nan for all."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
    bits = x.view(f"u{x.dtype.itemsize}")
    return np.where(np.isnan(wide), bits.dtype.type(0xFFFF), bits)


@running
@pytest.mark.parametrize("half", HALVES)
def test_conversions(half: str, level: str) -> None:
    singles, doubles = halfway(half)
    text = CONVERSIONS.replace("HALF", half).replace("COUNT", str(singles.size))
    fn = compile_function(gradir.parse(text).op, "vectors", 1, target_of(level))
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[half])
    found = fn(every, singles, doubles)
    with np.errstate(all="ignore"):
        wanted = [every.astype(t) for t in (np.float32, np.float64)]
        wanted += [singles.astype(HALVES[half]), once_rounded(doubles, half)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(bits_of(one), bits_of(other))


@running
@pytest.mark.parametrize("half", HALVES)
def test_conversions_of_scalars(half: str, level: str) -> None:
    module = gradir.parse(CONVERSIONS.replace("HALF", half).replace("COUNT", "1"))
    fn = compile_function(module.op, "scalars", 1, target_of(level))
    kind = HALVES[half].type
    for x in (0.0, -0.0, 1.5, -3e-8, 6e-8, 1e-40, 65504.0, 65520.0, 3.4e38, np.inf, np.nan, 0.1):
        with np.errstate(all="ignore"):
            h: Any = kind(x)
            s, d = np.float32(x), np.float64(x)
            wanted = [np.float32(h), np.float64(h), kind(s), once_rounded(np.array([d]), half), -h]
        for one, other in zip(fn(h, s, d), wanted, strict=True):
            one, other = (np.asarray(v).reshape(1) for v in (one, other))
            np.testing.assert_array_equal(bits_of(one), bits_of(other), f"{x}")


def test_nans_are_the_same_at_each_level() -> None:
    """A quiet nan with the first bits of what it was made of."""
    patterns = np.random.default_rng(0).integers(0, 1 << 32, 4096, dtype=np.uint32) | 0x7F800000
    every = np.arange(1 << 16, dtype=np.uint16)
    for half, kind in HALVES.items():
        text = CONVERSIONS.replace("HALF", half).replace("COUNT", "4096")
        given = (every.view(kind), patterns.view(np.float32), np.zeros(4096))
        results = [
            compile_function(gradir.parse(text).op, "vectors", 1, target_of(level))(*given)
            for level in RUNNABLE
        ]
        for others in results[1:]:
            for one, other in zip(results[0], others, strict=True):
                assert one.tobytes() == other.tobytes()


# Arithmetic that a level has no instruction for.

ARITHMETIC = """
func.func @f(%x: tensor<NxT>, %y: tensor<NxT>, %z: tensor<NxT>, %s: T)
    -> (tensor<NxT>, tensor<NxT>, tensor<NxT>, tensor<NxT>, T, T) {
  %0 = array.floor %x : tensor<NxT>
  %1 = array.ceil %x : tensor<NxT>
  %2 = array.trunc %x : tensor<NxT>
  %3 = array.round %x : tensor<NxT>
  %4 = math.round %s : T
  %5 = math.fma %s, %s, %s : T
  func.return %0, %1, %2, %3, %4, %5
      : tensor<NxT>, tensor<NxT>, tensor<NxT>, tensor<NxT>, T, T
}
"""


def numbers(dtype: type[Any]) -> Array:
    info = np.finfo(dtype)
    large = 2.0**info.nmant
    points = [0.0, 0.5, 1.0, 1.5, 2.5, 0.49999997, 1e-30, large, large / 2 + 0.5, large - 0.5]
    points += [3 * large, float(info.max), float(info.tiny), float(info.smallest_subnormal), np.inf]
    some = np.array([*points, *(-p for p in points), np.nan], dtype)
    with np.errstate(all="ignore"):
        near = [np.nextafter(some, dtype(end)) for end in (np.inf, -np.inf)]
    rng = np.random.default_rng(1)
    return np.concatenate([some, *near, rng.uniform(-9, 9, 200).astype(dtype)])


@running
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_rounding_to_whole_numbers(element: str, level: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[element]
    x = numbers(dtype)
    module = gradir.parse(ARITHMETIC.replace("N", str(x.size)).replace("T", element))
    fn = compile_function(module.op, "f", 1, target_of(level))
    for s in (dtype(v) for v in (2.5, -2.5, 0.49999997, -0.2, np.nan)):
        *found, rounded, _ = fn(x, x, x, s)
        for one, rule in zip(found, (np.floor, np.ceil, np.trunc, np.round), strict=True):
            np.testing.assert_array_equal(bits_of(one), bits_of(rule(x)))
        away = dtype(np.copysign(np.floor(np.abs(np.float64(s)) + 0.5), s))
        one, other = np.asarray(rounded), np.asarray(away)
        np.testing.assert_array_equal(bits_of(one), bits_of(other))


FMA = """
define void @fma(ptr %x, ptr %y, ptr %z, ptr %r, i64 %n) ATTRIBUTES {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %px = getelementptr float, ptr %x, i64 %i
  %py = getelementptr float, ptr %y, i64 %i
  %pz = getelementptr float, ptr %z, i64 %i
  %pr = getelementptr float, ptr %r, i64 %i
  %vx = load <4 x float>, ptr %px, align 4
  %vy = load <4 x float>, ptr %py, align 4
  %vz = load <4 x float>, ptr %pz, align 4
  %v = call <4 x float> @llvm.fma.v4f32(<4 x float> %vx, <4 x float> %vy, <4 x float> %vz)
  store <4 x float> %v, ptr %pr, align 4
  %next = add i64 %i, 4
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}
"""


def fma_arguments() -> list[Array]:
    """Random bits, sums that all but cancel, and results between two numbers."""
    rng = np.random.default_rng(2)
    x, y, z = rng.integers(0, 1 << 32, (3, 40000), dtype=np.uint32).view(np.float32)
    a, b = rng.standard_normal((2, 20000)).astype(np.float32)
    size = np.float32(2.0) ** rng.integers(-149, 127, 20000).astype(np.float32)
    with np.errstate(all="ignore"):
        scaled = [(a * size).astype(np.float32), -(a * size * b).astype(np.float32)]
        tie = (size * np.float32(2.0**-24) * np.sign(b)).astype(np.float32)
    ones = np.ones_like(a)
    parts = ([x, scaled[0], size], [y, b, ones], [z, scaled[1], tie])
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 3e38, 1e-45], np.float32)
    grids = [np.ascontiguousarray(g.ravel()) for g in np.meshgrid(edges, edges, edges)]
    return [np.concatenate([*some, grid]) for some, grid in zip(parts, grids, strict=True)]


def exact_fma(x: Array, y: Array, z: Array) -> Array:
    """By the C library."""
    library = ctypes.CDLL(None)
    library.fmaf.restype, library.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
    return np.array([library.fmaf(*v) for v in zip(x, y, z, strict=True)], np.float32)


@running
def test_fma_is_rounded_once(level: str) -> None:
    target = target_of(level)
    text = "\n".join(completed(FMA.replace("ATTRIBUTES", target.attributes), target))
    data = compile_object(text, target).data
    assert undefined_symbols([data]) == ()
    code = jit.LoadedCode([data], ("fma",), {})
    arguments = fma_arguments()
    found = np.empty_like(arguments[0])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(code.address)
    run(*(a.ctypes.data for a in (*arguments, found)), found.size)
    np.testing.assert_array_equal(bits_of(found), bits_of(exact_fma(*arguments)))


LANES = {32: 4, 64: 2}
LANES_OF_HOST = {32: 4, 64: 8}


def math_code(level: str, name: str, bits: int) -> jit.LoadedCode:
    target = target_of(level)
    request = (name, bits, LANES[bits])
    text = "\n".join(
        completed("\n".join([*definitions([request]), vector_math.loop_text(*request)]), target)
    )
    data = compile_object(text, target).data
    check_symbols(data, f"{level}: {name}")
    return jit.LoadedCode([data], (f"{name}_{bits}_{LANES[bits]}",), {})


@pytest.mark.parametrize("bits", LANES)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_vector_math_has_the_same_bits_at_each_level(name: str, bits: int) -> None:
    """Its accuracy is then everywhere as `test_vector_math.py` finds."""
    x, y = (vector_math.sample(name, bits)[k] for k in (0, -1))
    results = list[bytes]()
    for level in RUNNABLE:
        code = math_code(level, name, bits)
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.address)
        result = np.empty_like(x)
        run(x.ctypes.data, y.ctypes.data, result.ctypes.data, x.size)
        results.append(bits_of(result).tobytes())
    assert set(results) == {bits_of(vector_math.apply(name, LANES_OF_HOST[bits], x, y)).tobytes()}


# Programs with control flow, calls and tapes.


def loop(x: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return c + x[i] * c

    return gradir.fori_loop(0, 3, step, x[0])


def while_loop(x: Any) -> Any:
    def is_small(c: Any) -> Any:
        return c < 9

    def step(c: Any) -> Any:
        return c * c + x[1]

    return gradir.while_loop(is_small, step, x[0] + x[2])


def branch(x: Any) -> Any:
    return gradir.cond(x[0] > 0, lambda: x[1] * x[2], lambda: x[0])


@pytest.mark.parametrize("dtype", [np.float32, *HALVES.values()], ids=str)
@pytest.mark.parametrize("program", [loop, while_loop, branch])
def test_control_flow(program: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.5, 0.5, 2.0], dtype)
    results = list[bytes]()
    for level in RUNNABLE[::2]:
        monkeypatch.setenv("GRADIR_CPU", level)
        results.append(np.asarray(gradir.grad(program)(x)).tobytes())
    assert len(set(results)) == 1
    module = gradir.trace(gradir.grad(program), x)
    for level in LEVELS:
        data = emit_object(module.op.clone(), module.functions[-1], target_of(level), 2).data
        check_symbols(data, level)


# Targets.


def test_levels_are_what_they_say() -> None:
    for level, width in zip(LEVELS, (16, 16, 32, 64, 16), strict=True):
        assert target_of(level).vector_bytes == width
    baseline, haswell = target_of("x86-64"), target_of("x86-64-v3")
    assert not (baseline.fma or baseline.converts_half or baseline.rounds or baseline.masked)
    assert haswell.fma and haswell.converts_half and haswell.rounds and haswell.masked
    assert target_of("x86-64-v4", 32).vector_registers == 16
    assert "-avx512f" in target_of("x86-64-v4", 32).features


ELEMENTWISE = """
func.func @f(%x: tensor<512xbf16>, %y: tensor<512xf32>) -> (tensor<512xbf16>, tensor<512xf32>) {
  %0 = array.multiply %x, %x : tensor<512xbf16>
  %1 = array.multiply %y, %y : tensor<512xf32>
  %2 = array.add %1, %y : tensor<512xf32>
  func.return %0, %2 : tensor<512xbf16>, tensor<512xf32>
}
"""


@level_of
def test_instructions_above_the_level_are_not_used(level: str) -> None:
    target = target_of(level)
    op = gradir.parse(ELEMENTWISE).op
    run_stages(op, Machine(target, 1))
    text = assembly(emit_program(function_named(op, "f"), target, 1).text, target)
    assert ("%zmm" in text) == (level == "x86-64-v4")
    assert ("%ymm" in text) == (level == "x86-64-v3")
    assert ("fmul\tv" in text) == (level == "aarch64")
    # it flushes subnormal numbers
    assert "vcvtneps2bf16" not in text


def test_the_environment_names_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_CPU", RUNNABLE[0] if RUNNABLE else "host")
    fn: Any = gradir.compile(gradir.parse(ELEMENTWISE), "f")
    assert fn.target.level == (RUNNABLE[0] if RUNNABLE else "host")
    monkeypatch.setenv("GRADIR_VECTOR_BYTES", "16")
    assert host().vector_bytes == 16
    monkeypatch.setenv("GRADIR_VECTOR_BYTES", "wide")
    with pytest.raises(ArgumentError, match="GRADIR_VECTOR_BYTES: 16, 32 or 64 expected, got 'w"):
        host()
    monkeypatch.delenv("GRADIR_VECTOR_BYTES")
    monkeypatch.setenv("GRADIR_CPU", "x86-64-v9")
    with pytest.raises(
        ArgumentError, match=r"GRADIR_CPU: one of host, x86-64, .* expected, got 'x"
    ):
        host()
    with pytest.raises(ArgumentError, match="at most 16 at level x86-64-v2, got 32"):
        target_of("x86-64-v2", 32)


@level_of
def test_code_for_another_machine_is_not_run(level: str) -> None:
    target = target_of(level)
    if not target.lacking:
        return
    with pytest.raises(CompileError, match=f"code for {level} cannot run on this machine, which"):
        compile_function(gradir.parse(ELEMENTWISE).op, "f", target=target)
    assert emit_object(gradir.parse(ELEMENTWISE).op, "f", target).data


def test_a_missing_function_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    text = """
    declare float @__truncsfbf2(float)
    declare double @nobody(double)
    define void @f(ptr %x) {
      %v = load float, ptr %x
      %w = call float @__truncsfbf2(float %v)
      %d = call double @nobody(double 1.0)
      store float %w, ptr %x
      ret void
    }"""
    data = compile_object(text, host()).data
    assert undefined_symbols([data]) == ("__truncsfbf2", "nobody")
    with pytest.raises(CompileError, match=r"gradir does not have: __truncsfbf2, nobody$"):
        jit.LoadedCode([data], ("f",), {})
    assert capfd.readouterr() == ("", "")


def test_library_functions_are_there() -> None:
    from gradir.runtime.threads import library_function

    assert all(library_function(name) for name in LIBRARY_FUNCTIONS)
    with pytest.raises(CompileError, match="the C library has no function of_nobody"):
        library_function("of_nobody")


def test_a_module_of_another_format_is_not_read() -> None:
    assert undefined_symbols([b"\xcf\xfa\xed\xfe" + bytes(60)]) is None
    assert Module(gradir.parse(ELEMENTWISE).op).functions == ("f",)
