"""gradir.custom_op: values, derivatives of both orders, control flow, stages, requests, needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import PassError
from gradir.testing import check_grads
from tests.support.custom_ops import Arrays, backward, forward, own_registry, smooth_wave, wave

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.75])


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


def runs(module: gradir.Module, name: str | None = None) -> list[Callable[..., Any]]:
    name = name or module.functions[-1]
    return [gradir.compile(module, name), partial(gradir.interpret, module, name)]


@pytest.mark.parametrize("debug", [False, True])
def test_values(debug: bool) -> None:
    """Outside of a trace, in native code and in the interpreter."""
    op = wave(debug=debug)
    wanted = np.sin(X) * W
    np.testing.assert_allclose(op(X, W), wanted)
    np.testing.assert_allclose(op([0.5, -1.0, 2.0], W), wanted)
    for run in runs(gradir.trace(op, X, W)):
        np.testing.assert_allclose(run(X, W)[0], wanted)


def test_results_of_several_types_and_sizes() -> None:
    def infer(x: gradir.Spec, n: gradir.Spec, c: gradir.Spec) -> tuple[gradir.Spec, ...]:
        bf16 = gradir.Spec(x.shape, "bfloat16")
        return bf16, c, gradir.Spec((0, 2), "float32"), gradir.Spec((), "int64"), n

    def many(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        x, n, c = inputs
        outputs[0][...] = x + 0.5
        np.logical_not(c, out=outputs[1])
        outputs[3][...] = n.sum()
        outputs[4][...] = n + 1

    x, n, c = np.ones(3, np.float16), np.arange(3, dtype=np.int32), np.array(True)
    for debug in (False, True):
        op = gradir.custom_op(many, infer, debug=debug)
        for run in (op, *runs(gradir.trace(op, x, n, c))):
            y, negated, empty, total, more = run(x, n, c)
            assert y.dtype == ml_dtypes.bfloat16 and (y.astype("f4") == 1.5).all()
            assert not negated and empty.shape == (0, 2) and total == 3
            np.testing.assert_array_equal(more, [1, 2, 3])


def test_one_result_in_a_tuple_stays_in_it() -> None:
    def infer(x: gradir.Spec, w: gradir.Spec) -> tuple[gradir.Spec]:
        return (x,)

    op = gradir.custom_op(forward, infer)
    [y] = op(X, W)
    [traced] = gradir.jit(lambda x, w: op(x, w))(X, W)
    np.testing.assert_array_equal(y, traced)


@pytest.mark.parametrize("options", [{}, {"pure": True}, {"debug": True}])
def test_derivatives_of_both_orders(options: Any) -> None:
    op = smooth_wave(**options)
    check_grads(lambda x, w: gnp.sum(op(gnp.tanh(x), w) ** 2), [X, W], order=2)


def test_scalars_differentiate() -> None:
    op = smooth_wave()
    check_grads(lambda x, w: op(x, w) * x, [np.array(0.5), np.array(2.0)], order=2)


def test_forward_mode() -> None:
    op = smooth_wave()
    y, moved = gradir.jvp(op, (X, W), (W, X))
    np.testing.assert_allclose(y, np.sin(X) * W)
    np.testing.assert_allclose(moved, W * np.cos(X) * W + np.sin(X) * X)

    def energy(x: Any) -> Any:
        return gnp.sum(op(x, W) ** 2)

    step = 1e-6
    near = (gradir.grad(energy)(X + step * W) - gradir.grad(energy)(X - step * W)) / (2 * step)
    np.testing.assert_allclose(gradir.hvp(energy, (X,), (W,)), near, rtol=1e-7)


def test_forward_mode_alone() -> None:
    """Entries of integers and of state are None."""

    def run(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        x, n, s = inputs
        outputs[0][...], outputs[1][...] = x * n * s, s + 1

    def moved(tangents: Arrays, inputs: Arrays, outputs: Arrays, made: Arrays, req: Arrays) -> None:
        assert tangents[1] is tangents[2] is made[1] is None and req == ("write", "null")
        made[0][...] = tangents[0] * inputs[1] * inputs[2]

    op, n = gradir.custom_op(run, lambda x, n, s: x, jvp=moved, state=1), np.arange(3)
    primals, tangents = (X, np.array(3.0)), (W, np.array(1.0))
    _, (y, s) = gradir.jvp(lambda x, s: op(x, n, s), primals, tangents)
    np.testing.assert_array_equal(y, W * n * 3)
    assert s == 0
    with pytest.raises(PassError, match=r"host_call @run: it has a jvp, and no backward function"):
        gradir.grad(lambda x: gnp.sum(op(x, n, np.array(3.0))[0]))(X)


def test_missing_derivatives_are_refused_by_name() -> None:
    bare = gradir.custom_op(forward, wave_spec, name="bare")
    with pytest.raises(PassError, match=r"host_call @bare: it has no derivative.*grad\.no_grad"):
        gradir.grad(lambda x: gnp.sum(bare(x, W)))(X)
    np.testing.assert_array_equal(
        gradir.grad(lambda x: gnp.sum(x + bare(gradir.no_grad(x), W)))(X), np.ones(3)
    )
    once = wave(name="once", jvp=None)

    def slope(x: Any) -> Any:
        return gnp.sum(gradir.grad(lambda x: gnp.sum(once(x, W)))(x))

    with pytest.raises(PassError, match=r"host_call @once\.backward: .* has no derivative"):
        gradir.grad(slope)(X)
    with pytest.raises(PassError, match=r"host_call @once: it has no jvp; use reverse mode, or"):
        gradir.jvp(once, (X, W), (X, W))


def wave_spec(x: gradir.Spec, w: gradir.Spec) -> gradir.Spec:
    return x


def scanned(op: Any) -> Any:
    def body(carried: Any, _: Any) -> Any:
        y = op(carried, W)
        return y, gnp.sum(y)

    return lambda x: gnp.sum(gradir.scan(body, x, None, length=3)[1])


def looped(op: Any, **policy: str) -> Any:
    def body(_: Any, y: Any) -> Any:
        return op(y, W) + 0.1 * y

    return lambda x: gnp.sum(gradir.fori_loop(0, 4, body, x, **policy))


def until(op: Any) -> Any:
    def body(state: Any) -> Any:
        return op(state[0], W), state[1] + 1

    return lambda x: gnp.sum(gradir.while_loop(lambda s: s[1] < 3, body, (x, 0))[0])


def chosen(op: Any) -> Any:
    return lambda x: gnp.sum(
        gradir.cond(gnp.sum(x) > 0, lambda x: op(x, W), lambda x: x * x, x) ** 2
    )


@pytest.mark.parametrize("place", [scanned, looped, until, chosen])
def test_in_loops_and_branches(place: Any) -> None:
    check_grads(place(smooth_wave()), [X], order=2 if place is not until else 1)


@pytest.mark.parametrize("policy", ["every=2", "binomial=2"])
def test_loops_that_run_again_take_pure_ops(policy: str) -> None:
    wanted = gradir.grad(looped(wave()))(X)
    made = gradir.grad(looped(wave(pure=True), policy=policy))(X)
    np.testing.assert_allclose(made, wanted, rtol=1e-12)
    with pytest.raises(PassError, match=r"host_call @forward\w*: has effects, so that a loop of"):
        gradir.grad(looped(wave(), policy=policy))(X)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "auto"])
@pytest.mark.parametrize("pure", [False, True])
def test_in_stages(policy: str, pure: bool) -> None:
    """Run once unless pure; the gradient has the same bits under every policy."""
    calls: list[int] = []

    def counted(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        calls.append(1)
        forward(inputs, outputs, req)

    op = gradir.custom_op(counted, wave_spec, backward, pure=pure)

    def block(x: Any, w: Any) -> Any:
        return gnp.sin(op(gnp.tanh(x), w))

    staged = gradir.checkpoint(block, policy=policy)
    plain, made = (
        gradir.grad(lambda x, f=f: gnp.sum(gnp.exp(f(x, W))))(X) for f in (block, staged)
    )
    np.testing.assert_array_equal(plain, made)
    assert len(calls) == 2 + (pure and policy == "keep_none")


def test_second_order_in_a_stage() -> None:
    op = smooth_wave(pure=True)
    staged = gradir.checkpoint(lambda x, w: gnp.sin(op(gnp.tanh(x), w)))
    check_grads(lambda x, w: gnp.sum(staged(x, w)), [X, W], order=2)


def recording(seen: list[Any]) -> Any:
    """Two results, and a derivative; notes the requests of both."""

    def infer(x: gradir.Spec, n: gradir.Spec, w: gradir.Spec) -> tuple[gradir.Spec, gradir.Spec]:
        return x, w

    def run(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        seen.append(req)
        x, n, w = inputs
        outputs[0][...], outputs[1][...] = x * n, w * x

    def back(cts: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: Arrays) -> None:
        seen.append(req)
        (a, b), (x, n, w) = cts, inputs
        assert outputs is None and grads[1] is None
        grads[0][...], grads[2][...] = a * n + b * w, b * x

    return gradir.custom_op(run, infer, back, needs=("cotangents", "inputs"))


def test_what_nobody_reads_is_requested_as_null() -> None:
    """Writing it all the same does no harm; it takes no memory of the program."""
    seen: list[Any] = []
    op, n = recording(seen), np.arange(3)
    first = gradir.trace(lambda x, w: op(x, n, w)[0], X, W)
    for run in runs(first, "main"):
        seen.clear()
        np.testing.assert_array_equal(run(X, W)[0], X * n)
        assert seen == [("write", "null")]
    seen.clear()

    def loss(x: Any, w: Any) -> Any:
        return gnp.sum(op(x, n, w)[1])

    np.testing.assert_array_equal(gradir.grad(loss)(X, W), W)
    assert seen == [("null", "null"), ("write", "null", "null")]
    seen.clear()
    gradir.value_and_grad(loss)(X, W)
    assert seen == [("null", "write"), ("write", "null", "null")]
    seen.clear()
    x_ct, w_ct = gradir.grad(loss, argnums=(0, 1))(X, W)
    np.testing.assert_array_equal([x_ct, w_ct], [W, X])
    assert seen[-1] == ("write", "null", "write")


def test_a_null_result_has_no_buffer() -> None:
    op, x = recording([]), np.zeros((64, 1024))
    n = np.zeros(x.shape, np.int64)
    peaks = [
        gradir.compile(gradir.trace(f, x, n, x), "main").plan.peak_bytes
        for f in (
            lambda x, n, w: gnp.sum(op(x, n, w)[0]),
            lambda x, n, w: gnp.sum(gnp.stack(op(x, n, w))),
        )
    ]
    assert peaks[1] - peaks[0] >= x.nbytes


def test_what_backward_does_not_need_is_not_kept() -> None:
    op = gradir.custom_op(forward, wave_spec, backward, needs=("cotangents", "inputs"))

    def kept(needs: tuple[str, ...]) -> int:
        made = gradir.custom_op(forward, wave_spec, backward, needs=needs)
        module = gradir.trace(lambda x, w: made(x, w) + 1.0, X, W).gradient("main", mode="split")
        text = next(line for line in str(module).splitlines() if "@main_fwd" in line)
        return text.split("->")[1].count("tensor") - 1

    assert kept(("cotangents", "inputs", "outputs")) == 3
    assert kept(("cotangents", "inputs")) == 2
    assert kept(("cotangents", "in0")) == 1
    assert kept(("cotangents",)) == 0
    np.testing.assert_allclose(gradir.grad(lambda w: gnp.sum(op(X, w)))(W), np.sin(X))


def test_only_what_is_declared_is_there() -> None:
    """A dense layer whose backward forgets to say that it reads the weight."""

    def dense(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        np.matmul(inputs[0], inputs[1].T, out=outputs[0])

    def rule(cts: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: Arrays) -> None:
        grads[0][...] = cts[0] @ inputs[1]
        grads[1][...] = cts[0].T @ inputs[0]

    def infer(x: gradir.Spec, w: gradir.Spec) -> gradir.Spec:
        return gradir.Spec((x.shape[0], w.shape[0]), x.dtype)

    x, w = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    for needs, wrong in ((("cotangents", "in0"), "inputs"), (("cotangents",), "inputs, outputs")):
        op = gradir.custom_op(dense, infer, rule, needs=needs, name="fc")
        with pytest.raises(gradir.GradirError) as caught:
            gradir.grad(lambda x, w, op=op: gnp.sum(op(x, w)), argnums=(0, 1))(x, w)
        text = str(caught.value)
        assert "host_call @fc.backward: " in text and text.count("Error: ") > 1
        assert f"None is for what needs={needs!r} leaves out of {wrong}" in text
    op = gradir.custom_op(dense, infer, rule, needs=("inputs", "cotangents"), name="fc")
    check_grads(lambda x, w: gnp.sum(op(x, w) ** 2), [x, w], order=1)


def test_modes_of_execution() -> None:
    def copy(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        outputs[0][...] = inputs[0]

    def copy_back(cts: Arrays, inputs: Any, outputs: Any, grads: Arrays, req: Arrays) -> None:
        grads[0][...] = cts[0]

    transfer = gradir.custom_op(
        copy, lambda x: x, copy_back, needs=("cotangents",), exec="cross_device"
    )
    module = gradir.trace(lambda x: gnp.sum(transfer(x) ** 2), X).gradient("main", mode="grad")
    assert str(module).count('exec = "cross_device"') == 3
    check_grads(lambda x: gnp.sum(transfer(x) ** 2), [X], order=1)
    later = wave(exec="async")
    np.testing.assert_allclose(gradir.jit(lambda x: later(x, W))(X), np.sin(X) * W)
    refused = gradir.custom_op(forward, wave_spec, exec="cross_device", name="two")
    with pytest.raises(gradir.GradirError, match=r"@two: .*must have one operand and one result"):
        gradir.trace(refused, X, W)


def test_in_text() -> None:
    """By its name; needs, backward and shapes are the op's."""
    smooth_wave(name="wave")
    module = gradir.parse("""
func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %a = array.tanh %x : tensor<3xf64>
  %y = grad.host_call %a, %w {callee = "wave"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %y : tensor<3xf64>
}""")
    check_grads(module, [X, W], function="f", order=2)
    derived = gradir.parse(str(module.gradient("f", mode="vjp")))
    for run in runs(derived, "f_vjp"):
        np.testing.assert_allclose(run(X, W, np.ones(3))[2], np.sin(np.tanh(X)))


def test_gradients_are_added_to_what_is_there() -> None:
    """The boundary's request is not the op's: the program adds."""
    op = wave()
    module = gradir.trace(lambda x, w: gnp.sum(op(x, w)), X, W)
    derived = module.gradient("main", mode="grad", req={0: "add", 1: "null"})
    x_ct = np.full(3, 10.0)
    gradir.compile(derived, "main_grad")(X, W, out=(None, x_ct))
    np.testing.assert_allclose(x_ct, 10 + np.cos(X) * W)


def test_dynamic_extents_follow_from_infer() -> None:
    smooth_wave(name="wave")
    module = gradir.parse(
        """
func.func @f(%x: T, %w: T) -> T {
  %y = grad.host_call %x, %w {callee = "wave"} : (T, T) -> T
  func.return %y : T
}""".replace("T", "tensor<?xf64>")
    )
    derived = module.gradient("f", mode="vjp")
    for run in runs(derived, "f_vjp"):
        for x in (X, X[:2]):
            y, x_ct, _ = run(x, x, np.ones(len(x)))
            np.testing.assert_allclose(y, np.sin(x) * x)
            np.testing.assert_allclose(x_ct, np.cos(x) * x)
