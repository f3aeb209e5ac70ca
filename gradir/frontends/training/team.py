"""The ranks that train together: which rows each reads, what they agree on, who writes files.

A trainer alone is a team of one. What a rank finds out on its own, all ranks learn of: where one
fails, all raise, so that none waits for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from gradir.dialects.comm.worlds import Alone, WorldError, agreed, entered
from gradir.errors import ArgumentError, CommError
from gradir.frontends.comm.functions import WORLD
from gradir.frontends.tracing.trees import flatten
from gradir.runtime import mpi

T = TypeVar("T")


class TrainingTeam:
    """This rank among those that train together; a batch has `shards` equal parts."""

    def __init__(self, shards: int | None, is_alone: bool):
        self._world = Alone() if is_alone else mpi.world()
        self.rank, self.size = self._world.rank(WORLD), self._world.size(WORLD)
        self.shards = self.size if shards is None else shards

    def part(self, rows: int) -> slice:
        """This rank's rows of a batch with this many rows."""
        if rows % self.shards or self.shards % self.size:
            raise ArgumentError(
                f"data: a batch must be in {self.shards} equal shards for {self.size} ranks, got "
                f"{rows} rows; choose another batch_size, or drop_last=True"
            )
        share = rows // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def part_of(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """This rank's rows of all arrays of a batch."""
        if self.size == 1 == self.shards:
            return batch
        leaves, tree = flatten(batch)
        for path, leaf in zip(tree.paths("batch"), leaves, strict=True):
            if not np.shape(leaf):
                raise ArgumentError(f"{path}: must have rows for {self.size} ranks, got a number")
        return tree.build([leaf[self.part(len(leaf))] for leaf in leaves])

    def here(self, what: str, make: Callable[[], T]) -> T:
        """What this rank makes, when all have; where one fails to, all raise."""
        made: list[T] = []
        self.gathered(what, lambda: made.append(make()))
        return made[0]

    def gathered(self, what: str, make: Callable[[], T]) -> list[T]:
        """What each rank makes, by rank; where one fails to, all raise."""
        value, error = None, None
        try:
            value = make()
        except Exception as raised:
            error = raised
        given = value, None if error is None else f"{type(error).__name__}: {error}"
        try:
            with entered(self._world):
                found = agreed(WORLD, what, given)
        except WorldError as raised:
            raise CommError(str(raised)) from None
        if error is not None:
            raise error
        for rank, (_, failure) in enumerate(found):
            if failure is not None:
                raise CommError(f"{what}: rank {rank} has failed: {failure}")
        return [each for each, _ in found]

    def by_first(self, what: str, make: Callable[[], T]) -> T:
        """What rank 0 makes, on all ranks."""
        return self.gathered(what, make if self.rank == 0 else _nothing)[0]

    def require_equal(self, what: str, facts: Mapping[str, object]) -> None:
        """CommError unless all ranks have the same facts."""
        if self.size == 1:
            return
        every = self.gathered(what, lambda: {name: str(fact) for name, fact in facts.items()})
        for rank, other in enumerate(every):
            for name in {**every[0], **other}:
                if every[0].get(name) != other.get(name):
                    raise CommError(
                        f"{what}: {name} must be equal on all ranks, got {every[0].get(name)} on "
                        f"rank 0 and {other.get(name)} on rank {rank}"
                    )

    def require_equal_arrays(self, what: str, arrays: Mapping[str, Any]) -> None:
        """CommError unless all ranks have arrays of the same bits."""
        if self.size > 1:
            self.require_equal(what, {path: _digest(array) for path, array in arrays.items()})

    def end(self, error: BaseException) -> None:
        """End all ranks, if there are others: a step has failed here that they are in."""
        if self.size > 1:
            mpi.end_all_ranks(error)


def _digest(array: Any) -> str:
    bits = hashlib.sha256(np.ascontiguousarray(array).tobytes())
    return f"{array.dtype}{list(array.shape)} with the hash {bits.hexdigest()[:16]}"


def _nothing() -> Any:
    return None
