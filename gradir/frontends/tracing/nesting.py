"""Trees that must be nested alike, and leaves chosen by a tree of bools; refused by their paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.trees import (
    Tree,
    described,
    first_difference,
    flatten,
    grown,
    spread_leaves,
)


def require_nested_alike(what: str, first: str, tree: Tree, name: str, other: Tree) -> None:
    """TraceError at the first path where one tree has what the other has not."""
    found = first_difference(tree, other)
    if found is not None:
        path, wanted, got = found
        raise refusal(
            f"{what}: {name} must be nested like {first}, got {described(got)} at {name}{path} "
            f"and {described(wanted)} at {first}{path}"
        )


def choices(
    what: str,
    name: str,
    given: Any,
    first: str,
    tree: Tree,
    is_choice: Callable[[Any], bool],
    wanted: str,
) -> list[Any]:
    """A choice for each leaf of a tree, of `given`: nested like the tree, or one for a whole part.

    TraceError that begins with `what` where `given` has others than `wanted`; `name` and `first`
    are the names of `given` and of the tree.
    """
    chosen, found = flatten(given)
    require_nested_alike(what, first, tree, name, grown(found, tree))
    for path, value in zip(found.paths(name), chosen, strict=True):
        if not is_choice(value):
            got = repr(value) if isinstance(value, str) else type(value).__name__
            raise refusal(f"{what}: {path} must be {wanted}, got {got}")
    return spread_leaves(iter(chosen), found, tree)


def chosen_leaves(what: str, name: str, mask: Any, first: str, tree: Tree) -> list[bool]:
    """For each leaf of a tree, whether a mask of bools chooses it; see `choices`."""
    found = choices(what, name, mask, first, tree, _is_bool, "True or False")
    return [bool(value) for value in found]


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)
