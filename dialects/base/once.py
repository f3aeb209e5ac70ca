"""Properties that are computed when they are first read, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """As functools.cached_property, but without a lock.

    Python 3.11 computes under a lock, which may stay locked for ever in the child of a fork.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> T | once[T]:
        if instance is None:
            return self
        # from now on found in the instance, before this is
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
