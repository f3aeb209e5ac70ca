"""Caffe2's and MXNet's cases of memory as nets: plans, recomputation, state that steps once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir.compiler.measured_gradient import measure_here
from gradir.frontends.caffe2 import Net, register
from gradir.frontends.caffe2.table import TYPES
from gradir.passes.buffers.plan_memory import ALIGNMENT, MemoryPlan, PlannedBuffer
from tests.support.custom_ops import Arrays, own_registry


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Host functions and operator types are gone after a test."""
    before = dict(TYPES)
    with own_registry():
        yield
    TYPES.clear()
    TYPES.update(before)


def planned(module: gradir.Module, name: str) -> int:
    """The bytes of a function's arena, without its machine code."""
    return measure_here()(module.op.clone())[name]


def code_of(module: gradir.Module, name: str) -> str:
    """The text of one function."""
    return str(module).split(f"func.func @{name}(")[1].partition("func.func")[0]


def buffers(plan: MemoryPlan) -> dict[str, PlannedBuffer]:
    """The buffers of a plan by their names; each name has one."""
    found = {b.name.partition(":")[2]: b for b in plan.buffers}
    assert len(found) == len(plan.buffers)
    return found


# Plans.


def test_c2_plan_greedy() -> None:
    """Two large and two small blobs, a pair of each alive at once, take 11 units of memory.

    The operators are calls, which are not fused; their results that are fetched are the
    caller's memory.
    """

    def call(name: str, *units: int) -> None:
        def run(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
            for k, out in enumerate(outputs):
                out[...] = inputs[0][0] + k + 1

        def infer(x: gradir.Spec) -> tuple[gradir.Spec, ...]:
            return tuple(gradir.Spec(n * ALIGNMENT // 8) for n in units)

        register(name, 1, len(units))(gradir.custom_op(run, infer, name=name))

    call("Large", 10)
    call("Small", 1)
    call("SmallAndLarge", 1, 10)
    net = Net("plan")
    net.Large("x", "b1")
    net.Small("b1", "b2")
    net.Small("b2", "y1")
    net.SmallAndLarge("x", ["b3", "b4"])
    net.Small("b3", "y2")
    net.Small("b4", "y3")
    run = net.compile(["y1", "y2", "y3"])
    found = run({"x": np.zeros(1)})
    assert [found[y][0] for y in ("y1", "y2", "y3")] == [3.0, 2.0, 3.0]
    assert run.plan.peak_bytes == 11 * ALIGNMENT
    at = {name: (b.offset, b.size) for name, b in buffers(run.plan).items()}
    assert at["b1"] == at["b4"] == (0, 10 * ALIGNMENT)
    assert at["b2"] == at["b3"] == (10 * ALIGNMENT, ALIGNMENT)


# Recomputation.


def lstm(h: Any, c: Any, w: Any, named: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
    """A cell; `named` is for one of the four results of the gates' split."""
    i, f, o, g = gnp.split(nn.linear(h, w), 4, axis=1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * gnp.tanh(named(g))
    return nn.sigmoid(o) * gnp.tanh(c), c


def loop_of(cell: str) -> Net:
    """The net of a cell in a While, which a count ends."""
    net, body, test = Net("lstm"), Net("body"), Net("test")
    body.add_op(cell, ["h", "c", "w"], ["h", "c"])
    body.Add(["t", "one"], "t")
    test.LT(["t", "T"], "go")
    net.ConstantFill([], "one", shape=[], value=1.0)
    net.While("go", ["h", "c"], loop_net=body, cond_net=test)
    return net


def test_c2_rnn_recompute_blobs() -> None:
    """A cell in a stage has the same gradients, and its gates are not on the tape.

    They are computed again once per turn of the backward loop. A part of what an operator
    gives may be kept, the others recomputed: Caffe2 wants all or none.
    """
    register("Cell", 3, 2)(lambda h, c, w: lstm(h, c, w))
    staged = gradir.checkpoint(lstm)
    register("StagedCell", 3, 2)(lambda h, c, w: staged(h, c, w))
    partly = gradir.checkpoint(
        lambda h, c, w: lstm(h, c, w, lambda g: gradir.name(g, "g")),
        policy="keep_named",
    )
    register("PartlyStagedCell", 3, 2)(lambda h, c, w: partly(h, c, w))
    rng = np.random.default_rng(0)
    feeds = {"h": rng.normal(size=(2, 3)), "c": rng.normal(size=(2, 3)), "t": 0.0, "T": 4.0}
    feeds["w"] = rng.normal(size=(12, 3))
    found: dict[str, Any] = {}
    for cell, records, replays in (
        ("Cell", 7, 0),
        ("StagedCell", 2, 1),
        ("PartlyStagedCell", 3, 1),
    ):
        net = loop_of(cell)
        [name] = net.AddGradientOperators(["h"], wrt=["w"]).values()
        run = net.compile(["h", name])
        found[cell] = run(feeds)
        text = str(run.module)
        pushed = next(line for line in text.splitlines() if "grad.tape_push" in line)
        assert pushed.count("tensor<2x3xf64>") == records
        assert "2x12" not in pushed
        forward, _, backward = text.partition("grad.tape_pop")
        assert (forward.count("nn.linear"), backward.count("nn.linear")) == (1, replays)
    for name, value in found["Cell"].items():
        np.testing.assert_array_equal(found["StagedCell"][name], value)
        np.testing.assert_array_equal(found["PartlyStagedCell"][name], value)


def test_mx_batchnorm_aux_once_under_remat() -> None:
    """Running statistics take one step, though a stage computes the normalization twice.

    The variance takes the unbiased one of the batch, as PyTorch's does: MXNet's is 1.25.
    """

    def stage(after: Callable[[Any], Any]) -> Any:
        def normalized(x: Any, scale: Any, bias: Any, *state: Any) -> tuple[Any, Any, Any]:
            y, (mean, var) = nn.batch_norm(x, scale, bias, state, training=True, eps=0.0)
            return after(y), mean, var

        return gradir.checkpoint(normalized)

    register("StagedBN", 5, 3)(stage(lambda y: y))
    register("StagedBNTanh", 5, 3)(stage(gnp.tanh))
    x = np.array([[1.0], [2.0], [3.0], [6.0]])
    y = (x - 3) / np.sqrt(3.5)
    one = {"gamma": np.ones(1), "beta": np.zeros(1), "mm": np.zeros(1), "mv": np.ones(1), "x": x}
    for type_, value, slope, count in (
        ("StagedBN", y, 1.0, 1),
        ("StagedBNTanh", np.tanh(y), 1 - np.tanh(y[0, 0]) ** 2, 2),
    ):
        net = Net("net")
        net.add_op(type_, ["x", "gamma", "beta", "mm", "mv"], ["y", "mm", "mv"])
        grads = net.AddGradientOperators({"y": "dy"}, wrt=["x", "gamma", "beta"])
        run = net.compile(["y", "mm", "mv", *grads.values()])
        feeds = {**one, "dy": np.array([[1 / slope], [0], [0], [0]])}
        found = run(feeds)
        assert str(run.module).count("nn.batch_norm") == count
        np.testing.assert_allclose(found["y"], value)
        np.testing.assert_allclose(found["mm"], [0.3])
        np.testing.assert_allclose(found["mv"], [0.9 + 0.1 * 14 / 3])
        for name, expected in (
            ("beta", [1.0]),
            ("gamma", [-1.069045]),
            ("x", [[0.248171], [-0.209991], [-0.133631], [0.09545]]),
        ):
            np.testing.assert_allclose(found[str(grads[name])], expected, atol=1e-6)
        again = run({**feeds, "mm": found["mm"], "mv": found["mv"]})
        np.testing.assert_allclose(again["mm"], [0.57])


def test_mx_remat_fc_feeding_tanh() -> None:
    """The product is never computed twice; z is, for the gradient of its weight, or is kept.

    y is kept or recomputed, whichever is less.
    """
    net = Net("fc")
    net.Tanh("x", "y")
    net.Tanh("y", "z")
    net.FC(["z", "w", "b"], "o")
    specs = {"x": gradir.Spec((32, 16)), "w": gradir.Spec((24, 16)), "b": gradir.Spec(24)}
    module = net.to_module(specs, ["o"])
    kept = planned(module.gradient("fc", mode="vjp"), "fc_vjp")
    derived = module.gradient("fc", mode="vjp", policy="keep_matmuls")
    code = code_of(derived, "fc_vjp")
    assert code.count("nn.linear") == 1
    assert "%z_remat = array.tanh" in code
    [product] = [line for line in code.splitlines() if "%w_ct = array.matmul" in line]
    assert "%z_remat" in product
    assert planned(derived, "fc_vjp") < kept
    limit = planned(derived, "fc_vjp")
    derived = module.gradient("fc", mode="vjp", memory_limit=limit)
    code = code_of(derived, "fc_vjp")
    assert planned(derived, "fc_vjp") <= limit
    assert code.count("nn.linear") == 1 and "_remat = grad.tanh_point" in code


def residual_block() -> tuple[Net, dict[str, gradir.Spec]]:
    """A block of ResNet, convolutions with batch normalization and a sum, and its inputs."""
    net, width = Net("resnet"), 4
    specs = {"x": gradir.Spec((2, width, 8, 8), "float32")}

    def convolution(x: str, k: int) -> str:
        net.Conv([x, f"w{k}", f"c{k}"], f"h{k}", kernel=3, pad=1)
        state, batch = [f"m{k}", f"v{k}"], [f"mean{k}", f"deviation{k}"]
        net.SpatialBN([f"h{k}", f"s{k}", f"b{k}", *state], [f"n{k}", *state, *batch])
        specs[f"w{k}"] = gradir.Spec((width, width, 3, 3), "float32")
        specs.update({f"{c}{k}": gradir.Spec(width, "float32") for c in "csbmv"})
        return f"n{k}"

    inner = str(net.Relu(convolution("x", 0), "inner"))
    net.Sum(["x", convolution(inner, 1)], "sum")
    net.Relu("sum", "sum")
    net.AveragedLoss("sum", "loss")
    return net, specs


def test_mx_remat_never_worse() -> None:
    """No policy takes more memory than keeping all; auto takes less here."""
    net, specs = residual_block()
    module = net.to_module(specs, ["loss"])
    wrt = [k for k, name in enumerate(net.external_inputs) if name[0] == "w"]

    def bytes_with(policy: str) -> int:
        return planned(module.gradient("resnet", wrt, mode="grad", policy=policy), "resnet_grad")

    peaks = {policy: bytes_with(policy) for policy in ("keep_all", "keep_matmuls", "auto")}
    assert max(peaks.values()) == peaks["keep_all"] > peaks["auto"]
