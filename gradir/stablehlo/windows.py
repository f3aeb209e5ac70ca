"""Convolutions, their transposes and max pools in StableHLO, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32

from gradir.dialects.base.shapes import byte_size, shape_of, tensor
from gradir.dialects.spatial.geometry import Window
from gradir.stablehlo import values as v
from gradir.stablehlo.dialect import ConvAttr
from gradir.stablehlo.regions import reduce_windows
from gradir.stablehlo.tensors import Rule
from gradir.stablehlo.values import Hlo, HloEmitter


def _layout(window: Window, letters: str) -> str:
    """The axes of an image in its layout: `[b, f, 0, 1]`; letters name batch and channels."""
    axes = [*letters, *map(str, range(window.dims))]
    order = [0] * len(axes)
    for place, axis in zip(range(len(axes)), window.image_axes, strict=True):
        order[axis] = place
    return "[" + ", ".join(axes[k] for k in order) + "]"


def _kernel_layout(window: Window, letters: str) -> str:
    """The axes of a weight in its layout; letters name its output and input channels."""
    axes = [*letters, *map(str, range(window.dims))]
    order = [0] * len(axes)
    for place, axis in enumerate(window.weight_axes):
        order[axis] = place
    return "[" + ", ".join(axes[k] for k in order) + "]"


def _plain(letters: str, dims: int) -> str:
    return "[" + ", ".join([*letters, *map(str, range(dims))]) + "]"


def _convolution(
    x: Hlo,
    kernel: Hlo,
    layouts: Sequence[str],
    shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    x_dilation: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
    batch_groups: int = 1,
) -> Hlo:
    """stablehlo.convolution, computed in f32 where elements are narrower."""
    element = x.element
    if byte_size(element) == 2:
        x, kernel = v.convert(x, f32), v.convert(kernel, f32)
    source, weights, target = layouts
    made = x.emit(
        "convolution",
        kernel,
        type=tensor(shape, x.element),
        window_strides=v.numbers(stride),
        padding=v.matrix(padding),
        lhs_dilation=v.numbers(x_dilation),
        rhs_dilation=v.numbers(dilation),
        dimension_numbers=ConvAttr.of(f"{source}x{weights}->{target}"),
        feature_group_count=v.number(groups),
        batch_group_count=v.number(batch_groups),
    )
    return v.convert(made, element)


def _forward(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, weight, *bias = xs
    w: Window = op.window
    image = _layout(w, "bf")
    layouts = [image, _kernel_layout(w, "oi"), image]
    padding = list(zip(w.low, w.high, strict=True))
    ones = [1] * w.dims
    shape = shape_of(op.y.type)
    made = _convolution(x, weight, layouts, shape, w.stride, padding, ones, w.dilation, w.groups)
    for one in bias:
        made = made + v.broadcast(one, shape, [w.channel_axis])
    return [made]


def _input_backward(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    """The convolution of ct, spread by the stride, with the reversed weight."""
    ct, weight = xs
    w: Window = op.window
    shape = shape_of(op.y.type)
    places, kernel = w.image(shape)[2:], w.weight(weight.shape)[2:]
    padding: list[tuple[int, int]] = []
    rows = zip(places, w.image(ct.shape)[2:], w.stride, w.low, w.reach(kernel), strict=True)
    for n, m, stride, low, reach in rows:
        spread = max((m - 1) * stride + 1, 0)
        first = reach - 1 - low
        padding.append((first, n + reach - 1 - spread - first))
    image = _layout(w, "bf")
    layouts = [image, _plain("oi", w.dims), image]
    ones = [1] * w.dims
    turned = _turned(weight, w)
    return [_convolution(ct, turned, layouts, shape, ones, padding, w.stride, w.dilation, w.groups)]


def _turned(weight: Hlo, w: Window) -> Hlo:
    """The weight with reversed kernel as (I of all groups, O of a group, kernel...)."""
    plain = v.transpose(weight, w.weight_axes)
    out, inner, *kernel = plain.shape
    grouped = v.reshape(plain, [w.groups, out // w.groups, inner, *kernel])
    rank = len(grouped.shape)
    swapped = v.transpose(grouped, [0, 2, 1, *range(3, rank)])
    flat = v.reshape(swapped, [w.groups * inner, out // w.groups, *kernel])
    return v.reverse(flat, list(range(2, rank - 1)))


def _weight_backward(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    """The convolution of x with ct over the images: stride and dilation change places."""
    ct, x = xs
    w: Window = op.window
    shape = shape_of(op.y.type)
    padding: list[tuple[int, int]] = []
    kernel, places = w.weight(shape)[2:], w.image(x.shape)[2:]
    rows = zip(kernel, places, w.image(ct.shape)[2:], w.stride, w.dilation, w.low, strict=True)
    for k, n, m, stride, dilation, low in rows:
        needed = (k - 1) * dilation + (m - 1) * stride + 1
        padding.append((low, needed - n - low))
    layouts = [_layout(w, "fb"), _layout(w, "io"), _kernel_layout(w, "fb")]
    ones = [1] * w.dims
    made = _convolution(x, ct, layouts, shape, w.dilation, padding, ones, w.stride, 1, w.groups)
    return [made]


def _max_pool(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, windows = xs[0], op.windows
    window, stride, dilation = ([1] * len(x.shape) for _ in range(3))
    padding = [(0, 0)] * len(x.shape)
    for k, axis in enumerate(windows.axes):
        window[axis], stride[axis] = windows.kernel[k], windows.stride[k]
        dilation[axis] = windows.dilation[k]
        reached = (windows.sizes[k] - 1) * windows.stride[k] + windows.reach[k]
        # the last windows of ceil_mode reach further, others leave elements out
        padding[axis] = (windows.low[k], reached - windows.low[k] - x.shape[axis])
    shape = shape_of(op.y.type)
    return [reduce_windows(x, "maximum", window, stride, dilation, padding, shape)]


RULES: dict[str, Rule] = {
    f"{prefix}{dims}d{suffix}": rule
    for dims in (1, 2, 3)
    for prefix, suffix, rule in (
        ("nn.conv", "", _forward),
        ("grad.conv", "_input_backward", _input_backward),
        ("grad.conv", "_weight_backward", _weight_backward),
        ("nn.max_pool", "", _max_pool),
    )
}
