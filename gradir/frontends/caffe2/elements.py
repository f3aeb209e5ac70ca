"""Element types as Caffe2's TensorProto.DataType numbers them, and inputs of one element."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.tracing import element

_NAMES = {
    "FLOAT": "float32", "INT32": "int32", "BOOL": "bool", "UINT8": "uint8", "INT8": "int8",
    "UINT16": "uint16", "INT16": "int16", "INT64": "int64", "FLOAT16": "float16",
    "DOUBLE": "float64", "BYTE": "uint8",
}  # fmt: skip
_NUMBERS = {
    1: "FLOAT", 2: "INT32", 3: "BYTE", 5: "BOOL", 6: "UINT8", 7: "INT8", 8: "UINT16", 9: "INT16",
    10: "INT64", 12: "FLOAT16", 13: "DOUBLE",
}  # fmt: skip


def dtype_named(given: Any) -> np.dtype[Any]:
    """The dtype of one of Caffe2's numbers or names ("float", "INT64"), or of NumPy's names."""
    name = _NUMBERS.get(given, "") if isinstance(given, int) else given
    if isinstance(name, str) and name:
        try:
            found = Spec((), _NAMES.get(name.upper(), name)).dtype
        except ArgumentError:
            found = None
        if found is not None and found.kind != "c":  # Caffe2 has no complex numbers
            return found
    raise ArgumentError(f"element type: expected one of {', '.join(_NAMES)}, got {given!r}")


def one_number(x: Any, what: str) -> Any:
    """An array of one element as one of rank 0."""
    if x.size != 1:
        raise ArgumentError(f"{what}: expected one element, got {x!r}")
    return gnp.reshape(x, ()) if x.shape else x


def one_integer(x: Any, what: str) -> Any:
    """An integer array of one element as one of rank 0."""
    if x.size != 1 or is_float(element(x)):
        raise ArgumentError(f"{what}: expected one integer, got {x!r}")
    return one_number(x, what)
