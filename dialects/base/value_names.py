"""The names that gradir gives to values which it makes of others: `%x_ct`, `%x_remat`, `%scratch`.

They are for readers, of IR and of pictures of memory. A program may use any name, so nothing but
what is shown may depend on one.
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
    """The name of a value that is computed again."""
    return f"{name}_{_REMATERIALIZED}" if name else None


def kind_by_name(name: str) -> Kind:
    """What a value with such a name is, if it was gradir that named it: a label, no more."""
    parts = name.split("_")
    if parts[0] == SCRATCH:
        return "scratch"
    if _REMATERIALIZED in parts:
        return "recomputed"
    return "cotangent" if _COTANGENT in parts else "stored"
