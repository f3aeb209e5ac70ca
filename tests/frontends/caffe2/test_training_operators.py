"""Operator types of training: random fills, rates, and steps in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from caffe2_nets import run_net

from gradir.frontends.caffe2 import Net, OperatorError


@pytest.mark.parametrize(
    ("type_", "args", "mean", "deviation", "bounds"),
    [
        ("UniformFill", {"min": -1.0, "max": 3.0}, 1.0, 4 / 12**0.5, (-1, 3)),
        ("GaussianFill", {"mean": 2.0, "std": 0.5}, 2.0, 0.5, (-np.inf, np.inf)),
        ("XavierFill", {}, 0.0, (1 / 300) ** 0.5, (-0.1, 0.1)),
        ("MSRAFill", {}, 0.0, (2 / 600) ** 0.5, (-np.inf, np.inf)),
    ],
)
def test_fills(
    type_: str, args: dict[str, Any], mean: float, deviation: float, bounds: tuple[float, float]
) -> None:
    """In float32, equal in each run; others by another seed, or at another place in the net."""
    shape, net, other = [40, 20, 15], Net("net"), Net("other")
    net.add_op(type_, [], "x", shape=shape, **args)
    net.add_op(type_, [], "y", shape=shape, **args)
    other.add_op(type_, [], "z", shape=shape, seed=1, **args)
    net.add_op(type_, ["d"], "w", **args)
    feeds = {"d": np.ones((2, 3))}
    run = net.compile(["x", "y", "w"])
    found = run(feeds)
    x = found["x"].astype(np.float64)
    np.testing.assert_array_equal(run(feeds)["x"], found["x"])
    np.testing.assert_allclose(run_net(net, feeds, ["x"])["x"], x, rtol=1e-5, atol=1e-6)
    assert (found["x"].shape, found["x"].dtype) == ((40, 20, 15), np.float32)
    assert (found["w"].shape, found["w"].dtype) == ((2, 3), np.float64)
    assert abs(x.mean() - mean) < 0.05 * deviation
    assert abs(x.std() - deviation) < 0.05 * deviation
    assert bounds[0] <= x.min() and x.max() <= bounds[1]
    assert (found["x"] != found["y"]).mean() > 0.99
    assert (found["x"] != run_net(other, {}, ["z"])["z"]).mean() > 0.99


def quadratic(is_adam: bool) -> tuple[Net, dict[str, Any]]:
    """A net that fits w x to y by one step, and its blobs, in float32."""
    net = Net("fit")
    net.FC(["x", "w"], "p")
    net.SquaredL2Distance(["p", "y"], "d")
    net.AveragedLoss("d", "loss")
    grad = net.AddGradientOperators(["loss"], wrt=["w"])["w"]
    if is_adam:
        net.LearningRate("count", "lr", base_lr=-0.1, policy="step", stepsize=100, gamma=0.5)
        net.Adam(["w", "m", "v", grad, "lr", "count"], ["w", "m", "v"])
        net.Iter("count", "count")
    else:
        net.Iter("count", "count")
        net.LearningRate("count", "lr", base_lr=0.1, policy="inv", gamma=0.01, power=0.5)
        net.MomentumSGDUpdate([grad, "m", "lr", "w"], [grad, "m", "w"], momentum=0.8, nesterov=1)
    rng = np.random.default_rng(0)
    blobs: dict[str, Any] = {"x": rng.normal(size=(32, 3)).astype(np.float32)}
    blobs["y"] = blobs["x"] @ rng.normal(size=(3, 2)).astype(np.float32)
    blobs |= {name: np.zeros((2, 3), np.float32) for name in ("wmv" if is_adam else "wm")}
    return net, {**blobs, "count": np.array([0])}


@pytest.mark.parametrize("is_adam", [False, True])
def test_a_net_trains(is_adam: bool) -> None:
    """State and weights are written in place, of their types; the loss falls."""
    net, blobs = quadratic(is_adam)
    state = [name for name in net.external_inputs if name not in "xy"]
    run = net.compile(["loss", *state])
    losses: list[float] = []
    for _ in range(150):
        found = run(blobs)
        losses.append(float(found.pop("loss")))
        assert all(found[name].dtype == blobs[name].dtype for name in state)
        blobs |= found
    assert losses[-1] < 1e-3 * losses[0]
    assert blobs["count"].tolist() == [150]


def test_half_precision_stays() -> None:
    net, blobs = quadratic(is_adam=True)
    for name in ("x", "y", "w", "m", "v"):
        blobs[name] = blobs[name].astype(np.float16)
    found = run_net(net, blobs, ["w", "m", "v"])
    assert {value.dtype for value in found.values()} == {np.dtype(np.float16)}


@pytest.mark.parametrize(
    ("type_", "inputs", "outputs", "args", "message"),
    [
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "hill"}, "expected one of fixed, "),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "step"}, "needs stepsize and gamma"),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "poly", "power": 1, "max_iter": 0},
         "max_iter: expected a positive number, got 0"),
        ("LearningRate", ["x"], 1, {"base_lr": 1.0}, "expected one integer"),
        ("Iter", ["rows"], 1, {}, "expected one integer"),
        ("MomentumSGDUpdate", ["x", "x", "n", "b"], 3, {}, r"one shape, got \[2, 3\] and \[3\]"),
        ("Adagrad", ["x", "b", "x", "n"], 2, {}, r"one shape, got \[2, 3\] and \[3\]"),
        ("Adam", ["b", "b", "x", "b", "n", "n"], 3, {}, r"one shape, got \[3\] and \[2, 3\]"),
        ("XavierFill", [], 1, {"shape": []}, "rank 1 or more"),
        ("MSRAFill", [], 1, {"shape": [3]}, "rank 2 or more"),
        ("UniformFill", [], 1, {"shape": [3], "min": 1.0, "max": 0.0}, "expected min <= max"),
        ("LRN", ["x"], 1, {"size": 3, "alpha": 1.0, "beta": 1.0}, "rank 4 and an odd size"),
    ],
)  # fmt: skip
def test_refused(
    type_: str, inputs: list[str], outputs: int, args: dict[str, Any], message: str
) -> None:
    net = Net("net")
    net.add_op(type_, inputs, [f"y{k}" for k in range(outputs)], **args)
    blobs = {"x": np.ones((2, 3)), "b": np.ones(3), "n": np.array(1), "rows": np.array([1, 2])}
    with pytest.raises(OperatorError, match=message):
        net.to_module({name: blobs[name] for name in net.external_inputs})
