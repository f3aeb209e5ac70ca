"""Cases of Caffe2 and MXNet whose outcome is no gradient alone: errors, bytes, orders, state."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from caffe2_nets import net_of

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.errors import ExecutionError, VerifyError
from gradir.frontends.caffe2 import IR, Net, OperatorError
from gradir.passes.buffers.plan_memory import assign_offsets

POLICIES = ("keep_all", "keep_none", "keep_matmuls", "auto")
RANDOM = np.random.default_rng(0)


# Errors.


def test_schema_error() -> None:
    """A product of one operand is refused where it is written, in a net and in text."""
    with pytest.raises(OperatorError, match=r"Mul.*2 inputs"):
        Net("n").Mul(["a"], ["m1"])
    with pytest.raises(gradir.GradirError, match=r"program\.mlir:2:\d+: error"):
        gradir.parse(
            "func.func @f(%a: tensor<f64>) -> tensor<f64> {\n"
            "  %m = array.multiply %a : tensor<f64>\n  func.return %m : tensor<f64>\n}",
            "program.mlir",
        )


PRODUCT: list[Any] = [["Mul", ["a", "a"], ["m1"], {}]]


@pytest.mark.parametrize("ys", [True, "m1", None])
def test_ys_of_another_type(ys: Any) -> None:
    net = net_of("n", PRODUCT)
    with pytest.raises(TypeError, match="a list or a dict"):
        net.AddGradientOperators(ys)
    with pytest.raises(TypeError, match="a list or a dict"):
        IR(net.ops).GetBackwardPass(ys)


# Memory.


def test_plan_greedy() -> None:
    """Buffers of disjoint lives share their place; an address is a multiple of 64."""
    lives = [("b1", 1, 3, 10), ("b2", 3, 4, 1), ("b3", 5, 6, 1), ("b4", 5, 7, 10)]
    plan = assign_offsets([(name, 64 * size, first, last) for name, first, last, size in lives])
    at = {b.name: b.offset for b in plan.buffers}
    assert at["b1"] == at["b4"]
    assert at["b2"] == at["b3"]
    assert plan.peak_bytes <= 64 * 11


FREED: list[Any] = [
    ["FC", ["data", "w", "b"], ["x"], {}],
    ["FC", ["x", "w", "b"], ["y"], {}],
    ["FC", ["x", "v", "b"], ["z"], {}],
    ["FC", ["y", "w", "b"], ["u"], {}],
    ["Alias", ["u"], ["u_alias"], {}],
    ["Sum", ["z", "u"], ["out"], {}],
]


def test_free_after_last_use() -> None:
    """x, y and z are of the arena, x free before u is there; u, which is a result by its alias, and
    out are the caller's."""
    square = np.zeros((64, 64), np.float32)
    feeds = {"data": square, "w": square, "v": square, "b": np.zeros(64, np.float32)}
    module = net_of("n", FREED).to_module(feeds, ["u_alias", "out"])
    plan = gradir.compile(module, "n", threads=1).plan
    named = [(b.name.partition(":")[2], b) for b in plan.buffers]
    lives = {name: b for name, b in named if name != "scratch"}
    assert sorted(lives) == ["x", "y", "z"]
    # the product that makes u reads y alone
    of_u = lives["y"].last
    assert lives["x"].last < of_u <= lives["z"].last


def recurrent(marked: bool) -> Callable[..., Any]:
    """An LSTM's loop, whose cell is a stage or not."""

    def cell(h: Any, c: Any, x: Any, w: Any) -> Any:
        gates = h @ w + x
        i, f, o, g = (gates[:, 3 * k : 3 * k + 3] for k in range(4))
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * gnp.tanh(g)
        return nn.sigmoid(o) * gnp.tanh(c), c

    def loss(w: Any, xs: Any) -> Any:
        def step(carried: Any, x: Any) -> Any:
            h, c = carried
            return (gradir.checkpoint(cell) if marked else cell)(h, c, x, w), 0.0

        (h, _), _ = gradir.scan(step, (gnp.zeros((2, 3)), gnp.zeros((2, 3))), xs)
        return gnp.sum(h)

    return loss


def test_rnn_recompute_blobs() -> None:
    """The gates of a marked cell are not on the tape; each backward iteration computes their
    product once more, and bits are the same."""
    w, xs = RANDOM.standard_normal((3, 12)), RANDOM.standard_normal((5, 2, 12))
    found: dict[bool, Any] = {}
    products: dict[bool, int] = {}
    columns: dict[bool, int] = {}
    for marked in (False, True):
        module = gradir.trace(recurrent(marked), w, xs)
        derived = module.gradient("loss", wrt=0, mode="grad")
        found[marked] = gradir.interpret(derived, "loss_grad", w, xs)
        text = str(derived).partition("@loss_grad")[2]
        products[marked] = text.count("array.matmul ")
        [tape] = set(re.findall(r"!grad\.tape<([^>]*>(?:, [^>]*>)*)", text))
        columns[marked] = tape.count("tensor<")
    assert products == {False: 3, True: 4}
    # the states of the cell, h and c, in place of its activations; x is read again
    assert columns == {False: 7, True: 2}
    for one, other in zip(found[False], found[True], strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def peaks(function: Callable[..., Any], given: Sequence[Any], name: str) -> dict[str, int]:
    """The arena of the derivative under each policy, seeded with ones."""
    module = gradir.trace(function, *given)
    return {
        policy: gradir.compile(
            module.gradient(name, mode="grad", policy=policy), f"{name}_grad", threads=1
        ).plan.peak_bytes
        for policy in POLICIES
    }


def backward_of(function: Callable[..., Any], given: Sequence[Any], name: str, policy: str) -> str:
    module = gradir.trace(function, *given).gradient(name, policy=policy)
    return str(module).partition(f"func.func @{name}_bwd")[2]


def cell(x: Any, y: Any, w: Any, v: Any) -> Any:
    return gnp.tanh(x @ w + y @ v)


def fc_behind_tanh(x: Any, w: Any) -> Any:
    return gnp.sum(gnp.tanh(gnp.sin(x)) @ w)


def blocks(x: Any, w: Any, v: Any) -> Any:
    for _ in range(6):
        x = x + nn.relu(nn.relu(x @ w) @ v)
    return gnp.sum(x)


MATRICES = tuple(RANDOM.standard_normal((32, 32)) for _ in range(4))


@pytest.mark.parametrize("policy", POLICIES)
def test_rnn_cell_no_benefit(policy: str) -> None:
    """tanh reads its result, which the caller gets: the sum is neither kept nor made again."""
    derived = gradir.trace(cell, *MATRICES).gradient("cell", mode="vjp", policy=policy)
    text = str(derived).partition("@cell_vjp")[2]
    assert text.count("array.add ") == text.count("array.tanh ") == 1
    assert text.count("array.matmul ") == 6
    # room for one matrix, which holds one product, then the other factor of a gradient
    assert gradir.compile(derived, "cell_vjp", threads=1).plan.peak_bytes <= 2 * MATRICES[0].nbytes


def test_fc_feeding_tanh() -> None:
    """What the product reads is computed again, the product is not: two of its gradient."""
    text = backward_of(fc_behind_tanh, MATRICES[:2], "fc_behind_tanh", "keep_matmuls")
    assert "array.tanh" in text
    assert text.count("array.matmul") + text.count("array.dot_general") == 2


@pytest.mark.parametrize(
    ("function", "count"), [(fc_behind_tanh, 2), (blocks, 3)], ids=["fc", "blocks"]
)
def test_remat_never_worse(function: Callable[..., Any], count: int) -> None:
    found = peaks(function, MATRICES[:count], function.__name__)
    assert max(found.values()) == found["keep_all"]


# Sums over runs, and state.


def test_boolean_mask_add() -> None:
    """Three runs that add to one array; the caller computes the rows of the masks, one of them
    empty."""
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    masks = {"m1": [1, 0, 1], "m2": [1, 1, 0], "m3": [0, 0, 0]}
    rows = {name: np.flatnonzero(mask) for name, mask in masks.items()}
    ops: list[Any] = [["Gather", ["a", name], [f"rows_{name}"], {}] for name in masks]
    ops += [["SumElements", [f"rows_{name}"], [f"s_{name}"], {}] for name in masks]
    ops += [["Sum", [f"s_{name}" for name in masks], ["su"], {}]]
    module = net_of("n", ops).to_module({"a": a, **rows}, ["su"])
    arguments = [a, *rows.values()]
    fn = gradir.compile(module.gradient("n", wrt=0, mode="grad", req={0: "add"}), "n_grad")
    total = np.zeros_like(a)
    for _ in range(3):
        fn(*arguments, out=(None, total))
    np.testing.assert_array_equal(total, 3 * np.array([[2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]))


def test_batchnorm_aux_once_under_remat() -> None:
    """The running statistics take one step, though the forward code runs twice."""
    x = np.array([[1.0], [2.0], [3.0], [6.0]])
    one, zero, seed = np.ones(1), np.zeros(1), np.array([[1.0], [0.0], [0.0], [0.0]])

    def loss(x: Any, gamma: Any, beta: Any) -> Any:
        def stage(x: Any, gamma: Any, beta: Any) -> Any:
            state = gnp.asarray(zero), gnp.asarray(one)
            return nn.batch_norm(x, gamma, beta, state, training=True, momentum=0.1, eps=0.0)

        y, state = gradir.checkpoint(stage)(x, gamma, beta)
        return gnp.sum(y * seed), state

    run = gradir.jit(gradir.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True))
    (_, (mean, var)), (of_x, of_gamma, of_beta) = run(x, one, zero)
    # as PyTorch's, towards the unbiased variance
    np.testing.assert_allclose((mean, var), ([0.3], [1.366667]), atol=1e-5)
    np.testing.assert_allclose(of_x, [[0.248171], [-0.209991], [-0.133631], [0.09545]], atol=1e-5)
    np.testing.assert_allclose((of_gamma, of_beta), ([-1.069045], [1.0]), atol=1e-5)


# Operators in Python.


def test_custom_op_sqr_aux() -> None:
    """Forward changes the state, which backward sees; a stage does not call it twice."""
    seen: list[Any] = []

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        seen.append("forward")
        outputs[0][...] = inputs[0] ** 2
        outputs[1][...] = 1

    def backward(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        seen.append(outputs[1].copy())
        grads[0][...] = 2 * inputs[0] * cotangents[0]

    def infer(x: Any, aux: Any) -> Any:
        return x

    sqr = gradir.custom_op(forward, infer, backward, state=1, exec="async", name="case_sqr")

    def loss(data: Any) -> Any:
        def stage(x: Any) -> Any:
            return sqr(x, gnp.zeros(2))

        out, aux = gradir.checkpoint(stage)(data)
        return gnp.sum(out), aux

    data = np.array([0.5, -2.0])
    (_, aux), grad = gradir.jit(gradir.value_and_grad(loss, has_aux=True))(data)
    np.testing.assert_array_equal(grad, [1.0, -4.0])
    np.testing.assert_array_equal(aux, [1.0, 1.0])
    assert seen[0] == "forward"
    assert len(seen) == 2
    np.testing.assert_array_equal(seen[1], [1.0, 1.0])


def same(x: Any, *others: Any) -> Any:
    return x


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_custom_op_exception(mode: str) -> None:
    """Its type, its traceback and its op are told at the call; the next run works."""
    fails = [True]

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        if fails[0]:
            raise RuntimeError("no such device")
        outputs[0][...] = inputs[0]

    op = gradir.custom_op(forward, same, exec=mode, name=f"case_raises_{mode}")

    def both(a: Any, b: Any) -> Any:
        return gnp.sin(a), op(a @ b)

    run = gradir.jit(both)
    a = RANDOM.standard_normal((2, 2))
    with pytest.raises(ExecutionError, match=rf"case_raises_{mode}.*no such device") as raised:
        run(a, a)
    assert "raise RuntimeError" in str(raised.value.__cause__) or isinstance(
        raised.value.__cause__, RuntimeError
    )
    fails[0] = False
    for one, other in zip(run(a, a), (np.sin(a), a @ a), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("shape", ["left out", "wrong"])
def test_custom_op_unassigned_grad(shape: str) -> None:
    """The gradient of w is not written, or x's gets another shape."""

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0] @ inputs[1].T + 0.1

    def backward(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        (ct,), (_, w) = cotangents, inputs
        grads[0][...] = ct @ w if shape == "left out" else ct

    def infer(x: Any, w: Any) -> Any:
        return gradir.Spec((x.shape[0], w.shape[0]), x.dtype)

    dense = gradir.custom_op(forward, infer, backward, name=f"case_dense_{shape[0]}")

    def loss(x: Any, w: Any) -> Any:
        return gnp.sum(dense(x, w))

    x, w = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((5, 3))
    message = r"grads\[1\] is not written" if shape == "left out" else "broadcast"
    with pytest.raises(ExecutionError, match=message):
        gradir.grad(loss, argnums=(0, 1))(x, w)


def test_declared_dependency_only() -> None:
    """x is kept alone; a rule that reads w, which is not declared, fails with what to declare.

    What a Python function reads is not known before it runs.
    """

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0] @ inputs[1].T

    def backward(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        (ct,), (x, w) = cotangents, inputs
        grads[0][...] = ct @ w
        grads[1][...] = ct.T @ x

    def infer(x: Any, w: Any) -> Any:
        return gradir.Spec((x.shape[0], w.shape[0]), x.dtype)

    fc = gradir.custom_op(forward, infer, backward, needs=("out_grad0", "in0"), name="case_fc")

    def f(x: Any, w: Any) -> Any:
        return fc(gnp.sin(x), w)

    x, w = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    module = gradir.trace(f, x, w).gradient("f", wrt=1)
    _, *residuals = gradir.interpret(module, "f_fwd", x, w)
    assert [r.shape for r in residuals] == [x.shape]

    def loss(w: Any) -> Any:
        return gnp.sum(f(x, w))

    with pytest.raises(ExecutionError, match=r"case_fc.*needs="):
        gradir.grad(loss)(w)


def test_exec_sync_async_order() -> None:
    """c reads a before the operator that changes a copy of it; each completes once."""
    order: list[str] = []

    def make_case_op(name: str, change: float, mode: str) -> Any:
        def forward(inputs: Any, outputs: Any, req: Any) -> None:
            order.append(name)
            outputs[0][...] = inputs[0] + change

        return gradir.custom_op(forward, same, exec=mode, name=f"case_{name}")

    slow, fast = make_case_op("slow", 1.0, "async"), make_case_op("fast", 2.0, "sync")
    inc = make_case_op("inc", 10.0, "async")

    def f(x: Any) -> Any:
        a = slow(x)
        return a + fast(x), inc(a)

    c, x2 = gradir.jit(f)(np.zeros(3))
    np.testing.assert_array_equal(c, np.full(3, 3.0))
    np.testing.assert_array_equal(x2, np.full(3, 11.0))
    assert sorted(order) == ["fast", "inc", "slow"]
    assert order.index("slow") < order.index("inc")


def test_exec_cross_device_copy() -> None:
    """The derivative of a transfer is a transfer back; it has one operand and one result."""
    text = """
        func.func @f(%a: tensor<3xf64>) -> tensor<3xf64> {
          %b = grad.host_call %a {callee = "case_to_1", exec = "cross_device"}
            : (tensor<3xf64>) -> tensor<3xf64>
          func.return %b : tensor<3xf64>
        }"""
    gradir.register_host_function("case_to_0", np.copy)
    gradir.register_host_function("case_to_1", np.copy, backward="case_to_0", pure=True)
    module = gradir.parse(text)
    derived = module.gradient("f", mode="vjp")
    back = str(derived).partition("@f_vjp")[2]
    assert re.search(r'callee = "case_to_0", exec = "cross_device"', back)
    a, ct = np.arange(3.0), np.array([1.0, -1.0, 2.0])
    for run in (gradir.compile(derived, "f_vjp"), None):
        found = run(a, ct) if run else gradir.interpret(derived, "f_vjp", a, ct)
        np.testing.assert_array_equal(found, (a, ct))
    with pytest.raises(VerifyError, match="cross_device"):
        gradir.parse(
            text.replace("%a {", "%a, %a {").replace(
                "(tensor<3xf64>) ->", "(tensor<3xf64>, tensor<3xf64>) ->"
            )
        )
