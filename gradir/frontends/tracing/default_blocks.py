"""Blocks in which something holds by default, in their thread: `with gradir.default_...(...):`."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

from gradir.frontends.tracing.default_types import Entered
from gradir.frontends.tracing.tracing import IN_PYTHON

ValueT = TypeVar("ValueT")


class DefaultBlock(Generic[ValueT]):
    """A block with a default value; native code, which knows of none, makes no calls meanwhile."""

    def __init__(self, entered: Entered[ValueT], value: ValueT):
        self._entered, self._value = entered, value

    def __enter__(self) -> None:
        self._entered.values.append(self._value)
        IN_PYTHON.append(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.values.pop()
        IN_PYTHON.remove(self)
