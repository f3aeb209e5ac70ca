"""Gradient operators: which there are, their names, versions, devices, and the map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from caffe2_nets import gradients

from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2 import IR, GradientSlice, Net, Operator, OperatorError

Rows = list[tuple[str, tuple[str, ...], tuple[str, ...]]]


def rows(ops: Any) -> Rows:
    return [(op.type, op.inputs, op.outputs) for op in ops]


def backward(net: Net, ys: Any) -> tuple[Rows, Any]:
    ops, gradients = IR(net.ops).GetBackwardPass(ys)
    assert all(op.is_gradient_op for op in ops)
    return rows(ops), gradients


def test_ssa() -> None:
    """Reading what nothing wrote is version 0; so is the first write of an unknown blob."""
    net = Net("net")
    net.FC(["x", "w", "b"], "x")
    net.Relu("x", "y")
    net.Add(["y", "x"], "y")
    ir = IR(net.ops)
    assert ir.frontier == {"x": 1, "w": 0, "b": 0, "y": 1}
    assert [(read, made) for _, read, made in ir.ssa] == [
        ({"x": 0, "w": 0, "b": 0}, {"x": 1}),
        ({"x": 1}, {"y": 0}),
        ({"y": 0, "x": 1}, {"y": 1}),
    ]


def test_chain() -> None:
    """One operator for each, in reverse; a rule reads its output, its inputs or nothing."""
    net = Net("net")
    net.FC(["x", "w", "b"], "h")
    net.Tanh("h", "t")
    net.Negative("t", "u")
    net.AveragedLoss("u", "loss")
    assert backward(net, ["loss"]) == (
        [
            ("ConstantFill", ("loss",), ("loss_autogen_grad",)),
            ("AveragedLossGradient", ("u", "loss_autogen_grad"), ("u_grad",)),
            ("NegativeGradient", ("u_grad",), ("t_grad",)),
            ("TanhGradient", ("t", "t_grad"), ("h_grad",)),
            ("FCGradient", ("x", "w", "h_grad"), ("x_grad", "w_grad", "b_grad")),
        ],
        {
            **{name: f"{name}_grad" for name in ("x", "w", "b", "h", "t", "u")},
            "loss": "loss_autogen_grad",
        },
    )


def test_forwarded_gradients() -> None:
    """Add emits nothing and names what it forwards; one value twice counts twice."""
    net = Net("net")
    net.Add(["x1", "x2"], "x4")
    net.Add(["x2", "x3"], "x5")
    net.Add(["x4", "x5"], "x6")
    ops, gradients = backward(net, {"x6": "x6_grad"})
    assert ops == [("Sum", ("x6_grad", "x6_grad"), ("x2_grad",))]
    forwarded = dict.fromkeys(["x1", "x3", "x4", "x5", "x6"], "x6_grad")
    assert gradients == {**forwarded, "x2": "x2_grad"}


def test_contributions_are_in_reverse_order() -> None:
    """Also the two of one operator that reads a blob twice, and a seed, which is the first."""
    net = Net("net")
    net.Sqr("x", "a")
    net.Mul(["x", "x"], "b")
    net.Alias("x", "c")
    net.Sum(["a", "b", "c"], "y")
    ops, gradients = backward(net, {"y": "dy", "x": "dx"})
    made = ("x_grad", "_x_grad_autosplit_0", "_x_grad_autosplit_1")
    assert ops == [
        ("MulGradient", ("x", "dy"), made[:2]),
        ("SqrGradient", ("x", "dy"), made[2:]),
        ("Sum", ("dx", "dy", *made), ("x_grad",)),
    ]
    assert gradients["x"] == "x_grad"


def test_slices() -> None:
    """Gather emits nothing; slices are joined; dense gradients take them in."""
    net = Net("net")
    net.Gather(["x", "i"], "a")
    net.Gather(["x", "j"], "b")
    net.DotProduct(["a", "b"], "y")
    ops, gradients = backward(net, {"y": "dy"})
    assert ops[1:] == [
        ("Concat", ("j", "i"), ("x_grad_indices",)),
        ("Concat", ("b_grad", "a_grad"), ("x_grad_values",)),
    ]
    assert gradients["x"] == GradientSlice("x_grad_indices", "x_grad_values")
    net.Add(["x", "b"], "z")
    ops, gradients = backward(net, {"a": "da", "z": "dz"})
    assert ops == [
        ("SumReduceLike", ("dz", "b"), ("b_grad",)),
        ("Concat", ("j", "i"), ("x_grad_indices",)),
        ("Concat", ("b_grad", "da"), ("x_grad_values",)),
        ("Sum", ("dz",), ("x_grad",)),
        ("ScatterAdd", ("x_grad", "x_grad_indices", "x_grad_values"), ("x_grad_1",)),
    ]
    assert gradients["x"] == "x_grad_1"


def test_second_order_through_joined_slices() -> None:
    """Rows that Concat joins, of indices of two ranks, hand their gradients on."""
    net = Net("net")
    for name in ("i", "j"):
        net.Gather(["x", name], f"rows_{name}")
        net.Sqr(f"rows_{name}", f"squares_{name}")
        net.SumElements(f"squares_{name}", f"sum_{name}")
    net.Add(["sum_i", "sum_j"], "sum")
    first = net.AddGradientOperators(["sum"], wrt=["x"])["x"]
    assert isinstance(first, GradientSlice)
    net.Sqr(first.values, "squares")
    x = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    feeds = {"x": x, "i": np.array([0, 1]), "j": np.array([[1, -1]])}
    found, _ = gradients(net, {"squares": None}, ["x"], feeds, is_native=False)
    np.testing.assert_allclose(found["x"], 8 * x * [[1], [2], [1]])


def test_one_slice_is_the_index_blob() -> None:
    net = Net("net")
    net.Gather(["x", "i"], "a")
    assert backward(net, {"a": "da"}) == ([], {"x": GradientSlice("i", "da"), "a": "da"})
    net.EnsureDense("x", "x")
    net.Gather(["x", "i"], "a")
    ops, gradients = backward(net, {"a": "da"})
    assert ops == [("SparseToDense", ("i", "da", "x"), ("x_grad",))]
    assert gradients["x"] == "x_grad"


def test_overwritten_versions() -> None:
    """A version that is not the last is named with its number; dead blobs have no gradient."""
    net = Net("net")
    net.Sqr("x", "y")
    net.Exp("x", "x")
    net.Sqr("x", "x")
    net.Add(["x", "y"], "y")
    ops, gradients = backward(net, {"y": "dy"})
    assert ops == [
        ("SqrGradient", ("x@1", "dy"), ("x_grad",)),
        ("ExpGradient", ("x@1", "x_grad"), ("x_grad_1",)),
        ("SqrGradient", ("x@0", "dy"), ("_x_grad_autosplit_0",)),
        ("Sum", ("x_grad_1", "_x_grad_autosplit_0"), ("x_grad_1",)),
    ]
    assert gradients == {"x": "x_grad_1", "y": "dy"}


def test_only_what_is_wanted() -> None:
    """With wrt nothing else is computed, and zeros are filled in."""
    net = Net("net")
    net.FC(["x", "w", "b"], "h")
    net.Mul(["h", "v"], "y")
    net.Exp("v", "u")
    gradients = net.AddGradientOperators(["y"], wrt=["w", "u"])
    assert gradients == {"w": "w_grad", "u": "u_grad"}
    assert rows(net.ops[3:]) == [
        ("ConstantFill", ("y",), ("y_autogen_grad",)),
        ("MulGradient", ("h", "v", "y_autogen_grad"), ("h_grad",)),
        ("FCGradient", ("x", "w", "h_grad"), ("w_grad",)),
        ("ConstantFill", ("u",), ("u_grad",)),
    ]


def test_a_sum_that_was_broadcast_is_reduced() -> None:
    net = Net("net")
    net.Add(["x", "b"], "y")
    gradients = net.AddGradientOperators({"y": "dy"}, wrt=["b"])
    assert rows(net.ops[1:]) == [("SumReduceLike", ("dy", "b"), ("b_grad",))]
    assert gradients == {"b": "b_grad"}


def test_names_that_are_taken() -> None:
    net = Net("net")
    net.Sqr("x", "x_grad")
    net.Exp("x_grad", "y")
    first = net.AddGradientOperators(["y"])
    assert first == {"x": "x_grad_1", "x_grad": "x_grad_grad", "y": "y_autogen_grad"}
    assert net.AddGradientOperators(["y"], wrt=["x"]) == {"x": "x_grad_2"}


def test_devices_and_arguments() -> None:
    """The operator's; for a sum its first contribution's; for a seed its y's."""
    net = Net("net")
    net.Scale("x", "a", scale=3.0, device="cuda:1", name="first")
    net.Scale("x", "b", scale=2.0, device="cpu@node")
    net.Add(["a", "b"], "y", device="loss")
    ops, _ = IR(net.ops).GetBackwardPass(["y"])
    assert [(op.type, op.device) for op in ops] == [
        ("ConstantFill", "loss"),
        ("ScaleGradient", "cpu@node"),
        ("ScaleGradient", "cuda:1"),
        ("Sum", "cpu@node"),
    ]
    assert (ops[2].args, ops[2].name) == ({"scale": 3.0}, "first")


def test_constants_have_no_gradient() -> None:
    """Nor do the first operators that are skipped."""
    net = Net("net")
    net.ConstantFill([], "c", shape=[2], value=0.5)
    net.Mul(["c", "w"], "h")
    net.Sqr("h", "y")
    gradients = net.AddGradientOperators(["y"])
    assert set(gradients) == {"w", "h", "y"}
    assert set(net.AddGradientOperators(["y"], skip=2)) == {"h", "y"}


def test_a_list_names_a_y_twice() -> None:
    net = Net("net")
    net.Sqr("x", "y")
    ops, _ = IR(net.ops).GetBackwardPass(["y", "y"])
    assert (ops[0].type, ops[0].args) == ("ConstantFill", {"value": 2.0})


def test_equal_calls_give_equal_lists() -> None:
    net = Net("net")
    for k in range(4):
        net.Mul(["x", f"w{k}"], "x")
    found = [IR(net.ops).GetBackwardPass(["x"]) for _ in range(2)]
    assert found[0] == found[1]
    assert len(net.ops) == 4


@pytest.mark.parametrize("ys", [True, "y", 3, None, ("y",), GradientSlice("y", "y")])
def test_ys_of_a_wrong_type(ys: Any) -> None:
    net = Net("net")
    net.Sqr("x", "y")
    for refused in (net.AddGradientOperators, IR(net.ops).GetBackwardPass):
        with pytest.raises(TypeError, match="ys: expected a list or a dict"):
            refused(ys)


@pytest.mark.parametrize(
    ("ys", "message"),
    [({"y": 3}, "must be None, a blob or a GradientSlice"), ([3], "names"), ({3: None}, "names")],
)
def test_seeds_of_a_wrong_type(ys: Any, message: str) -> None:
    net = Net("net")
    net.Sqr("x", "y")
    with pytest.raises(ArgumentTypeError, match=message):
        net.AddGradientOperators(ys)


def test_unknown_blobs() -> None:
    net = Net("net")
    net.Sqr("x", "y")
    with pytest.raises(OperatorError, match='ys: the net has no blob "z"'):
        net.AddGradientOperators(["z"])
    with pytest.raises(OperatorError, match='wrt: the net has no blob "z"'):
        net.AddGradientOperators(["y"], wrt=["z"])
    with pytest.raises(ArgumentTypeError, match="skip"):
        net.AddGradientOperators(["y"], skip=-1)
    assert len(net.ops) == 1


def test_ir_of_operators() -> None:
    """IR takes operators that are in no net."""
    ops = [Operator("Sqr", ("x",), ("y",)), Operator("Exp", ("y",), ("y",))]
    found, gradients = IR(ops).GetBackwardPass(["y"])
    assert [op.type for op in found] == ["ConstantFill", "ExpGradient", "SqrGradient"]
    assert gradients["x"] == "x_grad"
    with pytest.raises(ArgumentTypeError, match="expected operators"):
        IR(["Sqr"])  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(OperatorError, match="expected 1 input"):
        IR([Operator("Sqr", (), ("y",))])
