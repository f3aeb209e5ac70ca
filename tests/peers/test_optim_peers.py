"""gradir.optim against optax and torch.optim: parameters after several steps."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from jax_ops import jnp
from optim_harness import courses, leaves_of, nested
from torch_ops import torch

import gradir
import gradir.numpy as gnp
from gradir import optim

optax: Any = import_module("optax")
pytestmark = pytest.mark.filterwarnings("ignore")

# Both have the same names and defaults.
SAME: list[Callable[[Any], Any]] = [
    lambda o: o.sgd(0.1),
    lambda o: o.sgd(0.1, momentum=0.9),
    lambda o: o.sgd(0.1, momentum=0.9, nesterov=True),
    lambda o: o.adagrad(0.1),
    lambda o: o.rmsprop(0.1),
    lambda o: o.rmsprop(0.1, eps_in_sqrt=False, momentum=0.9, nesterov=True, initial_scale=0.5),
    lambda o: o.rmsprop(0.1, centered=True, momentum=0.9),
    lambda o: o.adam(0.1),
    lambda o: o.adam(0.1, b1=0.5, b2=0.9, eps_root=1e-3, nesterov=True),
    lambda o: o.adamw(0.1, weight_decay=0.2, mask=_matrices),
    lambda o: o.lamb(0.1, weight_decay=0.2),
    lambda o: o.lion(0.1),
    lambda o: o.adafactor(0.1),
    lambda o: o.adafactor(0.1, 2, weight_decay_rate=0.01, clipping_threshold=0.3),
    lambda o: o.adafactor(None, 2, factored=False, multiply_by_parameter_scale=False),
    lambda o: o.chain(o.clip(0.5), o.clip_by_global_norm(1.0), o.trace(0.9), o.scale(-0.1)),
    lambda o: o.chain(o.ema(0.9), o.ema(0.5, debias=False), o.scale_by_learning_rate(0.1)),
    lambda o: o.chain(o.scale_by_trust_ratio(0.1, 0.5, 0.01), o.scale(-1.0)),
    lambda o: o.adam(o.warmup_cosine_decay_schedule(0.0, 0.3, 2, 4, 0.1)),
    lambda o: o.sgd(o.exponential_decay(0.3, 2, 0.5, 1, staircase=True, end_value=0.1)),
]


def _matrices(params: Any) -> Any:
    """Whether a leaf is a matrix, for each of the parameters of the harness."""
    first, none, (kernel, empty) = params["layers"]
    layer = {key: len(leaf.shape) > 1 for key, leaf in first.items()}
    rest = {key: len(params[key].shape) > 1 for key in ("scale", "empty")}
    return {"layers": [layer, none, (len(kernel.shape) > 1, empty)], **rest}


def theirs(optimizer: Any, start: Any, grads: Any) -> list[Any]:
    """The leaves after each step of optax, in float64."""
    params, state, found = start, optimizer.init(start), list[Any]()
    for each in grads:
        updates, state = optimizer.update(each, state, params)
        params = optax.apply_updates(params, updates)
        found.append(params)
    return found


@pytest.mark.parametrize("make", SAME)
def test_optax_takes_the_same_steps(make: Callable[[Any], Any]) -> None:
    columns = list(courses(make(optim), "float64"))
    values, grads = ([c[k] for c in columns] for k in range(2))
    as_tree = lambda leaves: nested([jnp.asarray(x) for x in leaves])  # noqa: E731
    steps = [as_tree([g[k] for g in grads]) for k in range(len(grads[0]))]
    expected = theirs(make(optax), as_tree([v[0] for v in values]), steps)
    for k, tree in enumerate(expected, 1):
        for leaf, value in zip(leaves_of(tree), values, strict=True):
            # optax has 1 - b**t in float32
            np.testing.assert_allclose(value[k], leaf, rtol=1e-4, atol=1e-6)


SCHEDULES: list[Callable[[Any], Any]] = [
    lambda o: o.constant_schedule(0.3),
    lambda o: o.linear_schedule(1.0, 0.1, 7, 2),
    lambda o: o.exponential_decay(1.0, 5, 0.7, 2),
    lambda o: o.exponential_decay(1.0, 5, 1.7, staircase=True, end_value=2.5),
    lambda o: o.cosine_decay_schedule(1.0, 8, 0.1, 1.3),
    lambda o: o.warmup_cosine_decay_schedule(0.1, 1.0, 3, 9, 0.05),
    lambda o: o.piecewise_constant_schedule(1.0, {3: 0.5, 8: 0.1}),
    lambda o: o.join_schedules([o.linear_schedule(0.0, 1.0, 4), o.constant_schedule(0.2)], [6]),
]


@pytest.mark.parametrize("make", SCHEDULES)
def test_optax_has_the_same_schedules(make: Callable[[Any], Any]) -> None:
    ours, other = make(optim), make(optax)
    for count in range(13):
        np.testing.assert_allclose(ours(count), other(count), rtol=1e-6, atol=1e-7)


def test_the_global_norm_and_averages_are_optax_s() -> None:
    tree = {"a": np.arange(4.0), "b": [np.float64(3)]}
    np.testing.assert_allclose(optim.global_norm(tree), optax.global_norm(tree))
    state, other = optim.ema(0.9).init(tree), optax.ema(0.9).init(tree)
    for _ in range(3):
        found, state = optim.ema(0.9).update(tree, state)
        wanted, other = optax.ema(0.9).update(tree, other)
        np.testing.assert_allclose(found["a"], wanted["a"], rtol=1e-6)


# torch.optim, with what the docstrings say of the differences.

TORCH: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True), optim.sgd(0.1, 0.9, True)),
    (
        lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.3),
        optim.chain(optim.add_decayed_weights(0.3), optim.sgd(0.1, 0.9)),
    ),
    (lambda p: torch.optim.Adagrad(p, 0.1, eps=0), optim.adagrad(0.1, 0.0, 0.0)),
    (
        lambda p: torch.optim.RMSprop(p, 0.1, centered=True, momentum=0.9),
        optim.rmsprop(0.1, 0.99, eps_in_sqrt=False, centered=True, momentum=0.9),
    ),
    (lambda p: torch.optim.Adam(p, 0.1), optim.adam(0.1)),
    (lambda p: torch.optim.AdamW(p, 0.1), optim.adamw(0.1, weight_decay=1e-2)),
    (
        lambda p: torch.optim.Adafactor(p, 0.1, weight_decay=0.2),
        optim.adafactor(lambda t: gnp.minimum(0.1, (t + 1) ** -0.5), 1, weight_decay_rate=0.02),
    ),
]


@pytest.mark.parametrize(("make", "optimizer"), TORCH)
def test_torch_takes_the_same_steps(make: Callable[[Any], Any], optimizer: Any) -> None:
    for values, grads in courses(optimizer, "float64"):
        if values[0].size == 0:
            continue  # nothing to compare, and torch's Adafactor refuses it
        param = torch.tensor(values[0], requires_grad=True)
        steps = make([param])
        for grad, value in zip(grads, values[1:], strict=True):
            param.grad = torch.tensor(grad)
            steps.step()
            np.testing.assert_allclose(value, param.detach().numpy(), rtol=1e-7, atol=1e-9)


SPARSE: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda p: torch.optim.SGD(p, 0.1), optim.sgd(0.1)),
    (lambda p: torch.optim.Adagrad(p, 0.1, eps=0), optim.adagrad(0.1, 0.0, 0.0)),
    # its eps is added to a root multiplied by sqrt(1 - b2**t), and so it is 0 here
    (lambda p: torch.optim.SparseAdam(p, 0.1, eps=1e-300), optim.adam(0.1, eps=0.0, lazy=True)),
    (
        lambda p: torch.optim.SparseAdam(p, 0.2, (0.5, 0.9), eps=1e-300),
        optim.adam(0.2, 0.5, 0.9, eps=0.0, lazy=True),
    ),
]


@pytest.mark.parametrize(("make", "optimizer"), SPARSE)
def test_torch_takes_the_same_steps_of_rows(make: Callable[[Any], Any], optimizer: Any) -> None:
    """Rows read once, twice, never, and again after steps that did not read them."""
    random = np.random.default_rng(0)
    start = random.normal(size=(6, 3))
    table = torch.tensor(start, requires_grad=True)
    steps = make([table])
    ours, state = start, optimizer.init(start)
    for indices in ([1, 4, 1], [2, 2, 2], [1, 5, 4], [4, 1, 2]):
        values = random.normal(size=(3, 3))
        table.grad = torch.sparse_coo_tensor([indices], values, (6, 3))
        steps.step()
        grads = gradir.RowSlices(np.array(indices), values, (6, 3))
        updates, state = optimizer.update(grads, state, ours)
        assert isinstance(updates, gradir.RowSlices)
        ours = optim.apply_updates(ours, updates)
        np.testing.assert_allclose(ours, table.detach().numpy(), rtol=1e-10)
        np.testing.assert_array_equal(ours[[0, 3]], start[[0, 3]])
