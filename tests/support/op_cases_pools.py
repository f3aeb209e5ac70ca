"""The table's rows for pooling and resizing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array
from op_references_pools import (
    adaptive_avg_pool,
    avg_pool,
    max_pool,
    max_pool_at,
    max_pool_backward,
    max_pool_indices,
    pixel_shuffle,
    resize,
    transpose_of,
)

from gradir.dialects.base.attributes import Plain

Row = tuple[int, tuple[int, ...], dict[str, Plain]]

# Windows that divide x and that do not, that overlap, have gaps, padding, and reach over the end.
_WINDOWS: tuple[Row, ...] = (
    (1, (2, 3, 17), {"kernel": 2}),
    (1, (2, 7), {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    (1, (1, 1, 1), {"kernel": 1}),
    (1, (1, 2, 13), {"kernel": 5, "stride": 5}),
    (1, (2, 6, 3), {"kernel": [2], "padding": [1, 0], "stride": 1, "layout": "NHWC"}),
    (2, (2, 2, 5, 6), {"kernel": 2}),
    (2, (1, 2, 5, 4), {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0]}),
    (2, (1, 1, 4, 5), {"kernel": 3, "stride": 1, "padding": 1}),
    (2, (2, 5, 5), {"kernel": 2, "stride": 3, "ceil_mode": True}),
    (2, (1, 4, 5, 3), {"kernel": 3, "stride": 2, "padding": [0, 0, 1, 1], "layout": "NHWC"}),
    (2, (1, 2, 3, 17), {"kernel": [1, 5], "stride": [1, 6], "padding": [0, 1, 0, 2]}),
    (2, (0, 2, 3, 3), {"kernel": 2}),
    (3, (1, 2, 3, 4, 3), {"kernel": 2, "stride": 1}),
    (3, (1, 2, 4, 3, 2), {"kernel": [2, 2, 1], "padding": [1, 0, 0], "layout": "NHWC"}),
)
_DILATED: tuple[Row, ...] = (
    (1, (1, 2, 9), {"kernel": 3, "dilation": 2}),
    (2, (1, 1, 6, 7), {"kernel": 2, "stride": 2, "dilation": [2, 3], "padding": 1}),
    (2, (1, 5, 6, 2), {"kernel": [2, 3], "stride": 1, "dilation": 2, "layout": "NHWC"}),
)
_COUNTED: tuple[Row, ...] = (
    (1, (1, 2, 5), {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    (2, (1, 1, 4, 5), {"kernel": 3, "stride": 2, "padding": 1}),
    (2, (1, 4, 5, 2), {"kernel": 3, "stride": 1, "padding": 1, "layout": "NHWC"}),
)


def _shape(spatial: int, shape: tuple[int, ...], attributes: Mapping[str, Any]) -> tuple[int, ...]:
    return avg_pool(spatial)(np.zeros(shape), **attributes).shape


def _max() -> Iterator[Case]:
    for spatial, shape, attributes in (*_WINDOWS, *_DILATED):
        yield Case(f"nn.max_pool{spatial}d", [shape], attributes, max_pool(spatial))
    for row in (_WINDOWS[0], _WINDOWS[1], _WINDOWS[5], _WINDOWS[6], _DILATED[1], _WINDOWS[12]):
        yield from _max_backward(*row)


def _max_backward(
    spatial: int, shape: tuple[int, ...], attributes: Mapping[str, Any]
) -> Iterator[Case]:
    name = f"grad.max_pool{spatial}d"
    x = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape) / 7
    # equal neighbours: the first is chosen
    x = np.floor(x)
    y = max_pool(spatial)(x, **attributes)
    indices = max_pool_indices(spatial)
    places = indices(x, y, **attributes)
    yield Case(f"{name}_indices", [x, y], attributes, indices)
    yield Case(f"{name}_at", [shape, places], attributes, max_pool_at(spatial))
    yield Case(
        f"{name}_backward", [y.shape, places], attributes, max_pool_backward(spatial, shape),
        results=[(shape, None)],
    )  # fmt: skip


def _average() -> Iterator[Case]:
    exclusive = [(n, s, {**a, "count_include_pad": False}) for n, s, a in _COUNTED]
    for spatial, shape, attributes in (*_WINDOWS, *_COUNTED, *exclusive):
        function = avg_pool(spatial)
        yield Case(f"nn.avg_pool{spatial}d", [shape], attributes, function)
        small = _shape(spatial, shape, attributes)
        yield Case(
            f"grad.avg_pool{spatial}d_backward", [small], attributes,
            transpose_of(function, shape), results=[(shape, None)],
        )  # fmt: skip


_IMAGES: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
    ((2, 2, 4, 6), {"size": [2, 3]}),
    ((1, 2, 5, 7), {"size": [3, 4]}),
    ((2, 3, 2), {"size": [5, 3]}),
    ((1, 5, 4, 3), {"size": 3, "layout": "NHWC"}),
    ((1, 17, 1), {"size": 1, "layout": "NHWC"}),
    ((1, 1, 1, 17), {"size": [1, 3]}),
    ((1, 1, 3, 5), {"size": [6, 10]}),
    ((0, 2, 3, 3), {"size": 2}),
)


def _resampling() -> Iterator[Case]:
    modes: list[dict[str, Plain]] = [{}, {"mode": "bilinear"}]
    for shape, attributes in _IMAGES:
        yield from _resampled("adaptive_avg_pool2d", adaptive_avg_pool, shape, attributes)
        for mode in modes:
            yield from _resampled("resize2d", resize, shape, {**attributes, **mode})


def _resampled(
    name: str, function: Any, shape: tuple[int, ...], attributes: Mapping[str, Any]
) -> Iterator[Case]:
    yield Case(f"nn.{name}", [shape], attributes, function)
    small: Array = function(np.zeros(shape), **attributes)
    yield Case(
        f"grad.{name}_backward", [small.shape], attributes, transpose_of(function, shape),
        results=[(shape, None)],
    )  # fmt: skip


CASES: list[Case] = [
    *_max(),
    *_average(),
    *_resampling(),
    Case("nn.pixel_shuffle", [(2, 8, 2, 3)], {"factor": 2}, pixel_shuffle),
    Case("nn.pixel_shuffle", [(9, 1, 2)], {"factor": 3}, pixel_shuffle),
    Case("nn.pixel_shuffle", [(1, 2, 3, 1)], {"factor": 1}, pixel_shuffle),
    Case("nn.pixel_shuffle", [(0, 4, 1, 1)], {"factor": 2}, pixel_shuffle),
]
