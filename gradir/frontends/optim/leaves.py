"""Trees of arrays leaf by leaf: nested alike or refused, and the arithmetic of their leaves.

Optimizers are rules on leaves, and `Leaves.map` applies them. A rule takes dense arrays, and says
so in its name (`dense_adam`). Updates may have `RowSlices` as leaves: these are densified for a
rule, or the rule is applied to their rows. A rule for `map_any` takes both kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.rows import (
    Leaf,
    Rule,
    by_rows,
    coalesced,
    densified,
    leaf_text,
    traced_slices,
    values_of,
)
from gradir.frontends.tracing.nesting import described, require_nested_alike
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, is_number, lifted
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like
from gradir.runtime.row_slices import RowSlices


@dataclass(frozen=True)
class Leaves:
    """Trees of one nesting: a row for each leaf, with what the trees have there."""

    tree: Tree
    rows: list[tuple[Any, ...]]

    def beside(self, column: Sequence[Any]) -> Leaves:
        """The rows with one more entry each."""
        rows = [(*row, each) for row, each in zip(self.rows, column, strict=True)]
        return Leaves(self.tree, rows)

    def map(self, rule: Rule, results: int = 1, in_rows: bool = False) -> Any:
        """The tree of what the rule gives for each row; a tuple of trees if it gives several.

        The rule gets slices as dense arrays; with `in_rows`, it gets their rows of all arrays, and
        its results are an update and the new rows of the last trees, the state.
        """

        def of_row(*row: Any) -> Any:
            if in_rows and any(isinstance(leaf, RowSlices) for leaf in row):
                return by_rows(rule, row, results)
            return rule(*map(densified, row))

        return self.map_any(of_row, results)

    def map_any(self, rule: Rule, results: int = 1) -> Any:
        """As `map`, of a rule that takes slices as well."""
        made = [rule(*row) for row in self.rows]
        if results == 1:
            return self.tree.build(made)
        return tuple(self.tree.build([row[k] for row in made]) for k in range(results))

    def coalesced(self) -> Leaves:
        """The rows with slices that have each of their rows once."""
        return Leaves(self.tree, [tuple(map(coalesced, row)) for row in self.rows])


def aligned(what: str, trees: Mapping[str, Any]) -> Leaves:
    """Trees by their names, nested like the first, with floating leaves of its leaves' shapes.

    The tree of the name `updates` may have row slices. Integers and bools beside floats are no
    leaves: they are as None. TraceError that begins with `what` and names the path of the first
    leaf that is not so.
    """
    params = trees.get("params")
    if params is not None and "updates" in trees:
        _require_no_integers(what, params, trees["updates"])
    names, flat = list(trees), [_floats(tree) for tree in trees.values()]
    first, tree = names[0], flat[0][1]
    for name, (_, other) in zip(names, flat, strict=True):
        require_nested_alike(what, first, tree, name, other)
    columns = [_arrays(what, name, *found) for name, found in zip(names, flat, strict=True)]
    for name, column in zip(names, columns, strict=True):
        for path, x, y in zip(tree.paths(""), columns[0], column, strict=True):
            if x.shape != y.shape:
                raise refusal(
                    f"{what}: {name}{path} must have the shape of {first}{path}, "
                    f"got {leaf_text(y)} and {leaf_text(x)}"
                )
    return Leaves(tree, list(zip(*columns, strict=True)))


def _is_still(leaf: Any) -> bool:
    """Whether a leaf is of integers or bools, which no optimizer moves."""
    if isinstance(leaf, RowSlices):
        return False
    if is_number(leaf):
        return not isinstance(leaf, float)
    kind = getattr(leaf, "dtype", None)
    return isinstance(kind, np.dtype) and kind.kind in "iub"


def _floats(value: Any) -> tuple[list[Any], Tree]:
    """The leaves of a tree, without its integers if it has others, and its nesting."""
    leaves, tree = flatten(value, RowSlices)
    still = [_is_still(leaf) for leaf in leaves]
    if not any(still) or all(still):
        return leaves, tree
    pairs = zip(leaves, still, strict=True)
    return flatten(tree.build([None if is_still else leaf for leaf, is_still in pairs]), RowSlices)


def _require_no_integers(what: str, params: Any, updates: Any) -> None:
    """TraceError where an integer among the parameters has an update, which would be lost."""
    leaves, tree = flatten(params, RowSlices)
    still = [_is_still(leaf) for leaf in leaves]
    if not any(still) or all(still):
        return
    moved = leaves_like(updates, tree) or []
    for path, is_still, update in zip(tree.paths("params"), still, moved, strict=False):
        if is_still and update is not None:
            raise refusal(f"{what}: {path} is of integers, so that its update must be None")


def with_integers(made: Any, params: Any) -> Any:
    """A tree made of the floats of the parameters, with their integers in place."""
    leaves, tree = flatten(params, RowSlices)
    if not any(map(_is_still, leaves)):
        return made
    floats = iter(flatten(made, RowSlices)[0])
    return tree.build([lifted(leaf) if _is_still(leaf) else next(floats) for leaf in leaves])


def _arrays(what: str, name: str, leaves: list[Any], tree: Tree) -> list[Leaf]:
    found: list[Leaf] = []
    for path, leaf in zip(tree.paths(name), leaves, strict=True):
        array = _lifted(what, name, path, leaf)
        if not is_float(element(values_of(array))):
            raise refusal(f"{what}: {path} must be floating, got {leaf_text(array)}")
        found.append(array)
    return found


def _lifted(what: str, name: str, path: str, leaf: Any) -> Leaf:
    if not isinstance(leaf, RowSlices):
        return lifted(leaf, what=f"{what}: {path}: ")
    if name != "updates":
        raise refusal(f"{what}: {path} must be an array, got {leaf}; densify() gives one")
    return traced_slices(what, path, leaf)


def require_state(what: str, state: object, kind: type) -> None:
    """TraceError unless the state is of the kind that `init` gives."""
    if type(state) is not kind:
        raise refusal(
            f"{what}: the state must be what init gives, {kind.__name__}, "
            f"got {described(flatten(state)[1])}"
        )


def require_params(what: str, params: object) -> None:
    """TraceError where update was not given the parameters that it reads."""
    if params is None:
        raise refusal(f"{what}: update needs the parameters: update(grads, state, params)")


# What a state begins with.


def filled_like(what: str, params: Any, value: float, dtype: Attribute | None = None) -> Any:
    """Each leaf `value`, in the leaf's shape and dtype, or in another dtype."""

    def fill(leaf: Tracer) -> Any:
        return gnp.full_like(leaf, value, leaf.dtype if dtype is None else numpy_dtype(dtype))

    return aligned(what, {"params": params}).map(fill)


def floating_element(dtype: Any) -> Attribute | None:
    """The element type of the option `state_dtype`; None of None, ArgumentTypeError of others."""
    found = None if dtype is None else element_named(dtype)
    if found is not None and not is_float(found):
        raise ArgumentTypeError(f"state_dtype: expected a floating dtype, got {dtype}")
    return found


def counter() -> Any:
    """A count of steps: 0, int32, of rank 0."""
    return gnp.zeros((), "int32")


LAST_COUNT = np.iinfo(np.int32).max


def incremented(count: Any) -> Any:
    """The count after one more step; the last int32 stays."""
    count = lifted(count)
    return gnp.where(count < LAST_COUNT, count + 1, count)


# Hyperparameters.


def require_range(what: str, name: str, value: Any, low: float, high: float) -> None:
    """ArgumentError unless a Python number is in [low, high); arrays are not looked at."""
    if isinstance(value, str) or value is None:
        raise ArgumentTypeError(f"{what}: {name} must be a number, got {value!r}")
    if is_number(value) and not low <= value < high:
        raise ArgumentError(f"{what}: {name} must be in [{low}, {high}), got {value}")


def require_share(what: str, **values: Any) -> None:
    """ArgumentError unless these decay rates are in [0, 1)."""
    for name, value in values.items():
        require_range(what, name, value, 0, 1)


def require_not_negative(what: str, **values: Any) -> None:
    """ArgumentError unless these are 0 or more."""
    for name, value in values.items():
        require_range(what, name, value, 0, float("inf"))


def require_positive(what: str, **values: Any) -> None:
    """ArgumentError unless these are more than 0."""
    require_not_negative(what, **values)
    for name, value in values.items():
        if is_number(value) and value == 0:
            raise ArgumentError(f"{what}: {name} must be positive, got {value}")
