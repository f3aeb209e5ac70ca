"""nn: convolutions, their transposes and mean pools with all that PyTorch takes.

That is images without a batch axis, padding "same" and "valid", and divisors of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.pools import AVG_POOL_OPS
from gradir.dialects.spatial.convolution import CONV_OPS
from gradir.dialects.spatial.transposed_convolution import (
    ConvTranspose1dOp,
    ConvTranspose2dOp,
    ConvTranspose3dOp,
)
from gradir.frontends.functions.arguments import floating, one_of
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.rearrangements import per_axis, several
from gradir.frontends.tracing.source_locations import refusal

_TRANSPOSE: dict[int, Any] = {1: ConvTranspose1dOp, 2: ConvTranspose2dOp, 3: ConvTranspose3dOp}
_BATCH = "x may lack its batch axis."


def _of_batch(function: Callable[..., Any], dims: int, x: Any, *args: Any) -> Any:
    """A function of batches of `dims` spatial axes, of x without a batch axis too."""
    x = floating(x)
    if x.ndim != dims + 1:
        return function(x, *args)
    return function(x[None], *args)[0]


def _conv(dims: int) -> Callable[..., Any]:
    op = CONV_OPS[dims]

    def conv(
        x: Any, weight: Any, bias: Any = None, stride: Any = None, padding: Any = None,
        dilation: Any = None, groups: Any = None, layout: Any = None, precision: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(padding, str):
            padding = _named(f"nn.conv{dims}d", padding, weight, (stride, dilation, layout), dims)
        settings = {
            "weight": weight, "bias": bias, "stride": stride, "padding": padding,
            "dilation": dilation, "groups": groups, "layout": layout, "precision": precision,
        }  # fmt: skip
        return _of_batch(_plain, dims, x, op, settings)

    conv.__name__ = conv.__qualname__ = f"conv{dims}d"
    conv.__doc__ = (
        f'{op.__doc__}\n    {_BATCH} padding: "valid" is 0, and "same", with stride 1, keeps the '
        f"extents.\n\n    The op is {op.name}.\n    "
    )
    return conv


def _named(name: str, padding: str, weight: Any, settings: Any, dims: int) -> Any:
    """The numbers of a padding "same" or "valid"."""
    one_of(padding, f"{name}: padding", ("same", "valid"))
    if padding == "valid":
        return None
    stride, dilation, layout = settings
    if stride is not None and set(several(stride, 1)) != {1}:
        raise refusal(f'{name}: padding "same" needs stride 1, got {stride!r}')
    shape = floating(weight).shape
    kernel = shape[:dims] if layout == "NHWC" else shape[-dims:]
    steps = per_axis(1 if dilation is None else dilation, dims, f"{name}: dilation")
    rest = [step * (k - 1) for step, k in zip(steps, kernel, strict=True)]
    # of an odd number, PyTorch puts the larger part behind
    return [n // 2 for n in rest] + [n - n // 2 for n in rest]


def _conv_transpose(dims: int) -> Callable[..., Any]:
    op, name = _TRANSPOSE[dims], f"nn.conv_transpose{dims}d"

    def conv_transpose(
        x: Any, weight: Any, bias: Any = None, stride: Any = None, padding: Any = None,
        dilation: Any = None, groups: Any = None, layout: Any = None, output_padding: Any = None,
        precision: Any = None,
    ) -> Any:  # fmt: skip
        settings = {
            "weight": weight, "bias": bias, "stride": stride, "padding": padding,
            "dilation": dilation, "groups": groups, "layout": layout,
            "output_padding": output_padding, "precision": precision,
        }  # fmt: skip
        wide = output_padding is not None and _exceeds(name, dims, settings)
        return _of_batch(_widened if wide else _plain, dims, x, op, settings)

    conv_transpose.__name__ = conv_transpose.__qualname__ = f"conv_transpose{dims}d"
    conv_transpose.__doc__ = (
        f"{op.__doc__}\n    {_BATCH} output_padding may also be less than the dilation.\n\n"
        f"    The op is {op.name}.\n    "
    )
    return conv_transpose


def _plain(x: Any, op: Any, settings: dict[str, Any]) -> Any:
    return apply(op, {"x": x, **settings})


def _exceeds(name: str, dims: int, settings: dict[str, Any]) -> bool:
    """Whether an output padding is not less than its stride, but than its dilation."""
    added, stride, dilation = (
        per_axis(default if settings[key] is None else settings[key], dims, f"{name}: {key}")
        for key, default in (("output_padding", 0), ("stride", 1), ("dilation", 1))
    )
    rows = list(zip(added, stride, dilation, strict=True))
    return any(a >= s for a, s, _ in rows) and all(0 <= a < max(s, d) for a, s, d in rows)


def _widened(x: Any, op: Any, settings: dict[str, Any]) -> Any:
    """Output padding shows what padding cuts off; beyond that there are zeros."""
    dims, bias = op.DIMS, settings["bias"]
    given = several(0 if settings["padding"] is None else settings["padding"], dims)
    low, high = (given * dims)[:dims], (given * dims)[-dims:]
    added = per_axis(settings["output_padding"], dims, f"{op.name}: output_padding")
    shown = [min(a, h) for a, h in zip(added, high, strict=True)]
    left = [h - s for h, s in zip(high, shown, strict=True)]
    inner = {**settings, "bias": None, "padding": [*low, *left], "output_padding": None}
    y = _plain(x, op, inner)
    first = 1 if settings["layout"] == "NHWC" else 2
    widths = [(0, 0)] * y.ndim
    for d, (a, s) in enumerate(zip(added, shown, strict=True)):
        widths[first + d] = (0, a - s)
    y = gnp.pad(y, widths)
    if bias is None:
        return y
    line = [1] * y.ndim
    line[-1 if settings["layout"] == "NHWC" else 1] = -1
    return y + gnp.reshape(bias, line)


def _avg_pool(dims: int) -> Callable[..., Any]:
    op = AVG_POOL_OPS[dims]

    def avg_pool(
        x: Any, kernel: Any = None, stride: Any = None, padding: Any = None, ceil_mode: Any = None,
        layout: Any = None, count_include_pad: Any = None, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        settings = {
            "kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
            "layout": layout, "count_include_pad": count_include_pad,
        }  # fmt: skip
        if divisor_override is None:
            return _plain(x, op, settings)
        if not divisor_override:
            raise refusal(f"{op.name}: divisor_override must not be 0")
        settings["count_include_pad"] = None
        return _sums(floating(x), op, dims, settings) / divisor_override

    avg_pool.__name__ = avg_pool.__qualname__ = f"avg_pool{dims}d"
    avg_pool.__doc__ = (
        f"{op.__doc__}\n    divisor_override: sums of windows are divided by it.\n\n"
        f"    The op is {op.name}.\n    "
    )
    return avg_pool


def _sums(x: Any, op: Any, dims: int, settings: dict[str, Any]) -> Any:
    """The sums of windows: means, padding included, times what they are divided by."""
    y = _plain(x, op, settings)
    is_last = settings["layout"] == "NHWC"
    first = y.ndim - dims - is_last
    kernel = per_axis(settings["kernel"], dims, f"{op.name}: kernel")
    stride = settings["stride"]
    steps = per_axis(kernel if stride is None else stride, dims, f"{op.name}: stride")
    given = several(0 if settings["padding"] is None else settings["padding"], dims)
    low, high = (given * dims)[:dims], (given * dims)[-dims:]
    counts: list[Any] = []
    for d in range(dims):
        starts = [k * steps[d] for k in range(y.shape[first + d])]
        # the last windows may reach out of the padded image
        end = x.shape[first + d] + low[d] + high[d]
        counts.append([min(start + kernel[d], end) - start for start in starts])
    each: Any = reduce(np.multiply.outer, counts, np.ones((), int))
    line: Sequence[int] = (*each.shape, 1) if is_last else each.shape
    return y * gnp.astype(each.reshape(line), y.dtype)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *map(_conv, (1, 2, 3)), *map(_conv_transpose, (1, 2, 3)), *map(_avg_pool, (1, 2, 3)),
)  # fmt: skip
