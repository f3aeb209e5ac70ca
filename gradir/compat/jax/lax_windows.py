"""jax.lax on windows: convolutions of any layout, reductions of windows, and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

import gradir.numpy as gnp
from gradir.compat.jax.arrays import giving_arrays
from gradir.errors import ArgumentError
from gradir.frontends.imported.jax_rules.shapes import padded
from gradir.frontends.imported.jax_rules.windows import convolved, windows_joined
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element, lifted

Pads = Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """The axes of batch, channels and space in an image; of outputs, inputs, space in a kernel."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """The axes of ("NHWC", "HWIO", "NHWC") and the like; None is NCHW, OIHW, NCHW."""
    rank = len(lhs_shape)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(rhs_shape) != rank:
        raise refusal(
            f"conv_general_dilated: lhs and rhs must have one rank, got {rank} and {len(rhs_shape)}"
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    specs = [str(spec) for spec in dimension_numbers]
    if len(specs) != 3:
        raise refusal(f"dimension_numbers: expected 3 texts, got {specs}", ArgumentError)
    lhs, rhs, out = specs
    space = [c for c in rhs if c not in "OI"]
    for spec, pair in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if sorted(spec) != sorted([*pair, *space]) or len({*spec}) != rank:
            raise refusal(
                f"dimension_numbers: {spec!r} must have each of {pair[0]}, {pair[1]} and "
                f"{', '.join(space) or 'no others'} once, for arrays of rank {rank}",
                ArgumentError,
            )
    rows = ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
    return ConvDimensionNumbers(*(tuple(map(s.index, [*pair, *space])) for s, pair in rows))


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The numbers of a padding "SAME", "SAME_LOWER" or "VALID"."""
    if padding.upper() not in ("SAME", "SAME_LOWER", "VALID"):
        raise refusal(
            f'padding: expected "SAME", "SAME_LOWER", "VALID" or pairs, got {padding!r}',
            ArgumentError,
        )
    if padding.upper() == "VALID":
        return [(0, 0)] * len(in_shape)
    found: list[tuple[int, int]] = []
    for n, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((ceil(n / stride) - 1) * stride + window - n, 0)
        small, large = total // 2, total - total // 2
        found.append((large, small) if padding.upper() == "SAME_LOWER" else (small, large))
    return found


def _reach(sizes: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """The extents of windows whose elements are apart."""
    return [max(step * (size - 1) + 1, 0) for size, step in zip(sizes, dilation, strict=True)]


@giving_arrays
@eager
def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Pads,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolutions with up to 3 spatial axes, in the layout of `dimension_numbers`."""
    del precision
    x, kernel = lifted(lhs), lifted(rhs)
    numbers = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    dims = len(x.shape) - 2
    apart = list(rhs_dilation or [1] * dims)
    if isinstance(padding, str):
        extents, sizes = ([s[k] for k in spec[2:]] for s, spec in (
            (x.shape, numbers.lhs_spec), (kernel.shape, numbers.rhs_spec)
        ))  # fmt: skip
        padding = padtype_to_pads(extents, _reach(sizes, apart), window_strides, padding)
    params = {
        "dimension_numbers": numbers, "window_strides": list(window_strides), "padding": padding,
        "lhs_dilation": list(lhs_dilation or [1] * dims), "rhs_dilation": apart,
        "feature_group_count": feature_group_count, "batch_group_count": batch_group_count,
    }  # fmt: skip
    made = convolved(params, element(x), x, kernel)
    return made if preferred_element_type is None else gnp.astype(made, preferred_element_type)


@giving_arrays
def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv_general_dilated of images [N, C, ...] and kernels [O, I, ...]."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type
    )


@giving_arrays
def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Pads,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv_general_dilated of images [N, C, ...] and kernels [O, I, ...]."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


_TRANSPOSED = {
    3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NHWDC", "HWDIO", "NHWDC"),
}  # fmt: skip


@giving_arrays
def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: str | Pads,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """A convolution with fractional strides, as the derivative of one is in its image."""
    rank = len(gnp.shape(lhs))
    names = _TRANSPOSED.get(rank) if dimension_numbers is None else dimension_numbers
    numbers = conv_dimension_numbers(gnp.shape(lhs), gnp.shape(rhs), names)
    output, inner, *space = numbers.rhs_spec
    sizes = [gnp.shape(rhs)[axis] for axis in space]
    if isinstance(padding, str):
        reach = _reach(sizes, rhs_dilation or [1] * len(sizes))
        padding = [
            _transposed_pads(size, stride, padding.upper())
            for size, stride in zip(reach, strides, strict=True)
        ]
    elif use_consistent_padding:
        reach = _reach(sizes, rhs_dilation or [1] * len(sizes))
        pairs = zip(reach, padding, strict=True)
        padding = [(size - 1 - low, size - 1 - high) for size, (low, high) in pairs]
    if transpose_kernel:
        rhs = gnp.swapaxes(gnp.flip(rhs, tuple(space)), output, inner)
    return conv_general_dilated(
        lhs, rhs, [1] * (rank - 2), padding, strides, rhs_dilation, numbers,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_pads(size: int, stride: int, padding: str) -> tuple[int, int]:
    if padding == "SAME":
        total = size + stride - 2
        low = size - 1 if stride > size - 1 else ceil(total / 2)
    elif padding == "VALID":
        total, low = size + stride - 2 + max(size - stride, 0), size - 1
    else:
        raise refusal(f'padding: expected "SAME", "VALID" or pairs, got {padding!r}', ArgumentError)
    return low, total - low


# Windows.

_JOINS = (("add", np.add), ("max", np.maximum), ("min", np.minimum), ("mul", np.multiply))


def _join_of(computation: Callable[..., Any]) -> str:
    """add, mul, max or min, by what a function makes of two numbers."""
    for name, function in _JOINS:
        pairs = ((3.0, 5.0), (-7.0, 2.0), (4.0, 4.0))
        if all(
            float(computation(np.float64(x), np.float64(y))) == function(x, y) for x, y in pairs
        ):
            return name
    raise refusal(
        "reduce_window: the function must be lax.add, lax.mul, lax.max or lax.min; of others, "
        "stack slices and reduce them",
        ArgumentError,
    )


@giving_arrays
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Pads = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """The windows of an array joined by lax.add, mul, max or min."""
    rank = len(window_dimensions)
    ones, between = [1] * rank, list(base_dilation or [1] * rank)
    strides, apart = list(window_strides or ones), list(window_dilation or ones)
    if isinstance(padding, str):
        extents = _reach(gnp.shape(operand), between)
        padding = padtype_to_pads(extents, _reach(window_dimensions, apart), strides, padding)
    params = {
        "window_dimensions": window_dimensions, "window_strides": strides, "padding": padding,
        "base_dilation": between, "window_dilation": apart,
    }  # fmt: skip
    return _joined(operand, init_value, _join_of(computation), params)


@giving_arrays
def reduce(
    operands: Any, init_values: Any, computation: Callable[..., Any], dimensions: Sequence[int]
) -> Any:
    """The elements along some axes joined by lax.add, mul, max or min."""
    shape = gnp.shape(operands)
    axes = {axis % len(shape) for axis in dimensions}
    window = [n if axis in axes else 1 for axis, n in enumerate(shape)]
    made = reduce_window(operands, init_values, computation, window)
    return gnp.reshape(made, [n for axis, n in enumerate(shape) if axis not in axes])


@eager
def _joined(operand: Any, init_value: Any, join: str, params: Any) -> Any:
    x = lifted(operand)
    return windows_joined(join, params, x, gnp.astype(lifted(init_value), x.dtype))


@giving_arrays
@eager
def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Values before, behind and between elements along each axis; negative ones cut off."""
    x = lifted(operand)
    return padded(x, gnp.astype(lifted(padding_value), x.dtype), padding_config)


__all__ = [
    "ConvDimensionNumbers", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_transpose", "conv_with_general_padding", "pad", "padtype_to_pads", "reduce",
    "reduce_window",
]  # fmt: skip
