"""Masks that are true everywhere have no gates; what is known of bools holds for all indices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import ReturnOp

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.dialects.array.comparison import GreaterOp
from gradir.dialects.array.known_bools import are_true, is_each_line_true
from gradir.frontends.functions.array_ops import op

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(0)
X, W = RANDOM.standard_normal((8, 6)), RANDOM.standard_normal((6, 6))
T = RANDOM.integers(0, 6, 8)
CAUSAL = np.tril(np.ones((8, 8), bool))


def normal(h: Any) -> Any:
    """Rows without mean, of deviation 1: nan where a row is constant."""
    centered = h - h.mean(-1, keepdims=True)
    return centered / gnp.sqrt((centered * centered).mean(-1, keepdims=True))


def log_probs(w: Any, x: Any) -> Any:
    return nn.log_softmax(normal(gnp.tanh(x @ w)) @ w)


def losses_of_vmap(w: Any, x: Any, t: Any) -> Any:
    def losses(x: Any, t: Any) -> Any:
        return log_probs(w, x)[gnp.arange(8), t]

    return gradir.vmap(losses)(gnp.stack([x, x]), gnp.stack([t, t]))


WHOLE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "index": lambda w, x, t: log_probs(w, x)[np.arange(8), t],
    "index from the end": lambda w, x, t: log_probs(w, x)[-np.arange(1, 9), t],
    "take_along_axis": lambda w, x, t: gnp.take_along_axis(log_probs(w, x), t[:, None], -1),
    "columns": lambda w, x, t: log_probs(w, x)[:, 2:4],
    "one of each row": lambda w, x, t: gradir.vmap(lambda x, t: log_probs(w, x)[t])(x, t),
    "index in vmap": losses_of_vmap,
    "causal": lambda w, x, t: (
        nn.softmax(gnp.where(CAUSAL, normal(x @ w) @ normal(x).T, -np.inf)) @ normal(x @ w)
    ),
    "causal by gradir": lambda w, x, t: nn.softmax(
        gnp.where(gnp.tril(gnp.ones((8, 8), bool)), normal(x @ w) @ normal(x).T, -np.inf)
    ),
    "rows of a table": lambda w, x, t: normal(gnp.tanh(w[t] @ w)),
}
PARTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "some rows": lambda w, x, t: log_probs(w, x)[np.arange(0, 8, 2), t[:4]],
    "shifted": lambda w, x, t: log_probs(w, x)[:-1][np.arange(7), t[1:]],
    "rows that data choose": lambda w, x, t: log_probs(w, x)[t, t],
    "rows before the last": lambda w, x, t: log_probs(w, x)[:-1],
    "every other row": lambda w, x, t: log_probs(w, x)[::2],
    "a mask of rows": lambda w, x, t: gnp.where(t[:, None] > 2, log_probs(w, x), 0),
}


SECOND = "index", "causal", "some rows"


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(w: Any, x: Any, t: Any) -> Any:
        result = function(w, x, t)
        return (result * gnp.cos(gnp.arange(result.size, dtype="f8").reshape(result.shape))).sum()

    return loss


@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_gates_are_where_rows_may_be_left_out(name: str) -> None:
    """Gradients equal central differences, with gates and without."""
    loss = total((WHOLE | PARTS)[name])
    module = gradir.trace(gradir.grad(loss, argnums=(0, 1)), W, X, T)
    assert ("grad.gate" in str(module)) == (name in PARTS)
    gradir.testing.check_grads(lambda w, x: loss(w, x, T), (W, X), order=2 if name in SECOND else 1)


def test_constant_masks_are_evaluated() -> None:
    """Layers with causal masks before a loss of all places but the last: no bool is computed."""

    def layer(w: Any, x: Any) -> Any:
        x = normal(x)
        return x + nn.softmax(gnp.where(CAUSAL, x @ x.T, -np.inf)) @ gnp.tanh(x @ w)

    def loss(w: Any, x: Any, t: Any) -> Any:
        return nn.log_softmax(layer(w, layer(w, x))[:-1])[np.arange(7), t[1:]].sum()

    module = str(gradir.trace(gradir.grad(loss, argnums=(0, 1)), W, X, T))
    assert "array.any" not in module and "array.logical" not in module
    assert "array.constant {value = dense<[[true], [true]" in module and "grad.gate" in module
    gradir.testing.check_grads(lambda w, x: loss(w, x, T), (W, X), order=1)


@pytest.mark.parametrize("name", [name for name in PARTS if name != "rows that data choose"])
def test_rows_that_are_left_out_stay_0(name: str) -> None:
    """A constant row has no norm: nan there would be in all of the weights' gradient."""
    x, t = X.copy(), np.array([5, 0, 4, 0, 3, 0, 5, 0])
    x[7] = 0
    by_w, by_x = gradir.grad(total(PARTS[name]), argnums=(0, 1))(W, x, t)
    assert np.isfinite(by_w).all() and np.isfinite(by_x).all() and not by_x[7].any()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_masks_of_nothing(shape: tuple[int, int]) -> None:
    mask = np.tril(np.ones(shape, bool))

    def loss(x: Any) -> Any:
        return nn.softmax(gnp.where(mask, normal(x + 1), -np.inf))[:, :1].sum()

    assert gradir.grad(loss)(np.zeros(shape)).shape == shape


# One op that adds ones at places, and what is known of the places.

SCATTER = """
func.func @f({arguments}) -> tensor<{shape}xi1> {{
  %true = array.full {{value = true}} : tensor<{updates}xi1>
  %ones = array.astype %true : tensor<{updates}xi1> -> tensor<{updates}xf32>
  %zeros = array.full {{value = 0.0}} : tensor<{shape}xf32>
{parts}
  %at = array.stack {names} {{axis = {last}}} : {types} -> tensor<{places}x{depth}xi64>
  %counts = array.scatter_nd_add %zeros, %at, %ones {{batch_dims = {batch}}} : {scatter}
  %y = array.greater %counts, %zeros : {two} -> tensor<{shape}xi1>
  func.return %y : tensor<{shape}xi1>
}}
"""


def dims(extents: Any) -> str:
    return "x".join(map(str, extents))


def random_scatter(random: np.random.Generator) -> tuple[str, list[tuple[int, tuple[int, ...]]]]:
    """The text of a program, and the bound and shape of each argument."""
    rank = int(random.integers(1, 4))
    shape = [int(n) for n in random.integers(1, 4, rank)]
    batch = int(random.integers(0, rank))
    depth = int(random.integers(1, rank - batch + 1))
    places = (*shape[:batch], int(random.integers(1, 7)))
    updates = (*places, *shape[batch + depth :])
    kind = f"tensor<{dims(places)}xi64>"
    arguments: list[tuple[int, tuple[int, ...]]] = []
    parts: list[str] = []
    for k in range(depth):
        n = shape[batch + k]
        if random.random() < 0.6:
            numbers = (np.arange(np.prod(places)).reshape(places) // random.integers(1, 3)) % n
            if random.random() < 0.3:
                numbers = random.integers(-n, n, places)
            value = f"{{value = dense<{numbers.tolist()}> : {kind}}}"
            parts.append(f"  %p{k} = array.constant {value} : {kind}")
        else:
            parts.append(f"  %p{k} = array.abs %a{len(arguments)} : {kind}")
            arguments.append((n, places))
    text = SCATTER.format(
        arguments=", ".join(f"%a{k}: {kind}" for k in range(len(arguments))),
        shape=dims(shape), updates=dims(updates), parts="\n".join(parts), places=dims(places),
        names=", ".join(f"%p{k}" for k in range(depth)), types=", ".join([kind] * depth),
        two=", ".join([f"tensor<{dims(shape)}xf32>"] * 2), last=len(places), depth=depth,
        batch=batch,
        scatter=f"tensor<{dims(shape)}xf32>, tensor<{dims(places)}x{depth}xi64>, "
        f"tensor<{dims(updates)}xf32> -> tensor<{dims(shape)}xf32>",
    )  # fmt: skip
    return text, arguments


def test_what_is_known_holds_for_all_indices() -> None:
    """Of 150 programs. What holds for 15 random indices is mostly known."""
    random = np.random.default_rng(1)
    known = missed = 0
    for _ in range(150):
        text, arguments = random_scatter(random)
        module = gradir.parse(text)
        [mask] = [op.results[0] for op in module.op.walk() if isinstance(op, GreaterOp)]
        found = [
            gradir.interpret(module, "f", *(random.integers(0, n, s) for n, s in arguments))[0]
            for _ in range(15)
        ]
        rank = found[0].ndim
        for axes in chain.from_iterable(combinations(range(rank), k) for k in range(rank + 1)):
            holds = all(each.any(axis=axes).all() for each in found)
            is_known = is_each_line_true(mask, axes)
            assert holds or not is_known, (text, axes)
            known += is_known
            missed += holds and not is_known
        assert not are_true(mask)
    assert known > 20 * missed and known > 150, (known, missed)


# Bools that random ops make.

CHANGES: list[Callable[[Any, Any], Any]] = [
    lambda x, other: op.pad(x, low=[0, 0], high=[1, 0], value=False),
    lambda x, other: op.pad(x, low=[0, 1], high=[0, 0], value=True),
    lambda x, other: gnp.pad(x, ((0, 1), (0, 0))),
    lambda x, other: gnp.pad(x, ((1, 0), (1, 1)), constant_values=True),
    lambda x, other: x[: max(x.shape[0] - 1, 1)],
    lambda x, other: x[::-1, ::2],
    lambda x, other: x.T,
    lambda x, other: gnp.tril(x),
    lambda x, other: gnp.roll(x, 1, 0),
    lambda x, other: gnp.logical_and(x, other),
    lambda x, other: gnp.logical_or(x, other),
    lambda x, other: gnp.logical_not(gnp.logical_not(x)),
    lambda x, other: gnp.broadcast_to(gnp.any(x, axis=0, keepdims=True), x.shape),
    lambda x, other: gnp.reshape(x, x.shape[::-1]),
    lambda x, other: gnp.where(gnp.arange(x.shape[1]) > 0, x, other),
    lambda x, other: gnp.zeros(x.shape).at[:1].add(gnp.astype(x[:1], "f8")) > 0,
    lambda x, other: gnp.concatenate([x, other]),
]


def random_bools(random: np.random.Generator, given: Any) -> Any:
    """Bools of rank 2, made of known and unknown ones by random ops."""
    true = gnp.logical_or(given, gnp.ones((3, 4), bool))
    found = given if random.random() < 0.3 else true
    for _ in range(int(random.integers(1, 5))):
        other = gnp.full(found.shape, bool(random.random() < 0.7))
        found = CHANGES[random.integers(len(CHANGES))](found, other)
    return found


def test_what_is_known_of_random_bools_holds() -> None:
    """Of 300 programs, for bools that are all true, all false and mixed."""
    random = np.random.default_rng(2)
    known = 0
    for seed in random.integers(0, 2**31, 300):
        module = gradir.trace(
            lambda b, seed=seed: random_bools(np.random.default_rng(seed), b), np.ones((3, 4), bool)
        )
        [name] = module.functions
        [mask] = [each.operands[0] for each in module.op.walk() if isinstance(each, ReturnOp)]
        given = [np.ones((3, 4), bool), np.zeros((3, 4), bool), random.random((3, 4)) < 0.5]
        found = [gradir.interpret(module, name, b)[0] for b in given]
        assert not are_true(mask) or all(each.all() for each in found), str(module)
        for axes in ((), (0,), (1,), (0, 1)):
            is_known = is_each_line_true(mask, axes)
            known += is_known
            assert not is_known or all(each.any(axis=axes).all() for each in found), str(module)
    assert known > 100


def test_parts_that_are_shared_are_looked_at_once() -> None:
    """There are two ways from each value to the one before: 2**60 in all."""

    def shared(given: Any) -> Any:
        for _ in range(60):
            given = gnp.logical_or(given, gnp.logical_or(given, given[::-1]))
        return given

    module = gradir.trace(shared, np.ones((3, 4), bool))
    [mask] = [each.operands[0] for each in module.op.walk() if isinstance(each, ReturnOp)]
    assert not are_true(mask)
