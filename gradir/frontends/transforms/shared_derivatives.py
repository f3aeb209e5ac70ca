"""Derivatives of functions that are asked for repeatedly, as in `gradir.grad(f)(x)` in a loop.

From the second time on a derivative is kept, if it is known what its function reads, and given
again while that is as it was. A function that reads anything else is traced for each derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from gradir.cache.memory import Store
from gradir.frontends.tracing.reads import Reads
from gradir.frontends.transforms.program import settings

MOST_DERIVATIVES = 64
"""The derivatives that are kept: those that were asked for last."""


class _Kept(NamedTuple):
    reads: Reads
    settings: tuple[str | None, ...]
    derivative: Any

    def holds(self) -> bool:
        """Whether a new derivative would do the same."""
        return self.reads.hold() and self.settings == settings()


_kept = Store[Hashable, _Kept](MOST_DERIVATIVES)
# hashes of the keys of derivatives that were asked for once
_asked: WeakKeyDictionary[Callable[..., Any], set[int]] = WeakKeyDictionary()


def key_of(transform: str, function: object, options: tuple[object, ...]) -> Hashable | None:
    """The key of a derivative; None for options that may be changed, or equal others by chance."""
    if type(function) is FunctionType and all(map(_is_plain, options)):
        return transform, function, repr(options)
    return None


def find(key: Hashable | None) -> Any:
    """The derivative that is kept for a key, as long as it is right; or None."""
    kept = _kept.find(key)
    if kept is None or kept.holds():
        return kept and kept.derivative
    _kept.drop(key, kept)
    return None


def keep(key: Hashable | None, function: Callable[..., Any], derivative: Any) -> None:
    """Note a new derivative, and keep it if its like was asked for before."""
    if key is None or not _was_asked(key, function):
        return
    reads = Reads.of(function)
    if reads is None:
        return
    kept = _Kept(reads, settings(), derivative)

    def check() -> None:
        # it may have been traced when the function read other objects
        if not kept.holds():
            _kept.drop(key, kept)

    derivative.after_trace(check)
    _kept.keep(key, kept)


def _was_asked(key: Hashable, function: Callable[..., Any]) -> bool:
    """Whether a derivative was asked for before, which is noted now."""
    asked, number = _asked.setdefault(function, set[int]()), hash(key)
    was = number in asked
    asked.add(number)
    return was


def _is_plain(option: object) -> bool:
    if type(option) is tuple:
        return all(map(_is_plain, cast(tuple[object, ...], option)))
    return option is None or type(option) in (bool, int, str)
