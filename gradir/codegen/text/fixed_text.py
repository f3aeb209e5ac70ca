"""Pieces of functions that are the same for all programs, which are written as LLVM text by hand.

They are read against the memory model and against C, so their values have telling names: `%busy`,
not `%v.17`. The functions of a program are written by `FunctionWriter`.
"""

from __future__ import annotations

from collections.abc import Mapping


def declarations(functions: Mapping[str, str]) -> str:
    """The `declare` of each function, whose type is like `i32 (ptr, i64)`."""
    lines = (f"declare {type_.replace(' (', f' @{name}(', 1)}" for name, type_ in functions.items())
    return "\n".join(lines)


def place(name: str, base: str, index: int, unit: str = "i8") -> str:
    """`%name`, the address of a field: `index` bytes, or units, behind the base."""
    return f"%{name} = getelementptr {unit}, ptr {base}, i64 {index}"


def load_field(name: str, base: str, index: int, type_: str = "i64", unit: str = "i64") -> str:
    """Lines that load `%name`, the field at this place behind the base."""
    address = place(f"{name}.place", base, index, unit)
    return f"{address}\n  %{name} = load {type_}, ptr %{name}.place"
