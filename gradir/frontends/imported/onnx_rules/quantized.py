"""ONNX's operators on numbers of 8 and 16 bits with a scale and a zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.creation import numpy_dtype
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.onnx_rules.arguments import OnnxRules, axis_of, is_real
from gradir.frontends.imported.onnx_rules.layers import ImageWindows, convolved
from gradir.frontends.imported.onnx_rules.types import element_of_code
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element

RULES = OnnxRules()
FLOAT32, UINT8 = ELEMENTS["float32"], ELEMENTS["uint8"]


def _spread(x: Any, part: Any, axis: int, block: int) -> Any:
    """A scale or zero point of all elements, of each row along an axis, or of each block."""
    if part.ndim == 0 or part.size == 1:
        return gnp.reshape(part, ())
    axis = axis_of(x, axis)
    if (part.ndim == 1 and x.ndim != 1) or (part.ndim == 1 and not block):
        return gnp.reshape(part, [-1 if k == axis else 1 for k in range(x.ndim)])
    wide = gnp.repeat(part, block, axis)
    return wide[(*[slice(None)] * axis, slice(0, x.shape[axis]))]


@RULES.onnx("QuantizeLinear", note="to integers of 8 and 16 bits")
def _quantized(
    call: Any, x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    kind = element(zero) if zero is not None else element_of_code(output_dtype or 2)
    if is_real(zero) if zero is not None else False:
        raise refusal("QuantizeLinear: to floats of few bits")
    steps = op.round(_wide(x) / _spread(x, _wide(scale), axis, block_size))
    return _limited(steps, None if zero is None else _spread(x, zero, axis, block_size), kind)


def _wide(x: Any) -> Any:
    return converted(x, FLOAT32)


def _limited(steps: Any, zero: Any, kind: Any) -> Any:
    limits = np.iinfo(numpy_dtype(kind))
    moved = steps if zero is None else steps + _wide(zero)
    return converted(op.clip(moved, min=float(limits.min), max=float(limits.max)), kind)


@RULES.onnx("DequantizeLinear", note="of integers of 8, 16 and 32 bits")
def _restored(
    call: Any, x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0,
) -> Any:  # fmt: skip
    kind = element_of_code(output_dtype) if output_dtype else element(scale)
    wide = converted(x, ELEMENTS["int32"])
    if zero is not None:
        wide = wide - converted(_spread(x, zero, axis, block_size), ELEMENTS["int32"])
    return converted(_wide(wide) * _spread(x, _wide(scale), axis, block_size), kind)


@RULES.onnx("DynamicQuantizeLinear")
def _measured(call: Any, x: Any) -> Any:
    low, high = op.minimum(gnp.min(x), 0), op.maximum(gnp.max(x), 0)
    scale = (high - low) / 255.0
    safe = gnp.where(op.equal(scale, 0), 1, scale)
    zero = op.clip(op.round(-low / safe), min=0.0, max=255.0)
    made = op.clip(op.round(x / safe) + zero, min=0.0, max=255.0)
    return [converted(made, UINT8), scale, converted(zero, UINT8)]


def _requantized(made: Any, scale: Any, zero: Any) -> Any:
    return _limited(op.round(made / scale), zero, element(zero))


@RULES.onnx("QLinearMatMul")
def _product(
    call: Any, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, scale: Any,
    zero: Any,
) -> Any:  # fmt: skip
    left = _restored(call, a, _wide(a_scale), a_zero)
    right = _restored(call, b, _wide(b_scale), b_zero)
    return _requantized(gnp.matmul(left, right), _wide(scale), zero)


@RULES.onnx("QLinearConv")
def _convolution(
    call: Any, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, scale: Any,
    zero: Any, bias: Any = None, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, w.shape[2:], strides, dilations, pads, auto_pad)
    factor = _wide(x_scale) * _wide(w_scale)
    offset = None if bias is None else _wide(bias) * factor
    left = _restored(call, x, x_scale, x_zero)
    right = _restored(call, w, w_scale, w_zero, axis=0)
    return _requantized(convolved(left, right, offset, windows, group), _wide(scale), zero)
