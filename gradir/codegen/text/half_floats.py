"""Conversions between f32 and the 16-bit floats, which LLVM sees as i16: calls of our functions.

`vector_math/target_functions.py` defines what is called, as the target can do it best. `lanes` is
None for a scalar: `<1 x i16>` is another type than `i16`.
"""

from __future__ import annotations

from gradir.codegen.text.functions import FunctionText


def extended(f: FunctionText, kind: str, lanes: int | None, value: str) -> str:
    """f16 or bf16 as f32, which is exact."""
    return _convert(f, "extend", kind, lanes, value)


def narrowed(f: FunctionText, kind: str, lanes: int | None, value: str) -> str:
    """f32 as f16 or bf16, to nearest even."""
    return _convert(f, "narrow", kind, lanes, value)


def vector_type(element: str, lanes: int | None) -> str:
    return element if lanes is None else f"<{lanes} x {element}>"


def mangled_type(kind: str, lanes: int | None) -> str:
    """How the type is spelled in a function's name."""
    return kind if lanes is None else f"v{lanes}{kind}"


def _convert(f: FunctionText, name: str, kind: str, lanes: int | None, value: str) -> str:
    half, single = vector_type("i16", lanes), vector_type("float", lanes)
    source, result = (half, single) if name == "extend" else (single, half)
    return f.emit(f"call {result} @gradir.{name}.{mangled_type(kind, lanes)}({source} {value})")
