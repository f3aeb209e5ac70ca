"""Nets as objects: how they grow, what they read and fetch, and operators of one's own."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError
from gradir.frontends.caffe2 import (
    GradientSlice,
    Net,
    Operator,
    OperatorError,
    VersionError,
    register,
)


def mlp() -> tuple[Net, Any]:
    net = Net("mlp")
    assert net.FC(["x", "w", "b"], "y") == "y"
    assert net.add_op("Relu", "y", "y") == "y"
    net.AveragedLoss("y", "loss")
    return net, net.AddGradientOperators(["loss"], wrt=["w", "b"])


def feeds(dtype: str = "float64") -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 3), "w": (2, 3), "b": (2,)}
    return {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


def test_ops_and_externals() -> None:
    net, grads = mlp()
    assert grads == {"w": "w_grad", "b": "b_grad"}
    assert net.external_inputs == ("x", "w", "b")
    assert [op.type for op in net.ops[:4]] == ["FC", "Relu", "AveragedLoss", "ConstantFill"]
    assert net.ops[0] == Operator("FC", ("x", "w", "b"), ("y",))
    assert net.Split("y", ["p", "q"]) == ("p", "q")
    assert net.Print("y", []) == ()
    net.AddExternalInput("u", "w")
    net.AddExternalInput(["v"])
    assert net.external_inputs == ("x", "w", "b", "u", "v")
    net.AddExternalOutput("loss")
    assert net.external_outputs == ("loss",)


def test_equality() -> None:
    first, second = mlp()[0], mlp()[0]
    assert first == second and first.copy() == first and first != "mlp"
    second.AddExternalOutput("loss")
    assert first != second
    assert repr(first) == "<Net 'mlp' of 7 operators>"


def test_nested_nets_are_copied() -> None:
    inner, net = Net("inner"), Net("net")
    inner.Sqr("x", "x")
    net.If("c", [], then_net=inner)
    inner.Exp("x", "x")
    run = net.compile(["x"])
    assert run({"c": np.array(True), "x": np.array(3.0)})["x"] == 9.0
    net.Exp("x", "x")
    assert run({"c": np.array(True), "x": np.array(3.0)})["x"] == 9.0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_types_are_kept(dtype: str) -> None:
    """Also of gradients, and beside constants without a type."""
    net, grads = mlp()
    net.ConstantFill([], "half", shape=[1], value=0.5)
    net.Mul(["w", "half"], "v")
    net.WeightedSum(["w", "half", grads["w"], "half"], "u")
    net.ConstantFill([], "ones", shape=[2, 2], value=1)
    net.Reshape("half", ["flat", "old"], shape=[1, 1])
    net.Mul(["flat", "ones"], "halves")
    net.MatMul(["halves", "w"], "t")
    net.Cast("half", "double", to="double")
    out = net.compile([*grads.values(), "v", "u", "t"])(feeds(dtype))
    assert {a.dtype.name for a in out.values()} == {dtype}
    net.Mul(["v", "double"], "d")
    assert net.compile(["d"])(feeds(dtype))["d"].dtype == "float64"


def test_default_fetch() -> None:
    """Outputs, else ys and gradients, else what nothing reads."""
    net = Net("net")
    net.Split("x", ["a", "b"], axis=0)
    net.Sqr("a", "c")
    assert set(net.compile()({"x": np.ones(2)})) == {"b", "c"}
    net.AddGradientOperators(["c"], wrt=["x"])
    assert set(net.compile()({"x": np.ones(2)})) == {"c", "x_grad"}
    net.AddExternalOutput("a")
    assert set(net.compile()({"x": np.ones(2)})) == {"a"}


def test_fetch() -> None:
    """Names, versions that were overwritten, both parts of a slice; seeds that nothing reads."""
    net = Net("net")
    net.Sqr("x", "x")
    net.Gather(["x", "i"], "y")
    slices = net.AddGradientOperators({"y": "dy"})["y"]
    assert (slices, net.external_inputs) == ("dy", ("x", "i", "dy"))
    fed = {"x": np.array([3.0, 2.0]), "i": np.array([[1]]), "dy": np.array([[7.0]])}
    out = net.compile(["x@0", "x", GradientSlice("i", "dy")])(fed)
    assert {k: v.tolist() for k, v in out.items()} == {
        "x@0": [3.0, 2.0], "x": [9.0, 4.0], "i": [1], "dy": [7.0],
    }  # fmt: skip
    assert net.compile("y")(fed)["y"].tolist() == [[4.0]]


def test_run() -> None:
    """It is compiled for the shapes of a call, and kept."""
    net, grads = mlp()
    run = net.compile(fetch=["loss", grads["w"]], threads=1)
    with pytest.raises(ArgumentError, match="compiled when it is called first"):
        _ = run.module
    first = run(feeds())
    assert run.module.functions == ("mlp",)
    assert run.plan.peak_bytes > 0 and "define" in run.llvm_ir
    module = run.module
    wide = {**feeds(), "x": np.ones((9, 3))}
    assert run(wide)["loss"].shape == () and run.module is not module
    np.testing.assert_array_equal(run(feeds())["w_grad"], first["w_grad"])
    assert run.module is module


def test_to_module() -> None:
    """Specs by name or in order; the program is like any other and can be differentiated."""
    net = Net("half square")
    net.Sqr("x", "y")
    net.Mul(["y", "h"], "y")
    specs = {"h": gradir.Spec(()), "x": gradir.Spec((3,))}
    module = net.to_module(specs)
    assert str(module) == str(net.to_module([gradir.Spec((3,)), gradir.Spec(())], ["y"]))
    assert module.functions == ("half square",)
    ahead = module.gradient("half square", wrt=[0], mode="vjp")
    ones = np.ones(3)
    _, grad = gradir.compile(ahead, "half square_vjp")(3 * ones, np.array(0.5), ones)
    np.testing.assert_array_equal(grad, 3 * ones)


@pytest.mark.parametrize(
    ("fed", "message"),
    [
        ({"x": 1.0}, 'net: missing input "w"; inputs: x, w'),
        ({"x": 1.0, "w": 1.0, "v": 2.0}, 'net: unknown input "v"'),
    ],
)
def test_wrong_feeds(fed: Any, message: str) -> None:
    net = Net("net")
    net.Mul(["x", "w"], "y")
    with pytest.raises(OperatorError, match=message):
        net.compile()(fed)


def test_wrong_arguments() -> None:
    net = Net("net")
    net.Sqr("x", "y")
    with pytest.raises(OperatorError, match='fetch: the net has no blob "z"'):
        net.compile(["z"])({"x": 1.0})
    with pytest.raises(OperatorError, match='no blob "x@1"'):
        net.compile(["x@1"])({"x": 1.0})
    for wrong in (3, [3]):
        with pytest.raises(ArgumentTypeError, match="fetch: expected"):
            net.compile(wrong)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match="feeds: expected a dict"):
        net.compile()([1.0])  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentError, match="the net has 1 inputs, got 2 specs"):
        net.to_module([1.0, 2.0])
    with pytest.raises(ArgumentTypeError, match="Net: expected a name"):
        Net("")
    with pytest.raises(ArgumentTypeError, match="expected a name or a list of names, got 3"):
        net.Sqr(3, "y")
    with pytest.raises(ArgumentTypeError, match="expected names of blobs, got 3"):
        net.Sqr([3], "y")
    with pytest.raises(ArgumentTypeError, match="expected a number, a string, a Net or a list"):
        net.Scale("x", "y", scale=object())
    with pytest.raises(ArgumentTypeError, match="device must be a string"):
        net.add_op("Sqr", "x", "y", device=3)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(AttributeError, match="no operator type 'Sqare'"):
        net.Sqare("x", "y")


def state_of(net: Net) -> tuple[Any, ...]:
    return net.ops, net.external_inputs, net.external_outputs, net.default_fetch, list(net.loose)


@pytest.mark.parametrize(
    ("ys", "wrt"), [(["none"], None), (["y"], ["none"]), (3, None), ({"y": 4}, None), (["x"], None)]
)
def test_what_is_refused_changes_nothing(ys: Any, wrt: Any) -> None:
    """Neither gradients of unknown blobs, nor those that strict versions refuse, nor operators."""
    net = Net("net", strict_versions=True)
    net.Exp("x", "y")
    net.Mul(["y", "x"], "x")
    net.Sqr("x", "x")
    before = state_of(net)
    with pytest.raises((ArgumentTypeError, OperatorError, VersionError)):
        net.AddGradientOperators(ys, wrt=wrt)
    inner = Net("inner")
    inner.Sqr("x", "new")
    for refused in (
        lambda: net.Relu(["x", "z"], "new"),
        lambda: net.If("c", ["new", "other"], then_net=inner),
        lambda: net.AddExternalInput("new", ""),
        lambda: net.AddExternalOutput("new", cast(Any, 3)),
    ):
        with pytest.raises((ArgumentTypeError, OperatorError)):
            refused()
    assert state_of(net) == before


def test_a_version_that_there_is_not() -> None:
    """A gradient operator that reads one is refused when the net is used, not a blob's name."""
    net = Net("net")
    net.append(Operator("Exp", ("x@1",), ("y",), is_gradient_op=True))
    assert net.external_inputs == ("x",)
    message = 'Exp: it reads version 1 of "x", whose last one is 0'
    for use in (lambda: net.to_module([np.ones(2)]), lambda: net.AddGradientOperators(["y"])):
        with pytest.raises(OperatorError, match=message):
            use()


@pytest.mark.parametrize("number", [3, -4, 2**62])
def test_a_run_that_fails_changes_nothing(number: int) -> None:
    """An index out of range: feeds and earlier results stay as they are, and the next run works."""
    net = Net("net")
    net.Scale("x", "x", scale=2.0)
    net.ScatterAdd(["x", "i", "v"], "x")
    net.Scale("v", "v", scale=2.0)
    run = net.compile(["x", "v"], threads=1)
    fed = {"x": np.ones((3, 2)), "i": np.array([0, 2]), "v": np.ones((2, 2))}
    kept = {name: value.copy() for name, value in fed.items()}
    results = run(fed)
    copies = {name: value.copy() for name, value in results.items()}
    with pytest.raises(GradirError, match=f"index {number} is out of range for a size of 3"):
        run({**fed, "i": np.array([0, number])})
    for now, before in ((fed, kept), (results, copies), (run(fed), copies)):
        for name, value in before.items():
            np.testing.assert_array_equal(now[name], value)


def test_many_gradients_of_one_name() -> None:
    """A net that overwrites one blob has gradients x_grad, x_grad_1 and so on, found in order."""
    net = Net("net")
    for _ in range(5):
        net.Tanh("x", "x")
    net.AddGradientOperators(["x"])
    made = [op.outputs[0] for op in net.ops[6:]]
    assert made == ["x_grad", "x_grad_1", "x_grad_2", "x_grad_3", "x_grad_4"]


def test_errors_have_the_place_of_the_operator() -> None:
    net = Net("net")
    net.FC(["x", "w"], "y")  # the error is here
    with pytest.raises(OperatorError) as caught:
        net.to_module([np.ones((2, 3)), np.ones((2, 4))])
    assert caught.value.diagnostic is not None
    assert str(caught.value.diagnostic.file).endswith("test_net.py")
    assert "# the error is here" in str(caught.value)


def test_own_operators() -> None:
    """Their gradients follow from their ops, or from a custom_vjp; a type may be made again."""

    @register("Cubed")
    def cubed(x: Any, scale: float = 1.0) -> Any:
        return x * x * x * scale

    @register("SumAndDifference", inputs=2, outputs=2)
    def both(x: Any, y: Any) -> Any:
        return x + y, x - y

    net = Net("net")
    net.Cubed("x", "x", scale=2.0)
    net.SumAndDifference(["x", "w"], ["s", "d"])
    net.Mul(["s", "d"], "y")
    [name] = net.AddGradientOperators(["y"], wrt=["x"]).values()
    fed = {"x": np.array(2.0), "w": np.array(3.0)}
    assert net.compile([name])(fed)[str(name)] == 2 * 16 * 6 * 4
    with pytest.raises(OperatorError, match="Cubed: unknown argument scal; arguments: scale"):
        net.Cubed("x", "y", scal=2.0)

    def negated(x: Any, *rest: Any) -> Any:
        return -x

    register("Cubed", inputs=(1, 2))(negated)
    other = Net("net")
    other.Cubed(["x", "w"], "y")
    assert other.compile(["y"])(fed)["y"] == -2.0
    assert (cubed(2.0), both(1.0, 2.0)) == (8.0, (3.0, -1.0))  # they stay functions


def test_arguments_of_own_operators() -> None:
    """An argument may take the place of an input that is not there, not of one that is."""

    @register("Between")
    def between(x: Any, /, low: Any = 0.0, high: Any = 1.0, **options: Any) -> Any:
        return gnp.clip(x, low, high) * options.get("scale", 1.0)

    net = Net("net")
    net.Between(["x", "low"], "y", high=2.0, scale=3.0, x=7.0)
    assert net.compile(["y"])({"x": np.array([0.0, 5.0]), "low": 1.0})["y"].tolist() == [3.0, 6.0]
    with pytest.raises(OperatorError, match="Between: low is one of its inputs, and an argument"):
        net.Between(["x", "low"], "y", low=2.0)
    with pytest.raises(OperatorError, match="Between: expected 1 to 3 inputs, got 4"):
        net.Between(["x", "x", "x", "x"], "y")


def test_own_operators_with_a_derivative_of_their_own() -> None:
    @gradir.custom_vjp
    def straight(x: Any) -> Any:
        return gnp.round(x)

    def ahead(x: Any) -> tuple[Any, None]:
        return straight(x), None

    def back(residuals: None, ct: Any) -> tuple[Any]:
        return (ct * 3.0,)

    straight.defvjp(ahead, back)
    register("Straight", inputs=1)(straight)
    net = Net("net")
    net.Straight("x", "y")
    net.Sqr("y", "y")
    [name] = net.AddGradientOperators(["y"], wrt=["x"]).values()
    out = net.compile(["y", name])({"x": np.array(1.7)})
    assert (out["y"], out[str(name)]) == (4.0, 12.0)


def test_second_net_in_the_same_process() -> None:
    """Nets print nothing and share nothing."""
    first, second = mlp()[0], mlp()[0]
    with redirect_stdout(io.StringIO()) as shown:
        results = [net.compile(["loss"])(feeds())["loss"] for net in (first, second)]
    assert results[0] == results[1] and shown.getvalue() == ""


def test_errors_of_the_program_are_at_its_first_operator() -> None:
    """Not where gradir traces it."""
    net = Net("net")
    net.Tanh("x", "y")
    net.Tanh("y", "z")
    place: Any = net.ops[0].place
    module = net.to_module({"x": np.ones(64)}, ["z"])
    with pytest.raises(gradir.GradirError, match="infeasible") as caught:
        module.gradient("net", memory_limit=8)
    assert f"test_net.py:{place.line.data}:" in str(caught.value)
    assert "compiled.py" not in str(caught.value)
