"""Functions whose modules are imported at the first call: parts that most programs do not need.

if TYPE_CHECKING:
    from gradir.text.parser import parse_module
else:
    parse_module = lazy_function("gradir.text.parser", "parse_module")
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy_function"]


def lazy_function(module: str, name: str) -> Callable[..., Any]:
    """The function of a module, which its first call imports."""
    found: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not found:
            found.append(getattr(import_module(module), name))
        return found[0](*args, **kwargs)

    return call
