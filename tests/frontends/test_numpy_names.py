"""Every name of gradir.numpy against NumPy's function: eager, traced, native, and derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from name_cases import OWN, SMOOTH, VALUES, Call, X, listed
from op_calls import TRACED

import gradir
import gradir.numpy as gnp
from gradir.frontends.functions import absent, in_place, linalg, segments

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")

ALL = [*listed(SMOOTH), *listed(VALUES), *listed(OWN)]
# Groups that are compiled together.
SIZE = 48
GROUPS = [ALL[k : k + SIZE] for k in range(0, len(ALL), SIZE)]
# Central differences of fourth order, and the distance at which they are best.
STENCIL, STEP = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12)), 3e-4


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for each in result for leaf in leaves(each)]
    return [np.asarray(result)]


def same(name: str, found: Any, wanted: Any, rtol: float = 1e-12) -> None:
    ours, theirs = leaves(found), leaves(wanted)
    assert len(ours) == len(theirs), name
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        np.testing.assert_allclose(
            one.astype(float), other.astype(float), rtol=rtol, atol=1e-14, err_msg=name
        )


def call_entry(entry: tuple[str, Call], x: Any) -> Any:
    """NumPy's function on a traced array; gradir's where NumPy does not hand over."""
    name, call = entry
    return call(gnp if name in OWN else np, x)


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: f"{g[0][0]}..{g[-1][0]}")
def test_values(group: Sequence[tuple[str, Call]]) -> None:
    """Eager, and numpy.NAME in native code, are NumPy's values, shapes and dtypes."""
    native = gradir.jit(lambda x: [call_entry(entry, x) for entry in group])(X)
    for (name, call), found in zip(group, native, strict=True):
        wanted = call(np, X)
        same(name, call(gnp, X), wanted)
        same(name, found, wanted, 2e-12)


def projected(call: Call, weights: Sequence[Any], x: Any) -> Any:
    """A number that stands for all results that are floats."""
    made = call(np, x)
    parts = list(made) if isinstance(made, (tuple, list)) else [made]
    return sum(np.sum(part * w) for part, w in zip(parts, weights, strict=True))


def weights_of(call: Call, random: np.random.Generator) -> list[Any]:
    made = call(np, X)
    parts: list[Any] = list(made) if isinstance(made, (tuple, list)) else [made]
    return [random.normal(size=np.shape(part)) for part in parts]


DERIVED = listed(SMOOTH)


@pytest.mark.parametrize("start", range(0, len(DERIVED), SIZE))
def test_derivatives(start: int) -> None:
    """Gradients, and Hessians times vectors, are central differences of NumPy's values."""
    group = DERIVED[start : start + SIZE]
    random = np.random.default_rng(5 + start)  # in any order of the tests
    weights = [weights_of(call, random) for _, call in group]
    v = random.normal(size=X.shape)

    def loss(xs: Any) -> Any:
        return sum(
            projected(call, w, x) for (_, call), w, x in zip(group, weights, xs, strict=True)
        )

    xs = [X] * len(group)

    def slopes(xs: Any) -> Any:
        return gradir.jvp(loss, (xs,), ([v] * len(group),))[1]

    def both(xs: Any) -> Any:
        return gradir.grad(loss)(xs), gradir.grad(slopes)(xs)

    module = gradir.trace(both, xs)
    made = gradir.interpret(module, module.functions[-1], *xs)
    first, second = made[: len(group)], made[len(group) :]
    for k, (name, call) in enumerate(group):
        values = {s: projected(call, weights[k], X + s * STEP * v) for s, _ in STENCIL}
        wanted = sum(c * values[s] for s, c in STENCIL) / STEP
        np.testing.assert_allclose(np.sum(first[k] * v), wanted, rtol=1e-7, atol=1e-8, err_msg=name)
        curve = (values[1] - 2 * projected(call, weights[k], X) + values[-1]) / STEP**2
        np.testing.assert_allclose(np.sum(second[k] * v), curve, rtol=1e-3, atol=1e-4, err_msg=name)


def test_every_name_has_a_case():
    made = {c.op.partition(".")[2] for c in TRACED}
    there = {n for n in gnp.__all__ if inspect.isfunction(getattr(gnp, n))}
    own = {f.__name__ for f in segments.FUNCTIONS} | set(in_place.OUTSIDE) | {"norm"}
    known = {name for name, _ in ALL} | made | own | set(absent.SHAPES)
    assert there - known - {"constant", "boolean_mask"} == set()
    assert {f"linalg.{n}" for n in linalg.__all__} - {name for name, _ in ALL} == set()


EDGES = {
    "a median of ties": (lambda x: gradir.grad(np.median)(x), np.ones(4), [0, 0.5, 0.5, 0]),
    "no elements": (lambda x: gnp.max(x[:0], initial=1.5), np.ones(2), 1.5),
    "segments": (lambda x: gnp.segment_min(x, np.array([0, 1, 0]), 3), np.arange(3.0),
                 [0, 1, np.inf]),
    "products": (lambda x: gnp.segment_prod(x, np.array([0, 2, 0])), np.arange(3.0), [0, 1, 1]),
    "put": (lambda x: gnp.put_along_axis(x, np.array([-1]), 5.0, 0, inplace=False), np.zeros(2),
            [0, 5]),
    "a diagonal": (lambda x: gnp.fill_diagonal(x, 2.0, inplace=False), np.zeros((2, 2)),
                   [[2, 0], [0, 2]]),
    "nested lists": (lambda x: gnp.array([[x[0], 1], [2, x[1]]]), np.ones(2), [[1, 1], [2, 1]]),
    "a norm at 0": (lambda x: gradir.grad(np.linalg.norm)(x), np.zeros((2, 2)), np.zeros((2, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    function, x, wanted = EDGES[name]
    np.testing.assert_array_equal(function(x), wanted)


def test_single_precision_stays():
    x = X.astype(np.float32)
    for name in ("median", "gradient", "interp", "std", "unwrap", "nanvar", "diff", "sinc", "cov"):
        args = (x[0],) if name != "interp" else (x[0], np.sort(x[1]), x[2])
        assert getattr(gnp, name)(*args).dtype == np.float32
