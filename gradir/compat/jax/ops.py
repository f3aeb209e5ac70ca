"""jax.ops: sums and the like of segments."""

from __future__ import annotations

from typing import Any

import gradir.numpy as gnp
from gradir.compat.jax.arrays import giving_arrays


def _by_segments(function: Any) -> Any:
    def reduced(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
    ) -> Any:
        del indices_are_sorted, unique_indices, bucket_size, mode
        return function(data, segment_ids, num_segments)

    reduced.__name__ = reduced.__qualname__ = function.__name__
    reduced.__doc__ = f"gradir.numpy.{function.__name__}; hints are not read."
    return giving_arrays(reduced)


segment_sum = _by_segments(gnp.segment_sum)
segment_prod = _by_segments(gnp.segment_prod)
segment_max = _by_segments(gnp.segment_max)
segment_min = _by_segments(gnp.segment_min)

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
