"""Trees of arrays leaf by leaf: nested alike or refused, and the arithmetic of their leaves.

Optimizers are rules on leaves, and `Leaves.map` applies them. A rule takes dense arrays, and says
so in its name (`dense_adam`): a leaf of another kind gets a rule of its own there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.functions.promotion import converted, promoted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import element_named, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, is_number, lifted
from gradir.frontends.tracing.trees import Tree, first_difference, flatten


@dataclass(frozen=True)
class Leaves:
    """Trees of one nesting: a row for each leaf, with the arrays that the trees have there."""

    tree: Tree
    rows: list[tuple[Any, ...]]

    def beside(self, column: Sequence[Any]) -> Leaves:
        """The rows with one more entry each."""
        rows = [(*row, each) for row, each in zip(self.rows, column, strict=True)]
        return Leaves(self.tree, rows)

    def map(self, rule: Callable[..., Any], results: int = 1) -> Any:
        """The tree of what the rule gives for each row; a tuple of trees if it gives several."""
        made = [rule(*row) for row in self.rows]
        if results == 1:
            return self.tree.build(made)
        return tuple(self.tree.build([row[k] for row in made]) for k in range(results))


def aligned(what: str, trees: Mapping[str, Any]) -> Leaves:
    """Trees by their names, nested like the first, with floating leaves of its leaves' shapes.

    TraceError that begins with `what` and names the path of the first leaf that is not so.
    """
    names, flat = list(trees), [flatten(tree) for tree in trees.values()]
    first, tree = names[0], flat[0][1]
    for name, (_, other) in zip(names, flat, strict=True):
        require_nested_alike(what, first, tree, name, other)
    columns = [_arrays(what, name, *found) for name, found in zip(names, flat, strict=True)]
    for name, column in zip(names, columns, strict=True):
        for path, x, y in zip(tree.paths(""), columns[0], column, strict=True):
            if x.shape != y.shape:
                raise refusal(
                    f"{what}: {name}{path} must have the shape of {first}{path}, "
                    f"got {type_text(y.type)} and {type_text(x.type)}"
                )
    return Leaves(tree, list(zip(*columns, strict=True)))


def require_nested_alike(what: str, first: str, tree: Tree, name: str, other: Tree) -> None:
    """TraceError at the first path where one tree has what the other has not."""
    found = first_difference(tree, other)
    if found is not None:
        path, wanted, got = found
        raise refusal(
            f"{what}: {name} must be nested like {first}, got {_described(got)} at {name}{path} "
            f"and {_described(wanted)} at {first}{path}"
        )


def _described(tree: Tree | None) -> str:
    if tree is None:
        return "nothing"
    if tree.kind is None:
        return "an array"
    return "None" if tree.kind is type(None) else f"a {tree.kind.__name__} of {len(tree.children)}"


def _arrays(what: str, name: str, leaves: list[Any], tree: Tree) -> list[Tracer]:
    found: list[Tracer] = []
    for path, leaf in zip(tree.paths(name), leaves, strict=True):
        array = lifted(leaf, what=f"{what}: {path}: ")
        if not is_float(element(array)):
            raise refusal(f"{what}: {path} must be floating, got {type_text(array.type)}")
        found.append(array)
    return found


def require_state(what: str, state: object, kind: type) -> None:
    """TraceError unless the state is of the kind that `init` gives."""
    if type(state) is not kind:
        raise refusal(
            f"{what}: the state must be what init gives, {kind.__name__}, "
            f"got {_described(flatten(state)[1])}"
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


def number(count: Any) -> Any:
    """A count as a number that gives way to the dtypes that it meets, as Python's do."""
    made = gnp.astype(count, "float64")
    return Tracer(made.trace, made.ssa, weak=True)


# The dtypes of arithmetic between leaves and numbers.


def dense_scaled(update: Any, factor: Any) -> Any:
    """An array times a number, in the array's dtype."""
    return update * like(factor, update)


def like(value: Any, leaf: Tracer) -> Any:
    """A number, or an array of rank 0, that does not change the dtype of the leaf it meets."""
    if is_number(value):
        return value
    scalar = lifted(value)
    if scalar.shape:
        raise refusal(f"a factor of updates must have rank 0, got {type_text(scalar.type)}")
    return converted(scalar, element(leaf))


def stored(value: Tracer, before: Tracer) -> Tracer:
    """A new entry of a state in the dtype of the one before: states keep their types."""
    return converted(value, element(before))


def widened(x: Tracer, other: Tracer) -> Any:
    """x in the dtype that both promote to, before any of its digits are lost."""
    both = promoted(element(x), element(other))
    assert both is not None, "floats promote"
    return converted(x, both)


def single_or_double(x: Tracer) -> Any:
    """x in float32 at least: sums of squares leave the range of float16."""
    return converted(x, promoted(element(x), f32) or f32)


def sum_of_squares(x: Tracer) -> Any:
    """The sum of the squares of all elements, in float32 at least."""
    wide = single_or_double(x)
    return gnp.sum(wide * wide)


def require_epsilon(what: str, eps: Any, leaf: Tracer) -> None:
    """TraceError where eps is 0 in the dtype of the arithmetic: 0 / 0 would follow."""
    if is_number(eps) and eps > 0 and float(np.asarray(eps).astype(leaf.dtype)) == 0:
        raise refusal(
            f"{what}: eps = {eps} is 0 in {leaf.dtype.name}; "
            "pass state_dtype='float32', or a larger eps"
        )


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


def chosen_leaves(what: str, mask: Any, params: Any) -> list[bool]:
    """For each leaf of the parameters, whether a mask chooses it: bools, or a function for them."""
    leaves, tree = flatten(params)
    if mask is None:
        return [True] * len(leaves)
    chosen, found = flatten(mask(params) if callable(mask) else mask)
    require_nested_alike(what, "params", tree, "mask", found)
    for path, value in zip(found.paths("mask"), chosen, strict=True):
        if not isinstance(value, bool | np.bool_):
            raise refusal(f"{what}: {path} must be True or False, got {type(value).__name__}")
    return [bool(value) for value in chosen]
