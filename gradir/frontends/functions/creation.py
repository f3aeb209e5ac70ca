"""gradir.numpy: functions that make arrays from numbers, shapes and dtypes.

Where they say float64 without a dtype, `gradir.default_dtype` may say another.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from gradir.dialects.array.assembly import StackOp
from gradir.dialects.array.bits import BitcastOp
from gradir.dialects.array.complex_parts import RealOp
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.gather_scatter import OneHotOp
from gradir.dialects.array.random import NormalOp, RandomBitsOp, UniformOp
from gradir.dialects.array.triangles import EyeOp
from gradir.dialects.base.extents import Extent, is_extent
from gradir.dialects.base.shapes import (
    AnyTensor,
    is_bool,
    is_complex,
    is_float,
    shape_of,
    tensor,
)
from gradir.errors import ArgumentError
from gradir.frontends.functions.arguments import known
from gradir.frontends.functions.counted import Counted, counted, steps_between
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted, fitting, spread, unified
from gradir.frontends.tracing.default_types import default_element, default_of
from gradir.frontends.tracing.memory import as_array
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import as_shape, element_named, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import (
    constant,
    element,
    emit_one,
    filled,
    holds_tracers,
    is_number,
    lifted,
)

Shape = Sequence[int] | int


def _type(shape: Shape, dtype: Any, default: type | Attribute = float) -> AnyTensor:
    if dtype is not None:
        return tensor(as_shape(shape), element_named(dtype))
    return tensor(
        as_shape(shape), default_element(default) if isinstance(default, type) else default
    )


@public
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Tracer:
    """An array, a number or nested lists of these as an array of the dtype.

    copy: True, it is an array of its own; False, it is `a` itself, ArgumentError where it cannot be
    """
    del order  # how it lies in memory, which the compiler chooses
    value = _stacked(a)
    kind = None if dtype is None else element_named(dtype)
    made = constant(value, kind) if kind and _is_listed(value) else lifted(value, kind)
    if kind is not None and (kind != element(made) or made.weak):
        made = _of_type(made, kind)
    if copy is False and made is not a:
        raise refusal(
            f"asarray: copy=False needs an array of the dtype, got {_described(a)}", ArgumentError
        )
    is_new = made is not a or copy or not made.is_array
    return as_array(made.copy()) if is_new else made


def _is_listed(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _described(value: Any) -> str:
    return repr(value) if isinstance(value, Tracer) else type(value).__name__


def _stacked(value: Any) -> Any:
    """Nested lists with traced arrays as one array."""
    if not isinstance(value, (list, tuple)) or not holds_tracers(cast(Sequence[Any], value)):
        return cast(Any, value)
    rows = [lifted(_stacked(each)) for each in cast(Sequence[Any], value)]
    for row in rows:
        if row.shape != rows[0].shape:
            parts = f"{type_text(rows[0].type)} and {type_text(row.type)}"
            raise refusal(f"the parts of a list must have one shape to be an array, got {parts}")
    rows, _ = unified(StackOp, rows)
    return apply(StackOp, {"xs": rows, "axis": 0})


def _of_type(x: Tracer, kind: Attribute) -> Tracer:
    """A copy of x with elements of a requested type, which is not weak."""
    made = converted(_real_part(x, kind), kind)
    made = Tracer(made.made_in, made.ssa)
    made.stored = x.stored
    return made


def _real_part(x: Tracer, kind: Attribute) -> Tracer:
    """x, of complex numbers the real parts where the wanted type is real, as NumPy has it."""
    if not is_complex(element(x)) or is_complex(kind) or is_bool(kind):
        return x
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        np.exceptions.ComplexWarning,
        stacklevel=2,
    )
    return emit_one(RealOp, x)


@public
def full(shape: Shape, fill_value: Any, dtype: Any = None) -> Tracer:
    """Every element is `fill_value`, a number, or an array that broadcasts to the shape.

    Without a dtype: the dtype of the value; float64, int64 or bool of a Python number.
    """
    if is_number(fill_value):
        type_ = _type(shape, dtype, default_of(fill_value))
        return as_array(filled(fitting(fill_value, type_.element_type), type_))
    number = lifted(fill_value)
    type_ = _type(shape, dtype, element(number))
    return as_array(spread(number, shape_of(type_), type_.element_type).copy())


@public
def zeros(shape: Shape, dtype: Any = None) -> Tracer:
    """Zeros; float64 without a dtype."""
    return as_array(filled(0, _type(shape, dtype)))


@public
def empty(shape: Shape, dtype: Any = None) -> Tracer:
    """An array to assign to, of zeros; float64 without a dtype."""
    return zeros(shape, dtype)


@public
def array(value: Any, dtype: Any = None) -> Tracer:
    """A copy of what asarray gives."""
    return as_array(asarray(value, dtype).copy())


@public
def copy(x: Any) -> Tracer:
    """x as an array of its own: assigning to one does not change the other."""
    return as_array(lifted(x).copy())


@public
def ones(shape: Shape, dtype: Any = None) -> Tracer:
    """Ones; float64 without a dtype."""
    return as_array(filled(1, _type(shape, dtype)))


@public
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Tracer:
    """Every element is `fill_value`; the shape and the dtype are a's unless given."""
    like = lifted(a)
    extents = like.shape if shape is None else as_shape(shape)
    return full(extents, fill_value, like.dtype if dtype is None else dtype)


@public
def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Tracer:
    """Zeros with the shape of a, and its dtype unless another is given."""
    return full_like(a, 0, dtype, shape=shape)


@public
def ones_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Tracer:
    """Ones with the shape of a, and its dtype unless another is given."""
    return full_like(a, 1, dtype, shape=shape)


@public
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tracer:
    """A matrix with ones on the k-th diagonal above the main one; float64 without a dtype."""
    type_ = _type([N, N if M is None else M], dtype)
    return apply(EyeOp, {"k": k}, [type_])


@public
def iota(shape: Shape, axis: int = 0, dtype: Any = None) -> Tracer:
    """0, 1, ... along an axis, repeated along all others. int64 without a dtype."""
    return apply(IotaOp, {"axis": axis}, [_type(shape, dtype, int)])


@public
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tracer:
    """start, start + step, ... before stop; `arange(n)` counts from 0 to n - 1.

    Without a dtype: int64 of Python integers, float64 of Python numbers, else NumPy's of the
    numbers. All three are known while tracing, or are extents, and start and stop such with numbers
    added: `arange(1.0, n + 1.0)`.
    """
    bounds = (0, start, step) if stop is None else (start, stop, step)
    given = [_bound(x) for x in bounds]
    numbers = [x for x in given if not is_extent(x) and not isinstance(x, Tracer)]
    if any(np.ndim(x) or not np.issubdtype(np.result_type(x), np.number) for x in numbers):
        raise refusal(f"arange: start, stop and step must be numbers, got {bounds}")
    if dtype is None and not all(map(is_number, numbers)):
        dtype = np.result_type(*numbers)
    plain: list[Any] = [x.item() if isinstance(x, np.ndarray) else x for x in given]
    first, last, step = plain
    if step == 0:
        raise refusal("arange: step must not be 0")
    is_whole = all(isinstance(n, int | Extent) for n in (first, last, step))
    count = _count(first, last, step)
    type_ = _type([count], dtype, int if is_whole else float)
    # NumPy casts the first two, and counts on from them
    if isinstance(first, Tracer) and not is_float(type_.element_type):
        raise refusal(f"arange: start must be a whole number for integers, got {first!r}")
    if not (is_float(type_.element_type) or is_extent(first)):
        first, second = (fitting(each, type_.element_type) for each in (first, first + step))
        step = second - first
    steps: Any = apply(IotaOp, {"axis": 0}, [type_])
    scaled = steps if step == 1 else steps * step
    return scaled if not isinstance(first, Tracer) and first == 0 else scaled + first


def _bound(x: Any) -> Any:
    """A number, an extent, or a traced number made of extents; TraceError for others."""
    if is_number(x) or is_extent(x) or (isinstance(x, Tracer) and counted(x) is not None):
        return x
    return known(x, "arange: start, stop and step")


def _count(first: Any, last: Any, step: Any) -> int:
    """The numbers from first up to last, by steps."""
    if all(map(is_number, (first, last, step))):
        return max(ceil((last - first) / step), 0)
    parts = [counted(x) for x in (first, last, step)]
    found = None if None in parts else steps_between(*cast("list[Counted]", parts))
    if found is None:
        raise refusal(
            "arange: from or up to an extent, start, stop and step must be whole numbers or "
            f"fractions such as 1/8, and the step no extent, got {first}, {last} and {step}"
        )
    return cast(int, found)


@public
def astype(x: Any, dtype: Any, *, copy: bool = True) -> Tracer:
    """x with elements of another dtype; floats are cut to integers, bool is 0 or 1.   vjp: ct

    copy: whether an array of the dtype is copied, or x itself
    """
    value, kind = lifted(x), element_named(dtype)
    is_kept = not copy and element(value) == kind and not value.weak
    return value if is_kept else _of_type(value, kind)


@public
def bitcast(x: Any, dtype: Any) -> Tracer:
    """The bits of x as elements of another dtype of 32 or 64 bits, as wide. Inactive."""
    value = lifted(x)
    return emit_one(BitcastOp, value, type=tensor(value.shape, element_named(dtype)))


@public
def one_hot(indices: Any, depth: int, axis: int = -1, dtype: Any = None) -> Tracer:
    """1 where the new axis, of extent `depth`, has the index, else 0; float64 without a dtype."""
    places = lifted(indices)
    rank = places.ndim + 1
    if not -rank <= axis < rank:
        raise refusal(f"one_hot: axis must be in [{-rank}, {rank}), got {axis}")
    shape = list(places.shape)
    shape.insert(axis % rank, *as_shape(depth))
    arguments = {"indices": places, "depth": depth, "axis": axis}
    return apply(OneHotOp, arguments, [_type(shape, dtype)])


@public
def uniform(
    key: Any, counter: Any, shape: Shape = (), dtype: Any = None, low: float = 0, high: float = 1
) -> Tracer:
    """Numbers uniformly distributed in [low, high), a function of key and counter (int64) alone.

    Equal keys and counters give equal numbers: use another counter for each draw. Arrays of keys
    and counters have the first extents of the shape, and draw the rest each.
    """
    drawn = {"key": key, "counter": counter, "low": float(low), "high": float(high)}
    return apply(UniformOp, drawn, [_type(shape, dtype)])


@public
def normal(key: Any, counter: Any, shape: Shape = (), dtype: Any = None) -> Tracer:
    """Normally distributed numbers, a function of key and counter (int64) alone."""
    return apply(NormalOp, {"key": key, "counter": counter}, [_type(shape, dtype)])


@public
def random_bits(key: Any, counter: Any, shape: Shape = (), dtype: Any = "int64") -> Tracer:
    """Random bits as int64 or int32, a function of key and counter (int64) alone."""
    return apply(RandomBitsOp, {"key": key, "counter": counter}, [_type(shape, dtype)])


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    asarray,
    full,
    zeros,
    empty,
    array,
    copy,
    ones,
    full_like,
    zeros_like,
    ones_like,
    eye,
    iota,
    arange,
    astype,
    bitcast,
    one_hot,
    uniform,
    normal,
    random_bits,
)
