"""jax.flatten_util: a nesting as one vector."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any

import gradir.numpy as gnp
import gradir.tree as tree
from gradir.compat.jax.arrays import as_jax


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all leaves in one vector, and the function that gives the nesting back."""
    leaves, structure = tree.flatten(pytree)
    shapes = [gnp.shape(leaf) for leaf in leaves]
    dtypes = [gnp.result_type(leaf) for leaf in leaves]
    ends = list(accumulate(map(prod, shapes)))

    def unravel(flat: Any) -> Any:
        parts = zip(ends, shapes, dtypes, strict=True)
        made = [
            gnp.astype(gnp.reshape(flat[end - prod(shape) : end], shape), dtype)
            for end, shape, dtype in parts
        ]
        return as_jax(tree.unflatten(structure, made))

    rows = [gnp.reshape(leaf, (-1,)) for leaf in leaves]
    return as_jax(gnp.concatenate(rows) if rows else gnp.zeros(0)), unravel


__all__ = ["ravel_pytree"]
