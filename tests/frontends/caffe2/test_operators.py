"""Each type of operators against NumPy, and its gradient against central differences."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from caffe2_nets import gradients, run_net
from caffe2_operators import OPERATORS as OTHERS
from caffe2_operators import Row
from caffe2_updates import UPDATES

from gradir.frontends.caffe2 import Net, Operator, OperatorError
from gradir.frontends.caffe2.table import TYPES, WITHOUT_EFFECT

OPERATORS = (*OTHERS, *UPDATES)
# They are tested by themselves: nets, chance, effects, rates, and a gradient that is none.
ELSEWHERE = {
    *("If", "While", "Do", "Print", "ZeroGradient", "NegateGradient"),
    *("UniformFill", "GaussianFill", "XavierFill", "MSRAFill", "LearningRate"),
}


def label(row: Row) -> str:
    return row.label


def net_of_row(row: Row) -> tuple[Net, list[str], list[str]]:
    """A net of the operator alone, its inputs and its outputs."""
    net = Net("net")
    inputs = [f"x{k}" for k in range(len(row.inputs))]
    outputs = [f"y{k}" for k in range(row.outputs)]
    net.append(Operator(row.type, tuple(inputs), tuple(outputs), row.args))
    return net, inputs, outputs


def results(row: Row, *xs: Any) -> list[Any]:
    found = row.reference(*xs)
    return [*cast("tuple[Any, ...]", found)] if isinstance(found, tuple) else [found]


def test_each_type_has_a_row() -> None:
    builtin = {name for name, kind in TYPES.items() if kind.builtin}
    assert {row.type for row in OPERATORS} | ELSEWHERE == builtin
    assert len(builtin) > 80


@pytest.mark.parametrize("row", OPERATORS, ids=label)
def test_value(row: Row) -> None:
    """Results, their shapes and types; also where the first result takes the place of an input."""
    net, inputs, outputs = net_of_row(row)
    feeds = dict(zip(inputs, row.inputs, strict=True))
    found = run_net(net, feeds, outputs)
    expected = results(row, *row.inputs)
    for name, value in zip(outputs, expected, strict=True):
        assert (found[name].shape, found[name].dtype) == (np.shape(value), np.asarray(value).dtype)
        np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-13)
    if inputs:
        again = Net("net")
        again.append(Operator(row.type, tuple(inputs), (inputs[0], *outputs[1:]), row.args))
        np.testing.assert_array_equal(run_net(again, feeds, [inputs[0]])[inputs[0]], found["y0"])


@pytest.mark.parametrize("row", [r for r in OPERATORS if r.active], ids=label)
def test_gradient(row: Row) -> None:
    """Gradients of the active inputs for cotangents of all floating results; none of others."""
    net, inputs, outputs = net_of_row(row)
    feeds = dict(zip(inputs, row.inputs, strict=True))
    rng = np.random.default_rng(0)
    values = zip(outputs, results(row, *row.inputs), strict=True)
    seeds = {n: rng.normal(size=np.shape(v)) for n, v in values if np.asarray(v).dtype == float}
    if row.type == "SpatialBN":
        seeds = {"y0": seeds["y0"]}  # the state has no gradient
    wrt = [inputs[k] for k in row.active]
    is_exact = row.type in ("Add", "Sub")
    found, _ = gradients(net, seeds, wrt, feeds, is_exact=is_exact, is_native=False)
    for k in row.active:
        expected = differences(row, k, seeds, outputs)
        np.testing.assert_allclose(found[inputs[k]], expected, rtol=1e-6, atol=1e-7)


def differences(row: Row, k: int, seeds: dict[str, Any], outputs: list[str]) -> Any:
    """Central differences of the reference in one input."""

    def loss(x: Any) -> float:
        values = results(row, *row.inputs[:k], x, *row.inputs[k + 1 :])
        named = dict(zip(outputs, values, strict=True))
        return float(sum(np.sum(named[name] * seed) for name, seed in seeds.items()))

    value, step = np.array(row.inputs[k]), 1e-5
    made = np.zeros_like(value)
    for at in np.ndindex(value.shape):
        up, down = value.copy(), value.copy()
        up[at] += step
        down[at] -= step
        made[at] = (loss(up) - loss(down)) / (2 * step)
    return made


@pytest.mark.parametrize("row", [r for r in OPERATORS if not r.active], ids=label)
def test_no_gradient(row: Row) -> None:
    """The inputs of an operator without gradient have none."""
    net, inputs, outputs = net_of_row(row)
    assert set(net.AddGradientOperators(outputs)) == set(outputs)
    assert net.AddGradientOperators(outputs, wrt=inputs).keys() == set(inputs)


def test_dropout() -> None:
    """Its mask marks kept elements, where the gradient passes; other operators draw others."""
    x = np.arange(1.0, 2001.0)
    net = Net("net")
    net.Dropout("x", ["y", "mask"], ratio=0.25)
    net.Dropout("x", ["z", "other"], ratio=0.25)
    [grad] = net.AddGradientOperators(["y"], wrt=["x"]).values()
    out = net.compile(["y", "mask", "other", grad])({"x": x})
    np.testing.assert_allclose(out["y"], np.where(out["mask"], x / 0.75, 0))
    np.testing.assert_allclose(out[str(grad)], np.where(out["mask"], 1 / 0.75, 0))
    assert 0.7 < out["mask"].mean() < 0.8
    assert (out["mask"] != out["other"]).any()


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    """It prints once a run, and gradients pass it by."""
    net = Net("net")
    net.Print("x", [])
    net.Sqr("x", "y")
    [grad] = net.AddGradientOperators(["y"], wrt=["x"]).values()
    run = net.compile([grad])
    assert run({"x": np.array([3.0])})[str(grad)] == [6.0]
    assert capfd.readouterr().out == "x: [3.]\n"


def test_print_in_nested_nets(capfd: pytest.CaptureFixture[str]) -> None:
    """Once in each turn of a loop, also where its gradient is differentiated."""
    body, test, net = Net("body"), Net("test"), Net("net")
    body.Mul(["x", "w"], "x")
    body.Print("x", [])
    test.LT(["x", "end"], "go")
    net.While("go", [], loop_net=body, cond_net=test)
    [first] = net.AddGradientOperators(["x"], wrt=["w"]).values()
    [second] = net.AddGradientOperators([str(first)], wrt=["w"]).values()
    out = net.compile([first, second])({"x": 1.0, "w": 3.0, "end": 10.0})
    assert [float(out[str(name)]) for name in (first, second)] == [27.0, 18.0]
    assert capfd.readouterr().out == "x: 3.0\nx: 9.0\nx: 27.0\n"


@pytest.mark.parametrize(
    ("type_", "inputs", "outputs", "args", "message"),
    [
        ("Mul", ["a"], "y", {}, "Mul: expected 2 inputs, got 1"),
        ("Relu", "a", [], {}, "Relu: expected 1 output, got 0"),
        ("Sum", [], "y", {}, "Sum: expected 1 or more inputs, got 0"),
        ("FC", ["a"], "y", {}, "FC: expected 2 to 3 inputs, got 1"),
        ("Reul", "a", "y", {}, "Reul: no such operator type"),
        ("Scale", "a", "y", {"scal": 2.0}, "Scale: unknown argument scal; arguments: scale"),
        ("Split", "a", ["y", "y"], {}, "Split: output y is given twice"),
        ("Relu", "a@0", "y", {}, "'a@0' is no name for a blob"),
        ("Relu", "", "y", {}, "name must not be empty"),
        ("ConstantFill", [], "y", {"value": 2**63}, "integers must fit in 64 bits"),
        ("GivenTensorFill", [], "y", {"values": [1, "a"]}, "items must be of one kind"),
    ],
)
def test_refused_at_once(
    type_: str, inputs: Any, outputs: Any, args: dict[str, Any], message: str
) -> None:
    with pytest.raises(OperatorError, match=message):
        Net("net").add_op(type_, inputs, outputs, **args)


@pytest.mark.parametrize(
    ("type_", "inputs", "args", "shapes", "message"),
    [
        ("FC", ["a", "b", "c"], {}, [(2, 3), (4, 5), (4,)], "x has 3 elements, a row of w 5"),
        ("Add", ["a", "b"], {}, [(2, 3), (2,)], "Add -> y: .*broadcast"),
        ("Add", ["a", "b"], {"broadcast": 1, "axis": 2}, [(2, 3), (2,)], "does not fit at axis 2"),
        ("Add", ["a", "b"], {"broadcast": 1}, [(1, 3), (2, 3)], r"\[2, 3\] must fit axes of ext"),
        ("Sum", ["a", "b"], {}, [(2, 3), (3,)], "Sum -> y: inputs must have one shape"),
        ("Split", ["a"], {"split": [1, 1]}, [(2, 3)], "Split -> y, z: .*extents of sum 3"),
        ("Concat", ["a"], {"axis": 2}, [(2, 3)], r"axis: expected one in \[-2, 2\)"),
        ("Reshape", ["a"], {"shape": [4, 2]}, [(2, 3)], "Reshape -> y, z: "),
        ("Pow", ["a"], {}, [(2,)], "either a second input or the argument exponent"),
        ("Conv", ["a", "b"], {"kernel": 2}, [(1, 1, 4, 4), (1, 1, 3, 3)], "the filter has"),
        ("MaxPool", ["a"], {}, [(1, 1, 4, 4)], "kernel: expected the extents"),
        ("Cast", ["a"], {"to": "complex"}, [(2,)], "element type: expected one of"),
        ("Cast", ["a"], {"to": "M8[s/0]"}, [(2,)], "element type: expected one of"),
        ("Cast", ["a"], {"to": "f\udc90"}, [(2,)], "element type: expected one of"),
        ("Scale", ["a"], {"scale": "two"}, [(2,)], "Scale -> y: "),
        ("LabelCrossEntropy", ["a", "b"], {}, [(2, 3), (3,)], "labels: expected one for each"),
        ("WeightedSum", ["a", "b", "a"], {}, [(2,), (1,)], "expected a weight behind each"),
        ("WeightedSum", ["a", "a"], {}, [(2,)], "weight: expected one element"),
        ("ConstantFill", ["a"], {"shape": [1]}, [(2,)], "the input has the shape already"),
        ("ConstantFill", [], {"extra_shape": [2]}, [], "there is no input whose shape"),
        ("ConstantFill", ["a"], {"input_as_shape": 1}, [(2,)], "shapes are known when a net"),
    ],
)
def test_refused_for_its_shapes(
    type_: str, inputs: Any, args: dict[str, Any], shapes: Any, message: str
) -> None:
    net = Net("net")
    net.add_op(type_, inputs, ["y", "z"] if "y, z" in message else "y", **args)
    feeds = {n: np.ones(s) for n, s in zip(net.external_inputs, shapes, strict=True)}
    with pytest.raises(OperatorError, match=message):
        net.to_module(feeds)


def test_arguments_without_effect() -> None:
    """What says how Caffe2 computes is taken of any operator."""
    net = Net("net")
    for name in WITHOUT_EFFECT - {"order"}:
        net.append(Operator("Relu", ("x",), ("x",), {name: 1}))
    assert run_net(net, {"x": np.array([-1.0, 2.0])}, ["x"])["x"].tolist() == [0.0, 2.0]
