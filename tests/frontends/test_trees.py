"""gradir.tree: nestings as jax.tree, and objects of registered classes in all transformations."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import tree
from gradir.errors import ArgumentTypeError, TraceError

X = np.array([0.5, -1.0, 1.5])


@tree.register_dataclass
@dataclass(frozen=True)
class Layer:
    """A layer; the function's name in it is static."""

    w: Any
    b: Any
    function: str = field(default="tanh", metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return getattr(gnp, self.function)(self.w * x + self.b)


@tree.register_pytree_node_class
class Pair:
    def __init__(self, first: Any, second: Any, scale: Any = 1.0):
        self.first, self.second, self.scale = first, second, scale

    def tree_flatten(self) -> Any:
        return (self.first, self.second), self.scale

    @classmethod
    def tree_unflatten(cls, data: Any, children: Any) -> Pair:
        first, second = children
        return cls(first, second, data)


@tree.register_static
@dataclass(frozen=True)
class Options:
    power: int


class Point(NamedTuple):
    x: Any
    y: Any


NET: Any = {"first": Layer(X, X + 1), "second": [Layer(X * 2, X, "sin"), None], "at": Point(X, 1.0)}


def test_leaves_and_structures() -> None:
    leaves, structure = tree.flatten(NET)
    assert len(leaves) == structure.leaf_count == 6 and tree.leaves(NET)[0] is NET["at"].x
    again = tree.unflatten(structure, leaves)
    assert again["second"][0].function == "sin" and again["second"][1] is None
    assert again["at"].x is X and type(again["at"]) is Point and again["first"] is not NET["first"]
    assert tree.structure(NET) == structure == pickle.loads(pickle.dumps(structure))
    assert structure.paths("p")[2:4] == ["p['first'].w", "p['first'].b"]
    assert tree.structure(Pair(1, 2)).paths("p") == ["p[0]", "p[1]"]
    whole = tree.flatten(NET, is_leaf=lambda v: isinstance(v, Layer))[0]
    assert whole[2] is NET["first"] and len(whole) == 4
    with pytest.raises(ArgumentTypeError, match="unflatten: expected 6 leaves, got 5"):
        tree.unflatten(structure, leaves[:5])


def test_map_reduce_all() -> None:
    doubled = tree.map(lambda a, b: a + b, NET, NET)
    assert (doubled["first"].b == 2 * X + 2).all() and doubled["second"][0].function == "sin"
    deeper = tree.map(lambda a, b: (a, len(b)), [1, 2], [(1, 2), {"a": 3}])
    assert deeper == [(1, 2), (2, 1)]
    assert tree.map(lambda v: v.function, NET["first"], is_leaf=lambda v: True) == "tanh"
    assert tree.reduce(lambda a, b: a + b, {"a": 1, "b": (2, 3)}) == 6
    assert tree.reduce(lambda a, b: a + b, [], 5) == 5
    assert tree.all([True, {"a": 1}]) and not tree.all([True, (0,)]) and tree.all(None)
    for other in ([1, 2, 3], (1, 2), {"a": 1}, 4):
        with pytest.raises(ArgumentTypeError, match=r"expected a list of 2, got .*nested alike"):
            tree.map(lambda a, b: a, [1, 2], other)


def loss(net: Any, x: Any) -> Any:
    return gnp.sum(net["second"][0](net["first"](x)) * net["at"].x * net["at"].y)


def test_registered_objects_under_all_transformations() -> None:
    value, slopes = gradir.jit(gradir.value_and_grad(loss))(NET, X)
    np.testing.assert_allclose(value, loss(NET, X))
    assert type(slopes["first"]) is Layer and slopes["second"][0].function == "sin"
    plain = gradir.grad(lambda w: loss({**NET, "first": Layer(w, X + 1)}, X))(X)
    np.testing.assert_allclose(slopes["first"].w, plain)
    tangent = gradir.jvp(lambda n: loss(n, X), (NET,), (slopes,))[1]
    np.testing.assert_allclose(tangent, sum(np.sum(s * s) for s in tree.leaves(slopes)))
    pushed, back = gradir.vjp(lambda n: tree.map(gnp.sin, n), NET)
    assert type(back(pushed)[0]["first"]) is Layer
    rows = gradir.vmap(lambda layer, x: layer(x), in_axes=(Layer(0, None), 0))
    np.testing.assert_allclose(rows(Layer(np.stack([X, X]), X), np.stack([X, X])), [NET_1, NET_1])


NET_1 = np.tanh(X * X + X)


def test_in_loops_branches_stages_and_custom_rules() -> None:
    start = Pair(X, X * 2, 3.0)

    def step(k: Any, pair: Pair) -> Pair:
        return Pair(pair.second * pair.scale, gnp.sin(pair.first), pair.scale)

    def f(pair: Pair) -> Any:
        made = gradir.fori_loop(0, 2, step, pair)
        made = gradir.cond(made.first[0] > 100, lambda p: p, lambda p: step(0, p), made)
        return gnp.sum(gradir.checkpoint(lambda p: p.first * p.second)(made))

    slopes = gradir.grad(f)(start)
    assert type(slopes) is Pair and slopes.scale == 3.0
    flat = gradir.grad(lambda x, y: f(Pair(x, y, 3.0)), argnums=(0, 1))(X, X * 2)
    np.testing.assert_allclose(slopes.first, flat[0])
    np.testing.assert_allclose(slopes.second, flat[1])
    swapped = gradir.custom_jvp(lambda p: Pair(p.second, p.first))
    swapped.defjvp(lambda p, t: (swapped(*p), swapped(*t)))
    found = gradir.grad(lambda p: gnp.sum(swapped(p).first * X))(Pair(X, X))
    np.testing.assert_allclose(found.second, X)
    np.testing.assert_allclose(found.first, 0 * X)


def test_static_data_chooses_the_program() -> None:
    traced: list[Any] = []

    @gradir.jit
    def f(options: Options, pair: Pair) -> Any:
        traced.append((options.power, pair.scale))
        return gnp.sum(pair.first**options.power) + gnp.copysign(1.0, pair.scale) * pair.second

    one = f(Options(2), Pair(X, 0.5, 0.0))
    other = f(Options(2), Pair(X, 0.5, -0.0))
    np.testing.assert_allclose([one, other], np.sum(X**2) + np.array([0.5, -0.5]))
    f(Options(2), Pair(2 * X, 1.5, 0.0))
    np.testing.assert_allclose(f(Options(3), Pair(X, 0.0, 1)), np.sum(X**3))
    np.testing.assert_allclose(f(Options(3), Pair(X, 0.0, True)), np.sum(X**3))
    assert [p for p, _ in traced] == [2, 2, 3, 3] and traced[-1][1] is True


class Plain:
    """Not registered."""


@dataclass
class Record:
    """Not registered."""

    x: Any


def test_refusals() -> None:
    wanted = r"Record \(gradir.tree.register_dataclass makes its objects nestings of arrays"
    with pytest.raises(ArgumentTypeError, match=wanted):
        gradir.jit(lambda r: r.x)(Record(X))
    with pytest.raises(TraceError, match=r"Plain \(gradir.tree.register_pytree_node makes"):
        gradir.jit(lambda x: Plain())(X)
    with pytest.raises(ArgumentTypeError, match="expected a dataclass, got Plain"):
        tree.register_dataclass(Plain)
    with pytest.raises(ArgumentTypeError, match="Layer is registered already"):
        tree.register_static(Layer)
    with pytest.raises(ArgumentTypeError, match="dict has a meaning of its own"):
        tree.register_static(dict)
    with pytest.raises(ArgumentTypeError, match="must name each of x once"):
        tree.register_dataclass(Record, ["x"], ["y"])
    with pytest.raises(ArgumentTypeError, match="Pair: its static data must be hashable, got nd"):
        gradir.jit(lambda p: p.first)(Pair(X, X, X))
    with pytest.raises(TraceError, match="vmap: in_axes must be numbers and None nested like"):
        gradir.vmap(lambda p: p.first, in_axes=(Pair(0, None, 2.0),))(Pair(X, X))
