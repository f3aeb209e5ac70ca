"""Row slices as arguments and results of calls and traced functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

TRACED: dict[str, Callable[..., Any]] = {}
"""What the methods do with traced arrays, by name; gradir.frontends.functions fills it in."""


@dataclass(frozen=True, eq=False)
class RowSlices:
    """Some rows of an array of `shape`: values[k] is added to row indices[k].

    `indices` are int64 of shape (n,), `values` of shape (n, *shape[1:]), both NumPy arrays or both
    traced. Indices may repeat, in which case their rows add up, and count from the end where they
    are negative. The form of gradients requested as slices. Products with a number, quotients by
    one, negation, conversion and sums of slices are slices; an array plus slices is an array.
    """

    indices: Any
    values: Any
    shape: tuple[int, ...]

    __array_ufunc__: ClassVar[None] = None  # NumPy leaves its operators to ours

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def densify(self) -> Any:
        """The whole array, rows of one index added in their order."""
        return self._added_to(None)

    def coalesce(self, mode: str = "sum") -> RowSlices:
        """The same rows, each once, in ascending order: the sum of its values, or their mean.

        Their count stays. Entries that are left over come last, repeat the last row's index and
        hold zeros. ValueError for another mode than "sum" and "mean".
        """
        if mode not in ("sum", "mean"):
            raise ValueError(f"coalesce: mode must be sum or mean, got {mode!r}")
        if _is_traced(self.values):
            return TRACED["coalesce"](self, mode)
        return _coalesced(self, mode)

    def astype(self, dtype: Any) -> RowSlices:
        """The slices with values of another dtype."""
        return RowSlices(self.indices, self.values.astype(dtype), self.shape)

    def __mul__(self, factor: Any) -> RowSlices:
        if not _is_scalar(factor):
            return NotImplemented
        return RowSlices(self.indices, self.values * factor, self.shape)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> RowSlices:
        if not _is_scalar(divisor):
            return NotImplemented
        return RowSlices(self.indices, self.values / divisor, self.shape)

    def __neg__(self) -> RowSlices:
        return RowSlices(self.indices, -self.values, self.shape)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, RowSlices):
            return concatenate_slices([self, other])
        return self._added_to(other) if hasattr(other, "shape") else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return self._added_to(other) if hasattr(other, "shape") else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return other + -self

    def _added_to(self, dense: Any) -> Any:
        """An array of the shape, zeros for None, with the rows added."""
        if dense is not None and tuple(dense.shape) != tuple(self.shape):
            raise ValueError(f"slices of {list(self.shape)} and an array of {list(dense.shape)}")
        if _is_traced(self.values) or _is_traced(dense):
            return TRACED["add"](dense, self)
        return added(dense, self)

    def __repr__(self) -> str:
        return f"RowSlices({len(self.indices)} rows of {self.dtype} {list(self.shape)})"


def _is_traced(array: Any) -> bool:
    return hasattr(array, "ssa")


def _is_scalar(value: Any) -> bool:
    return getattr(value, "shape", ()) == () and not isinstance(value, (str, tuple, list))


def concatenate_slices(several: Sequence[RowSlices]) -> RowSlices:
    """The rows of all, in their order. ValueError where they are of different shapes."""
    import numpy as np

    shape = tuple(several[0].shape)
    for each in several[1:]:
        if tuple(each.shape) != shape:
            raise ValueError(f"slices of {list(shape)} and of {list(each.shape)}")
    is_traced = any(_is_traced(each.values) for each in several)
    concatenate: Any = TRACED["concat"] if is_traced else np.concatenate
    indices, values = ([getattr(s, name) for s in several] for name in ("indices", "values"))
    return RowSlices(concatenate(indices), concatenate(values), shape)


def added(dense: Array | None, slices: RowSlices) -> Array:
    """NumPy slices added to an array, or to zeros, in the dtype that NumPy promotes both to."""
    # not before they are needed: `import gradir` is light
    import numpy as np

    from gradir.runtime.arrays import widened

    dtype = slices.dtype if dense is None else np.result_type(dense.dtype, slices.dtype)
    wide = widened(slices.values.astype(dtype, copy=False))
    total = np.zeros(slices.shape, wide.dtype) if dense is None else np.array(dense, wide.dtype)
    np.add.at(total, slices.indices, wide)
    return total.astype(dtype, copy=False)


def _coalesced(slices: RowSlices, mode: str) -> RowSlices:
    import numpy as np

    from gradir.runtime.arrays import widened

    given: Array = slices.indices
    extent = slices.shape[0]
    rows = np.where((given < 0) & (given >= -extent), given + extent, given)
    found, places, counts = np.unique(rows, return_inverse=True, return_counts=True)
    wide = widened(slices.values)
    if mode == "mean" and wide.dtype.kind != "f":
        raise TypeError(f"coalesce: a mean needs floating values, got {slices.dtype}")
    sums = np.zeros_like(wide)
    np.add.at(sums, places, wide)
    if mode == "mean":
        sums[: len(found)] /= counts.astype(wide.dtype).reshape(-1, *[1] * (wide.ndim - 1))
    left = np.repeat(found[-1:], len(rows) - len(found))
    indices = np.concatenate([found, left])
    return RowSlices(indices, sums.astype(slices.dtype, copy=False), slices.shape)
