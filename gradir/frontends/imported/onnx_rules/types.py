"""The element types of ONNX by their numbers in TensorProto.DataType."""

from __future__ import annotations

from typing import Any

from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import COMPLEX_NAMES, ELEMENTS

NAMES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
    19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1",
    24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip
"""The name of each type; gradir has those in ELEMENTS."""


def element_of_code(code: int) -> Any:
    """The element type with a number; refused where gradir has no such elements."""
    name = NAMES.get(code, f"number {code}")
    if name not in ELEMENTS:
        raise refusal(f"there are no elements of type {name}")
    if name in COMPLEX_NAMES:
        raise refusal(f"programs with elements of type {name} are not read")
    return ELEMENTS[name]
