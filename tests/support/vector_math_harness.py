"""Elementary functions alone, compiled as loops over arrays, and samples of their arguments."""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding as llvmlite_binding

from gradir.codegen.text.kinds import llvm_type
from gradir.codegen.vector_math import (
    Request,
    definitions,
    operand_count,
    symbol,
)

Array = np.ndarray[Any, np.dtype[Any]]
binding: Any = llvmlite_binding

FLOAT = {32: np.float32, 64: np.float64}
INTEGER = {32: np.uint32, 64: np.uint64}
LANES = {32: (1, 4, 16), 64: (1, 2, 8)}
SCALED_LANES = {32: (2, 4, 8, 16, 64), 64: (2, 4, 8, 32)}
SAMPLES = {32: 20000, 64: 3000}
nan, inf = math.nan, math.inf
EDGES = (0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30)


def loop_text(name: str, bits: int, lanes: int) -> str:
    """A function that applies `name` to whole arrays."""
    element, type_ = (llvm_type(f"f{bits}", n) for n in (1, lanes))
    operands = ["x", "y"][: operand_count(name)]
    loads = "\n".join(
        f"  %p{v} = getelementptr {element}, ptr %{v}, i64 %i\n"
        f"  %v{v} = load {type_}, ptr %p{v}, align {bits // 8}"
        for v in operands
    )
    arguments = ", ".join(f"{type_} %v{v}" for v in operands)
    return f"""
define void @{name}_{bits}_{lanes}(ptr %x, ptr %y, ptr %result, i64 %count) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
{loads}
  %value = call {type_} {symbol(name, bits, lanes)}({arguments})
  %place = getelementptr {element}, ptr %result, i64 %i
  store {type_} %value, ptr %place, align {bits // 8}
  br label %latch
latch:
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""


def optimized(requests: set[Request], scales: bool = False) -> tuple[Any, Any]:
    """The module with a loop per request, compiled for this machine, and the machine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    loops = [loop_text(*request) for request in sorted(requests)]
    text = "\n".join([*definitions(requests, scales), *loops])
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=3
    )
    options = binding.create_pipeline_tuning_options(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module, machine


@cache
def engine(name: str, scales: bool = False) -> Any:
    lanes_of = SCALED_LANES if scales else LANES
    widths = [(bits, lanes) for bits, several in lanes_of.items() for lanes in several]
    module, machine = optimized({(name, *width) for width in widths}, scales)
    compiled = binding.create_mcjit_compiler(module, machine)
    compiled.finalize_object()
    return compiled


def apply(name: str, lanes: int, *operands: Array, scales: bool = False) -> Array:
    """The function over arrays whose size is a multiple of `lanes`."""
    x, y = operands[0], operands[-1]
    result = np.empty_like(x)
    address = engine(name, scales).get_function_address(f"{name}_{8 * x.itemsize}_{lanes}")
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(address)
    kernel(x.ctypes.data, y.ctypes.data, result.ctypes.data, x.size)
    return result


@cache
def sample(name: str, bits: int) -> tuple[Array, ...]:
    """Random bit patterns, the ranges where functions change, and edge cases with neighbours."""
    rng = np.random.default_rng(len(name) + bits)
    return tuple(one_sample(rng, bits) for _ in range(operand_count(name)))


def one_sample(rng: np.random.Generator, bits: int) -> Array:
    count, kind = SAMPLES[bits], FLOAT[bits]
    info = np.finfo(kind)
    edges = np.array([*EDGES, info.max, info.tiny, info.smallest_subnormal], kind)
    patterns = rng.integers(0, 2**bits, count, dtype=INTEGER[bits]).view(kind)
    near_one = 1 + rng.standard_normal(count) * 10.0 ** rng.uniform(-15, 0, count)
    any_size = rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-12, 9, count)
    ranges = [rng.uniform(-size, size, count).astype(kind) for size in (1, 4, 12, 110, 750)]
    with np.errstate(all="ignore"):
        neighbours = [np.nextafter(edges, kind(to)) for to in (inf, -inf)]
    values = [patterns, near_one.astype(kind), any_size.astype(kind), *ranges]
    whole: Array = rng.permutation(np.concatenate([edges, *neighbours, *values]))
    return whole[: whole.size // 64 * 64]
