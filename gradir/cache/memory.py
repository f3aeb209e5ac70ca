"""What is made once and kept in memory, by key: traced programs, native code, derivatives."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Generic, TypeVar

from gradir.forking import RenewedLock, short_lock

KeyT = TypeVar("KeyT", bound=Hashable)
MadeT = TypeVar("MadeT")


def made_once(make: Callable[[], MadeT]) -> Callable[[], MadeT]:
    """A function without arguments whose first value is kept, and given to all callers.

    Where several threads make one at once, the others are dropped before anybody has them:
    functools.cache gives each thread its own, and keeps the last one alone.
    """
    made: dict[None, MadeT] = {}

    @wraps(make)
    def find() -> MadeT:
        return made[None] if made else made.setdefault(None, make())

    return find


# guards the order of use in all stores that are bounded
_ordering = short_lock()


class Store(Generic[KeyT, MadeT]):
    """What was made for each key; with `most`, the values that were used last.

    One thread makes a value, and the others wait for it. User code may run meanwhile.
    """

    def __init__(self, most: int | None = None) -> None:
        self._made: OrderedDict[KeyT, MadeT] = OrderedDict()
        self._most = most
        self._making = RenewedLock()

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[MadeT]:
        return iter(list(self._made.values()))

    def find(self, key: KeyT) -> MadeT | None:
        """The value of a key; None without one."""
        found = self._made.get(key)
        if self._most is None or found is None:
            return found
        with _ordering, suppress(KeyError):  # another thread may have dropped it
            self._made.move_to_end(key)
        return found

    def find_or_make(self, key: KeyT, make: Callable[[], MadeT]) -> MadeT:
        """The value of a key, made now if there is none."""
        found = self.find(key)
        if found is None:
            with self._making:
                found = self._made.get(key)
                if found is None:
                    found = make()
                    self.keep(key, found)
        return found

    def keep(self, key: KeyT, made: MadeT) -> None:
        """Set the value of a key."""
        if self._most is None:
            self._made[key] = made
            return
        with _ordering:
            self._made[key] = made
            self._made.move_to_end(key)
            while len(self._made) > self._most:
                self._made.popitem(last=False)

    def drop(self, key: KeyT, made: MadeT) -> None:
        """Forget the value of a key, unless another one has taken its place."""
        with _ordering:
            if self._made.get(key) is made:
                del self._made[key]
