"""Products in a precision of their own, bit for bit as native code: dialects/base/precision.py.

An op with the attribute `precision` is taken apart, or lowered to loop nests, and these are run:
its meaning on NumPy arrays is that of the types alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.precision import LEAST_NORMAL, LEAST_SUM
from gradir.dialects.base.value import Emitter, Value

Array = np.ndarray[Any, np.dtype[Any]]

# Factors whose products are all multiples of so much: no product, no sum of them is subnormal.
COARSE = 2.0**-126


def values_in_parts(
    op: TensorOp,
    operands: Sequence[Array],
    run: Callable[[Operation, Sequence[Array]], Sequence[Array]],
) -> tuple[Array, ...]:
    """The results of an op by the ops that it is taken apart into, which `run` runs."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    emitter = Emitter(block, op.location)
    if op.has_decomposition():
        made = op.decompose(*map(emitter.value, block.args))
        results = [v.ssa for v in ([made] if isinstance(made, Value) else made)]
    else:
        results = list(op.lower(emitter, block.args))
    values: dict[SSAValue, Array] = dict(zip(block.args, operands, strict=True))
    for inner in block.ops:
        found = run(inner, [values[v] for v in inner.operands])
        values.update(zip(inner.results, found, strict=True))
    return tuple(values[v] for v in results)


# The numbers.


def rounded_factor(x: Array) -> Array:
    """f32 rounded to bf16, still as f32; subnormal numbers are zeros of their sign."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    even = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & _UPPER
    size = bits & np.uint32(0x7FFFFFFF)
    kept = np.where(size > _INFINITE, (bits | np.uint32(0x400000)) & _UPPER, even)
    kept = np.where(size < _NORMAL, bits & np.uint32(0x80000000), kept)
    return kept.view(np.float32)


_UPPER, _INFINITE, _NORMAL = np.uint32(0xFFFF0000), np.uint32(0x7F800000), np.uint32(0x800000)


def step_of(lhs: Array, rhs: Array) -> Callable[[Array, Array, Array], Array]:
    """How a chain over these rounded factors goes on: step(acc, left, right)."""
    return _plain_step if _units(lhs) * _units(rhs) >= COARSE else _step


def _units(x: Array) -> float:
    """All elements are multiples of it; 0 where some are none, or large."""
    if not np.isfinite(x).all() or np.max(np.abs(x), initial=0) > 2.0**40:
        return 0.0
    sizes = np.abs(x[x != 0]).astype(np.float64)
    return float(2.0 ** (np.floor(np.log2(sizes.min())) - 7)) if sizes.size else 1.0


def _plain_step(acc: Array, left: Array, right: Array) -> Array:
    """Products are exact in f32, so that the sum alone is rounded."""
    return acc + left * right


def _step(acc: Array, left: Array, right: Array) -> Array:
    """fma in f32, and zeros for what is subnormal. Products are exact in f64; the sum is rounded
    to odd there, so that a second rounding, to f32, equals a direct one."""
    product = left.astype(np.float64) * right
    wide = acc.astype(np.float64)
    total = np.asarray(wide + product)
    part = total - wide
    error = (wide - (total - part)) + (product - part)
    bits = np.ascontiguousarray(total).view(np.int64)
    is_even_and_off = np.isfinite(error) & (error != 0) & (bits & 1 == 0)
    away = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where(is_even_and_off, bits + away, bits).view(np.float64)
    small = np.abs(odd) < LEAST_SUM
    single = np.where(small, np.copysign(0, odd), odd).astype(np.float32)
    assert not np.any((single != 0) & (np.abs(single) < LEAST_NORMAL))
    return single
