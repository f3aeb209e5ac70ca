"""What all distributions share: a key's words and numbers, shapes, dtypes, and parameters.

A distribution draws with the counters 0, 1, 2, ... of its key; keys that are made of a key take
the counters below 0 (keys.py), so that no number has a part in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.array.random import NormalOp, RandomBitsOp, UniformOp
from gradir.dialects.base.shapes import broadcast_shapes, is_bool, is_float, tensor
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape, element_named, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def key_of(key: Any, what: str = "key") -> Tracer:
    """One key as an int64 of rank 0; TraceError for floats, bools and several keys."""
    if isinstance(key, int) and not isinstance(key, bool):
        return lifted(wrapped(key, what), i64)
    made = lifted(key, what=f"{what}: ")
    kind = element(made)
    if is_float(kind) or is_bool(kind):
        raise refusal(
            f"{what}: expected an integer, got {type_text(made.type)}; make keys with "
            "gradir.random.key(seed) and gradir.random.split"
        )
    if made.ndim:
        raise refusal(
            f"{what}: expected one key, got {type_text(made.type)}; "
            "gradir.vmap gives a function each of them"
        )
    return converted(made, i64)


def wrapped(seed: int, what: str) -> int:
    """An integer of 64 bits as a signed one; TraceError for longer ones."""
    if not -(2**63) <= seed < 2**64:
        raise refusal(f"{what}: expected an integer of 64 bits, got {seed}; take it mod 2**64")
    return seed - 2**64 if seed >= 2**63 else seed


# Numbers of a key.


def words(key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute = i64) -> Any:
    """Random bits as integers of i64 or i32."""
    return _drawn(RandomBitsOp, key, counter, shape, kind)


def unit(key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute = f64) -> Any:
    """Numbers in [0, 1)."""
    return _drawn(UniformOp, key, counter, shape, kind)


def positive_unit(key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute = f64) -> Any:
    """Numbers in (0, 1): as `unit`, with half a step in place of 0."""
    return gnp.maximum(unit(key, counter, shape, kind), 2.0 ** (-54 if kind == f64 else -25))


def standard_exponential(
    key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute = f64
) -> Any:
    """Numbers of density exp(-x)."""
    return -gnp.log1p(-unit(key, counter, shape, kind))


def bell(key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute = f64) -> Any:
    """Standard normal numbers."""
    return _drawn(NormalOp, key, counter, shape, kind)


def _drawn(op: Any, key: Tracer, counter: Any, shape: Sequence[int], kind: Attribute) -> Any:
    return apply(op, {"key": key, "counter": counter}, [tensor(shape, kind)])


# Dtypes and shapes.


def float_kind(name: str, dtype: Any) -> Attribute:
    """The floating type of a dtype, the default one for None."""
    kind = default_element(float) if dtype is None else element_named(dtype)
    if not is_float(kind):
        raise refusal(f"{name}: dtype must be floating, got {dtype!r}")
    return kind


def integer_kind(name: str, dtype: Any) -> Attribute:
    """The integer type of a dtype, int64 for None."""
    kind = i64 if dtype is None else element_named(dtype)
    if is_float(kind) or is_bool(kind):
        raise refusal(f"{name}: dtype must be an integer type, got {dtype!r}")
    return kind


def integer_range(kind: Attribute) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    limits = np.iinfo(numpy_dtype(kind))
    return int(limits.min), int(limits.max)


def working(kind: Attribute) -> Attribute:
    """The type in which numbers of a type are computed: they are rounded to it at the end."""
    return f64 if kind == f64 else f32


def parameters(name: str, shape: Any, kind: Attribute, *values: Any) -> list[Any]:
    """Parameters as arrays of a type and of the result's shape; None for their common shape."""
    arrays = [lifted(v, what=f"{name}: ") for v in values]
    extents = result_shape(name, shape, *(a.shape for a in arrays))
    return [spread(a, extents, kind) for a in arrays]


def result_shape(name: str, shape: Any, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that is asked for; the parameters' shapes must broadcast to it."""
    found: tuple[int, ...] = ()
    try:
        for each in shapes:
            found = broadcast_shapes(found, tuple(each))
    except VerifyException as error:
        raise refusal(f"{name}: {error}") from None
    wanted = found if shape is None else as_shape(shape)
    pairs = zip(reversed(found), reversed(wanted), strict=False)
    if len(found) > len(wanted) or any(m not in (1, n) for m, n in pairs):
        raise refusal(
            f"{name}: the parameters must broadcast to shape {list(wanted)}, got {list(found)}"
        )
    return wanted


def finished(y: Any, kind: Attribute) -> Tracer:
    """A result in its type, which is not weak."""
    made = converted(y, kind)
    return Tracer(made.made_in, made.ssa)


def valid_or_nan(is_valid: Any, y: Any) -> Any:
    """y, and nan where a parameter is out of its range."""
    return gnp.where(is_valid, y, float("nan"))
