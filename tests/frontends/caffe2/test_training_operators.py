"""Operator types of training: random fills, rates, and steps in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from caffe2_nets import run_net
from caffe2_updates import RATES

from gradir.frontends.caffe2 import GradientSlice, Net, OperatorError


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
    net.add_op(type_, ["d"], "v", dtype="float", extra_shape=[2], **args)
    feeds = {"d": np.ones((2, 3))}
    run = net.compile(["x", "y", "w", "v"])
    found = run(feeds)
    x = found["x"].astype(np.float64)
    np.testing.assert_array_equal(run(feeds)["x"], found["x"])
    np.testing.assert_allclose(run_net(net, feeds, ["x"])["x"], x, rtol=1e-5, atol=1e-6)
    assert (found["x"].shape, found["x"].dtype) == ((40, 20, 15), np.float32)
    assert (found["w"].shape, found["w"].dtype) == ((2, 3), np.float64)
    assert (found["v"].shape, found["v"].dtype) == ((2, 3, 2), np.float32)
    assert abs(x.mean() - mean) < 0.05 * deviation
    assert abs(x.std() - deviation) < 0.05 * deviation
    assert bounds[0] <= x.min() and x.max() <= bounds[1]
    assert (found["x"] != found["y"]).mean() > 0.99
    assert (found["x"] != run_net(other, {}, ["z"])["z"]).mean() > 0.99


def test_fills_like_constants() -> None:
    """A constant without a type gives its shape alone; a dtype is the type of the draws."""
    net = Net("net")
    net.ConstantFill([], "c", shape=[3], value=1.0)
    net.GaussianFill("c", "x", std=0.0, mean=2.0)
    net.GaussianFill([], "y", shape=[3], dtype="double", std=0.0)
    found = run_net(net, {}, ["x", "y"])
    assert found["x"].tolist() == [2.0] * 3 and found["x"].dtype == np.float32
    assert found["y"].tolist() == [0.0] * 3 and found["y"].dtype == np.float64


def test_dropout_in_steps() -> None:
    """A count of steps as second input gives each run another mask, which its gradient follows."""
    net = Net("net")
    net.Dropout(["x", "step"], ["y", "mask"], seed=2**62)
    [grad] = net.AddGradientOperators(["y"], wrt=["x"]).values()
    run = net.compile(["y", "mask", grad])
    runs = [run({"x": np.ones(40), "step": np.array([k], np.int32)}) for k in (0, 1, 0)]
    for out in runs:
        np.testing.assert_array_equal(out["y"], 2.0 * out["mask"])
        np.testing.assert_array_equal(out[str(grad)], 2.0 * out["mask"])
    assert (runs[0]["mask"] != runs[1]["mask"]).any()
    np.testing.assert_array_equal(runs[0]["mask"], runs[2]["mask"])


@pytest.mark.parametrize(("policy", "args", "expected"), RATES, ids=[row[0] for row in RATES])
def test_learning_rate(policy: str, args: dict[str, Any], expected: dict[int, float]) -> None:
    """Each policy at some counts of steps; arguments of others are left aside."""
    net = Net("net")
    net.LearningRate("n", "lr", base_lr=-0.5, policy=policy, **{"gamma": 1.0, **args})
    for count, multiplier in expected.items():
        found = run_net(net, {"n": np.array([count])}, ["lr"])["lr"]
        assert found.shape == ()
        np.testing.assert_allclose(found, -0.5 * multiplier, rtol=1e-12)


def test_no_rows() -> None:
    """A gradient without rows changes nothing."""
    net = Net("net")
    net.SparseAdam(["w", "m", "v", "i", "g", "lr", "n"], ["w", "m", "v"])
    net.ScatterWeightedSum(["x", "lr", "i", "g", "lr"], "x")
    feeds: dict[str, Any] = {name: np.full((3, 2), k + 1.0) for k, name in enumerate("wmvx")}
    others = {"i": np.zeros(0, np.int32), "g": np.ones((0, 2)), "lr": 0.5, "n": np.array(0)}
    for name, value in run_net(net, feeds | others, list("wmvx")).items():
        np.testing.assert_array_equal(value, feeds[name])


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


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 4e-3), (np.float64, 1e-12)])
def test_a_slice_of_rows_is_a_step_of_these(dtype: Any, tolerance: float) -> None:
    """What Gather's gradient gives: the rows that were read take the step of the dense one."""
    net = Net("net")
    net.Gather(["w", "i"], "rows")
    net.Sqr("rows", "squares")
    net.SumElements("squares", "loss")
    grad = net.AddGradientOperators(["loss"], wrt=["w"])["w"]
    assert isinstance(grad, GradientSlice)
    net.EnsureDense("w", "kept")
    net.SparseToDense([*grad, "w"], "dense")
    net.Adagrad(["kept", "h", "dense", "lr"], ["dense_w", "dense_h"], epsilon=0.01)
    net.SparseAdagrad(["w", "h", *grad, "lr"], ["w", "h"], epsilon=0.01)
    rng = np.random.default_rng(3)
    feeds = {name: rng.uniform(0.5, 1.5, size=(5, 2)).astype(dtype) for name in "wh"}
    others = {"i": np.array([[3, 0], [-2, 3]]), "lr": np.array([-0.1], np.float32)}
    found = run_net(net, feeds | others, ["w", "h", "dense_w", "dense_h"])
    for name in "wh":
        assert found[name].dtype == dtype
        np.testing.assert_allclose(found[name], found[f"dense_{name}"], rtol=tolerance)
        np.testing.assert_array_equal(found[name][[1, 2, 4]], feeds[name][[1, 2, 4]])


@pytest.mark.parametrize(
    ("type_", "inputs", "outputs", "args", "message"),
    [
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "cos"}, "expected one of fixed, "),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "step"}, "needs stepsize and gamma"),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "poly", "power": 1, "max_iter": 0},
         "max_iter: expected a positive number, got 0"),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "exp", "gamma": np.nan},
         "gamma: expected a positive number, got nan"),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0, "policy": "gate", "num_iter": -1},
         "num_iter: expected 0 or more, got -1"),
        ("LearningRate", ["n"], 1,
         {"base_lr": 1.0, "policy": "alter", "active_period": 0, "inactive_period": 0},
         "expected one that is not 0"),
        ("LearningRate", ["x"], 1, {"base_lr": 1.0, "policy": "fixed"}, "iter: expected one integ"),
        ("LearningRate", ["n"], 1, {"base_lr": 1.0}, "policy"),
        ("Iter", ["rows"], 1, {}, "expected one integer"),
        ("MomentumSGDUpdate", ["x", "x", "n", "b"], 3, {}, r"one shape, got \[2, 3\] and \[3\]"),
        ("Adagrad", ["x", "b", "x", "n"], 2, {}, r"one shape, got \[2, 3\] and \[3\]"),
        ("Adam", ["b", "b", "x", "b", "n", "n"], 3, {}, r"one shape, got \[3\] and \[2, 3\]"),
        ("Adam", ["b", "b", "b", "b", "n", "n"], 3, {"beta1": 1.0}, r"beta1 must be in \[0, 1\)"),
        ("Adam", ["rows", "b", "b", "b", "n", "n"], 3, {}, "must have one shape"),
        ("MomentumSGDUpdate", ["n", "n", "n", "n"], 3, {}, "must be floating, got"),
        ("RmsProp", ["b", "b", "b", "b"], 3, {}, "lr: expected one element"),
        ("RmsProp", ["b", "b", "b", "n"], 3, {"epsilon": -1.0}, "epsilon must be in"),
        ("SparseAdagrad", ["x", "x", "rows", "x", "n"], 2, {"decay": 0.5}, "rows have none"),
        ("SparseAdagrad", ["x", "x", "b", "b", "n"], 2, {}, r"rows of shape \[\] are none of"),
        ("SparseAdagrad", ["b", "b", "b", "b", "n"], 2, {}, "must have integer indices"),
        ("SparseAdam", ["f", "f", "f", "n", "f", "n", "n"], 3, {}, "are none of a weight"),
        ("Dropout", ["x", "b"], 2, {}, "step: expected one integer"),
        ("GaussianFill", [], 1, {"std": -1.0}, "std: expected 0 or more"),
        ("GaussianFill", [], 1, {"seed": "x"}, "seed: expected an integer"),
        ("UniformFill", [], 1, {"dtype": "int"}, "dtype: expected a floating type"),
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
    blobs: dict[str, Any] = {"x": np.ones((2, 3)), "b": np.ones(3), "f": np.array(1.0)}
    blobs |= {"n": np.array(1), "rows": np.array([1, 2])}
    with pytest.raises(OperatorError, match=message):
        net.to_module({name: blobs[name] for name in net.external_inputs})
