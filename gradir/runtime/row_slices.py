"""Row slices as arguments and results of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class RowSlices:
    """Some rows of an array of `shape`: values[k] is added to row indices[k].

    Indices (int64) may repeat, and their rows then add up; negative ones count from the end. The
    form of gradients requested as slices.
    """

    indices: Array
    values: Array
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def densify(self) -> Array:
        """The whole array, rows of one index added in their order."""
        # imported at need: `import gradir` is light
        import numpy as np

        from gradir.runtime.arrays import widened

        wide = widened(self.values)
        dense = np.zeros(self.shape, wide.dtype)
        np.add.at(dense, self.indices, wide)
        return dense.astype(self.dtype, copy=False)

    def __repr__(self) -> str:
        return f"RowSlices({len(self.indices)} rows of {self.dtype} {list(self.shape)})"
