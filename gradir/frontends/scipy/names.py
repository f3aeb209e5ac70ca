"""A module's functions: eager on NumPy arrays, with known arguments, under their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradir.frontends.functions.arguments import checked
from gradir.frontends.tracing.eager import eager


def published(
    functions: Iterable[Callable[..., Any]], module: str, takes_complex: bool = False
) -> dict[str, Callable[..., Any]]:
    """The public functions of a module by name."""
    made: dict[str, Callable[..., Any]] = {}
    for function in functions:
        call = checked(function, module=module, takes_complex=takes_complex)
        made[function.__name__] = eager(call)
    return made
