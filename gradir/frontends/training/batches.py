"""Batches of training data: of arrays, in an order that a seed gives, or of any iterable.

The order of an epoch follows from the seed and the epoch's number alone, so that training goes on
in the middle of an epoch as if it had never stopped. Ranks that train together take their rows of
the same batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.training.team import TrainingTeam

Batch = tuple[Any, ...]
"""The arguments of the loss after the parameters."""

ALONE = TrainingTeam(None, is_alone=True)


class Batches(Protocol):
    """A source of epochs."""

    @property
    def count(self) -> int | None:
        """The batches of an epoch, if that is known."""
        ...

    @property
    def cut(self) -> tuple[int, ...]:
        """What the borders of the batches follow from; empty where that is the iterable's."""
        ...

    def epoch(self, seed: int, number: int, skip: int) -> Iterator[Batch]:
        """This rank's rows of the batches of an epoch, without the first ones."""
        ...


@dataclass(frozen=True)
class ArrayBatches:
    """Rows of arrays of equal length, `size` at a time; the last batch may be smaller."""

    leaves: list[Any]
    tree: Tree
    rows: int
    size: int
    shuffle: bool
    drop_last: bool
    team: TrainingTeam

    @property
    def count(self) -> int:
        return self.rows // self.size if self.drop_last else -(-self.rows // self.size)

    @property
    def cut(self) -> tuple[int, ...]:
        return self.rows, self.size, int(self.shuffle), int(self.drop_last)

    def epoch(self, seed: int, number: int, skip: int) -> Iterator[Batch]:
        order = shuffled(self.rows, seed, number) if self.shuffle else None
        for begin in range(skip * self.size, self.count * self.size, self.size):
            part = self.team.part(min(self.size, self.rows - begin))
            rows = slice(begin + part.start, begin + part.stop)
            chosen = rows if order is None else order[rows]
            yield self.tree.build([leaf[chosen] for leaf in self.leaves])


def shuffled(rows: int, seed: int, epoch: int) -> np.ndarray[Any, Any]:
    """The order of rows in an epoch: they are sorted by random numbers.

    The stream of PCG64 stays the same in all versions of NumPy; Generator.permutation may
    change.
    """
    numbers = np.random.PCG64(np.random.SeedSequence((seed, epoch))).random_raw(rows)
    return np.argsort(numbers, kind="stable")


@dataclass(frozen=True)
class IterableBatches:
    """An iterable of batches, iterated once an epoch."""

    iterable: Iterable[Any]
    what: str
    team: TrainingTeam

    @property
    def count(self) -> int | None:
        return len(cast(Any, self.iterable)) if hasattr(self.iterable, "__len__") else None

    @property
    def cut(self) -> tuple[int, ...]:
        return ()

    def epoch(self, seed: int, number: int, skip: int) -> Iterator[Batch]:
        taken = -1
        for taken, batch in enumerate(self.iterable):
            if taken >= skip:
                whole = cast(Batch, batch) if type(batch) is tuple else (batch,)
                yield self.team.part_of(whole)
        if taken + 1 < max(skip, 1):
            raise ArgumentError(
                f"{self.what}: gave {taken + 1} batches in epoch {number}, expected "
                f"{f'the {skip} that were taken before' if skip else 'at least 1'}; an iterator "
                "is at its end after one epoch: pass a list, or an object whose __iter__ begins "
                "anew"
            )


def batches_of(
    what: str,
    data: Any,
    size: int | None,
    shuffle: bool = False,
    drop_last: bool = False,
    team: TrainingTeam = ALONE,
) -> Batches:
    """Batches of an array or a tuple of (nested) arrays; or the iterable, whose items are batches.

    Each rank of the team gets its rows of them.

    ArgumentError, by `what` or the path of the array, for other objects.
    """
    if not is_arrays(data):
        if not isinstance(data, Iterable) or isinstance(data, (str, bytes, dict)):
            kind: str = type(cast(Any, data)).__name__
            raise ArgumentTypeError(
                f"{what}: expected an array, a tuple of arrays, or an iterable of batches, "
                f"got {kind}"
            )
        if size is not None:
            raise ArgumentError(
                f"batch_size: is for arrays, and {what} gives batches, got {size}; leave it out"
            )
        return IterableBatches(cast(Iterable[Any], data), what, team)
    leaves, tree = flatten(cast(object, data) if isinstance(data, tuple) else (data,))
    rows = _rows(what, leaves, tree)
    if size is None:
        raise ArgumentError("batch_size: expected a positive integer for arrays, got None")
    made = ArrayBatches(leaves, tree, rows, size, shuffle, drop_last, team)
    if not made.count:
        raise ArgumentError(f"{what}: expected at least one batch of {size} rows, got {rows} rows")
    for last in {0, made.count - 1}:
        team.part(min(size, rows - last * size))
    return made


def is_arrays(data: object) -> bool:
    """Whether data are arrays with all rows; else they are an iterable of batches."""
    return isinstance(data, (tuple, np.ndarray))


def require_count(what: str, given: object, least: int) -> None:
    """ArgumentError unless it is an integer and not too small."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise ArgumentTypeError(f"{what}: expected an integer, got {given!r:.60}")
    if given < least:
        raise ArgumentError(f"{what}: expected at least {least}, got {given}")


def _rows(what: str, leaves: list[Any], tree: Tree) -> int:
    """The rows of all arrays; an error with the path of the first that has others."""
    if not leaves:
        raise ArgumentTypeError(f"{what}: expected an array or several, got none")
    paths = tree.paths(what)
    for path, leaf in zip(paths, leaves, strict=True):
        if not isinstance(cast(object, leaf), np.ndarray):
            raise ArgumentTypeError(
                f"{path}: expected a NumPy array, got {type(leaf).__name__}; a tuple has the "
                "arrays of all rows, a list has batches"
            )
        if not leaf.ndim:
            raise ArgumentTypeError(f"{path}: expected an array with rows, got one of rank 0")
        if len(leaf) != len(leaves[0]):
            raise ArgumentError(
                f"{path}: must have the rows of {paths[0]}, got {len(leaf)} and {len(leaves[0])}"
            )
    return len(leaves[0])


def rows_of(batch: Batch) -> int:
    """How many rows a batch has: the extent of its first array with a rank above 0; else 1."""
    shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in flatten(batch)[0]]
    return next((int(shape[0]) for shape in shapes if shape), 1)
