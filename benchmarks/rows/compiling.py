"""How long compilations take: chains, layers, traced functions of many ops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np

from rows.row import GRADIR, Asked, Figure, Measured, Row, Run, Setting
from rows.timing import first_call, llvm_seconds

OPS, FEW, MANY = 1000, 500, 8000
LAYER = 4
"""Ops of a layer: a product, a sum, tanh, and the sum with what came in."""


def chain(length: int) -> str:
    """That many operations, each of the one before, and their sum."""
    tensor = "tensor<16xf32>"
    kinds = ("array.multiply %v{0}, %x", "array.add %v{0}, %x", "array.tanh %v{0}")
    lines = [f"func.func @main(%x: {tensor}) -> tensor<f32> {{"]
    lines += [f"  %v1 = array.negative %x : {tensor}"]
    for k in range(1, length):
        lines.append(f"  %v{k + 1} = {kinds[k % len(kinds)].format(k)} : {tensor}")
    lines.append(f"  %s = array.sum %v{length} : {tensor} -> tensor<f32>")
    return "\n".join([*lines, "  func.return %s : tensor<f32>", "}", ""])


def layers(ops: int) -> str:
    """Equal layers on a matrix of 16 rows, with weights of their own."""
    x, w, b = "tensor<16x32xf32>", "tensor<32x32xf32>", "tensor<16x32xf32>"
    count = ops // LAYER
    weights = ", ".join(f"%w{k}: {w}, %b{k}: {b}" for k in range(count))
    lines = [f"func.func @main(%y0: {x}, {weights}) -> tensor<f32> {{"]
    for k in range(count):
        lines.append(f"  %p{k} = array.matmul %y{k}, %w{k} : {x}, {w} -> {x}")
        lines.append(f"  %q{k} = array.add %p{k}, %b{k} : {x}")
        lines.append(f"  %t{k} = array.tanh %q{k} : {x}")
        lines.append(f"  %y{k + 1} = array.add %t{k}, %y{k} : {x}")
    lines.append(f"  %s = array.sum %y{count} : {x} -> tensor<f32>")
    return "\n".join([*lines, "  func.return %s : tensor<f32>", "}", ""])


def compile_seconds(text: str, threads: int) -> tuple[float, float, Any]:
    """Of the gradient and its compilation: seconds, those of LLVM, and the function."""
    gradir = harness.library("gradir")
    module = gradir.parse(text)
    start = time.perf_counter()
    function = gradir.compile(module.gradient("main", mode="grad"), "main_grad", threads=threads)
    seconds = time.perf_counter() - start
    return seconds, llvm_seconds(function), function


def warm(threads: int) -> None:
    """The imports of a first compilation are not those of a program."""
    compile_seconds(layers(2 * LAYER), threads)
    compile_seconds(chain(8), threads)


def compiled_row(text: Callable[[int], str]) -> Callable[[Run], Measured]:
    def measure(run: Run) -> Measured:
        threads = run.setting.threads
        warm(threads)
        seconds, llvm, _ = compile_seconds(text(OPS), threads)
        said = f"LLVM {llvm / seconds:.0%}; the rest is the gradient and the stages, in Python"
        return Measured([Figure(GRADIR, "compilation", seconds, "s")], lambda: said)

    return measure


def measure_layers_ratio(run: Run) -> Measured:
    """The time an op of many layers over that of few."""
    threads = run.setting.threads
    warm(threads)
    samples = range(1 if run.quick else 3)
    few = min(compile_seconds(layers(FEW), threads)[0] for _ in samples) / FEW
    seconds, llvm, _ = compile_seconds(layers(MANY), threads)
    figures = [
        Figure(GRADIR, "ratio", seconds / MANY / few, "x"),
        Figure(GRADIR, "an op of 8,000", seconds / MANY * 1e3, "ms"),
    ]
    return Measured(figures, lambda: f"LLVM {llvm / seconds:.0%} of {seconds:.1f} s")


def elementwise(x: Any) -> Any:
    y = x
    for k in range(OPS):
        y = y * x if k % 2 else y + x
    return y


def measure_jit(run: Run) -> Measured:
    gradir, names = harness.library("gradir"), harness.library("gradir.numpy")
    x = np.linspace(0, 1, 16, dtype=np.float32)

    def small(x: Any) -> Any:
        return names.sum(x * x)

    gradir.jit(small, threads=run.setting.threads)(x)
    made = gradir.jit(elementwise, threads=run.setting.threads)

    def in_jax() -> harness.Call:
        jax = harness.library("jax")
        compiled = jax.jit(elementwise)
        return lambda: jax.block_until_ready(compiled(x))

    contenders = [
        harness.Contender(GRADIR, lambda: lambda: made(x)),
        harness.Contender("JAX", in_jax, "jax"),
    ]

    def explain() -> str:
        return f"LLVM {llvm_seconds(made.compiled(x).executable):.2f} s; the rest is Python"

    return Measured([first_call(c) for c in contenders], explain)


_ONE = [Setting(threads=1)]

ROWS = (
    Row(
        "a chain of 1,000 ops: gradient and compilation",
        compiled_row(chain),
        [Asked("compilation", 1.2)],
        _ONE,
    ),
    Row(
        "1,000 elementwise ops by jit: first call",
        measure_jit,
        [Asked("first call", 0.28)],
        _ONE,
    ),
    Row(
        "1,000 ops in equal layers: gradient and compilation",
        compiled_row(layers),
        [Asked("compilation", 1.2)],
        _ONE,
    ),
    Row(
        "equal layers, 8,000 ops against 500: compilation per op",
        measure_layers_ratio,
        [Asked("ratio", 1.3)],
        _ONE,
    ),
)
