"""Native calls of jitted functions: which calls they make, and that they agree with Python's."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Callable
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, IndexOutOfRange
from gradir.runtime import native_call

pytestmark = [
    pytest.mark.usefixtures("native_calls"),
    pytest.mark.skipif(not native_call.is_supported(), reason="calls go through Python"),
]

X = np.linspace(0.0, 1.0, 5, dtype=np.float32)


class State(NamedTuple):
    mean: Any
    rest: Any


class Other(NamedTuple):
    mean: Any
    rest: Any


class Row(list[Any]):
    pass


def learnt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The jitted function after calls with such arguments, which are native from now on."""
    made = gradir.jit(function)
    for _ in range(3):
        made(*args, **kwargs)
    return made


def is_quick(made: Any, *args: Any, **kwargs: Any) -> bool:
    return made.quick.call(args, kwargs) is not NotImplemented


def plus_one(x: Any) -> Any:
    return x + 1


def squared(x: Any) -> Any:
    return x * x


def taken(x: Any, k: Any) -> Any:
    return gnp.take(x, k)


def nested(x: Any) -> Any:
    found: dict[str, Any] = {
        "b": (x, [2 * x, None]),
        "a": State(x + 1, Row([x])),
        "c": ((), {}, []),
    }
    return found


def same(one: Any, other: Any) -> None:
    """Both have the same classes and numbers."""
    assert type(one) is type(other)
    if type(one) is dict:
        assert [*one] == [*other]
        same((*one.values(),), (*other.values(),))
    elif type(one) in (tuple, list, State, Row):
        assert len(one) == len(other)
        for k in range(len(one)):
            same(one[k], other[k])
    elif one is not None:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_nested_arguments_and_results() -> None:
    def f(tree: Any, scale: Any) -> Any:
        state = tree["a"]
        assert type(state) is State and type(state.rest) is Row
        return nested(scale * (state.mean + state.rest[0] + tree["b"][0] + tree["b"][1][0]))

    tree = nested(X)
    first = gradir.jit(f)(tree, scale=3)
    made = learnt(f, tree, scale=3)
    found = made.quick.call((tree,), {"scale": 3})
    same(found, first)
    # keys in another order, numbers that are new, other values
    turned = dict(reversed(nested(2 * X).items()))
    same(made.quick.call((turned,), {"scale": 3}), gradir.jit(f)(turned, scale=3))
    same(made.quick.call((turned,), {"scale": 5}), gradir.jit(f)(turned, scale=5))


def changed(value: Any) -> list[tuple[Any, ...]]:
    tree = nested(X)
    return [
        (tree | {"a": value},),
        ({**tree, "d": X},),
        ({k: v for k, v in tree.items() if k != "c"},),
        ({**tree, "b": [*tree["b"]]},),
        ({**tree, "b": (X, [X, None, X])},),
        ({**tree, "b": (X, [X, X])},),
        ({**tree, "a": tuple(tree["a"])},),
        ({**tree, "a": Other(X, Row([X]))},),
        ({**tree, "a": State(X, [X])},),
        (OrderedDict(tree),),
        (tree, X),
        (),
    ]


@pytest.mark.parametrize("k", range(12))
def test_other_nestings_are_left_to_python(k: int) -> None:
    def f(*trees: Any) -> Any:
        return 0.0

    made = learnt(f, nested(X))
    assert is_quick(made, nested(X))
    assert not is_quick(made, *changed(X)[k])
    assert not is_quick(made, nested(X), more=X)


def test_each_kind_has_a_way() -> None:
    def twice(x: Any) -> Any:
        return x + x

    wide, whole = X.astype(np.float64), np.arange(3)
    kinds = (X, wide, X[:2], whole, 1.5, 2, np.float32(3), np.array(4.0), [X])
    made = gradir.jit(twice)
    for x in kinds[:-1] * 3:
        made(x)
    for x in kinds[:-1]:
        found = made.quick.call((x,), {})
        same(found, gradir.jit(twice)(x))
    # no code for it, strides, foreign byte order, a subclass
    for x in (kinds[-1], X[::2], X.astype(">f4"), X.view(np.matrix), X[:3]):
        assert not is_quick(made, x)


def test_too_many_kinds() -> None:
    made = gradir.jit(plus_one)
    for n in [*range(20)] * 3:
        assert made(np.zeros(n)).shape == (n,)
    quick = [n for n in range(20) if is_quick(made, np.zeros(n))]
    assert quick == [*range(16)]


def test_traced_arguments_and_traces_go_the_slow_way() -> None:
    inner = learnt(squared, X)
    seen: list[bool] = []

    def outer(x: Any) -> Any:
        seen.append(is_quick(inner, X) or is_quick(inner, x))
        return inner(x) + inner(X)

    np.testing.assert_array_equal(gradir.jit(outer)(X), 2 * X * X)
    assert seen == [False] and is_quick(inner, X)
    assert "multiply" in str(gradir.trace(outer, X))

    def stops(x: Any) -> Any:
        raise ValueError

    with pytest.raises(ValueError):
        gradir.jit(stops)(X)
    assert is_quick(inner, X)


def test_donated_arrays_are_refused() -> None:
    made, other = learnt(plus_one, X), gradir.jit(plus_one, donate_argnums=0)
    given = mine = X.copy()
    for _ in range(4):
        mine, given = given, other(given)
    assert is_quick(made, X) and not is_quick(made, mine)
    for function in (made, other):
        with pytest.raises(ArgumentError, match="x was donated to an earlier call"):
            function(mine)
    np.testing.assert_array_equal(given, X + 4)
    assert is_quick(other, given) and not given.flags.writeable


def powers(x: Any, n: int, *more: Any, name: str = "") -> Any:
    return [x * n, type(n) is bool, len(name), *more]


def test_static_values_choose_a_native_call() -> None:
    made = gradir.jit(powers, static_argnums=1, static_argnames="name")
    for n in (2, 1, True, 300):
        for _ in range(3):
            made(X, n)
    for n in (2, 1, True):
        assert is_quick(made, X, n)
        found = made(X, n)
        np.testing.assert_array_equal(found[0], X * n)
        assert bool(found[1]) is (n is True)
    # one that is equal, no array, of no call yet, more of them, by name
    large = int("300")
    assert not is_quick(made, X, large) and not is_quick(made, X, 1.0)
    assert not is_quick(made, X, X) and not is_quick(made, 2, X)
    assert not is_quick(made, X, 3) and not is_quick(made, X) and not is_quick(made, X, 2, 2)
    assert not is_quick(made, X, n=2) and not is_quick(made, X, 2, name="")
    np.testing.assert_array_equal(made(X, large)[0], X * 300)
    for _ in range(3):
        found = made(X, 2, X, name="b")
    assert not is_quick(made, X, 2, X, name="b") and found[2] == 1
    for _ in range(3):
        made(X, 2, (X, X))
    assert is_quick(made, X, 2, (X, X)) and is_quick(made, X, 2)
    np.testing.assert_array_equal(made(X, 2, (X, X + 1))[3][1], X + 1)


def test_objects_that_may_change_choose_in_python() -> None:
    class Mode:
        def __init__(self, factor: int):
            self.factor = factor

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Mode) and self.factor == other.factor

        def __hash__(self) -> int:
            return hash(self.factor)

    mode = Mode(2)
    made = gradir.jit(lambda mode, x: x * mode.factor, static_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(made(mode, X), 2 * X)
    assert not is_quick(made, mode, X)
    mode.factor = 3
    np.testing.assert_array_equal(made(mode, X), 3 * X)


def test_donated_and_static() -> None:
    made = gradir.jit(lambda n, x: x + n, static_argnums=0, donate_argnums=1)
    x = X.copy()
    for _ in range(4):
        given, x = x, made(2, x)
    assert not is_quick(made, 2, given) and not given.flags.writeable
    with pytest.raises(ArgumentError, match="x was donated to an earlier call"):
        made(2, given)
    assert is_quick(made, 2, x)
    np.testing.assert_array_equal(x, X + 10)  # in place of x, which was donated


def test_errors_after_a_static_choice() -> None:
    made = gradir.jit(lambda n, x, k: gnp.take(x * n, k), static_argnums=0)
    for _ in range(3):
        made(2, X, 1)
    for _ in range(3):
        with pytest.raises(IndexOutOfRange, match="index 7 is out of range"):
            made(2, X, 7)
        assert made(2, X, 1) == 2 * X[1]
        assert made(2, X, 1) == 2 * X[1]
    assert is_quick(made, 2, X, 1)


def test_an_error_leaves_nothing_behind() -> None:
    made = learnt(taken, X, 2)
    for k in range(4):
        with pytest.raises(IndexOutOfRange, match=f"index {k + 5} is out of range"):
            made(X, k + 5)
        for _ in range(3):
            assert made(X, k) == X[k]
        assert is_quick(made, X, k)


def test_errors_of_derivatives_have_their_place() -> None:
    made = gradir.grad(taken)
    for _ in range(3):
        made(X, 2)
    with pytest.raises(IndexOutOfRange) as native:
        made(X, 7)
    with pytest.raises(IndexOutOfRange) as python:
        gradir.grad(taken)(X, 7)
    assert "test_quick_calls.py" in str(python.value)
    assert type(native.value) is type(python.value)


def test_a_call_within_a_call() -> None:
    """A host function calls the jitted function that calls it."""
    inner: list[Any] = []

    def host(inputs: Any, outputs: Any, req: Any) -> None:
        (x,), (y,) = inputs, outputs
        inner.append(x.item())
        y[...] = traced_here(x - 1) if len(inner) < 4 else x

    def alike(x: Any) -> Any:
        return x

    operator = gradir.custom_op(host, alike)

    @gradir.jit
    def traced_here(x: Any) -> Any:
        return operator(x) + 10.0

    for _ in range(3):
        inner.clear()
        assert traced_here(np.array(5.0)) == 2.0 + 40.0
        assert inner == [5.0, 4.0, 3.0, 2.0]


def test_calls_in_several_threads() -> None:
    """One of them has the table of native calls, the others take tables of their own."""

    def f(tree: Any) -> Any:
        return {"y": gnp.sum(gnp.sin(tree["x"])) + tree["k"]}

    xs = [{"x": np.full(20_000, 0.001 * k), "k": np.float64(k)} for k in range(4)]
    made = learnt(f, xs[0])
    expected = [made(x)["y"] for x in xs]
    wrong: list[int] = []

    def run(k: int) -> None:
        for _ in range(100):
            if made(xs[k])["y"] != expected[k]:
                wrong.append(k)

    threads = [Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and is_quick(made, xs[0])


def test_keys_that_change_the_containers() -> None:
    class Key(str):
        def __eq__(self, other: object) -> bool:
            if lists:
                lists.pop().clear()
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    lists: list[list[Any]] = []

    def f(tree: Any) -> Any:
        return gnp.sum(tree[0]["a"][0])

    made = learnt(f, [{"a": [X]}])
    for _ in range(20):
        inner = [X.copy()]
        tree: list[Any] = [{Key("a"): inner}]
        lists[:] = [inner] if _ % 2 else [tree]
        made.quick.call((tree,), {})
    assert is_quick(made, [{"a": [X]}])


def test_no_reference_is_lost_or_kept() -> None:
    def f(tree: Any, k: Any) -> Any:
        return nested(gnp.take(tree["b"][0], k))

    made, tree = learnt(f, nested(X), 1), nested(X)
    leaf, failing = np.ones(5, np.float32), {"b": (X, [X])}
    tree["b"] = (leaf, tree["b"][1])
    watched = (tree, leaf, tree["b"], tree["a"], failing, X.dtype, None, State, NotImplemented)

    def rounds(count: int) -> list[int]:
        for _ in range(count):
            made(tree, 1)
            made(tree, k=2)
            made.quick.call((failing, 1), {})
            made.quick.call((tree, "1"), {})
            made.quick.call((tree, 1), {"out": None})
        gc.collect()
        return [sys.getrefcount(thing) for thing in watched]

    before, after = rounds(5), rounds(200)
    assert after[:5] == before[:5]
    assert all(abs(b - a) < 20 for a, b in zip(before, after, strict=True))


def test_native_after_some_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_call, "PYTHON_CALLS", 3)
    monkeypatch.setattr(native_call, "_calls_by_python", 0)

    @gradir.jit
    def traced_here(x: Any) -> Any:
        return x + 0.125

    seen: list[bool] = []
    for _ in range(8):
        seen.append(is_quick(traced_here, X))
        np.testing.assert_array_equal(traced_here(X), X + np.float32(0.125))
    assert seen == [False] * 3 + [True] * 5
