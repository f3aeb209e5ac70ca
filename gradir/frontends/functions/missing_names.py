"""The answer of a module to a name that it does not have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Mapping
from typing import Any

from gradir.nearest import missing_name


def missing(
    module: str, absent: Mapping[str, str], other: object = None, handed_on: Container[str] = ()
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that knows the reasons for names that it does not have.

    Names that are `handed_on` are those of the module `other`.
    """

    def __getattr__(name: str) -> Any:
        if name in handed_on:
            return getattr(other, name)
        found = sys.modules.get(module)
        known = dir(found) if found is not None else list[str]()
        raise missing_name(module, name, known, absent.get(name))

    return __getattr__
