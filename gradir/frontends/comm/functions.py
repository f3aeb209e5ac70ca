"""gradir.comm: collectives on arrays and nested arrays, with JAX's names and meanings.

The number of ranks is known where a function is traced: the tracing world's. Outside
of a trace they run at once. A group may be the axis of a `gradir.vmap`, whose rows are its ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.base.shapes import element_of, normalize_axis, tensor
from gradir.dialects.comm import worlds
from gradir.dialects.comm.collectives import (
    AllGatherOp,
    AllReduceOp,
    BroadcastOp,
    ReduceScatterOp,
)
from gradir.dialects.comm.comm_op import CommOp
from gradir.dialects.comm.messages import BarrierOp, PermuteOp, RankOp, RecvOp, SendOp
from gradir.errors import CommError
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.named_axes import axes as axes_around
from gradir.frontends.tracing.named_axes import rows_of
from gradir.frontends.tracing.source_locations import named_options, public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit, emit_one, lifted
from gradir.frontends.tracing.trees import flatten
from gradir.runtime import mpi

WORLD = "world"
worlds.set_default(mpi.world)
of_ranks = partial(eager, is_replayed=False)


@named_options
def axis_size(axis_name: str = WORLD) -> int:
    """The number of ranks in a group, or of rows in a gradir.vmap's axis: a Python number."""
    if (rows := rows_of(axis_name)) is not None:
        return rows
    try:
        return worlds.current().size(axis_name)
    except worlds.WorldError as error:
        raise CommError(str(error)) from None


@of_ranks
def axis_index(axis_name: str = WORLD) -> Tracer:
    """The number of this rank in a group, from 0; a traced program reads it as it runs."""
    return emit_one(RankOp, group=_named(axis_name), ranks=rows_of(axis_name))


@public
def psum(x: Any, axis_name: str = WORLD, *, ordered: bool = False) -> Any:
    """The sum over all ranks of x, nested or not, on every rank.

    `ordered`: as sums of neighbours, so that their order does not depend on the MPI library.
    """
    return _reduced(x, axis_name, None, ordered)


@public
def pmean(x: Any, axis_name: str = WORLD, *, ordered: bool = False) -> Any:
    """The mean over all ranks of x, as psum."""
    return _reduced(x, axis_name, "mean", ordered)


@public
def pmax(x: Any, axis_name: str = WORLD) -> Any:
    """The largest elements of all ranks' x."""
    return _reduced(x, axis_name, "max")


@public
def pmin(x: Any, axis_name: str = WORLD) -> Any:
    """The smallest elements of all ranks' x."""
    return _reduced(x, axis_name, "min")


@public
def all_gather(x: Any, axis_name: str = WORLD, *, axis: int = 0, tiled: bool = False) -> Any:
    """x of all ranks, stacked along a new axis, or if `tiled` one behind the other along `axis`."""

    def one(x: Tracer) -> Tracer:
        place = normalize_axis(axis, len(x.shape) + (not tiled))
        if not tiled:
            shape = [*x.shape[:place], 1, *x.shape[place:]]
            x = emit_one(ReshapeOp, x, type=tensor(shape, element_of(x.type)))
        return _emit(AllGatherOp, x, axis_name, axis=place)

    return _each(x, one)


@public
def psum_scatter(
    x: Any, axis_name: str = WORLD, *, scatter_dimension: int = 0, tiled: bool = False
) -> Any:
    """This rank's part of the sum over all ranks of x, of equal parts along an axis.

    Without `tiled` the axis has as many elements as there are ranks, and the part has no such axis.
    """

    def one(x: Tracer) -> Tracer:
        axis = normalize_axis(scatter_dimension, len(x.shape))
        ranks = axis_size(axis_name)
        if not tiled and x.shape[axis] != ranks:
            raise refusal(
                f"psum_scatter: axis {axis} must have an element for each of {ranks} ranks, got "
                f"shape {x.shape}; or use tiled=True"
            )
        part = _emit(ReduceScatterOp, x, axis_name, axis=axis)
        if tiled:
            return part
        shape = [n for d, n in enumerate(x.shape) if d != axis]
        return emit_one(ReshapeOp, part, type=tensor(shape, element_of(x.type)))

    return _each(x, one)


@public
def ppermute(x: Any, axis_name: str = WORLD, perm: Sequence[tuple[int, int]] = ()) -> Any:
    """x of another rank, by pairs (source, target); zeros on a rank that is no target."""
    sources, targets = ([pair[k] for pair in perm] for k in (0, 1))
    return _each(x, lambda x: _emit(PermuteOp, x, axis_name, sources=sources, targets=targets))


@public
def broadcast(x: Any, axis_name: str = WORLD, *, root: int = 0) -> Any:
    """x of the rank `root`, on every rank."""
    return _each(x, lambda x: _emit(BroadcastOp, x, axis_name, root=root))


@public
def send(x: Any, target: int, axis_name: str = WORLD) -> Any:
    """Send x to the rank `target`, which takes it by `recv`; the result is zeros like x.

    Where a gradient is to come back the zeros must be added to what the loss is computed from.
    """
    return _each(x, lambda x: _emit(SendOp, x, axis_name, target=target))


@public
def recv(like: Any, source: int, axis_name: str = WORLD) -> Any:
    """What the rank `source` has sent by `send`, of the type of `like`.

    Where the result is to have a gradient `like` depends on what the gradient is for.
    """
    return _each(like, lambda x: _emit(RecvOp, x, axis_name, source=source))


@of_ranks
def barrier(axis_name: str = WORLD) -> None:
    """All ranks of a group wait here for one another."""
    emit(BarrierOp, types=[], group=_named(axis_name))


def _reduced(x: Any, group: str, kind: str | None, ordered: bool = False) -> Any:
    return _each(x, lambda x: _emit(AllReduceOp, x, group, kind=kind, ordered=ordered or None))


def _emit(op: type[CommOp], x: Tracer, group: str, **attributes: Any) -> Tracer:
    return emit_one(op, x, **attributes, ranks=axis_size(group), group=_named(group))


def _named(group: str) -> str | None:
    """A group's name in the IR; TraceError for one that is no axis where rows have named axes.

    With ranks beside this process it may be a group of theirs.
    """
    if group == WORLD:
        return None
    known = [name for name, _ in axes_around()]
    if known and group not in known and isinstance(worlds.current(), worlds.Alone):
        raise refusal(
            f"axis_name: expected an axis of these rows, {', '.join(known)}, got {group!r}"
        )
    return group


def _each(x: Any, function: Callable[[Tracer], Tracer]) -> Any:
    """The function of each array of a nested value."""
    leaves, tree = flatten(x)

    @of_ranks
    def one(leaf: Any) -> Tracer:
        return function(lifted(leaf))

    return tree.build([one(leaf) for leaf in leaves])
