"""Axes that users give: an integer, or several."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.shapes import normalize_axes
from gradir.frontends.tracing.source_locations import refusal


def axes_of(rank: int, axes: int | Sequence[int]) -> list[int]:
    """The axes of an array of a rank, counted from the first; TraceError for others."""
    try:
        return normalize_axes(integers(axes), rank)
    except VerifyException as error:
        raise refusal(str(error)) from None
    except TypeError:
        raise refusal(f"axes must be an integer or integers, got {axes!r}") from None


def integers(given: Any) -> list[int]:
    """One integer, or several; TypeError for other values."""
    listed = [given] if is_one(given) else list(given)
    if any(isinstance(each, bool | np.bool_) for each in listed):
        raise TypeError
    return [index(each) for each in listed]


def is_one(given: Any) -> bool:
    """Whether one value is given, not several."""
    return not isinstance(given, Sequence) and np.ndim(given) == 0
