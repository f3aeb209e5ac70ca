"""What this machine can do, measured: floating operations a second, and bytes of memory a second.

Operations are independent chains of fused multiplications and additions in registers, on
one thread, times the threads. Memory is the faster of an array that is squared into another one and
read into a sum, on all threads.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from gradir.codegen.text.target import MachineTarget, host
from gradir.compiler.compiler import compile_function
from gradir.runtime.jit import LoadedCode
from gradir.runtime.llvm import compile_object
from gradir.text.parser import parse_module

CHAINS, ROUNDS, REPEATS = 12, 200_000, 5
"""Chains that hide the latency of one operation on any machine, their length, and attempts."""

STREAM_BYTES = 64 << 20
"""An array of the stream."""

STREAM = """
func.func @square(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %y = array.square %x : tensor<{n}xf32>
  func.return %y : tensor<{n}xf32>
}}
func.func @sum(%x: tensor<{n}xf32>) -> tensor<f32> {{
  %y = array.sum %x : tensor<{n}xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}}
"""


@dataclass(frozen=True)
class Limits:
    """Operations a second by the bits of a float, and bytes a second, of some threads."""

    threads: int
    flops: dict[int, float]
    bytes: float

    def seconds(self, flops: int | None, size: int, bits: int) -> float:
        """The least time for so much work, if it comes from memory."""
        return max((flops or 0) / self.flops[bits], size / self.bytes)


@cache
def measured_limits(threads: int) -> Limits:
    """The limits of this process's machine for `threads` threads, measured once: about 0.2 s."""
    target = host()
    flops = {bits: threads * _peak(target, bits) for bits in (32, 64)}
    return Limits(threads, flops, _bandwidth(threads))


def _peak(target: MachineTarget, bits: int) -> float:
    """Operations a second of one thread."""
    lanes = target.vector_bytes * 8 // bits
    code = LoadedCode([compile_object(chains(target, bits, lanes), target).data], ("peak",), {})
    table = (ctypes.c_int64 * 1)()
    run, address = code.function(), ctypes.addressof(table)
    return 2 * CHAINS * ROUNDS * lanes / _least(lambda: run(address))


def chains(target: MachineTarget, bits: int, lanes: int) -> str:
    """A function of `ROUNDS` rounds; in each round every chain has one operation."""
    scalar = "float" if bits == 32 else "double"
    kind = f"<{lanes} x {scalar}>"
    starts: list[str] = []
    phis: list[str] = []
    steps: list[str] = []
    for k in range(CHAINS):
        # of equal chains LLVM would keep one
        starts.append(f"%b{k} = fadd {kind} %start, splat ({scalar} {k}.0)")
        phis.append(f"%a{k} = phi {kind} [ %b{k}, %entry ], [ %n{k}, %loop ]")
        if target.fma:
            name = f"llvm.fma.v{lanes}f{bits}"
            operands = f"{kind} %a{k}, {kind} %start, {kind} %a{k}"
            steps.append(f"%n{k} = call {kind} @{name}({operands})")
        else:
            steps.append(f"%m{k} = fmul {kind} %a{k}, %start")
            steps.append(f"%n{k} = fadd {kind} %m{k}, %a{k}")
    total = [f"%s{k} = fadd {kind} {f'%s{k - 1}' if k else '%start'}, %n{k}" for k in range(CHAINS)]
    declared = f"declare {kind} @llvm.fma.v{lanes}f{bits}({kind}, {kind}, {kind})"
    lines = "\n  ".join
    return f"""{declared if target.fma else ""}
define void @peak(ptr %table) {target.attributes} {{
entry:
  %word = load i64, ptr %table, align 8
  %number = sitofp i64 %word to {scalar}
  %one = insertelement {kind} zeroinitializer, {scalar} %number, i64 0
  %start = fadd {kind} %one, zeroinitializer
  {lines(starts)}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {lines(phis)}
  {lines(steps)}
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, {ROUNDS}
  br i1 %again, label %loop, label %done
done:
  {lines(total)}
  %first = extractelement {kind} %s{CHAINS - 1}, i64 0
  %back = fptosi {scalar} %first to i64
  store i64 %back, ptr %table, align 8
  ret void
}}
"""


def _bandwidth(threads: int) -> float:
    """Bytes a second of two streams; a store has the bytes that it writes."""
    n = STREAM_BYTES // 4
    x, y, total = np.ones(n, np.float32), np.zeros(n, np.float32), np.zeros((), np.float32)
    rates: list[float] = []
    for name, out, moved in (("square", y, 2), ("sum", total, 1)):
        function = compile_function(parse_module(STREAM.format(n=n), "<stream>"), name, threads)
        seconds = _least(lambda f=function, o=out: f(x, out=[o]))
        rates.append(moved * STREAM_BYTES / seconds)
    return max(rates)


def _least(call: Callable[[], object]) -> float:
    """The shortest of some times, in seconds."""
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
