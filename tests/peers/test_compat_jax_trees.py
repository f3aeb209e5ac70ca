"""gradir.compat.jax.tree_util and jax.tree: paths, keys and structures are JAX's."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from gradir.compat import jax as compat


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    name: str = dataclasses.field(default="dense", metadata={"static": True})


class Pair:
    def __init__(self, first: Any, second: Any):
        self.first, self.second = first, second


class Keyed(Pair):
    pass


for system in (jax, compat):
    util: Any = system.tree_util
    util.register_dataclass(Layer)
    util.register_pytree_node(Pair, lambda p: ((p.first, p.second), None), lambda _, c: Pair(*c))
    util.register_pytree_with_keys(
        Keyed,
        lambda p, util=util: (
            ((util.GetAttrKey("first"), p.first), (util.DictKey("2nd"), p.second)), None
        ),
        lambda _, children: Keyed(*children),
    )  # fmt: skip

TREES: dict[str, Any] = {
    "leaf": 1.0,
    "empty": [(), {}, None],
    "nested": {"w": [1, (2, {"a": 3})], "b": None, "a b": 4},
    "classes": [Point(1, Layer(2, {"c": 3})), Pair(4, [5]), Keyed(6, (7,))],
}


@pytest.mark.parametrize("name", TREES)
def test_paths_are_jaxs(name: str) -> None:
    value, made = TREES[name], list[Any]()

    def described(util: Any) -> Any:
        leaves, structure = util.tree_flatten_with_path(value)
        assert [leaf for _, leaf in leaves] == util.tree_leaves(value)
        assert structure == util.tree_structure(value)
        assert util.tree_leaves_with_path(value) == leaves
        mapped = util.tree_map_with_path(lambda p, x: (util.keystr(p), x), value)
        pairs = util.tree_leaves(mapped, is_leaf=lambda x: isinstance(x, tuple) and len(x) == 2)
        return [
            [util.keystr(path) for path, _ in leaves],
            [util.keystr(path, simple=True, separator="/") for path, _ in leaves],
            [repr(path) for path, _ in leaves],
            pairs,
        ]

    made += [described(system.tree_util) for system in (jax, compat)]
    assert made[0] == made[1]


def test_maps_of_several_trees_and_leaves_of_ones_own() -> None:
    one, other = {"a": [1, 2], "b": 3}, {"a": [10, (20, 30)], "b": None}
    made: list[Any] = []
    for system in (jax, compat):
        tree: Any = system.tree
        mapped = tree.map_with_path(
            lambda path, x, y: (len(path), x, y), one, other,
            is_leaf=lambda x: isinstance(x, int),
        )  # fmt: skip
        stopped = tree.leaves_with_path(one, is_leaf=lambda x: isinstance(x, list))
        made.append((mapped, [(str(path[0]), leaf) for path, leaf in stopped]))
    assert made[0] == made[1]


def test_transposed_trees_and_parts_of_structures() -> None:
    made: list[Any] = []
    for system in (jax, compat):
        util: Any = system.tree_util
        outer, inner = util.tree_structure([0, 0]), util.tree_structure({"a": 0, "b": 0})
        value = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
        both = util.treedef_tuple([outer, inner])
        made.append((
            util.tree_transpose(outer, inner, value), system.tree.transpose(outer, None, value),
            both.unflatten([1, 2, 3, 4]), both.num_leaves,
            [util.treedef_is_leaf(child) for child in util.treedef_children(outer)],
            util.all_leaves([1, 2.0]), util.all_leaves([1, (2,)]),
        ))  # fmt: skip
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["leaf", "empty", "nested"])
def test_structures_read_as_jaxs(name: str) -> None:
    expected = repr(jax.tree.structure(TREES[name]))
    found = repr(compat.tree.structure(TREES[name]))
    assert found == f"Structure({expected.removeprefix('PyTreeDef(')}"


def test_decorated_classes() -> None:
    util: Any = compat.tree_util

    @util.register_pytree_with_keys_class
    class Scaled:
        def __init__(self, x: Any, scale: float):
            self.x, self.scale = x, scale

        def tree_flatten_with_keys(self) -> Any:
            return ((util.GetAttrKey("x"), self.x),), self.scale

        @classmethod
        def tree_unflatten(cls, scale: Any, children: Any) -> Any:
            return cls(children[0], scale)

    [(path, leaf)] = util.tree_leaves_with_path(Scaled(np.ones(2), 3.0))
    assert util.keystr(path) == ".x" and leaf.shape == (2,)
    slope = compat.grad(lambda s: (s.x**2).sum() * s.scale)(Scaled(np.ones(2), 3.0))
    assert isinstance(slope, Scaled) and slope.x.tolist() == [6.0, 6.0] and slope.scale == 3.0
