"""The function of gradir.numpy or gradir.nn of an op, called on the operands of a row of the op
table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from op_cases import CASES, Case
from xdsl.dialects.builtin import f64
from xdsl.irdl import OptOperandDef, VarOperandDef

import gradir
from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, shape_of
from gradir.frontends.functions import array_ops
from gradir.frontends.tracing.eager import eager

MODULES: dict[str, Any] = {"array": gradir.numpy, "nn": gradir.nn}

# Ops whose function has another name, and why.
RENAMED = {"array.constant": "asarray"}  # a constant is what becomes of an array
# Ops whose results have a type that is written: the function takes a shape, a dtype, or both.
SHAPED = {
    "array.reshape", "array.broadcast_to", "array.affine_gather", "array.affine_scatter_add",
}  # fmt: skip
TYPED = {"array.astype", "array.bitcast", "array.one_hot"}
MADE = {"array.full", "array.iota", "array.uniform", "array.normal", "array.random_bits"}

# Functions that make int64 of smaller integers first.
WIDENING = {"array.sum", "array.prod", "array.cumulative_sum", "array.cumulative_prod"}

# Ops whose attributes are not the parameters of NumPy's function of the name.
OWN = {
    "array.split", "array.pad", "array.tile", "array.repeat", "array.norm", "array.trace",
    "array.diagonal", "array.roll", "array.squeeze", "array.permute_dims", "array.flip",
    "array.outer", "array.floor", "array.ceil", "array.trunc", "array.fft",
}  # fmt: skip

FIRST_CASES = list({(c.op, len(c.operands), *c.attributes): c for c in CASES}.values())
TRACED = [
    c
    for c in FIRST_CASES
    if c.op.partition(".")[0] in MODULES
    and not (c.op in WIDENING and any(a.dtype == np.int32 for a in c.arrays(f64)))
]


def function_of(op: str) -> Any:
    dialect, _, name = op.partition(".")
    if op in OWN:
        return eager(getattr(array_ops.op, name))
    return getattr(MODULES[dialect], RENAMED.get(op, name))


def call(case: Case, xs: Sequence[Any]) -> Any:
    """The function of a case on its operands, called as that function wants it."""
    function = function_of(case.op)
    attributes: dict[str, Any] = dict(case.attributes)
    attributes.pop("operandSegmentSizes", None)
    results = case.result_types(f64) or []
    if case.op == "array.einsum":
        return function(attributes["equation"], *xs)
    if case.op == "array.constant":
        attribute: Any = attributes["value"]
        values = [complex(*v) if isinstance(v, tuple) else v for v in attribute.get_values()]
        data, name = np.array(values), NUMPY_NAMES[attribute.get_element_type()]
        data = data.astype(name) if np.iscomplexobj(data) else data
        return function(data.reshape(attribute.get_shape()), dtype=name)
    if case.op == "array.full":
        value: Any = attributes.pop("value")
        imag: Any = attributes.pop("imag", 0)
        fill: Any = complex(value, imag) if imag else value
        attributes["fill_value"] = fill
    if case.op in ("array.take", "array.take_along_axis"):
        attributes.setdefault("axis", 0)
    if case.op in SHAPED | MADE:
        attributes["shape"] = shape_of(results[0])
    if case.op in TYPED | MADE:
        attributes["dtype"] = NUMPY_NAMES[element_of(results[0])]
    if case.op == "nn.batch_norm":
        return function(*xs[:3], tuple(xs[3:]), **attributes)
    if case.op == "array.eye":
        rows, columns = shape_of(results[0])
        return function(rows, columns, dtype=NUMPY_NAMES[element_of(results[0])], **attributes)
    return function(*operands_of(case, xs), **attributes)


def operands_of(case: Case, xs: Sequence[Any]) -> list[Any]:
    """The operands; a variadic one is a list."""
    rest, given = list(xs), list[Any]()
    sizes: Any = case.attributes.get("operandSegmentSizes")
    present = iter(sizes.get_values()) if sizes is not None else None
    for _, kind in case.op_class.get_irdl_definition().operands:
        if isinstance(kind, OptOperandDef):
            is_there = next(present) if present is not None else bool(rest)
            given.append(rest.pop(0) if is_there else None)
        elif isinstance(kind, VarOperandDef):
            given.append(rest)
            rest = list[Any]()
        else:
            given.append(rest.pop(0))
            if present is not None:
                next(present)
    return given
