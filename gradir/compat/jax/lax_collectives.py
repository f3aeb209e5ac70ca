"""jax.lax between the rows of a jax.vmap that has an `axis_name`: sums, gathers, permutations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import gradir.comm as comm
from gradir.compat.jax.arrays import giving_arrays
from gradir.errors import ArgumentError
from gradir.frontends.tracing.named_axes import axes, rows_of
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import is_number

AxisName = Hashable


def _names(function: str, axis_name: AxisName, most: int | None = None) -> list[str]:
    """The names of axes around the call; TraceError for others, and for more than `most`."""
    given = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    for name in given:
        if not isinstance(name, str) or rows_of(name) is None:
            known = ", ".join(repr(known) for known, _ in axes()) or "none"
            raise refusal(
                f"lax.{function}: no axis {name!r} here, known: {known}; jax.vmap(f, "
                f"axis_name={name!r}) names one, and gradir.comm is between processes"
            )
    if most is not None and len(given) != most:
        raise refusal(f"lax.{function}: expected one axis, got {given!r}", ArgumentError)
    return [str(name) for name in given]


def _reducing(function: Callable[..., Any], name: str, of_number: Callable[..., Any]) -> Any:
    def reduction(x: Any, axis_name: AxisName, *, axis_index_groups: None = None) -> Any:
        _refuse_groups(name, axis_index_groups)
        for each in _names(name, axis_name):
            x = of_number(x, rows_of(each)) if is_number(x) else function(x, each)
        return x

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"jax.lax.{name}: {of_number.__doc__}"
    return giving_arrays(reduction)


def _refuse_groups(name: str, groups: object) -> None:
    if groups is not None:
        raise refusal(
            f"lax.{name}: axis_index_groups is not there; split the axis in two by reshape, and "
            "name each by a jax.vmap of its own",
            ArgumentError,
        )


def _times(x: Any, rows: int) -> Any:
    """The sum of all rows."""
    return x * rows


def _itself(kind: str) -> Callable[[Any, int], Any]:
    def alike(x: Any, rows: int) -> Any:
        return x

    alike.__doc__ = f"The {kind} of all rows."
    return alike


psum = _reducing(comm.psum, "psum", _times)
pmean = _reducing(comm.pmean, "pmean", _itself("mean"))
pmax = _reducing(comm.pmax, "pmax", _itself("largest"))
pmin = _reducing(comm.pmin, "pmin", _itself("least"))


def axis_size(axis_name: AxisName) -> int:
    """The number of rows of an axis, or of several."""
    found = 1
    for name in _names("axis_size", axis_name):
        found *= comm.axis_size(name)
    return found


@giving_arrays
def axis_index(axis_name: AxisName) -> Any:
    """The number of the row; of several axes in row-major order."""
    found: Any = 0
    for name in _names("axis_index", axis_name):
        found = found * comm.axis_size(name) + comm.axis_index(name)
    return found


@giving_arrays
def all_gather(
    x: Any,
    axis_name: AxisName,
    *,
    axis_index_groups: None = None,
    axis: int = 0,
    tiled: bool = False,
) -> Any:
    """x of all rows, stacked along a new axis, or if `tiled` one behind the other along it."""
    _refuse_groups("all_gather", axis_index_groups)
    [name] = _names("all_gather", axis_name, 1)
    return comm.all_gather(x, name, axis=axis, tiled=tiled)


@giving_arrays
def psum_scatter(
    x: Any,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> Any:
    """This row's part of the sum of all rows' x."""
    _refuse_groups("psum_scatter", axis_index_groups)
    [name] = _names("psum_scatter", axis_name, 1)
    return comm.psum_scatter(x, name, scatter_dimension=scatter_dimension, tiled=tiled)


@giving_arrays
def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """x of another row, by pairs (source, target); zeros in a row that is no target."""
    [name] = _names("ppermute", axis_name, 1)
    return comm.ppermute(x, name, perm)


__all__ = [
    "all_gather", "axis_index", "axis_size", "pmax", "pmean", "pmin", "ppermute", "psum",
    "psum_scatter",
]  # fmt: skip
