"""Values and operations are compared and hashed in C.

xDSL's classes say in Python that they are equal to nothing but themselves, as any object is. Passes
keep them in tables: a compilation asks for a million hashes, 6 % of its time in Python.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation


def compare_in_c() -> None:
    """Let values and operations have the equality and the hash of objects."""
    classes: tuple[Any, ...] = (SSAValue, IRDLOperation)
    for each in classes:
        each.__eq__, each.__hash__ = object.__eq__, object.__hash__
