"""ONNX models: networks beside PyTorch, extents, bound inputs, control flow, and bad files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx: Any = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import gradir  # noqa: E402
import gradir.numpy as gnp  # noqa: E402
from gradir.frontends.imported.onnx_rules.table import ONNX  # noqa: E402
from gradir.frontends.onnx import ImportedProgramError, load  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
value = helper.make_tensor_value_info


X3 = [value("x", FLOAT, [3])]
Y3 = [value("y", FLOAT, [3])]


def model_of(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Any = None,
             opset: int = 18) -> Any:  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(w), n) for n, w in (weights or {}).items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


# Networks of PyTorch.


def networks() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    from onnx_networks import Attention, Residual, Sequence

    torch.manual_seed(0)
    found = {
        "residual block": (Residual().eval(), torch.randn(2, 3, 8, 8)),
        "transformer block": (Attention().eval(), torch.randn(2, 5, 16)),
        "LSTM": (Sequence().eval(), torch.randn(2, 6, 5)),
    }
    for module, _ in found.values():  # the exporter writes equal weights once
        for parameter in module.parameters():
            parameter.data += 0.1 * torch.rand_like(parameter)
    return found


@pytest.mark.parametrize("name", ["residual block", "transformer block", "LSTM"])
@pytest.mark.filterwarnings("ignore")
def test_networks_beside_torch(name: str, tmp_path: Path) -> None:
    module, x = networks()[name]
    import torch

    path = tmp_path / "net.onnx"
    torch.onnx.export(module, (x,), path, dynamo=False, opset_version=17)
    model = load(path)
    wanted = module(x)
    np.testing.assert_allclose(
        model(model.parameters, x.numpy()), wanted.detach(), rtol=1e-5, atol=1e-6
    )

    def loss(parameters: Any, x: Any) -> Any:
        return gnp.sum(gnp.square(model(parameters, x)))

    found, to_x = gradir.grad(loss, argnums=(0, 1))(model.parameters, x.numpy())
    x.requires_grad_()
    torch.square(module(x)).sum().backward()
    np.testing.assert_allclose(to_x, x.grad, rtol=1e-4, atol=1e-5)
    named = dict(module.named_parameters())
    shared = found.keys() & named.keys()
    assert len(shared) >= 2
    for each in shared:
        np.testing.assert_allclose(found[each], named[each].grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["residual block", "transformer block", "LSTM"])
@pytest.mark.filterwarnings("ignore")
def test_networks_beside_onnxruntime_and_trained(name: str, tmp_path: Path) -> None:
    """onnxruntime's results, before and after `gradir.Trainer` moves the weights."""
    runtime = pytest.importorskip("onnxruntime")
    module, x = networks()[name]
    import torch

    path = tmp_path / "net.onnx"
    torch.onnx.export(module, (x,), path, dynamo=False, opset_version=17)

    def agrees(model: Any) -> None:
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        [wanted] = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(model(model.parameters, x.numpy()), wanted, 1e-4, 1e-5)

    model = load(path)
    agrees(model)
    target = np.asarray(model(model.parameters, x.numpy())) + 0.5

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return gnp.mean(gnp.square(model(parameters, x) - y))

    trainer = gradir.Trainer(loss, gradir.optim.adam(0.01), model.parameters)
    found = trainer.fit([(x.numpy(), target)], 40).epochs["loss"]
    assert found[-1] < 0.2 * found[0]
    proto = onnx.load(path)
    for tensor in proto.graph.initializer:
        if tensor.name in trainer.params:
            moved = np.asarray(trainer.params[tensor.name])
            tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    onnx.save(proto, path)
    agrees(load(path))


# The function.


def affine() -> Any:
    return model_of(
        [node("MatMul", ["x", "w"], ["h"]), node("Tanh", ["h"], ["t"]),
         node("Add", ["t", "b"], ["y"])],
        [value("x", FLOAT, ["n", 3])], [value("y", FLOAT, ["n", 2])],
        {"w": np.ones((3, 2), np.float32), "b": np.zeros(2, np.float32)},
    )  # fmt: skip


def test_parameters_and_inputs() -> None:
    model = load(affine())
    assert model.parameters.keys() == {"w", "b"}
    assert list(model.inputs) == ["x"]
    assert model.inputs["x"].shape == ("n", 3)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(
        model(model.parameters, x=x), np.tanh(x @ np.ones((3, 2))), rtol=1e-6
    )
    assert model({"w": model.parameters["w"], "b": np.ones(2, np.float32)}, x).shape == (2, 2)


def test_trace_is_a_module_with_named_arguments() -> None:
    text = str(load(affine(), bind={"n": 4}).trace())
    assert "@net(%w: tensor<3x2xf32>, %b: tensor<2xf32>, %x: tensor<4x3xf32>)" in text
    with pytest.raises(
        gradir.GradirError, match=r"extents of input 'x', float32.n, 3., must be known"
    ):
        load(affine()).trace()


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([np.ones((2, 3))], r"input 'x' is float32\[n, 3\], got float64\[2, 3\]"),
        ([np.ones((2, 4), np.float32)], r"input 'x' is float32\[n, 3\], got float32\[2, 4\]"),
        ([np.ones((2, 3), np.float32)] * 2, "its inputs are x; got 2"),
        ([], "its inputs are x; got 0"),
    ],
)
def test_wrong_inputs(inputs: list[Any], text: str) -> None:
    model = load(affine())
    with pytest.raises(gradir.GradirError, match=text):
        model(model.parameters, *inputs)


def test_numbers_are_constants_unless_named() -> None:
    """An optimizer must not move the limits of a Clip."""
    nodes = [node("Mul", ["x", "w"], ["h"]), node("Clip", ["h", "low", "high"], ["y"])]
    weights = {"w": np.full(3, 2, np.float32), "low": np.float32(0), "high": np.float32(6)}
    proto = model_of(nodes, X3, Y3, weights)
    assert load(proto).parameters.keys() == {"w"}
    model = load(proto, parameters=["high"])
    x = np.array([1, 2, 4], np.float32)
    found = gradir.grad(lambda p: gnp.sum(model(p, x)))(model.parameters)
    assert found.keys() == {"high"} and found["high"] == 1
    with pytest.raises(
        ImportedProgramError, match="'v' is no initializer of floats; these are high"
    ):
        load(proto, parameters=["v"])


def test_running_statistics_are_no_parameters() -> None:
    weights = {name: np.full(3, 2, np.float32) for name in ("scale", "bias", "mean", "var")}
    nodes = [node("BatchNormalization", ["x", *weights], ["y"])]
    shape = [value("x", FLOAT, [2, 3])], [value("y", FLOAT, [2, 3])]
    proto = model_of(nodes, *shape, weights)
    assert load(proto).parameters.keys() == {"scale", "bias"}
    assert load(proto, parameters=["mean"]).parameters.keys() == {"mean"}


ROOTS = {
    "ReduceL2": {"keepdims": 0}, "LpPool": {"kernel_shape": [2, 2], "p": 2},
    "GlobalLpPool": {"p": 2}, "LpNormalization": {"axis": 3},
}  # fmt: skip


@pytest.mark.parametrize("name", ROOTS)
def test_norms_have_the_derivative_0_at_0(name: str) -> None:
    shape = [1, 1, 4, 4]
    proto = model_of([node(name, ["x"], ["y"], **ROOTS[name])], [value("x", FLOAT, shape)],
                     [value("y", FLOAT, None)])  # fmt: skip
    model = load(proto)
    slope = gradir.grad(lambda x: gnp.sum(model({}, x)))
    np.testing.assert_array_equal(slope(np.zeros(shape, np.float32)), np.zeros(shape))
    assert np.isfinite(slope(np.ones(shape, np.float32))).all()


def test_a_pool_of_bfloat16() -> None:
    proto = model_of(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], pads=[1, 1, 0, 0])],
        [value("x", TensorProto.BFLOAT16, [1, 1, 2, 2])],
        [value("y", TensorProto.BFLOAT16, None)], opset=22,
    )  # fmt: skip
    x = gnp.asarray([[[[-1.0, -2.0], [-3.0, -4.0]]]], dtype="bfloat16")
    found = np.asarray(load(proto)({}, x).astype(np.float32))
    np.testing.assert_array_equal(found, [[[[-1, -1], [-1, -1]]]])


def test_an_axis_of_rank_1() -> None:
    proto = model_of([node("CumSum", ["x", "axis"], ["y"])], X3, Y3, {"axis": np.array([0])})
    np.testing.assert_array_equal(load(proto)({}, np.ones(3, np.float32)), [1, 2, 3])


def test_wrong_parameters() -> None:
    model = load(affine())
    with pytest.raises(gradir.GradirError, match="parameters differ from the model's by 'b'"):
        model({"w": model.parameters["w"]}, np.ones((2, 3), np.float32))


def test_inputs_that_shapes_depend_on_are_bound() -> None:
    proto = model_of(
        [node("Reshape", ["x", "shape"], ["y"])],
        [value("x", FLOAT, [6]), value("shape", INT64, [2])], [value("y", FLOAT, None)],
    )  # fmt: skip
    x = np.arange(6, dtype=np.float32)
    with pytest.raises(ImportedProgramError, match=r"Reshape: its input 'shape' must be known"):
        load(proto)({}, x, np.array([2, 3]))
    assert load(proto, bind={"shape": [2, 3]})({}, x).shape == (2, 3)
    with pytest.raises(gradir.GradirError, match="'sizes' is neither an extent nor an input"):
        load(proto, bind={"sizes": [2, 3]})


def test_shape_arithmetic_is_known() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "first"], ["n"]),
        node("Mul", ["n", "two"], ["m"]), node("Concat", ["m", "rest"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["y"]),
    ]  # fmt: skip
    proto = model_of(
        nodes, [value("x", FLOAT, ["n", 4])], [value("y", FLOAT, None)],
        {"first": np.array([0]), "two": np.array([2]), "rest": np.array([-1])},
    )  # fmt: skip
    assert load(proto)({}, np.ones((3, 4), np.float32)).shape == (6, 2)


# Control flow: each graph reads a value around it.


def branch(name: str, op: str) -> Any:
    return helper.make_graph([node(op, ["x"], [name])], name, [], [value(name, FLOAT, [3])])


def test_branches() -> None:
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branch("a", "Exp"), else_branch=branch("b", "Sin")),
    ]  # fmt: skip
    proto = model_of(nodes, [value("x", FLOAT, [3])], [value("y", FLOAT, [3])],
                     {"zero": np.float32(0)})  # fmt: skip
    model = load(proto)
    for x, slope in (
        (np.array([1, 2, 3], np.float32), np.exp),
        (np.array([-1, -2, 1], np.float32), np.cos),
    ):
        found = gradir.grad(lambda x: gnp.sum(model(model.parameters, x)))(x)
        np.testing.assert_allclose(found, slope(x), rtol=1e-5)


def newton() -> Any:
    """x = (x + a / x) / 2 while x * x is far from a: a root of a, by a Loop without a count."""
    body = helper.make_graph(
        [
            node("Div", ["a", "x"], ["q"]), node("Add", ["x", "q"], ["t"]),
            node("Mul", ["t", "half"], ["x1"]), node("Mul", ["x1", "x1"], ["p"]),
            node("Sub", ["p", "a"], ["d"]), node("Abs", ["d"], ["e"]),
            node("Greater", ["e", "eps"], ["more"]),
        ],
        "body", [value("i", INT64, []), value("c", BOOL, []), value("x", FLOAT, [])],
        [value("more", BOOL, []), value("x1", FLOAT, [])],
    )  # fmt: skip
    return model_of(
        [node("Loop", ["", "", "a"], ["y"], body=body)],
        [value("a", FLOAT, [])], [value("y", FLOAT, [])],
        {"half": np.float32(0.5), "eps": np.float32(1e-5)},
    )  # fmt: skip


def test_loops_of_unknown_length_have_gradients() -> None:
    model = load(newton())
    root = lambda a: model(model.parameters, a)  # noqa: E731
    a = np.float32(2.0)
    np.testing.assert_allclose(root(a), np.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(gradir.grad(root)(a), 0.5 / np.sqrt(2), rtol=1e-3)
    np.testing.assert_allclose(gradir.grad(gradir.grad(root))(a), -0.25 * 2**-1.5, rtol=1e-2)


def test_functions_of_the_model() -> None:
    twice = helper.make_function(
        "mine", "Twice", ["u"], ["v"], [node("Add", ["u", "u"], ["v"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Twice", ["x"], ["y"], domain="mine")], "net",
        [value("x", FLOAT, [3])], [value("y", FLOAT, [3])],
    )  # fmt: skip
    proto = helper.make_model(
        graph, functions=[twice],
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)],
    )  # fmt: skip
    np.testing.assert_array_equal(load(proto)({}, np.ones(3, np.float32)), 2 * np.ones(3))


def test_older_operator_sets_are_converted() -> None:
    """Softmax of version 11 is over all axes from the given one on."""
    proto = model_of([node("Softmax", ["x"], ["y"], axis=1)], [value("x", FLOAT, [2, 3, 4])],
                     [value("y", FLOAT, [2, 3, 4])], opset=11)  # fmt: skip
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10
    rows = np.exp(x.reshape(2, 12))
    wanted = (rows / rows.sum(axis=1, keepdims=True)).reshape(x.shape)
    np.testing.assert_allclose(load(proto)({}, x), wanted, rtol=1e-5)


# Files.


def external(folder: Path, location: str, count: int = 6) -> Path:
    """A model whose weight lies in another file, with `count` of its 6 numbers there."""
    proto = model_of([node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [6])],
                     [value("y", FLOAT, [6])], {"w": np.arange(6, dtype=np.float32)})  # fmt: skip
    [tensor] = proto.graph.initializer
    data, tensor.raw_data = tensor.raw_data, b""
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    inner = folder / "model"
    inner.mkdir()
    (folder / "secret.bin").write_bytes(data)
    (inner / "weights.bin").write_bytes(data[: 4 * count])
    (inner / "link.bin").symlink_to(folder / "secret.bin")
    path = inner / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_weights_in_another_file(tmp_path: Path) -> None:
    model = load(external(tmp_path, "weights.bin"))
    np.testing.assert_array_equal(model.parameters["w"], np.arange(6))


@pytest.mark.parametrize(
    "location", ["../secret.bin", "link.bin", "missing.bin", "", "/etc/passwd", "."]
)
def test_paths_that_leave_the_folder(tmp_path: Path, location: str) -> None:
    with pytest.raises(ImportedProgramError, match="which is no file in the model's folder"):
        load(external(tmp_path, location))


def test_files_that_are_too_short(tmp_path: Path) -> None:
    with pytest.raises(ImportedProgramError, match="does not have its 24 bytes"):
        load(external(tmp_path, "weights.bin", 5))


@pytest.mark.parametrize("data", [b"", b"\x00" * 40, b"not a model", bytes(range(256))])
def test_files_that_are_no_models(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(ImportedProgramError, match=r"it is not an ONNX model|no graph"):
        load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ImportedProgramError, match="No such file"):
        load(tmp_path / "net.onnx")
    with pytest.raises(
        ImportedProgramError, match=r"expected a path or an onnx.ModelProto, got int"
    ):
        load(3)


def test_a_file_cut_anywhere_is_refused_or_whole() -> None:
    data = affine().SerializeToString()
    for length in range(0, len(data), 3):
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(data[:length])
        except Exception:
            continue
        with pytest.raises(gradir.GradirError):
            load(proto)({}, np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (
            [node("Exp", ["z"], ["y"]), node("Log", ["y"], ["z"])],
            "'z' is read before a node makes it",
        ),
        ([node("Exp", ["x"], ["z"])], "'y' is read before a node makes it"),
        ([node("Exp", ["x"], ["y"]), node("Sin", ["x"], ["y"])], "'y' is made twice"),
        ([node("Nonsense", ["x"], ["y"])], "Nonsense .*there is no rule for it"),
        ([node("Exp", ["x"], ["y"], domain="com.acme")], "com.acme"),
        ([node("RandomNormalLike", ["x"], ["y"])], "random numbers are not specified"),
        ([node("Softmax", ["x"], ["y"], axis=7)], "axis|Inference"),
    ],
)
def test_wrong_graphs(nodes: list[Any], text: str) -> None:
    with pytest.raises(gradir.GradirError, match=text):
        load(model_of(nodes, X3, Y3))({}, np.ones(3, np.float32))


def test_all_unknown_operators_are_named_at_once() -> None:
    nodes = [node("Foo", ["x"], ["a"]), node("Bar", ["a"], ["b"]), node("Foo", ["b"], ["y"])]
    with pytest.raises(ImportedProgramError) as found:
        load(model_of(nodes, X3, Y3))
    assert "Foo (2 times; <onnx model>:1:1, <onnx model>:3:1)" in str(found.value)
    assert "Bar (once; <onnx model>:2:1)" in str(found.value)


def test_a_deep_nest_is_refused() -> None:
    """Functions that call each other have no end."""
    calls = [
        helper.make_function("mine", name, ["u"], ["v"],
                             [helper.make_node(other, ["u"], ["v"], domain="mine")],
                             [helper.make_opsetid("mine", 1)])
        for name, other in (("A", "B"), ("B", "A"))
    ]  # fmt: skip
    graph = helper.make_graph([helper.make_node("A", ["x"], ["y"], domain="mine")], "net", X3, Y3)
    proto = helper.make_model(
        graph, functions=calls,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)],
    )  # fmt: skip
    with pytest.raises(ImportedProgramError):
        load(proto)


# Faults of rules.


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of Exp is wrong."""

    def rule(call: Any, x: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setitem(ONNX.rules, "Exp", rule)


@pytest.mark.parametrize("weights", [3, 100])
def test_a_fault_of_a_rule_is_not_the_file_s(monkeypatch: pytest.MonkeyPatch, weights: int) -> None:
    failing(monkeypatch)
    nodes = [node("Add", ["x", "w"], ["h"]), node("Exp", ["h"], ["y"], name="the last")]
    shape = [value("x", FLOAT, [weights])], [value("y", FLOAT, [weights])]
    model = load(model_of(nodes, *shape, {"w": np.ones(weights, np.float32)}))
    with pytest.raises(ImportedProgramError) as found:
        model(model.parameters, np.ones(weights, np.float32))
    assert (
        "<onnx model>:2:1: error: Exp 'the last': gradir fails on it, where onnx's checker finds "
        "no fault in the program: IndexError: list index out of range; if the inputs fit the "
        "program, please report this"
    ) in str(found.value)
    assert isinstance(found.value.__cause__, IndexError)


def test_a_fault_of_the_file_is_not_a_rule_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker knows that Exp has no axis."""
    failing(monkeypatch)
    model = load(model_of([node("Exp", ["x"], ["y"], axis=1)], X3, Y3))
    with pytest.raises(ImportedProgramError, match="Exp: it is not valid ONNX: list index"):
        model({}, np.ones(3, np.float32))
