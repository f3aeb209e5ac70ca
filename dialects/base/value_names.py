"""The names of derived values: `%x_ct`, `%x_remat`, `%scratch`.

They are for readers of IR and of memory pictures. A program may use any name, so only displays may
depend on one.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

SCRATCH = "scratch"

_COTANGENT, _TANGENT, _REMATERIALIZED = "ct", "tangent", "remat"

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


def derivative_by_name(name: str) -> tuple[str, str] | None:
    """The kind of a derivative by its name, "cotangent" or "tangent", and its primal's name."""
    *parts, last = name.rstrip("_0123456789").split("_")
    words = {_COTANGENT: "cotangent", _TANGENT: "tangent"}
    return (words[last], "_".join(parts)) if last in words else None
