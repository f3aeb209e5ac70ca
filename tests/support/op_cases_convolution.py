"""Rows of the table: convolutions and their transposes, and plain loops as references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array

from gradir.dialects.base.attributes import Plain

Numbers = Sequence[int] | int
Rows = Sequence[tuple[Sequence[tuple[int, ...]], dict[str, Plain]]]


class _Geometry:
    """Attributes as one number for each dimension, and the layout's order undone."""

    def __init__(
        self,
        dims: int,
        stride: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        layout: str = "NCHW",
    ):
        def each(value: Numbers) -> list[int]:
            values = [value] if isinstance(value, int) else list(value)
            return values * dims if len(values) == 1 else values

        self.stride, self.dilation, self.groups = each(stride), each(dilation), groups
        self.low = each(padding)[:dims]
        self.layout = layout

    def image(self, x: Array) -> Array:
        return np.moveaxis(x, -1, 1) if self.layout == "NHWC" else x

    def image_back(self, x: Array) -> Array:
        return np.moveaxis(x, 1, -1) if self.layout == "NHWC" else x

    def weight(self, w: Array) -> Array:
        return np.moveaxis(w, (-1, -2), (0, 1)) if self.layout == "NHWC" else w

    def weight_back(self, w: Array) -> Array:
        return np.moveaxis(w, (0, 1), (-1, -2)) if self.layout == "NHWC" else w

    def products(
        self, x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """The places in x, the weight and y of each product x * weight that y sums."""
        n, _, *sizes = x
        o, i, *kernel = w
        for batch, channel, inner in product(range(n), range(o), range(i)):
            group = channel // (o // self.groups)
            for place in product(*map(range, y[2:])):
                for tap in product(*map(range, kernel)):
                    rows = zip(place, self.stride, tap, self.dilation, self.low, strict=True)
                    read = tuple(p * s + k * d - low for p, s, k, d, low in rows)
                    if all(0 <= r < size for r, size in zip(read, sizes, strict=True)):
                        yield (batch, group * i + inner, *read), (channel, inner, *tap), (
                            batch, channel, *place,
                        )  # fmt: skip


def _convolved_shape(x: Sequence[int], w: Sequence[int], **attributes: Any) -> tuple[int, ...]:
    """By counting the places where the kernel lies inside of the padded image."""
    dims = len(x) - 2
    geometry = _Geometry(dims, **attributes)
    padding: Any = attributes.get("padding", 0)
    padding = [padding] if isinstance(padding, int) else list(padding)
    high = (padding * dims if len(padding) == 1 else padding)[-dims:]
    sizes: list[int] = []
    for d in range(dims):
        last = x[d + 2] + high[d] - 1
        reach = geometry.dilation[d] * (w[d + 2] - 1)
        starts = range(-geometry.low[d], last - reach + 1, geometry.stride[d])
        sizes.append(len(starts))
    return (x[0], w[0], *sizes)


def _conv(x: Array, w: Array, *bias: Array, **attributes: Any) -> Array:
    g = _Geometry(x.ndim - 2, **attributes)
    x, w = g.image(x), g.weight(w)
    y = np.zeros(_convolved_shape(x.shape, w.shape, **attributes))
    for at_x, at_w, at_y in g.products(x.shape, w.shape, y.shape):
        y[at_y] += x[at_x] * w[at_w]
    for one in bias:
        y += one.reshape(-1, *[1] * (x.ndim - 2))
    return g.image_back(y)


def _input_backward(shape: tuple[int, ...]) -> Any:
    """The transpose in an x of this shape, (N, C, ...) in any layout."""

    def reference(ct: Array, w: Array, **attributes: Any) -> Array:
        g = _Geometry(ct.ndim - 2, **attributes)
        ct, w = g.image(ct), g.weight(w)
        x = np.zeros(shape)
        for at_x, at_w, at_y in g.products(x.shape, w.shape, ct.shape):
            x[at_x] += ct[at_y] * w[at_w]
        return g.image_back(x)

    return reference


def _weight_backward(shape: tuple[int, ...]) -> Any:
    """The transpose in a weight of this shape, (O, I, ...) in any layout."""

    def reference(ct: Array, x: Array, **attributes: Any) -> Array:
        g = _Geometry(ct.ndim - 2, **attributes)
        ct, x = g.image(ct), g.image(x)
        w = np.zeros(shape)
        for at_x, at_w, at_y in g.products(x.shape, w.shape, ct.shape):
            w[at_w] += ct[at_y] * x[at_x]
        return g.weight_back(w)

    return reference


def _conv_transpose(
    x: Array, w: Array, *bias: Array, output_padding: Numbers = 0, **attributes: Any
) -> Array:
    dims = x.ndim - 2
    g = _Geometry(dims, **attributes)
    x, w = g.image(x), g.weight(w)
    more = [output_padding] * dims if isinstance(output_padding, int) else output_padding
    given: Any = attributes.get("padding", 0)
    given = [given] if isinstance(given, int) else list(given)
    padding = given * (2 * dims // len(given))
    sizes = [
        (x.shape[d + 2] - 1) * g.stride[d] - padding[d] - padding[d + dims]
        + g.dilation[d] * (w.shape[d + 2] - 1) + 1 + more[d]
        for d in range(dims)
    ]  # fmt: skip
    y = np.zeros((x.shape[0], w.shape[1] * g.groups, *sizes))
    for at_y, at_w, at_x in g.products(y.shape, w.shape, x.shape):
        y[at_y] += x[at_x] * w[at_w]
    for one in bias:
        y += one.reshape(-1, *[1] * dims)
    return g.image_back(y)


# Shapes are (N, C, ...) and (O, I, ...); rows in the layout NHWC turn them.
_CONVOLUTIONS: Rows = [
    ([(2, 3, 5), (4, 3, 3), (4,)], {}),
    ([(2, 2, 7), (3, 2, 2)], {"stride": 3, "padding": [1, 2], "dilation": 2}),
    ([(1, 2, 17), (2, 1, 1), (2,)], {"groups": 2, "stride": [2]}),
    ([(2, 4, 5), (4, 2, 3)], {"groups": 2, "padding": 1, "layout": "NHWC"}),
    ([(1, 1, 1), (1, 1, 1)], {}),
    ([(0, 2, 4), (3, 2, 2), (3,)], {}),
    ([(2, 2, 4, 5), (3, 2, 3, 2), (3,)], {}),
    ([(1, 2, 5, 4), (3, 2, 3, 3)], {"padding": 1}),
    ([(1, 2, 5, 6), (2, 2, 3, 3)], {"stride": 2, "padding": [1, 1]}),
    ([(1, 2, 5, 5), (2, 2, 1, 1), (2,)], {"stride": 2}),
    ([(1, 1, 6, 7), (2, 1, 2, 3)], {"stride": [3, 2], "padding": [0, 1, 2, 1]}),
    ([(1, 2, 6, 5), (1, 2, 2, 3)], {"dilation": [2, 1], "stride": [1, 2], "padding": 1}),
    ([(1, 1, 7, 7), (1, 1, 2, 3)], {"dilation": 2, "stride": 2, "padding": [2, 1]}),
    ([(2, 3, 4, 4), (3, 1, 3, 3), (3,)], {"groups": 3, "padding": 1}),
    ([(1, 2, 4, 5), (4, 1, 2, 2), (4,)], {"groups": 2, "stride": 2}),
    ([(1, 2, 5, 6), (2, 1, 3, 3)], {"groups": 2, "stride": 2, "padding": 1}),
    ([(1, 2, 6, 6), (2, 1, 2, 4)], {"groups": 2, "stride": 2, "layout": "NHWC"}),
    ([(1, 2, 6, 6), (2, 1, 2, 3)], {"groups": 2, "stride": 2, "dilation": 2}),
    ([(1, 2, 9, 5), (2, 2, 5, 1)], {"stride": [4, 2], "padding": [2, 0]}),
    ([(1, 4, 3, 3), (6, 2, 2, 2)], {"groups": 2}),
    ([(2, 2, 4, 5), (3, 2, 3, 2), (3,)], {"layout": "NHWC", "padding": [1, 0]}),
    ([(1, 4, 5, 4), (4, 2, 3, 3)], {"layout": "NHWC", "groups": 2, "stride": 2, "padding": 1}),
    ([(1, 3, 4, 4), (3, 1, 3, 3), (3,)], {"layout": "NHWC", "groups": 3, "padding": 1}),
    ([(1, 17, 3, 3), (17, 17, 1, 1)], {}),
    ([(1, 1, 2, 2), (1, 1, 1, 1)], {"padding": [0, 3, 1, 0]}),
    ([(1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (2,)], {}),
    ([(1, 1, 3, 3, 4), (2, 1, 2, 3, 1)], {"stride": [1, 2, 1], "padding": [1, 1, 0, 0, 1, 1]}),
    ([(1, 2, 3, 3, 3), (2, 1, 2, 2, 2)], {"layout": "NHWC", "groups": 2, "dilation": [1, 2, 1]}),
]

_TRANSPOSED: Rows = [
    ([(2, 3, 3, 4), (3, 2, 2, 3), (2,)], {}),
    ([(1, 2, 3, 3), (2, 2, 3, 3)], {"stride": 2, "padding": 1, "output_padding": 1}),
    ([(1, 2, 3, 2), (2, 1, 4, 4), (1,)], {"stride": 2, "padding": [1, 0, 0, 1]}),
    ([(1, 4, 2, 3), (4, 1, 2, 2), (2,)], {"groups": 2, "stride": [2, 3], "output_padding": [0, 2]}),
    ([(1, 2, 3, 3), (2, 3, 2, 2), (3,)], {"layout": "NHWC", "stride": 2, "dilation": 2}),
    ([(0, 2, 3, 3), (2, 1, 2, 2)], {}),
    ([(2, 3, 5), (3, 2, 4), (2,)], {"stride": 3, "padding": [1, 0], "output_padding": 2}),
    ([(1, 4, 4), (4, 2, 3)], {"groups": 2, "dilation": 2, "layout": "NHWC"}),
    ([(1, 1, 1), (1, 1, 1)], {}),
    ([(1, 2, 2, 3, 2), (2, 2, 2, 1, 3), (2,)], {"stride": [1, 2, 2], "output_padding": [0, 1, 0]}),
    ([(1, 2, 2, 2, 2), (2, 1, 2, 2, 2), (2,)], {"groups": 2, "padding": 1, "layout": "NHWC"}),
]


def _in_layout(operands: Sequence[tuple[int, ...]], layout: Any) -> list[tuple[int, ...]]:
    x, w, *bias = operands
    if layout == "NHWC":
        return [(x[0], *x[2:], x[1]), (*w[2:], w[1], w[0]), *bias]
    return list(operands)


def _convolutions() -> Iterator[Case]:
    for operands, attributes in _CONVOLUTIONS:
        x, w, *_ = operands
        y = _convolved_shape(x, w, **attributes)
        dims, layout = len(x) - 2, attributes.get("layout")
        placed = _in_layout(operands, layout)
        [ct, _] = _in_layout([y, w], layout)
        yield Case(f"nn.conv{dims}d", placed, attributes, _conv)
        yield Case(f"grad.conv{dims}d_input_backward", [ct, placed[1]], attributes,
                   _input_backward(x), results=[(placed[0], None)])  # fmt: skip
        yield Case(f"grad.conv{dims}d_weight_backward", [ct, placed[0]], attributes,
                   _weight_backward(w), results=[(placed[1], None)])  # fmt: skip


def _transposed() -> Iterator[Case]:
    for operands, attributes in _TRANSPOSED:
        placed = _in_layout(operands, attributes.get("layout"))
        name = f"nn.conv_transpose{len(operands[0]) - 2}d"
        yield Case(name, placed, attributes, _conv_transpose)


CASES: tuple[Case, ...] = (*_convolutions(), *_transposed())
