"""Memory that outlives calls: a pool of page-aligned blocks for arenas and for large results.

Fresh pages cost more than the arithmetic on them, so blocks are reused. The block of a result array
comes back with the end of the last array on it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_left, insort
from collections import deque
from itertools import islice, takewhile
from typing import Any

import numpy as np

from gradir.errors import GradirError
from gradir.forking import short_lock

POOL_BYTES_VARIABLE = "GRADIR_POOL_BYTES"
DEFAULT_POOL_BYTES = 1 << 30
# The size of x86-64's and aarch64's huge pages, and that to which smaller blocks are rounded up.
HUGE_PAGE_BYTES = 1 << 21
GRANULE_BYTES = 1 << 16


class MemoryBlock:
    """`size` bytes at `address`, which is a multiple of 4096 (of 2 MB for large blocks)."""

    __slots__ = ("_pages", "address", "returned", "size")

    def __init__(self, size: int):
        huge = size >= HUGE_PAGE_BYTES
        # the extra room is address space only: untouched pages cost nothing
        pages = mmap.mmap(-1, size + HUGE_PAGE_BYTES if huge else size)
        if huge and hasattr(mmap, "MADV_HUGEPAGE"):
            _advise_huge_pages(pages)
        self._pages = pages
        self.size = size
        self.returned = 0  # the time of its return to the pool, in returned blocks
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self.address = -(-start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES if huge else start


def _advise_huge_pages(pages: mmap.mmap) -> None:
    try:
        pages.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        pass  # a kernel without huge pages: only slower


class MemoryPool:
    """Free blocks by size, oldest out first where `limit` bytes are exceeded. Thread-safe.

    `give` may run inside a finalizer, that is at any point of any thread, and so never waits.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.held = 0
        self._free: dict[int, deque[MemoryBlock]] = {}
        # the keys of `_free`, ascending
        self._sizes: list[int] = []
        self._returned: deque[MemoryBlock] = deque()
        self._count = 0
        self._lock = short_lock()

    def take(self, nbytes: int, slack: int = 1) -> MemoryBlock:
        """A block of at least `nbytes` with undefined contents.

        A free one may be up to `slack` times as large: for short uses, so that functions that run
        in turns share warm memory for arenas of different sizes.
        """
        granule = HUGE_PAGE_BYTES if nbytes >= HUGE_PAGE_BYTES else GRANULE_BYTES
        size = max(1, -(-nbytes // granule)) * granule
        with self._lock:
            if self._returned:
                self._sort_in()
            blocks = self._free.get(size) or (self._larger(size, slack) if slack > 1 else None)
            if blocks:
                self.held -= blocks[-1].size
                return blocks.pop()
        try:
            return MemoryBlock(size)
        except (OSError, ValueError, OverflowError) as error:
            raise GradirError(f"no memory for a buffer of {nbytes} bytes: {error}") from None

    def give(self, block: MemoryBlock) -> None:
        """Hand a block back."""
        self._returned.append(block)
        if self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def clear(self) -> None:
        """Return all free blocks to the system."""
        with self._lock:
            self._sort_in()
            self._free.clear()
            self._sizes.clear()
            self.held = 0

    def _sort_in(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            self._count += 1
            block.returned = self._count
            if block.size not in self._free:
                insort(self._sizes, block.size)
                self._free[block.size] = deque()
            self._free[block.size].append(block)
            self.held += block.size
        while self.held > self.limit:
            # of one size, the first came back first
            oldest = min((b for b in self._free.values() if b), key=lambda b: b[0].returned)
            self.held -= oldest.popleft().size

    def _larger(self, size: int, slack: int) -> deque[MemoryBlock] | None:
        """The free blocks of the least size above, up to `slack` times as much."""
        sizes = islice(self._sizes, bisect_left(self._sizes, size), None)
        near = takewhile(lambda other: other <= slack * size, sizes)
        return next((self._free[other] for other in near if self._free[other]), None)


class ResultBuffer:
    """Makes arrays of one shape on pooled blocks, by `make()`."""

    def __init__(self, pool: MemoryPool, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int):
        self._pool, self._shape, self._dtype, self._nbytes = pool, shape, dtype, nbytes
        self._owner = _owner_type(nbytes)

    def make(self) -> np.ndarray[Any, Any]:
        block = self._pool.take(self._nbytes)
        owner = self._owner.from_address(block.address)
        owner.pool, owner.block = self._pool, block
        return np.ndarray(self._shape, self._dtype, owner)


def _owner_type(nbytes: int) -> Any:
    """The type of the base object of result arrays: its end gives the block back."""
    chars: Any = ctypes.c_char * nbytes

    class Owner(chars):
        pool: MemoryPool
        block: MemoryBlock

        def __del__(self) -> None:
            self.pool.give(self.block)

    return Owner


def _limit_from_environment() -> int:
    text = os.environ.get(POOL_BYTES_VARIABLE, "")
    if not text:
        return DEFAULT_POOL_BYTES
    if not text.isdigit():
        raise GradirError(f"{POOL_BYTES_VARIABLE}: a number of bytes expected, got {text!r}")
    return int(text)


_shared: MemoryPool | None = None
_shared_lock = short_lock()


def shared_pool() -> MemoryPool:
    """The pool of this process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = MemoryPool(_limit_from_environment())
        return _shared
