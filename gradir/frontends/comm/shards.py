"""Parameters and state of a step in parts on several ranks: the arrays, and a rank's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.comm.functions import all_gather, axis_index, axis_size
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.passes.analysis.live_bytes import bytes_of_type

Sharded = Literal["state", "params"]


class Shards:
    """Which arrays of (params, state) are parts, of what shapes; `what` is "state" or "params".

    A part is of rank 1: elements in order, with zeros behind the last. Numbers of rank 0 are whole.
    """

    def __init__(self, what: object, group: str):
        if what not in ("state", "params", None):
            raise ArgumentError(f"sharded: expected 'state', 'params' or None, got {what!r}")
        self.what, self.group = what, group
        self._wholes: list[Spec] | None = None
        self._tree: Tree | None = None

    def places(self, tree: Tree, specs: Sequence[Spec]) -> list[int]:
        """The numbers of the leaves of (params, state) that are parts."""
        first = 0 if self.what == "params" else tree.places(0).stop
        return [k for k in range(first, len(specs)) if self.what and specs[k].shape]

    def divided(self, params: Any, state: Any) -> tuple[Any, Any]:
        """This rank's parts; the shapes of the whole arrays are kept."""
        leaves, tree = flatten((params, state))
        for leaf in leaves:
            if not isinstance(cast(object, leaf), np.ndarray):
                raise ArgumentTypeError(f"shard: expected NumPy arrays, got {leaf!r:.60}")
        specs = [Spec(leaf.shape, leaf.dtype) for leaf in leaves]
        self._wholes, self._tree = specs, tree
        rank, ranks = int(axis_index(self.group)), axis_size(self.group)
        for k in self.places(tree, specs):
            leaves[k] = _part(leaves[k], rank, ranks)
        return tree.build(leaves)

    def whole(self, params: Any, state: Any) -> tuple[Any, Any]:
        """The whole arrays, from all ranks' parts."""
        leaves, tree = flatten((params, state))
        specs = self.specs(tree)
        for k in self.places(tree, specs):
            shape = specs[k].shape
            line = all_gather(leaves[k], self.group, tiled=True)
            leaves[k] = line[: int(np.prod(shape))].reshape(shape)
        return tree.build(leaves)

    def specs(self, tree: Tree) -> list[Spec]:
        """The whole arrays of (params, state)."""
        if self._wholes is None:
            raise ArgumentError(
                "data_parallel: a step with sharded= takes parts: params, state = "
                "step.shard(params, state) makes them"
            )
        if tree != self._tree:
            raise ArgumentError(
                "data_parallel: params and state must be nested as those given to shard"
            )
        return self._wholes


def _part(whole: Any, rank: int, ranks: int) -> Any:
    """As passes/training/parts.py divides a tensor."""
    count = -(-whole.size // ranks)
    part = np.zeros(count, whole.dtype)
    own = whole.reshape(-1)[rank * count : (rank + 1) * count]
    part[: len(own)] = own
    return part


@dataclass(frozen=True)
class RankMemory:
    """The bytes that a step takes on this rank, as planned: its arguments, results, working memory.

    `results` are those in memory of their own; a step whose arguments are donated has new
    parameters and state in the memory of the old ones.
    """

    params: int
    state: int
    batch: int
    results: int
    arena: int

    @property
    def total(self) -> int:
        return self.params + self.state + self.batch + self.results + self.arena

    def __str__(self) -> str:
        rows = {
            "parameters": self.params,
            "state": self.state,
            "batch": self.batch,
            "results": self.results,
            "working memory": self.arena,
            "total": self.total,
        }
        return "\n".join(f"{name:<15}{number:>16,} bytes" for name, number in rows.items())


def memory_of(compiled: Any, args: Sequence[Any]) -> RankMemory:
    """The memory of a compiled step, called with these arguments."""
    params, state, *batch = (sum(map(_bytes, flatten(arg)[0])) for arg in args)
    taken = compiled.donation.taken if compiled.donation is not None else ()
    results = compiled.executable.results
    own = [r.nbytes for k, r in enumerate(results) if not taken or taken[k] is None]
    return RankMemory(params, state, sum(batch), sum(own), compiled.executable.plan.peak_bytes)


def _bytes(leaf: Any) -> int:
    found = spec_of(leaf)
    return 0 if found is None else bytes_of_type(found[0])
