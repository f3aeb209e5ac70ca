"""Steps of training that apply whole or not at all, on arrays that they write in place.

A step is given the memory of its arrays (`donate_argnums`), so one that fails while it runs leaves
them half written. What they were is computed again: from a copy that is some steps old, by the same
steps on the same batches, which give the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.spec import spec_of
from gradir.frontends.tracing.trees import NO_NAMES, Tree, flatten
from gradir.frontends.transforms.jit import Jitted
from gradir.runtime.arrays import as_input, copied
from gradir.runtime.arrays import spec_of as array_spec

Progress = TypeVar("Progress")

COPY_SHARE = 0.05
"""The most of the time that is spent on copies."""


Flat = tuple[list[Any], Tree]
"""The leaves of a batch, and their nesting."""


@dataclass
class _Kept:
    """A copy of the arrays, and the batches of the steps since, with their bytes and seconds."""

    leaves: list[Any]
    seconds_to_copy: float
    batches: list[tuple[Any, ...]] = field(default_factory=list)
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class _Now(Generic[Progress]):
    """What is true: the arrays, None after a step that failed, the steps since the copy, and what
    the user of the steps wants to be true with them."""

    leaves: Sequence[Any] | None
    since: int
    progress: Progress


class WholeSteps(Generic[Progress]):
    """Params and state, and a jitted step from (params, state, *batch) to (params, state, result).

    The step's first two arguments are donated; the arrays that are given here are copied.
    """

    def __init__(self, step: Jitted[..., Any], params: Any, state: Any, progress: Progress):
        leaves, self._tree = flatten((params, state))
        names = zip(("params", "state"), self._tree.children, strict=True)
        paths = [path for name, tree in names for path in tree.paths(name)]
        self._step = step
        self._bytes = sum(leaf.nbytes for leaf in leaves)
        self._kept: _Kept | None = None
        self._checked: Tree | None = None
        self._kinds = {path: kind_of(leaf) for path, leaf in zip(paths, leaves, strict=True)}
        copies = [copied(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
        self._now: _Now[Progress] = _Now(copies, 0, progress)

    @property
    def progress(self) -> Progress:
        return self._now.progress

    @property
    def tree(self) -> Tree:
        """The nesting of (params, state)."""
        return self._tree

    @property
    def kinds(self) -> dict[str, str]:
        """The dtype and shape of each array by its path: `params['w']`, `state[0].count`."""
        return self._kinds

    @property
    def leaves(self) -> Sequence[Any]:
        """The arrays; after a step that failed, computed again. The next step writes them."""
        now = self._now
        if now.leaves is None:
            assert self._kept is not None
            made = [leaf.copy() for leaf in self._kept.leaves]
            for batch in self._kept.batches[: now.since]:
                made, _ = self._stepped(made, batch)
            self._now = now = _Now(made, now.since, now.progress)
        assert now.leaves is not None
        return now.leaves

    @property
    def params(self) -> Any:
        """The parameters; the next step writes them."""
        return self._tree.build(self.leaves)[0]

    def note(self, progress: Progress) -> None:
        """Set the progress that holds for the present arrays."""
        self._now = _Now(self._now.leaves, self._now.since, progress)

    def take(self, batch: tuple[Any, ...], after: Callable[[Any], Progress]) -> None:
        """Take one step. Its arrays and `after(result)` are true from one moment on, or never."""
        leaves, before = self.leaves, self._now.progress
        found, tree = flatten(batch)
        copies = [_copy(leaf) for leaf in found]
        kept = self._kept_for_a_step(leaves)
        since = self._now.since
        kept.batches[since:] = [(copies, tree)]
        # from here to the last line the arrays count as lost
        self._now = _Now(None, since, before)
        start = time.perf_counter()
        made, result = self._stepped(leaves, kept.batches[since])
        self._now = _Now(made, since + 1, after(result))
        kept.seconds += time.perf_counter() - start
        kept.bytes += sum(getattr(leaf, "nbytes", 0) for leaf in copies)

    def _kept_for_a_step(self, leaves: Sequence[Any]) -> _Kept:
        """The copy; made anew where that is cheap beside the steps since, or they fill memory."""
        kept = self._kept
        if kept is not None and not (
            kept.seconds_to_copy <= COPY_SHARE * kept.seconds or kept.bytes > self._bytes
        ):
            return kept
        start = time.perf_counter()
        self._kept = None  # its memory is written
        if kept is None:
            into = [copied(leaf, path) for leaf, path in zip(leaves, self._kinds, strict=True)]
        else:
            into = kept.leaves
            for copy, leaf in zip(into, leaves, strict=True):
                np.copyto(copy, leaf)
        self._now = _Now(leaves, 0, self._now.progress)
        self._kept = _Kept(into, time.perf_counter() - start)
        return self._kept

    def _stepped(self, leaves: Sequence[Any], batch: Flat) -> tuple[Sequence[Any], Any]:
        """The new arrays, and the step's third result."""
        more, tree = batch
        arguments = Tree(tuple, (), (*self._tree.children, *tree.children))
        results, nesting = self._step.of_leaves(
            [*leaves, *more], Tree(tuple, (), (arguments, NO_NAMES))
        )
        new = results[: len(leaves)]
        if nesting is not self._checked:  # one object for one kind of batches
            self._check(new, nesting)
            self._checked = nesting
        return new, nesting.children[2].build(results[len(leaves) :])

    def _check(self, new: Sequence[Any], nesting: Tree) -> None:
        """ArgumentTypeError unless these results are params and state as they were, and a third."""
        if nesting.kind is not tuple or len(nesting.children) != 3:
            raise ArgumentTypeError(
                "step: must return (params, state, loss), or (params, state, (loss, aux)), got "
                f"{nesting.leaf_count} nested arrays"
            )
        if nesting.children[:2] != self._tree.children:
            raise ArgumentTypeError("step: must return params and state nested as it is given them")
        for one, (path, kind) in zip(new, self._kinds.items(), strict=True):
            if kind_of(one) != kind:
                raise ArgumentTypeError(f"step: {path} must stay {kind}, got {kind_of(one)}")


def kind_of(leaf: Any) -> str:
    """The dtype and shape of an array: `float32[2, 3]`."""
    return f"{leaf.dtype}{list(leaf.shape)}"


def _copy(leaf: Any) -> Any:
    """A leaf of a batch that later changes of the array do not reach."""
    if isinstance(leaf, np.ndarray):
        return cast(Any, leaf.copy())
    found = spec_of(leaf)
    if found is None or found[1]:  # no array, or a Python number
        return leaf
    return as_input(leaf, array_spec("batch", found[0]), "batch").copy()
