"""Row slices of gradients in a step that runs on shards of a batch.

gradir-data-parallel averages dense gradients. It gathers the row slices of all shards, so the
optimizer, which follows, is traced for the rows of all shards together.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from gradir.dialects.comm.collectives import AllGatherOp
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit_one
from gradir.frontends.tracing.trees import flatten
from gradir.passes.training.data_parallel import ALL_SHARDS
from gradir.runtime.row_slices import RowSlices

_shards: ContextVar[int] = ContextVar("shards", default=0)


@contextmanager
def shards(count: int) -> Generator[None]:
    """A context in which steps are traced for one shard of `count`."""
    token = _shards.set(count)
    try:
        yield
    finally:
        _shards.reset(token)


def slices_of_all_shards(grads: Any) -> Any:
    """Gradients whose row slices are the mean over all shards: theirs, one behind the other."""
    count = _shards.get()
    if not count:
        return grads
    leaves, tree = flatten(grads, RowSlices)
    return tree.build([_gathered(leaf, count) for leaf in leaves])


def _gathered(leaf: Any, count: int) -> Any:
    if not isinstance(leaf, RowSlices):
        return leaf
    values = _all(leaf.values, count)
    return replace(leaf, indices=_all(leaf.indices, count), values=values / count)


def _all(x: Tracer, count: int) -> Tracer:
    return emit_one(AllGatherOp, x, axis=0, ranks=count, group=ALL_SHARDS)
