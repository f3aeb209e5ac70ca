"""The answer of a module to a name that it does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def missing(module: str, absent: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that knows the reasons for names that it does not have."""

    def __getattr__(name: str) -> Any:
        reason = f": {absent[name]}" if name in absent else ""
        raise AttributeError(f"{module} has no {name}{reason}")

    return __getattr__
