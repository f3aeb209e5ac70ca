"""gradir.optim on trees: chains, clipping, averages, dtypes, refusals, steps of training."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.errors import ArgumentError, ArgumentTypeError, NotPicklable, TraceError

Array = np.ndarray[Any, Any]
GRADS: dict[str, Any] = {"w": np.array([[3.0, -4.0]]), "b": [np.array(12.0), None]}
NORM = 13.0


class Layer(NamedTuple):
    w: Any
    b: Any


# Chains and what they are made of.


def test_a_chain_hands_updates_on() -> None:
    parts = optim.clip(2.0), optim.trace(0.5), optim.identity(), optim.scale(-2.0)
    chained = optim.chain(optim.chain(*parts[:2]), *parts[2:])
    state = chained.init(GRADS)
    updates, state = chained.update(GRADS, state)
    np.testing.assert_array_equal(updates["w"], [[-4.0, 4.0]])
    updates, state = chained.update(GRADS, state)
    np.testing.assert_array_equal(updates["w"], [[-6.0, 6.0]])
    assert updates["b"][1] is None
    np.testing.assert_array_equal(state[0][1].trace["b"][0], 3.0)
    assert state[1:] == (optim.EmptyState(), optim.EmptyState())


def test_a_transformation_of_ones_own() -> None:
    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return updates / state, state + 1

    halves = optim.GradientTransformation(lambda params: gnp.asarray(1.0), update)
    chained = optim.chain(halves, optim.sgd(1.0))
    state = chained.init(np.ones(2))
    for k in (1, 2):
        updates, state = chained.update(np.ones(2), state)
        np.testing.assert_array_equal(updates, [-1 / k, -1 / k])


@pytest.mark.parametrize("max_norm", [26.0, 13.0, 6.5, 0.0])
def test_clip_by_global_norm(max_norm: float) -> None:
    clipped = optim.clip_by_global_norm(max_norm)
    updates, _ = clipped.update(GRADS, clipped.init(GRADS))
    factor = min(1, max_norm / NORM)
    np.testing.assert_allclose(updates["w"], GRADS["w"] * factor)
    np.testing.assert_allclose(updates["b"][0], 12 * factor)
    assert optim.global_norm(GRADS) == NORM


def test_a_norm_beyond_half_precision() -> None:
    """Squares of float16 are summed in float32; the updates stay float16."""
    grads = np.full(4, 1000.0, np.float16)
    norm = optim.global_norm(grads)
    assert (norm, norm.dtype) == (2000, np.float32)
    clipped = optim.clip_by_global_norm(1.0)
    updates, _ = clipped.update(grads, clipped.init(grads))
    np.testing.assert_array_equal(updates, np.full(4, 0.5, np.float16))
    assert updates.dtype == np.float16


def test_zeros_are_clipped_to_zeros() -> None:
    for clipped in (optim.clip_by_global_norm(0.0), optim.clip_by_block_rms(0.1)):
        updates, _ = clipped.update(np.zeros(3), clipped.init(np.zeros(3)))
        np.testing.assert_array_equal(updates, np.zeros(3))


def test_nan_gradients_are_seen_behind_clipping() -> None:
    clipped = optim.clip_by_global_norm(1.0)
    updates, _ = clipped.update([np.array([np.nan, 1.0])], clipped.init([np.ones(2)]))
    assert np.isnan(updates[0]).all()


@pytest.mark.parametrize(
    "mask",
    [
        {"w": True, "b": [False, None]},
        lambda p: {"w": True, "b": [False, None]},
        {"w": True, "b": False},
    ],
)
def test_weight_decay_of_some_leaves(mask: Any) -> None:
    decayed = optim.add_decayed_weights(0.5, mask)
    zeros = {"w": np.zeros((1, 2)), "b": [np.array(0.0), None]}
    updates, _ = decayed.update(zeros, decayed.init(GRADS), GRADS)
    np.testing.assert_array_equal(updates["w"], GRADS["w"] / 2)
    assert updates["b"] == [0.0, None]


def test_gradients_that_stay_equal_have_no_variance() -> None:
    """Where it rounds below 0 in float32, its root is not nan."""
    centered = optim.scale_by_stddev(decay=0.9)
    grads = np.array([1234.567, 0.1], np.float32)
    state = optim.ScaleByStddevState(grads * np.float32(1.0001), grads * grads)
    updates, _ = centered.update(grads, state)
    assert np.isfinite(updates).all()


# Averages.


def test_averages_of_weights() -> None:
    weights = [np.array([1.0, 2.0]), np.array([3.0, 2.0]), np.array([8.0, 5.0])]
    smoothed, raw, mean = optim.ema(0.75), optim.ema(0.75, debias=False), optim.polyak_average()
    states = [each.init(weights[0]) for each in (smoothed, raw, mean)]
    wanted = np.zeros(2)
    for t, w in enumerate(weights, 1):
        wanted = 0.75 * wanted + 0.25 * w
        pairs = zip((smoothed, raw, mean), states, strict=True)
        found, states = zip(*(each.update(w, state) for each, state in pairs), strict=True)
        np.testing.assert_allclose(found[0], wanted / (1 - 0.75**t))
        np.testing.assert_allclose(found[1], wanted)
        np.testing.assert_allclose(found[2], np.mean(weights[:t], axis=0))
    assert states[2].count == 3


# Trees.


@pytest.mark.parametrize("params", [{}, (), [], {"a": {}, "b": [None]}, Layer(None, None)])
def test_trees_without_leaves(params: Any) -> None:
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(0.1))
    state = optimizer.init(params)
    assert state[1][0].count == 0
    updates, state = optimizer.update(params, state, params)
    assert updates == params == optim.apply_updates(params, updates)
    assert state[1][0].count == 1


def test_named_tuples_and_python_numbers() -> None:
    optimizer = optim.sgd(0.5)
    params = Layer(1.0, (2.0,))
    updates, _ = optimizer.update(Layer(4.0, (6.0,)), optimizer.init(params), params)
    moved = optim.apply_updates(params, updates)
    assert moved == Layer(-1.0, (-1.0,)) and moved.w.dtype == np.float64


def test_a_learning_rate_as_an_argument() -> None:
    """A traced rate of another dtype leaves the parameters' as it is."""

    @gradir.jit
    def step(rate: Any, params: Any) -> Any:
        optimizer = optim.sgd(rate)
        updates, _ = optimizer.update(params, optimizer.init(params))
        return updates

    for rate in (0.5, np.float64(0.25)):
        updates = step(rate, np.ones(2, np.float32))
        np.testing.assert_array_equal(updates, np.full(2, -rate, np.float32))
        assert updates.dtype == np.float32


# Dtypes.

SMALL = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda kind: optim.adamw(0.1, state_dtype=kind),
        lambda kind: optim.sgd(0.1, 0.9, state_dtype=kind),
        lambda kind: optim.adagrad(0.1, state_dtype=kind),
        lambda kind: optim.rmsprop(0.1, centered=True, momentum=0.9, state_dtype=kind),
        lambda kind: optim.lion(0.1, state_dtype=kind),
        lambda kind: optim.lamb(0.1, state_dtype=kind),
        lambda kind: optim.adafactor(0.1, 2, momentum=0.9, state_dtype=kind),
        lambda kind: optim.chain(optim.ema(0.9, state_dtype=kind), optim.scale(-0.1)),
    ],
    ids=["adamw", "sgd", "adagrad", "rmsprop", "lion", "lamb", "adafactor", "ema"],
)
def test_small_parameters_with_a_state_of_float32(
    make: Callable[[str], optim.GradientTransformation], dtype: Any
) -> None:
    """The step is the one in float32, rounded once."""
    optimizer = make("float32")
    generator = np.random.default_rng(3)
    params = [generator.normal(size=(3, 4)).astype(dtype), generator.normal(size=5).astype(dtype)]
    grads = [np.asarray(p * 1e-4).astype(dtype) for p in params]
    state = optimizer.init(params)
    arrays = [leaf for part in state for tree in part for leaf in _leaves(tree)]
    assert {a.dtype for a in arrays} <= {np.dtype(np.float32), np.dtype(np.int32)}
    updates, after = optimizer.update(grads, state, params)
    wide = [[np.asarray(x, np.float32) for x in each] for each in (grads, params)]
    wanted, wanted_state = optimizer.update(wide[0], optimizer.init(wide[1]), wide[1])
    for one, other in zip(_leaves(after), _leaves(wanted_state), strict=True):
        np.testing.assert_array_equal(one, other)
    moved, there = optim.apply_updates(params, updates), optim.apply_updates(wide[1], wanted)
    for one, other in zip(moved, there, strict=True):
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, np.asarray(other).astype(dtype))


def _leaves(tree: Any) -> list[Array]:
    if isinstance(tree, (list, tuple)):
        return [leaf for child in tree for leaf in _leaves(child)]
    return [] if tree is None else [np.asarray(tree)]


def test_an_epsilon_that_is_0() -> None:
    params = np.ones(3, np.float16)
    optimizer = optim.adam(0.1)
    with pytest.raises(
        TraceError, match=r"eps = 1e-08 is 0 in float16; pass state_dtype='float32'"
    ):
        optimizer.update(params, optimizer.init(params))


# Refusals.


def adam_update(grads: Any, params: Any) -> None:
    optimizer = optim.adamw(0.1)
    optimizer.update(grads, optimizer.init(params), params)


W = np.ones((2, 3))


@pytest.mark.parametrize(
    ("grads", "params", "message"),
    [
        (
            {"layers": [{"w": W}]},
            {"layers": [{"w": W, "b": W}]},
            "adam: state.mu must be nested like updates, got an array at "
            "state.mu['layers'][0]['b'] and nothing at updates['layers'][0]['b']",
        ),
        ([W, None], [W, W], "got an array at state.mu[1] and None at updates[1]"),
        ((W,), [W], "got a list of 1 at state.mu and a tuple of 1 at updates"),
        (Layer(W, [W]), Layer(W, W), "got an array at state.mu.b and a list of 1 at updates.b"),
        (
            {"w": W[:1]},
            {"w": W},
            "adam: state.mu['w'] must have the shape of updates['w'], "
            "got float64[2, 3] and float64[1, 3]",
        ),
        ({"n": W}, {"n": W.astype(int)}, "params['n'] must be floating, got int64[2, 3]"),
        ({"n": W}, {"n": "w"}, "params_n: expected an array"),
    ],
)
def test_trees_that_differ(grads: Any, params: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError) as caught:
        adam_update(grads, params)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: optim.apply_updates({"w": W}, {"w": W[0]}),
            "apply_updates: updates['w'] must have the shape of params['w'], "
            "got float64[3] and float64[2, 3]",
        ),
        (
            lambda: optim.adamw(0.1).update(W, optim.adamw(0.1).init(W)),
            "add_decayed_weights: update needs the parameters",
        ),
        (
            lambda: optim.scale_by_adam().update(W, {"mu": W}),
            "adam: the state must be what init gives, ScaleByAdamState, got a dict of 1",
        ),
        (
            lambda: optim.adam(0.1).update(W, optim.sgd(0.1).init(W)),
            "chain: the state must be what init gives, a tuple of 2, got a tuple of 1",
        ),
        (
            lambda: optim.adafactor(0.1, 2).update(W[:1], optim.adafactor(0.1, 2).init(W)),
            "adafactor: the state must be that of updates, float64[1, 3]",
        ),
        (
            lambda: optim.sgd(cast(Any, np.ones(3))).update(W, optim.sgd(0.1).init(W)),
            "a factor of updates must have rank 0, got float64[3]",
        ),
        (
            lambda: optim.adamw(0.1, mask={"w": 1}).update(
                {"w": W}, optim.adamw(0.1).init({"w": W}), {"w": W}
            ),
            "add_decayed_weights: mask['w'] must be True or False, got int",
        ),
        (
            lambda: optim.adamw(0.1, mask={}).update(
                {"w": W}, optim.adamw(0.1).init({"w": W}), {"w": W}
            ),
            "mask must be nested like params, got nothing at mask['w'] and an array at params['w']",
        ),
    ],
)
def test_refused_when_called(call: Callable[[], Any], message: str) -> None:
    """At the line of the user's call."""
    with pytest.raises(TraceError) as caught:
        call()
    assert message in str(caught.value) and f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.sgd(-0.1), r"learning_rate must be in \[0, inf\), got -0.1"),
        (lambda: optim.sgd("fast"), "learning_rate must be a number, got 'fast'"),  # pyrefly: ignore[bad-argument-type]
        (lambda: optim.adam(0.1, b2=1.0), r"b2 must be in \[0, 1\), got 1.0"),
        (lambda: optim.adam(0.1, eps=-1), "eps must be in"),
        (lambda: optim.adam(0.1, state_dtype="int32"), "expected a floating dtype, got int32"),
        (lambda: optim.clip(-1), "max_delta must be in"),
        (lambda: optim.clip_by_block_rms(0), "threshold must be positive, got 0"),
        (lambda: optim.chain(optim.scale), "item 0 must be a transformation"),  # pyrefly: ignore[bad-argument-type]
        (
            lambda: optim.chain(optim.clip(1), optim.static_loss_scale(optim.sgd(0.1), 8.0)),
            "loss scaling must be around the chain",
        ),
        (
            lambda: optim.static_loss_scale(optim.dynamic_loss_scale(optim.sgd(0.1)), 8.0),
            "expected one without loss scaling",
        ),
        (lambda: optim.static_loss_scale(optim.sgd(0.1), 0.0), "scale must be in"),
        (lambda: optim.train_step(optim.sgd(0.1), optim.sgd(0.1)), "loss: expected"),  # pyrefly: ignore[bad-argument-type]
        (lambda: optim.train_step(abs, abs), "optimizer: expected one of gradir.optim"),  # pyrefly: ignore[bad-argument-type]
    ],
)
def test_refused_when_made(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_refusals_of_types() -> None:
    for make in (lambda: optim.chain(3), lambda: optim.train_step(3, optim.sgd(1.0))):  # pyrefly: ignore[bad-argument-type]
        with pytest.raises(ArgumentTypeError):
            make()


def test_states_pickle_and_optimizers_do_not() -> None:
    optimizer = optim.adam(0.1)
    _, state = optimizer.update(np.ones(3), optimizer.init(np.ones(3)))
    found = pickle.loads(pickle.dumps(state))
    assert [type(part) for part in found] == [optim.ScaleByAdamState, optim.EmptyState]
    np.testing.assert_array_equal(found[0].nu, state[0].nu)
    with pytest.raises(NotPicklable):
        pickle.dumps(optimizer)


# Steps of training.

X = np.random.default_rng(1).normal(size=(16, 3))
TRUTH = np.array([1.0, -2.0, 0.5])


def loss(params: Any, x: Any, y: Any) -> Any:
    return gnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def test_train_step() -> None:
    """It is one native call, gives the loss before the step, and finds the weights."""
    optimizer = optim.adam(optim.cosine_decay_schedule(0.3, 200))
    step = gradir.jit(optim.train_step(loss, optimizer))
    params: Any = {"w": np.zeros(3), "b": 0.0}
    state, y = optimizer.init(params), X @ TRUTH + 3
    values: list[float] = []
    for _ in range(200):
        params, state, value = step(params, state, X, y)
        values.append(value)
    np.testing.assert_allclose(values[0], np.mean(y**2))
    np.testing.assert_allclose(params["w"], TRUTH, atol=1e-4)
    np.testing.assert_allclose(params["b"], 3, atol=1e-4)
    assert state[0].count == 200


def test_train_step_with_aux_and_without_jit() -> None:
    def with_aux(params: Any, x: Any, y: Any) -> Any:
        return loss(params, x, y), {"n": x.shape[0], "w": params["w"]}

    optimizer = optim.sgd(0.1)
    params = {"w": np.ones(3), "b": np.array(0.5)}
    y = X @ TRUTH
    moved, _, (value, aux) = optim.train_step(with_aux, optimizer, has_aux=True)(
        params, optimizer.init(params), X, y
    )
    wanted, grads = gradir.value_and_grad(loss)(params, X, y)
    np.testing.assert_allclose(value, wanted)
    np.testing.assert_allclose(moved["w"], params["w"] - 0.1 * grads["w"])
    assert aux["n"] == 16
    np.testing.assert_array_equal(aux["w"], params["w"])


def test_losses_that_are_no_numbers() -> None:
    for optimizer in (optim.sgd(0.1), optim.static_loss_scale(optim.sgd(0.1), 8.0)):
        params = np.ones(3)
        state = optimizer.init(params)
        for has_aux, message in ((False, "a floating number"), (True, "number, aux")):
            step = optim.train_step(lambda p: p * 2, optimizer, has_aux)
            with pytest.raises(TraceError, match=message):
                step(params, state)


# Loss scaling.


def squares(params: Any, x: Any) -> Any:
    return gnp.sum((params * x) ** 2)


def test_a_static_scale_keeps_small_gradients() -> None:
    """In float16 the gradient 2 p x**2 = 2e-8 is 0; scaled it is not."""
    params, x = np.full(4, 1.0, np.float16), np.full(4, 1e-4, np.float16)
    for scale, is_lost in ((1.0, True), (4096.0, False)):
        optimizer = optim.static_loss_scale(optim.sgd(1e6), scale)
        step = gradir.jit(optim.train_step(squares, optimizer))
        moved, state, value = step(params, optimizer.init(params), x)
        assert (moved.dtype, value.dtype) == (np.float16, np.float16)
        assert (moved == params).all() == is_lost
        assert (state.scale, state.skipped_steps, state.finite_steps) == (scale, 0, 1)


def test_a_dynamic_scale() -> None:
    """It grows after 2 steps in a row, falls at inf and nan, and these steps change nothing."""
    inner = optim.adam(0.1)
    optimizer = optim.dynamic_loss_scale(
        inner, 8.0, growth_interval=2, min_scale=4.0, max_scale=16.0
    )
    update = gradir.jit(optimizer.update)
    params = [np.ones(2, np.float32), np.float32(1)]
    state, plain = optimizer.init(params), inner.init(params)
    scales: list[float] = []
    for bad in (None, None, None, None, np.nan, np.inf, -np.inf, None, None):
        scaled = [np.full(2, 3 * state.scale), np.float32(bad or 2 * state.scale)]
        updates, state = update(scaled, state, params)
        if bad is None:
            wanted, plain = inner.update([np.full(2, 3, np.float32), np.float32(2)], plain, params)
        else:
            wanted = [np.zeros(2), np.zeros(())]
        for one, other in zip(updates, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        for one, other in zip(_leaves(state.inner), _leaves(plain), strict=True):
            np.testing.assert_array_equal(one, other)
        scales.append(float(state.scale))
    assert scales == [8, 16, 16, 16, 8, 4, 4, 4, 8]
    assert (state.skipped_steps, state.finite_steps) == (3, 0)


def test_the_loss_is_scaled_in_float32() -> None:
    """A loss of float16 whose product with the scale it could not hold."""
    optimizer = optim.dynamic_loss_scale(optim.sgd(0.25), 2.0**15)
    step = gradir.jit(optim.train_step(lambda p: gnp.sum(p * 8), optimizer))
    params, state = np.ones(1, np.float16), optimizer.init(np.ones(1, np.float16))
    skipped: list[int] = []
    for _ in range(4):
        params, state, value = step(params, state)
        assert value == 8
        skipped.append(int(state.skipped_steps))
        if skipped[-1] < len(skipped):
            break
    # 8 * 2**13 is beyond float16, 8 * 2**12 is not
    assert (skipped, float(state.scale), params[0]) == ([1, 2, 3, 3], 2.0**12, -1)


def test_updates_can_be_differentiated() -> None:
    """The learning rate's gradient of the loss behind one step, by the chain rule."""
    params, grads = np.array([1.0, 2.0]), np.array([0.5, -1.0])

    def behind(rate: Any) -> Any:
        optimizer = optim.sgd(rate)
        updates, _ = optimizer.update(grads, optimizer.init(params))
        return gnp.sum(optim.apply_updates(params, updates) ** 2)

    wanted = np.sum(2 * (params - 0.1 * grads) * -grads)
    np.testing.assert_allclose(gradir.grad(behind)(0.1), wanted)
