"""Nets in nets: which blobs they read and change, and gradients through branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from caffe2_nets import run_net

from gradir.frontends.caffe2 import GradientSlice, Net, OperatorError, VersionError


def net_with(*rows: tuple[str, Any, Any], name: str = "inner") -> Net:
    net = Net(name)
    for kind, inputs, outputs in rows:
        net.add_op(kind, inputs, outputs)
    return net


def counting(limit: str = "limit") -> Net:
    """The condition's net of a loop: k counts up to a limit."""
    return net_with(("Add", ["k", "one"], "k"), ("LE", ["k", limit], "go"), name="test")


def counted(body: Net, trips: int, **options: Any) -> Net:
    """A net whose loop runs so often."""
    net = Net("net", **options)
    net.ConstantFill([], "k", value=0.0)
    net.ConstantFill([], "one", value=1.0)
    net.ConstantFill([], "limit", value=float(trips))
    net.While("go", [], loop_net=body, cond_net=counting())
    return net


def gradient(net: Net, y: str, x: str, feeds: dict[str, Any]) -> Any:
    name = net.AddGradientOperators([y], wrt=[x])[x]
    return run_net(net, feeds, [name])[str(name)]


# If.


def test_outputs_of_if() -> None:
    """Listed ones, and blobs outside that a branch writes; all else is private."""
    net = Net("net")
    net.Sqr("x", "y")
    then = net_with(("Exp", "x", "t"), ("Add", ["t", "y"], "y"), ("Sqr", "t", "z"))
    other = net_with(("Sqr", "x", "z"))
    assert net.If("c", ["z"], then_net=then, else_net=other) == ("z", "y")
    assert net.ops[-1].outputs == ("z", "y")
    assert net.external_inputs == ("x", "c")
    feeds = {"x": np.array(2.0), "c": np.array(True)}
    found = run_net(net, feeds, ["y", "z"])
    np.testing.assert_allclose(found["y"], 4 + np.exp(2.0))
    found = run_net(net, {**feeds, "c": np.array([False])}, ["y", "z"])
    assert (found["y"], found["z"]) == (4.0, 4.0)


@pytest.mark.parametrize(("taken", "expected"), [(True, 2.0), (False, 6.0)])
def test_a_blob_that_one_branch_overwrites(taken: bool, expected: float) -> None:
    """I2: without else the old value stays, and has the gradient."""
    net = Net("net")
    net.Scale("x", "y", scale=6.0)
    net.If("c", [], then_net=net_with(("Add", ["x", "x"], "y")))
    assert gradient(net, "y", "x", {"x": np.array(1.0), "c": np.array(taken)}) == expected


def test_values_around_a_branch() -> None:
    """I1, I3, I4: forwarded gradients, blobs read inside and outside, names of one letter."""
    net = Net("net")
    net.Copy("a", "y")
    net.If("c", ["y"], then_net=net_with(("Add", ["a", "b"], "y")))
    net.Mul(["y", "a"], "z")
    assert "c" not in net.copy().AddGradientOperators(["z"])
    feeds = {"a": np.array(2.0), "b": np.array(3.0), "c": np.array(True)}
    assert gradient(net, "z", "a", feeds) == 7.0
    assert gradient(net, "z", "b", feeds) == 2.0


def test_the_condition_may_be_overwritten() -> None:
    net = Net("net")
    net.LT(["x", "zero"], "c")
    net.If("c", ["y"], then_net=net_with(("Sqr", "x", "y")), else_net=net_with(("Copy", "x", "y")))
    net.Not("c", "c")
    assert gradient(net, "y", "x", {"x": np.array(-3.0), "zero": np.array(0.0)}) == -6.0


# While.


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_what_a_loop_reads(trips: int) -> None:
    """W1, W2: what the loop reads and does not write has a gradient of all turns, 0 of none."""
    net = counted(net_with(("Mul", ["h", "w"], "t"), ("Add", ["x", "t"], "x")), trips)
    feeds = {"h": np.array(7.0), "w": np.array(5.0), "x": np.array(2.0)}
    assert net.external_inputs == ("h", "w", "x")
    assert gradient(net, "x", "w", feeds) == 7.0 * trips
    assert gradient(net, "x", "x", feeds) == 1.0


def test_values_of_earlier_turns() -> None:
    """W3: each turn reads the value that it overwrites; W5: names of seeds do not matter."""
    net = counted(net_with(("Mul", ["x", "w"], "t"), ("Tanh", "t", "x")), 4)
    gradients = net.AddGradientOperators({"x": "x_grad"}, wrt=["x", "w"])
    feeds = {"x": np.array(0.5), "w": np.array(1.2), "x_grad": np.array(1.0)}
    found = net.compile(list(gradients.values()))(feeds)
    values = [float(found[str(name)]) for name in gradients.values()]
    np.testing.assert_allclose(values, [0.406275, 1.030297], rtol=1e-5)


def test_a_loop_without_a_net_for_its_condition() -> None:
    net = Net("net")
    net.LT(["x", "limit"], "c")
    net.While("c", [], loop_net=net_with(("Sqr", "x", "x"), ("LT", ["x", "limit"], "c")))
    feeds = {"x": np.array(2.0), "limit": np.array(10.0)}
    assert run_net(net, feeds, ["x", "c"]) == {"x": 16.0, "c": False}
    assert gradient(net, "x", "x", feeds) == 32.0


def test_the_condition_hands_blobs_to_the_loop() -> None:
    """Names that only a loop's two nets have."""
    test = counting()
    test.Scale("k", "u", scale=10.0)
    net = Net("net")
    for name, value in (("k", 0.0), ("one", 1.0), ("limit", 3.0)):
        net.ConstantFill([], name, value=value)
    net.While("go", [], loop_net=net_with(("Mul", ["u", "w"], "v"), ("Add", ["x", "v"], "x")),
              cond_net=test)  # fmt: skip
    feeds = {"w": np.array(2.0), "x": np.array(1.0)}
    assert run_net(net, feeds, ["x"])["x"] == 121.0
    assert gradient(net, "x", "w", feeds) == 60.0


def test_training_in_a_loop() -> None:
    """A nested net may have gradient operators, and the loop is differentiated all the same."""
    step = Net("step")
    step.Sqr("x", "y")
    step.AddGradientOperators(["y"], wrt=["x"])
    step.Scale("x_grad", "d", scale=-0.25)
    step.Add(["x", "d"], "x")
    net = counted(step, 3)
    feeds = {"x": np.array(8.0)}
    assert run_net(net, feeds, ["x"])["x"] == 1.0
    assert gradient(net, "x", "x", feeds) == 0.125


def test_slices_in_a_branch() -> None:
    """The rows that a branch gathers, and a sum over all rows outside of it."""
    net = Net("net")
    net.SumElements("E", "y")
    net.If("c", ["y"], then_net=net_with(("Gather", ["E", "i"], "g"), ("SumElements", "g", "y")))
    feeds = {"E": np.ones((3, 2)), "c": np.array(True), "i": np.array([1, 1])}
    assert gradient(net, "y", "E", feeds).tolist() == [[0, 0], [2, 2], [0, 0]]
    feeds["c"] = np.array(False)
    assert gradient(net, "y", "E", feeds).tolist() == [[1, 1]] * 3


def rows_of(net: Net, feeds: dict[str, Any], rows: int) -> tuple[int, Any]:
    """How many slices the gradient of E has, and their sum."""
    found = net.AddGradientOperators(["y"])["E"]
    assert isinstance(found, GradientSlice)
    for other in (net, Net.parse(str(net)), Net.parse(net.serialize())):
        values = other.compile([found])(feeds)
        total = np.zeros((rows, 2))
        np.add.at(total, values[found.indices], values[found.values])
    return len(values[found.indices]), total


@pytest.mark.parametrize("taken", [True, False])
def test_slices_of_branches(taken: bool) -> None:
    """What nets read by Gather alone has a GradientSlice, of as many rows as the branch that
    gathers most; so in a branch in a branch."""
    squared = (("Gather", ["E", "i"], "h"), ("SumElements", "h", "s"), ("Mul", ["s", "s"], "y"))
    nested = net_with()
    nested.If("c", ["y"], then_net=net_with(*squared), else_net=net_with(("Copy", "zero", "y")))
    net = Net("net")
    other = net_with(("Gather", ["E", "j"], "h"), ("SumElements", "h", "y"))
    net.If("c", ["y"], then_net=nested, else_net=other)
    feeds = {"E": np.ones((9, 2)), "c": np.array(taken), "zero": np.array(0.0),
             "i": np.array([1, 1]), "j": np.array([4])}  # fmt: skip
    count, total = rows_of(net, feeds, 9)
    assert count == 2
    expected = np.zeros((9, 2))
    expected[1 if taken else 4] = 16.0 if taken else 1.0
    np.testing.assert_array_equal(total, expected)


def test_slices_under_another_name() -> None:
    """Of a Do, and of a Gather beside it."""
    net = Net("net")
    inner = net_with(("Gather", ["T", "k"], "h"), ("SumElements", "h", "r"))
    net.Do(["E", "i"], ["s"], net=inner, inner_blobs=["T", "k", "r"], outer_blobs_idx=[0, 1, 2])
    net.Gather(["E", "j"], "g")
    net.SumElements("g", "t")
    net.Add(["s", "t"], "y")
    feeds = {"E": np.ones((9, 2)), "i": np.array([1, 1]), "j": np.array([4])}
    count, total = rows_of(net, feeds, 9)
    assert count == 3
    np.testing.assert_array_equal(total.sum(axis=1), [0, 4, 0, 0, 2, 0, 0, 0, 0])


@pytest.mark.parametrize("reads", ["dense", "gathered"])
def test_second_gradients_of_branches(reads: str) -> None:
    """Of a net with its gradient operators: the gradient of the sum of a GradientSlice's values."""
    ops = [("Gather", ["E", "i"], "h")] if reads == "gathered" else [("Copy", "E", "h")]
    cubed = net_with(
        *ops, ("Mul", ["h", "h"], "q"), ("Mul", ["q", "h"], "p"), ("SumElements", "p", "y")
    )
    net = Net("net")
    net.If("c", ["y"], then_net=cubed, else_net=net_with(("Copy", "zero", "y")))
    first = net.AddGradientOperators(["y"])["E"]
    values = first if isinstance(first, str) else first.values
    net.SumElements([values], ["z"])
    feeds = {"E": np.arange(6.0).reshape(3, 2), "c": np.array(True), "zero": np.array(0.0)}
    if reads == "gathered":
        feeds["i"] = np.array([0, 2])
    second = net.AddGradientOperators(["z"], wrt=["E"])["E"]
    found = run_net(net, feeds, [second])[str(second)]
    expected = 6 * feeds["E"]
    if reads == "gathered":
        expected[1] = 0
    np.testing.assert_allclose(found, expected)


def test_loops_in_branches_in_loops() -> None:
    """Writes go out to the net that has the blob, through all nets between."""
    inner = net_with(("Sqr", "x", "x"))
    middle = Net("middle")
    middle.LT(["k", "two"], "few")
    middle.If("few", [], then_net=inner)
    net = counted(middle, 3)
    feeds = {"x": np.array(3.0), "two": np.array(2.5)}
    assert run_net(net, feeds, ["x"])["x"] == 81.0
    assert gradient(net, "x", "x", feeds) == 108.0


def test_outputs_reach_nets_in_nets() -> None:
    """A blob that an output lists, or that a nested net declares, is the one of the net around."""
    then = net_with(("Sqr", "x", "y"))
    inner, net = Net("inner"), Net("net")
    inner.If("few", ["y"], then_net=then, else_net=net_with(("Copy", "x", "y")))
    net.If("c", ["y"], then_net=inner, else_net=net_with(("Exp", "x", "y")))
    feeds = {"x": np.array(3.0), "c": np.array(True), "few": np.array(True)}
    assert gradient(net, "y", "x", feeds) == 6.0
    body = Net("body")
    body.AddExternalInput("z")
    body.If("few", ["z"], then_net=net_with(("Sqr", "x", "z")))
    net = Net("net")
    net.If("c", [], then_net=body)
    assert net.external_inputs == ("c", "few", "x", "z")
    assert run_net(net, {**feeds, "z": np.array(0.0)}, ["z"])["z"] == 9.0


# Do.


def test_do() -> None:
    """Private names vanish, but for a later Do in the same workspace."""
    net = Net("net")
    net.CreateScope([], "W")
    net.Do(["x", "W"], ["y", "W"], net=net_with(("Exp", "x", "t"), ("Sqr", "t", "y")))
    net.Do(["W"], ["z", "W"], net=net_with(("Copy", "t", "z")), reuse_workspace=True)
    assert net.external_inputs == ("x",)
    assert net.default_fetch == ("y", "z")
    feeds = {"x": np.array(0.5)}
    found = run_net(net, feeds, ["y", "z"])
    np.testing.assert_allclose([found["y"], found["z"]], [np.exp(1.0), np.exp(0.5)])
    np.testing.assert_allclose(gradient(net, "z", "x", feeds), np.exp(0.5))
    for other in (Net.parse(str(net)), Net.parse(net.serialize())):
        assert other == net
        assert run_net(other, feeds, ["z"]) == {"z": found["z"]}


def test_do_with_bindings() -> None:
    """Inner names stand for blobs of other names."""
    net = Net("net")
    inner = net_with(("Mul", ["a", "b"], "c"), ("Sqr", "a", "a"))
    net.Do(["x", "w"], ["y"], net=inner, inner_blobs=["a", "b", "c"], outer_blobs_idx=[0, 1, 2])
    assert net.ops[0].outputs == ("y", "x")
    feeds = {"x": np.array(3.0), "w": np.array(2.0)}
    assert run_net(net, feeds, ["x", "y"]) == {"x": 9.0, "y": 6.0}
    assert gradient(net, "y", "x", feeds) == 2.0


# What is refused.


@pytest.mark.parametrize(
    ("kind", "args", "message"),
    [
        ("If", {}, "then_net: expected a Net"),
        ("If", {"then_net": 3}, "then_net: expected a Net"),
        ("While", {"cond_net": Net("n")}, "loop_net: expected a Net"),
        ("If", {"then_net": net_with(("Sqr", "x", "y"))}, '"y" has no value before it, and a br'),
        ("While", {"loop_net": net_with(("Sqr", "x", "y"))}, "the loop may not run"),
    ],
)
def test_refused(kind: str, args: dict[str, Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        Net("net").add_op(kind, "c", ["y"], **args)


@pytest.mark.parametrize(
    ("inner", "names", "places", "message"),
    [
        (net_with(("Sqr", "a", "b")), ["a"], [0, 1], "inner_blobs"),
        (net_with(("Sqr", "q", "b")), ["a", "b"], [0, 1], '"q" is read in the net and bound to no'),
        (net_with(("Sqr", "a", "b")), ["a", "b"], [0, 5], "outer_blobs_idx"),
        (net_with(("Sqr", "a", "b")), ["a", "b"], [0, 0], "one to one"),
        (net_with(("Sqr", "a", "b")), ["a", "b"], ["c", "d"], "inner_blobs"),
        (net_with(("Sqr", "a", "b")), [1, 2], [0, 1], "inner_blobs"),
    ],
)
def test_bindings_refused(inner: Net, names: Any, places: Any, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        Net("net").Do(["x"], ["y"], net=inner, inner_blobs=names, outer_blobs_idx=places)


def test_nested_too_deeply() -> None:
    net = net_with(("Sqr", "x", "x"))
    with pytest.raises(OperatorError, match="nest more than 32 deep"):
        for _ in range(60):
            outer = Net("net")
            outer.If("c", [], then_net=net)
            net = outer


def test_types_that_change() -> None:
    """A loop carries values of one shape; a condition is one bool."""
    net, body = Net("net"), Net("body")
    body.ExpandDims("x", "x", dims=[0])
    net.While("c", [], loop_net=body)
    with pytest.raises(OperatorError, match=r"While -> x: .*types of init"):
        net.to_module({"c": np.array(True), "x": np.ones(2)})
    net = Net("net")
    net.If("c", [], then_net=net_with(("Sqr", "x", "x")))
    with pytest.raises(OperatorError, match='If -> x: condition "c" must be one bool'):
        net.to_module({"c": np.array(1.0), "x": np.ones(2)})


# Under strict_versions.


def test_strict_versions() -> None:
    """What Caffe2 refuses in a nested net is refused, all else is right."""
    body = net_with(("Mul", ["x", "w"], "t"), ("Tanh", "t", "x"))
    with pytest.raises(VersionError, match='version 0 of "x"'):
        counted(body, 2, strict_versions=True).AddGradientOperators(["x"])
    net = counted(net_with(("Mul", ["h", "w"], "t"), ("Add", ["x", "t"], "x")), 3,
                  strict_versions=True)  # fmt: skip
    feeds = {"h": np.array(7.0), "w": np.array(5.0), "x": np.array(2.0)}
    assert gradient(net, "x", "w", feeds) == 21.0
    net = Net("net", strict_versions=True)
    net.LT(["x", "zero"], "c")
    net.If("c", ["y"], then_net=net_with(("Sqr", "x", "y")), else_net=net_with(("Copy", "x", "y")))
    net.Not("c", "c")
    with pytest.raises(VersionError, match='version 0 of "c"'):
        net.AddGradientOperators(["y"])
