"""Operator types without gradients: constants, printing, workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from xdsl.dialects.builtin import StringAttr

import gradir.frontends.functions.numpy as gnp
from gradir.api import register_host_function
from gradir.dialects.base.shapes import is_float
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import dtype_named
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import current, element, emit_one


def filled_shape(
    like: Any, shape: Sequence[int], extra_shape: Sequence[int], input_as_shape: int
) -> list[int]:
    """The shape of a fill: `shape`, or the input's shape with `extra_shape` behind it."""
    if input_as_shape:
        raise ArgumentError("input_as_shape: shapes are known when a net is compiled; give shape")
    if like is not None and shape:
        raise ArgumentError("shape: the input has the shape already")
    if like is None and extra_shape:
        raise ArgumentError("extra_shape: there is no input whose shape it could follow")
    return [*(shape if like is None else like.shape), *extra_shape]


@operator_type("ConstantFill", inputs=(0, 1), reads=NOTHING, differentiable=())
def constant_fill(
    like: Any = None, *, op: Operator, shape: Sequence[int] = (), value: float = 0.0,
    dtype: int | str | None = None, extra_shape: Sequence[int] = (), input_as_shape: int = 0,
) -> Any:  # fmt: skip
    """One number in a shape, or in the shape and the type of the input.

    Without `dtype` and input the number has the type of what it meets, as Python's numbers have.
    """
    extents = filled_shape(like, shape, extra_shape, input_as_shape)
    if like is not None:
        if op.is_gradient_op and value and not is_float(element(like)):
            raise ArgumentError(f'y "{op.inputs[0]}" must be floating, got {like!r}')
        kind = like.dtype if dtype is None else dtype_named(dtype)
        return gnp.full(extents, _number(value, kind), kind)
    if dtype is not None:
        kind = dtype_named(dtype)
        return gnp.full(extents, _number(value, kind), kind)
    made = gnp.full(extents, value)
    made.weak = True
    return made


def _number(value: float, dtype: Any) -> Any:
    return bool(value) if dtype.kind == "b" else int(value) if dtype.kind in "iu" else value


def _given(name: str, dtype: str, is_weak: bool = False) -> None:
    @operator_type(name, inputs=0, reads=NOTHING, differentiable=())
    def _(*, values: Sequence[Any], shape: Sequence[int] | None = None) -> Any:
        extents = [len(values)] if shape is None else list(shape)
        if prod(extents) != len(values):
            raise ArgumentError(f"values: shape {extents} does not hold {len(values)} values")
        made = gnp.reshape(gnp.asarray(list(values), dtype), extents)
        made.weak = is_weak
        return made


for _name, _dtype in (
    ("GivenTensorDoubleFill", "float64"),
    ("GivenTensorIntFill", "int32"), ("GivenTensorInt64Fill", "int64"),
    ("GivenTensorBoolFill", "bool"),
):  # fmt: skip
    _given(_name, _dtype)
_given("GivenTensorFill", "float64", is_weak=True)


@operator_type("Print", inputs=1, outputs=0, reads=NOTHING, differentiable=())
def printed(x: Any, *, op: Operator, is_replay: bool, **arguments: Any) -> tuple[()]:
    """The blob's name and its values on standard output, each time the net runs.

    What is computed again for a derivative prints nothing.
    """
    if is_replay:
        return ()
    name = f"caffe2.Print {op.inputs[0]}"
    register_host_function(name, partial(_print, op.inputs[0]))
    trace = current("Print")
    value = trace.use(emit_one(NoGradOp, x))
    callee = {"callee": StringAttr(name)}
    trace.emit(HostCallOp.create(operands=[value], attributes=callee, result_types=[]))
    return ()


def _print(name: str, value: Any) -> tuple[()]:
    print(f"{name}: {value}")
    return ()


@operator_type("ZeroGradient", inputs=1, outputs=0, reads=NOTHING, differentiable=())
def zero_gradient(x: Any) -> tuple[()]:
    """Nothing: the gradient of an output that nothing reads is zero without it."""
    return ()


@operator_type("CreateScope", inputs=0, reads=NOTHING, differentiable=())
def create_scope() -> Any:
    """A workspace: nothing, since each Do has one."""
    return gnp.full((), 0)


@operator_type("HasScope", inputs=1, reads=NOTHING, differentiable=())
def has_scope(scope: Any) -> Any:
    """Whether a workspace is there: none is kept."""
    return gnp.full((), False)
