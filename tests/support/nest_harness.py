"""Compiling loop nests alone, running them over NumPy arrays, and what they should compute."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import ml_dtypes
import numpy as np
from llvmlite import binding
from xdsl.context import Context
from xdsl.dialects.arith import Arith, CmpfOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import Builtin, FloatAttr, IntegerAttr
from xdsl.dialects.func import Func
from xdsl.dialects.math import Math
from xdsl.dialects.memref import MemRef
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from gradir.codegen.bodies.emitter import element_kind
from gradir.codegen.bodies.op_table import FLOAT_PREDICATES, INTEGER_PREDICATES
from gradir.codegen.nests.kernel import emit_nest, nest_scratch_bytes
from gradir.codegen.text.functions import METADATA
from gradir.codegen.text.kernel import ERROR_RECORD_BYTES, Kernel
from gradir.codegen.text.kinds import kind_of
from gradir.codegen.text.target import MachineTarget, host
from gradir.codegen.vector_math.target_functions import completed
from gradir.dialects.base.access import Access
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    IndexOp,
    LoadOp,
    Loopnest,
    NestOp,
    ShapedType,
    YieldOp,
)

Array = np.ndarray[Any, np.dtype[Any]]
Split = Callable[[int], Sequence[tuple[int, int]]]

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "i1": np.bool_,
}


def parse_nest(text: str) -> NestOp:
    """The one nest in the body of a function with the arguments `%in0 ... %out0 ...`."""
    context = Context()
    for dialect in (Builtin, Func, Arith, Math, MemRef, Loopnest):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return next(op for op in module.walk() if isinstance(op, NestOp))


def nest(bounds: Sequence[int], inputs: Sequence[str], outputs: Sequence[str], body: str) -> NestOp:
    """A nest from lines like `x[d0, d1] : 4x5xf32` and `add y[d0] : 4xf32`.

    The body names the arguments %a, %b, ... in order.
    """
    arguments: list[str] = []
    reads: list[str] = []
    writes: list[str] = []
    for k, line in enumerate(inputs):
        subscripts, _, shape = line.rpartition(":")
        arguments.append(f"%in{k} : memref<{shape.strip()}>")
        reads.append(f"%{'abcdefgh'[k]} = %in{k}{subscripts} : memref<{shape.strip()}>")
    for k, line in enumerate(outputs):
        subscripts, _, shape = line.rpartition(":")
        arguments.append(f"%out{k} : memref<{shape.strip()}>")
        writes.append(f"{subscripts} to %out{k} : memref<{shape.strip()}>")
    return parse_nest(
        f"func.func @f({', '.join(arguments)}) {{\n"
        f"  loopnest.nest {list(bounds)} ({', '.join(reads)}) -> ({', '.join(writes)}) {{\n"
        f"{body}\n  }}\n  func.return\n}}"
    )


@dataclass
class Compiled:
    """A kernel in memory."""

    kernel: Kernel
    scratch_bytes: int
    assembly: str
    _engine: Any
    _functions: list[Callable[..., None]] = field(default_factory=list[Callable[..., None]])

    def run(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        split: Split | None = None,
    ) -> tuple[int, int, int]:
        """Run all phases, each in the parts that `split` gives; return the error record."""
        # undefined before: whatever is read has to be written first
        scratch = np.full(self.scratch_bytes + 64, 0xAB, np.uint8)
        error = np.zeros(ERROR_RECORD_BYTES // 8, np.int64)
        pointers = [a.ctypes.data for a in (*inputs, *outputs, scratch, error)]
        for phase, function in zip(self.kernel.phases, self._functions, strict=True):
            for begin, end in split(phase.items) if split else [(0, phase.items)]:
                function(*pointers, begin, end)
        code, index, bound = (int(v) for v in error)
        return code, index, bound


def compile_nest(
    op: NestOp, vector_bytes: int | None = None, target: MachineTarget | None = None
) -> Compiled:
    """Compile for this machine (or for `target`), with LLVM's vectorizers off."""
    target = target or host(vector_bytes)
    kernel = emit_nest(op, "nest", target)
    text = "\n".join([METADATA, kernel.text])
    if kernel.functions:
        from gradir.codegen.vector_math import definitions

        text += "\n".join(definitions(kernel.functions, attributes=target.attributes))
    engine, assembly = _compile("\n".join(completed(text, target)), target)
    count = len(op.inputs) + len(op.outputs) + 2
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, ctypes.c_int64, ctypes.c_int64)
    functions = [signature(engine.get_function_address(p.symbol)) for p in kernel.phases]
    return Compiled(
        kernel,
        nest_scratch_bytes(op, target),
        assembly,
        engine,
        cast(list[Callable[..., None]], functions),
    )


def _compile(text: str, target: MachineTarget) -> tuple[Any, str]:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=2
    )
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    assembly = machine.emit_assembly(module)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, assembly


# What a nest should compute: the body on arrays over the whole iteration space.


def reference(op: NestOp, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[Array]:
    """The outputs that `op` should write; `outputs` holds what they contain before."""
    grid = np.indices(op.extents).reshape(len(op.extents), -1) if op.extents else np.zeros((0, 1))
    grid = grid.astype(np.int64)
    values: dict[SSAValue, Array] = {}
    rows = zip(op.body.block.args, inputs, op.input_accesses, op.input_pads, strict=True)
    for argument, array, access, pad in rows:
        values[argument] = array if access is None else _read(array, access, pad, grid)
    for inner in op.body.block.ops:
        if not isinstance(inner, YieldOp):
            values[inner.results[0]] = _evaluate(inner, values, grid)
    yielded = [values[v] for v in op.yielded]
    results = [array.copy() for array in outputs]
    position = len(outputs)
    for k, result in enumerate(results):
        access = op.output_accesses[k]
        place: list[Array] = []
        for row in access.rows:
            if row.symbol is None:
                place.append(_row_values(row.coefficients, row.constant, grid))
            else:
                place.append(np.broadcast_to(yielded[position], grid.shape[1:]))
                position += 1
        _combine(op, k, result, tuple(place), yielded[k])
    return results


def _row_values(coefficients: Sequence[int], constant: int, grid: Array) -> Array:
    return np.asarray(constant + sum(c * g for c, g in zip(coefficients, grid, strict=True))) + (
        np.zeros(grid.shape[1:], np.int64)
    )


def _read(array: Array, access: Access, pad: Any, grid: Array) -> Array:
    rows = [_row_values(r.coefficients, r.constant, grid) for r in access.rows]
    inside = np.ones(grid.shape[1:], bool)
    for row, extent in zip(rows, array.shape, strict=True):
        inside &= (row >= 0) & (row < extent)
    if pad is None:
        assert inside.all()
        return array[tuple(rows)]
    result = np.full(grid.shape[1:], pad.value.data, array.dtype)
    result[inside] = array[tuple(row[inside] for row in rows)]
    return result


IDENTITIES = {"add": 0, "multiply": 1, "and": -1, "or": 0}


def identity(combiner: str, dtype: np.dtype[Any]) -> Any:
    if combiner not in ("maximum", "minimum"):
        return np.asarray(IDENTITIES[combiner]).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(combiner == "minimum")
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return np.asarray(info.min if combiner == "maximum" else info.max, dtype)
    return np.asarray(-np.inf if combiner == "maximum" else np.inf).astype(dtype)


UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def _combine(op: NestOp, k: int, result: Array, place: tuple[Array, ...], value: Any) -> None:
    combiner, starts = op.output_combiners[k], k in op.starting_outputs
    iterations = math.prod(op.extents)
    value = np.broadcast_to(value, iterations)
    if not place:  # a scalar, as one element
        result, place = result.reshape(1), (np.zeros(iterations, np.int64),)
    if combiner == "none":
        result[place] = value.astype(result.dtype)
        return
    # floats are summed in double: the order of the machine is another one
    exact = value.dtype.kind in "ib"
    wide = value.dtype if exact else np.dtype(np.float64)
    total = result.astype(wide) if starts else np.full(result.shape, identity(combiner, wide))
    UFUNCS[combiner].at(total, place, value.astype(wide))
    if not exact and value.dtype != result.dtype:
        total = total.astype(value.dtype)
    result[...] = total.astype(result.dtype)


Evaluator = Callable[..., Array]

BINARY: dict[str, Evaluator] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "math.copysign": np.copysign,
}
UNARY: dict[str, Evaluator] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.sqrt": np.sqrt,
    "math.exp": np.exp,
    "math.tanh": np.tanh,
    "math.log": np.log,
    "math.sin": np.sin,
}
CONVERSIONS = ("arith.extf", "arith.truncf", "arith.sitofp", "arith.extsi", "arith.trunci")
COMPARE: dict[str, Evaluator] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _evaluate(op: Operation, values: dict[SSAValue, Array], grid: Array) -> Array:
    xs = [values[v] for v in op.operands]
    dtype = DTYPES[kind_of(op.results[0].type)]
    if isinstance(op, ConstantOp):
        assert isinstance(op.value, FloatAttr | IntegerAttr)
        return np.asarray(op.value.value.data).astype(dtype)
    if isinstance(op, IndexOp):
        return grid[op.dim.value.data]
    if isinstance(op, LoadOp):
        return xs[0][tuple(xs[1:])]
    if isinstance(op, CheckIndexOp):
        bound = op.bound.value.data
        counted = 0 if op.from_start else bound
        return np.clip(np.where(xs[0] < 0, xs[0] + counted, xs[0]), 0, bound - 1)
    with np.errstate(all="ignore"):
        return _arithmetic(op, xs).astype(dtype)


def _arithmetic(op: Operation, xs: list[Array]) -> Array:
    if isinstance(op, CmpfOp):
        return _compare_floats(FLOAT_PREDICATES[op.predicate.value.data], xs[0], xs[1])
    if isinstance(op, CmpiOp):
        return _compare_integers(INTEGER_PREDICATES[op.predicate.value.data], xs[0], xs[1])
    if op.name == "arith.select":
        return np.where(xs[0], xs[1], xs[2])
    if op.name in BINARY:
        return BINARY[op.name](xs[0], xs[1])
    if op.name in UNARY:
        return UNARY[op.name](xs[0])
    assert op.name in CONVERSIONS, op.name
    return xs[0]


def _compare_floats(predicate: str, x: Array, y: Array) -> Array:
    unordered = np.isnan(x) | np.isnan(y)
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    if predicate in ("true", "false"):
        return np.full(np.broadcast_shapes(x.shape, y.shape), predicate == "true")
    holds = COMPARE[predicate[1:]](x, y)
    return holds | unordered if predicate[0] == "u" else holds & ~unordered


def _compare_integers(predicate: str, x: Array, y: Array) -> Array:
    if predicate[0] == "u":
        x, y = (v.view(f"u{v.dtype.itemsize}") for v in (x, y))
    return COMPARE[predicate[-2:]](x, y)


def random_array(type_: ShapedType, generator: np.random.Generator) -> Array:
    """Small numbers of an operand's type."""
    dtype = np.dtype(DTYPES[element_kind(type_)])
    shape = tuple(type_.get_shape())
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind == "i":
        return generator.integers(-9, 9, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


# Checks that tests share.

COPY = "loopnest.yield %a : {}"
TOLERANCE = {"f64": 1e-11, "f32": 2e-5, "f16": 2e-3, "bf16": 2e-2}
NARROWER = [b for b in (16, 32) if b < host().vector_bytes]


def one_by_one(items: int) -> Sequence[tuple[int, int]]:
    """Every item alone, the last first."""
    return [(k, k + 1) for k in reversed(range(items))]


def in_three(items: int) -> Sequence[tuple[int, int]]:
    cuts = [0, items // 3, items // 2, items]
    return [(begin, end) for begin, end in pairwise(cuts) if begin < end]


def operands(op: NestOp, seed: int = 0) -> tuple[list[Array], list[Array]]:
    generator = np.random.default_rng(seed)
    inputs = [random_array(cast(ShapedType, v.type), generator) for v in op.inputs]
    outputs = [random_array(cast(ShapedType, v.type), generator) for v in op.outputs]
    return inputs, outputs


def results(
    compiled: Compiled,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    split: Split | None = None,
) -> list[Array]:
    got = [o.copy() for o in outputs]
    compiled.run(inputs, got, split)
    return got


def assert_close(got: Array, want: Array, scale: float = 1.0) -> None:
    assert got.dtype == want.dtype
    if got.dtype.kind in "ib":
        np.testing.assert_array_equal(got, want)
        return
    tolerance = TOLERANCE[{2: "f16", 4: "f32", 8: "f64"}[got.dtype.itemsize]]
    if got.dtype.name == "bfloat16":
        tolerance = TOLERANCE["bf16"]
    np.testing.assert_allclose(
        got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance * scale
    )


def check(op: NestOp, vector_bytes: int | None = None, scale: float = 1.0) -> list[Array]:
    """Close to the reference, and the same bits however the items are dealt out."""
    op.verify()
    inputs, outputs = operands(op)
    compiled = compile_nest(op, vector_bytes)
    got = results(compiled, inputs, outputs)
    for g, w in zip(got, reference(op, inputs, outputs), strict=True):
        assert_close(g, w, scale)
    for split in (one_by_one, in_three):
        again = results(compiled, inputs, outputs, split)
        assert [a.tobytes() for a in again] == [g.tobytes() for g in got]
    return got


def check_widths(op: NestOp, scale: float = 1.0) -> None:
    """`check` with the vectors of this machine and with narrower ones."""
    for vector_bytes in (None, *NARROWER):
        check(op, vector_bytes, scale)
