"""The names of derived values: `%x_ct`, `%x_remat`, `%scratch`.

They are for readers of IR and of memory pictures. A program may use any name, so only displays may
depend on one.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

SCRATCH = "scratch"

_COTANGENT, _REMATERIALIZED = "ct", "remat"

Kind: TypeAlias = Literal["stored", "recomputed", "cotangent", "scratch"]


def cotangent_name(name: str | None) -> str:
    """The name of the cotangent of a value."""
    return f"{name}_{_COTANGENT}" if name else _COTANGENT


def rematerialized_name(name: str | None) -> str | None:
    """The name of a recomputed value."""
    return f"{name}_{_REMATERIALIZED}" if name else None


def kind_by_name(name: str) -> Kind:
    """A label for a value with such a name, as if gradir had named it."""
    parts = name.split("_")
    if parts[0] == SCRATCH:
        return "scratch"
    if _REMATERIALIZED in parts:
        return "recomputed"
    return "cotangent" if _COTANGENT in parts else "stored"
