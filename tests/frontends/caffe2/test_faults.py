"""Nets that Caffe2 refuses or differentiates wrongly: right here, refused under strict_versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from caffe2_nets import gradients

from gradir.frontends.caffe2 import IR, Net, OperatorError, OrphanError, VersionError

Build = Callable[[Net], object]
X, Y = np.array([0.3, -0.2]), np.array([0.5, 0.7])


def built_net(build: Build, strict: bool = False) -> Net:
    net = Net("net", strict_versions=strict)
    build(net)
    return net


def found(build: Build, y: str, feeds: dict[str, Any], strict: bool = False) -> dict[str, Any]:
    net = built_net(build, strict)
    return gradients(net, {y: None}, list(feeds), feeds, is_exact=True, is_native=False)[0]


def overwritten_output(net: Net) -> None:
    net.Tanh("x", "y")
    net.Scale("y", "y", scale=2.0)


def overwritten_input(net: Net) -> None:
    net.Mul(["x", "w"], "h")
    net.Sqr("w", "w")
    net.Add(["h", "w"], "y")


def relu_dropout(net: Net) -> None:
    net.FC(["x", "w"], "y")
    net.Relu("y", "y")
    net.LeakyRelu("y", "y", alpha=0.5)


def dead_producer(net: Net) -> None:
    net.Sqr("x", "t")
    net.Exp("w", "t")
    net.Scale("t", "y", scale=3.0)


def dead_forwarding(net: Net) -> None:
    net.Add(["x", "x"], "t")
    net.Exp("w", "t")
    net.Scale("t", "y", scale=3.0)


@pytest.mark.parametrize(
    ("build", "feeds", "expected", "message"),
    [
        (overwritten_output, {"x": X}, {"x": 2 * (1 - np.tanh(X) ** 2)}, 'version 0 of "y".* 1$'),
        (overwritten_input, {"x": X, "w": Y}, {"x": Y, "w": X + 2 * Y}, 'version 0 of "w".* 1$'),
        (relu_dropout, {"x": X[None], "w": np.array([[1.0, 0.2], [-1.0, 0.3]])},
         {"x": np.array([[1.0, 0.2]]), "w": np.array([[0.3, -0.2], [0.0, 0.0]])},
         'version 1 of "y".* 2$'),
        (dead_producer, {"x": X, "w": Y}, {"x": 0 * X, "w": 3 * np.exp(Y)},
         'version 0 of "t".* 1$'),
        (dead_forwarding, {"x": X, "w": Y}, {"x": 0 * X, "w": 3 * np.exp(Y)},
         'version 0 of "t".* 1$'),
    ],
)  # fmt: skip
def test_versions(
    build: Build, feeds: dict[str, Any], expected: dict[str, Any], message: str
) -> None:
    """C1, C2: right; under strict_versions an error with the blob and both versions."""
    got = found(build, "y", feeds)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12)
    strict = built_net(build, strict=True)
    for refused in (strict.AddGradientOperators, IR(strict.ops, True).GetBackwardPass):
        with pytest.raises(VersionError, match=message):
            refused(["y"])
        with pytest.raises(RuntimeError):
            refused(["y"])
    IR(strict.ops).GetBackwardPass(["y"])


@pytest.mark.parametrize("strict", [False, True])
def test_right_in_both_modes(strict: bool) -> None:
    """C3, C4, C7, C8: seeds, sums in place, unused outputs, powers in place."""

    def seeds(net: Net) -> None:
        net.Mul(["x", "w"], "h")
        net.Mul(["h", "v"], "y")

    feeds = {name: np.array([value]) for name, value in (("x", 2.0), ("w", 3.0), ("v", 5.0))}
    net = built_net(seeds, strict)
    got, _ = gradients(net, {"y": [1.0], "h": [100.0]}, ["x"], feeds, is_native=False)
    assert got["x"] == [315.0]

    def sum_in_place(net: Net) -> None:
        net.Copy("a", "x")
        net.Scale("x", "z", scale=2.0)
        net.Sum(["x", "z"], "x")
        net.Scale("x", "y", scale=4.0)

    assert found(sum_in_place, "y", {"a": X}, strict)["a"].tolist() == [12.0, 12.0]

    def unused(net: Net) -> None:
        net.Split("x", ["a", "b"], axis=0)
        net.ZeroGradient("b", [])
        net.Sqr("a", "y")

    assert found(unused, "y", {"x": Y}, strict)["x"].tolist() == [1.0, 0.0]

    def power(net: Net) -> None:
        net.Copy("x", "y")
        net.Pow("y", "y", exponent=4.0)

    np.testing.assert_allclose(found(power, "y", {"x": X}, strict)["x"], 4 * X**3)


def test_dense_and_sparse_contributions() -> None:
    """C5, C6: rows are added to the dense gradient, whatever the devices say."""

    def build(net: Net) -> None:
        net.Gather(["E", "i"], "g", device="cuda:0")
        net.Sqr("E", "h", device="cuda:1")
        net.SumElements("g", "a")
        net.SumElements("h", "b")
        net.Add(["a", "b"], "y")

    table, rows = np.arange(6.0).reshape(3, 2), np.array([[1], [1]])
    net = built_net(build)
    got, _ = gradients(net, {"y": None}, ["E"], {"E": table, "i": rows}, is_native=False)
    np.testing.assert_allclose(got["E"], 2 * table + [[0, 0], [2, 2], [0, 0]])
    assert [op.device for op in net.ops if op.type in ("Sum", "ScatterAdd")] == ["cuda:1"]


def test_indices_of_any_shape() -> None:
    """C12: rows are one after the other, in reverse order of the program."""

    def build(net: Net) -> None:
        net.Gather(["E", "i"], "a")
        net.Gather(["E", "j"], "b")

    net = built_net(build)
    gradient: Any = net.AddGradientOperators({"a": "da", "b": "db"})["E"]
    i, j = np.array([[2, 0], [1, 1]]), np.array(2)
    feeds = {"E": np.ones((3, 2)), "i": i, "j": j}
    feeds |= {"da": np.arange(8.0).reshape(2, 2, 2), "db": np.array([9.0, 9.0])}
    out = net.compile([gradient])(feeds)
    assert out[gradient.indices].tolist() == [2, 2, 0, 1, 1]
    assert out[gradient.values].tolist() == [[9, 9], [0, 1], [2, 3], [4, 5], [6, 7]]


def test_orphans() -> None:
    """Only under strict_versions, and not in place."""

    def build(net: Net) -> None:
        net.StopGradient("x", "auto")
        net.Sqr("x", "y")

    assert found(build, "y", {"x": Y})["x"].tolist() == [1.0, 1.4]
    net = built_net(build, strict=True)
    for refused in (net.AddGradientOperators, IR(net.ops, True).GetBackwardPass):
        with pytest.raises(OrphanError, match='"auto" is an orphan'):
            refused(["y"])
    with pytest.raises(ValueError, match="orphan"):
        IR(net.ops).SanityCheck()

    def in_place(net: Net) -> None:
        net.Sqr("x", "y")
        net.StopGradient("y", "y")

    assert found(in_place, "y", {"x": Y}, strict=True)["x"].tolist() == [0.0, 0.0]


def test_negated_and_stopped() -> None:
    def build(net: Net) -> None:
        net.NegateGradient("x", "a")
        net.Mul(["a", "a"], "b")
        net.StopGradient("b", "c")
        net.Mul(["b", "c"], "y")

    assert found(build, "y", {"x": np.array(2.0)})["x"] == -16.0


def test_gradients_of_gradients() -> None:
    """C10: operators of operators of operators; and version checks do not see a difference."""
    net = Net("net")
    net.Pow("x", "y", exponent=5.0)
    name = "y"
    for expected in (80.0, 160.0, 240.0, 240.0):
        name = str(net.AddGradientOperators([name], wrt=["x"])["x"])
        out = net.compile([name])({"x": np.array(2.0)})
        np.testing.assert_allclose(out[name], expected)


def test_sums_of_broadcast_blobs() -> None:
    """By wrt a gradient has the shape of its blob; a name for two shapes is refused."""

    def build(net: Net) -> None:
        net.Add(["x", "b"], "y")

    feeds = {"x": np.ones((2, 3)), "b": np.ones(3)}
    assert found(build, "y", feeds)["b"].tolist() == [2.0, 2.0, 2.0]
    net = built_net(build)
    name = net.AddGradientOperators(["y"])["b"]
    with pytest.raises(OperatorError, match=r'"b", which Add broadcasts from \[3\]; .*wrt=\["b"\]'):
        net.compile([name])(feeds)


def test_integers_have_no_gradient() -> None:
    net = Net("net")
    net.Add(["i", "i"], "y")
    net.AddGradientOperators(["y"])
    with pytest.raises(OperatorError, match='ConstantFill -> y_autogen_grad: y "y" must be float'):
        net.compile(["y_autogen_grad"])({"i": np.array([1, 2])})


def test_seeds_have_the_shape_of_y() -> None:
    net = Net("net")
    net.Sqr("x", "y")
    net.AddGradientOperators({"y": "dy"}, wrt=["x"])
    with pytest.raises(OperatorError, match=r"must have its shape \[2\], got \[\]"):
        net.compile(["x_grad"])({"x": X, "dy": np.array(1.0)})
