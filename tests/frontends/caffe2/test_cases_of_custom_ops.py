"""MXNet's cases of custom operators, as operator types of nets: state, errors, needs, order."""

from __future__ import annotations

import inspect
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from typing import Any

import numpy as np
import pytest
from caffe2_nets import run_net

import gradir
from gradir.errors import HostCallError
from gradir.frontends.caffe2 import Net, OperatorError, register
from gradir.frontends.caffe2.table import TYPES
from tests.support.custom_ops import Arrays, own_registry
from tests.support.native_ops import of


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Host functions and operator types are gone after a test."""
    before = dict(TYPES)
    with own_registry():
        yield
    TYPES.clear()
    TYPES.update(before)


def first(x: gradir.Spec, *others: gradir.Spec) -> gradir.Spec:
    return x


def layer(x: gradir.Spec, w: gradir.Spec) -> gradir.Spec:
    return gradir.Spec((x.shape[0], w.shape[0]), x.dtype)


def product(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    np.matmul(inputs[0], inputs[1].T, out=outputs[0])


def product_back(cts: Arrays, inputs: Arrays, outputs: Any, grads: Arrays, req: Arrays) -> None:
    grads[0][...] = cts[0] @ inputs[1]
    grads[1][...] = cts[0].T @ inputs[0]


X, W = np.arange(12.0).reshape(4, 3), np.linspace(-1.0, 1.0, 15).reshape(5, 3)


@pytest.mark.parametrize("is_native", [False, True])
@pytest.mark.parametrize("in_stage", [False, True])
def test_mx_custom_op_sqr_aux(in_stage: bool, is_native: bool) -> None:
    """Forward sets the state to 1, backward sees that; forward runs once, also in a stage.

    Caffe2's in place is MXNet's auxiliary state: the operator writes the blob that it reads.
    """
    calls: list[str] = []

    def square(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        calls.append("forward")
        np.square(inputs[0], out=outputs[0])
        outputs[1][...] = 1

    def back(cts: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: Arrays) -> None:
        calls.append("backward")
        assert outputs[0] is None and (outputs[1] == 1).all()
        assert req == ("write", "null")
        grads[0][...] = 2 * inputs[0] * cts[0]

    needs = ("cotangents", "in0", "out1")
    op = gradir.custom_op(square, first, back, needs=needs, state=1, exec="async")
    register("SqrWithState", 2, 2)(gradir.checkpoint(op) if in_stage else op)
    net = Net("net")
    net.SqrWithState(["data", "aux"], ["out", "aux"])
    grads = net.AddGradientOperators(["out"], wrt=["data", "aux"])
    feeds = {"data": np.array([0.5, -2.0]), "aux": np.zeros(2, np.float32)}
    found = run_net(net, feeds, ["out", "aux", *grads.values()], is_native)
    assert calls == ["forward", "backward"]
    np.testing.assert_array_equal(found["out"], [0.25, 4.0])
    np.testing.assert_array_equal(found["aux"], np.ones(2, np.float32))
    np.testing.assert_array_equal(found[str(grads["data"])], [1.0, -4.0])
    assert not found[str(grads["aux"])].any()


@pytest.mark.parametrize("exec", ["sync", "async"])
@pytest.mark.parametrize("part", ["forward", "backward"])
def test_mx_custom_op_exception(part: str, exec: Any) -> None:
    """It is raised by the call, with the traceback and the operator's place; later calls work."""
    failing: set[str] = set()

    def dot(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        if "forward" in failing:
            raise ValueError("forward of dot")
        product(inputs, outputs, req)

    def back(cts: Arrays, inputs: Arrays, outputs: Any, grads: Arrays, req: Arrays) -> None:
        if "backward" in failing:
            raise ValueError("backward of dot")
        product_back(cts, inputs, outputs, grads, req)

    register("DotRaises", 2)(gradir.custom_op(dot, layer, back, exec=exec, name="dot"))
    frame: Any = inspect.currentframe()
    net = Net("net")
    net.Sqr("a", "a")
    net.DotRaises(["a", "b"], "c")
    place = f"test_cases_of_custom_ops.py:{frame.f_lineno - 1}:"
    grads = net.AddGradientOperators(["c"], wrt=["a", "b"])
    run = net.compile(["c", *grads.values()])
    before = run({"a": X, "b": W})
    kept = {name: value.copy() for name, value in before.items()}
    failing.add(part)
    with pytest.raises(HostCallError) as caught:
        run({"a": X + 1, "b": W})
    name = "dot" if part == "forward" else "dot.backward"
    text = str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
    assert f"grad.host_call @{name}: ValueError: {part} of dot\nTraceback" in text
    assert f'raise ValueError("{part} of dot")' in text
    assert place in text.partition(" grad.host_call")[0]
    failing.clear()
    again = run({"a": X, "b": W})
    for key, value in kept.items():
        np.testing.assert_array_equal(before[key], value)
        np.testing.assert_array_equal(again[key], value)
    np.testing.assert_allclose(kept["c"], (X * X) @ W.T)


def test_mx_custom_op_exception_is_of_its_call() -> None:
    """Calls that fail at the same time raise each its own; one beside them gives its result."""
    inside = threading.Barrier(3)

    def dot(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        inside.wait(60)
        if inputs[0][0, 0] < 0:
            raise ValueError(f"no {inputs[0][0, 0]}")
        product(inputs, outputs, req)

    register("DotTogether", 2)(gradir.custom_op(dot, layer, exec="async", name="together"))
    net = Net("net")
    net.DotTogether(["a", "b"], "c")
    module = net.to_module({"a": X, "b": W}, ["c"])
    run = gradir.compile(module, "net")
    found: dict[float, Any] = {}

    def call(first: float) -> None:
        try:
            found[first] = run(np.full_like(X, first), W)
        except HostCallError as error:
            found[first] = error

    threads = [threading.Thread(target=call, args=(x,)) for x in (-1.0, 1.0, -2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for x in (-1.0, -2.0):
        assert f"@together: ValueError: no {x}\n" in str(found[x])
    np.testing.assert_allclose(found[1.0][0], np.ones_like(X) @ W.T)


@pytest.mark.parametrize("debug", [False, True])
def test_mx_custom_op_unassigned_grad(debug: bool) -> None:
    """A backward that leaves a gradient unwritten, or writes one of a wrong shape, is an error.

    MXNet's manual does both: it gives garbage there. Where that gradient is not wanted, the
    request is "null", and there is nothing to refuse.
    """
    is_wrong_shape = False

    def back(cts: Arrays, inputs: Arrays, outputs: Any, grads: Arrays, req: Arrays) -> None:
        assert req[0] == "write"
        grads[0][...] = cts[0].T @ inputs[0] if is_wrong_shape else cts[0] @ inputs[1]

    op = gradir.custom_op(product, layer, back, name="dense", debug=debug)

    @register("Dense")
    def dense(x: Any, w: Any, bias: float = 0.0) -> Any:
        return op(x, w) + bias

    net = Net("net")
    net.Dense(["x", "w"], "y", bias=0.1)
    only = net.copy()
    grads = net.AddGradientOperators(["y"], wrt=["x", "w"])
    run = net.compile(["y", *grads.values()])
    message = r"@dense\.backward: grads\[1\] is not written, in 15 of 15 elements"
    with pytest.raises(HostCallError, match=message):
        run({"x": X, "w": W})
    is_wrong_shape = True
    message = r"@dense\.backward: ValueError: could not broadcast .* \(5,3\) into shape \(4,3\)"
    with pytest.raises(HostCallError, match=message):
        run({"x": X, "w": W})
    is_wrong_shape = False
    [name] = only.AddGradientOperators(["y"], wrt=["x"]).values()
    found = only.compile(["y", name])({"x": X, "w": W})
    np.testing.assert_allclose(found[str(name)], np.ones((4, 5)) @ W)
    np.testing.assert_allclose(found["y"], X @ W.T + 0.1)


def test_mx_declared_dependency_only() -> None:
    """What is not declared is not kept for backward, which gets None in its place.

    A backward function is Python that runs later, so that its use of an undeclared weight is
    an error when it runs first, which names what `needs` leaves out; only `needs` itself is
    checked when the program is built.
    """
    needs = ("out_grad0", "in0")
    op = gradir.custom_op(product, layer, product_back, needs=needs, name="fc")
    register("FCOfOwn", 2)(op)
    net = Net("net")
    net.FCOfOwn(["x", "w"], "y")
    module = net.to_module({"x": X, "w": W}, ["y"]).gradient("net", mode="split")
    ahead = next(line for line in str(module).splitlines() if "@net_fwd" in line)
    assert ahead.split("->")[1] == " (tensor<4x5xf64>, tensor<4x3xf64>) {"
    grads = net.AddGradientOperators(["y"], wrt=["x", "w"])
    message = r"@fc\.backward: .*(.|\n)*None is for what needs=\('out_grad0', 'in0'\) leaves out"
    for is_native in (False, True):
        with pytest.raises(HostCallError, match=message):
            run_net(net, {"x": X, "w": W}, [*grads.values()], is_native)
    beyond = gradir.custom_op(product, layer, product_back, needs=("out_grad0", "in2"))
    register("FCOfOwn", 2)(beyond)
    with pytest.raises(OperatorError, match="needs has 'in2', got 2 inputs"):
        net.to_module({"x": X, "w": W}, ["y"])


@pytest.mark.parametrize("is_native", [False, True])
def test_mx_exec_sync_async_order(is_native: bool) -> None:
    """A reader waits for an asynchronous call, and a writer in place for the readers before it."""
    order: list[str] = []

    def call(name: str, exec: Any, run: Any) -> None:
        def function(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
            order.append(f"{name}: ")
            run(inputs[0], outputs[0])
            order.append(name)

        register(name, 1)(gradir.custom_op(function, first, exec=exec, name=name))

    def slow(x: Any, out: Any) -> None:
        time.sleep(0.02)
        np.multiply(x, 2.0, out=out)

    call("Slow", "async", slow)
    call("Fast", "sync", lambda x, out: np.add(x, 10.0, out=out))
    call("Inc", "async", lambda x, out: np.add(x, 1.0, out=out))
    net = Net("net")
    net.Slow("x", "a")
    net.Fast("x", "b")
    net.Add(["a", "b"], "c")
    net.Inc("a", "a")
    net.Sqr("a", "y")
    x = np.array([1.0, -3.0])
    found = run_net(net, {"x": x}, ["c", "y"], is_native)
    assert sorted(order) == ["Fast", "Fast: ", "Inc", "Inc: ", "Slow", "Slow: "]
    assert order.index("Slow") < order.index("Inc: ")
    assert is_native or order.index("Slow") < order.index("Fast: ")
    np.testing.assert_array_equal(found["c"], 3 * x + 10)
    np.testing.assert_array_equal(found["y"], (2 * x + 1) ** 2)


def test_mx_exec_completes_once() -> None:
    """A call is complete when its function returns, or when the Future is done that it returns.

    That is once. None within the limit is an error that names the op, and so is a function that
    is complete while a thread still has its arrays, in each mode.
    """
    release, threads = threading.Event(), list[threading.Thread]()

    def hold(out: Any) -> None:
        release.wait(60)
        assert out.shape == (2,)

    def later(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        outputs[0][...] = 3.0
        if not release.is_set():
            threads.append(threading.Thread(target=hold, args=outputs))
            threads[-1].start()

    for exec in ("sync", "async"):
        register("Later", 1)(gradir.custom_op(later, first, exec=exec, name="later"))
        net = Net("net")
        net.Exp("x", "x")
        net.Later("x", "x")
        net.Exp("x", "y")
        run = net.compile(["y"])
        release.clear()
        with pytest.raises(HostCallError, match=r"@later: must not keep outputs\[0\]"):
            run({"x": np.ones(2)})
        release.set()
        threads.pop().join(60)
        np.testing.assert_allclose(run({"x": np.ones(2)})["y"], np.exp([3.0, 3.0]))
        assert ('exec = "async"' in str(run.module)) == (exec == "async")
    done = Future[None]()
    done.set_result(None)
    with pytest.raises(InvalidStateError):
        done.set_result(None)
    for returned, message in ((done, None), (Future[None](), "is not complete after 0.05 s")):

        def at_once(inputs: Arrays, outputs: Arrays, req: Arrays, made: Any = returned) -> Any:
            np.copyto(outputs[0], inputs[0])
            return made

        op = gradir.custom_op(at_once, first, exec="async", name="never", timeout=0.05)
        register("Never", 1)(op)
        net = Net("net")
        net.Never("x", "y")
        run = net.compile(["y"])
        for _ in range(2):
            if message is None:
                np.testing.assert_array_equal(run({"x": np.ones(2)})["y"], np.ones(2))
                continue
            with pytest.raises(HostCallError, match=f"@never: {message}"):
                run({"x": np.ones(2)})


def test_mx_exec_cross_device_copy() -> None:
    """The gradient of a copy is the copy back, and of that the copy again.

    Arrays have no memory space in gradir: a device is a note on the operator, which its
    gradient operator copies, and operators on several devices are not refused.
    """
    order: list[str] = []

    def copying(start: int, end: int, back: Any) -> Any:
        name = f"copy_{start}_to_{end}"

        def copy(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
            order.append(name)
            outputs[0][...] = inputs[0]

        return gradir.custom_op(
            copy, first, back, needs=("cotangents",), exec="cross_device", name=name
        )

    again = gradir.custom_op(lambda i, o, r: None, first, exec="cross_device", name="again")
    register("CopyTo", 1)(copying(0, 1, copying(1, 0, again)))
    net = Net("net")
    net.CopyTo("a", "b", device="cpu:1")
    grads = net.AddGradientOperators({"b": "db"}, wrt=["a"])
    assert [op.device for op in net.ops] == ["cpu:1", "cpu:1"]
    net.Add(["a", "b"], "c", device="cpu:0")
    run = net.compile(["c", grads["a"]])
    found = run({"a": X, "db": X + 1})
    np.testing.assert_array_equal(found["c"], 2 * X)
    np.testing.assert_array_equal(found[str(grads["a"])], X + 1)
    assert order == ["copy_0_to_1", "copy_1_to_0"]
    calls = re.findall(r'callee = "(\w+)", exec = "(\w+)"', str(run.module))
    assert calls == [(name, "cross_device") for name in order]
    second = net.to_module({"a": X, "db": X}, [grads["a"]]).gradient("net", mode="vjp")
    assert 'callee = "again", exec = "cross_device"' in str(second)


@pytest.mark.parametrize("is_native", [False, True])
@pytest.mark.parametrize("in_stage", [False, True])
def test_native_functions(in_stage: bool, is_native: bool) -> None:
    """An operator type of functions in C, with a state that it writes in place."""
    op = gradir.custom_op(
        of("centre"), first, of("centre_back"), needs=("cotangents",), state=1, pure=True
    )
    register("Centre", 2, 2)(gradir.checkpoint(op) if in_stage else op)
    net = Net("net")
    net.Centre(["data", "mean"], ["out", "mean"])
    grads = net.AddGradientOperators(["out"], wrt=["data"])
    feeds = {"data": np.array([0.5, -2.5]), "mean": np.array(1.0)}
    found = run_net(net, feeds, ["out", "mean", *grads.values()], is_native)
    np.testing.assert_array_equal(found["out"], [-0.5, -3.5])
    assert found["mean"] == 0.0
    np.testing.assert_array_equal(found[str(grads["data"])], [1.0, 1.0])
