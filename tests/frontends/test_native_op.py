"""gradir.native: values, derivatives, control flow, stages, state, as for Python functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import PassError
from gradir.testing import check_grads
from tests.frontends.test_custom_op import chosen, looped, runs, scanned, until
from tests.support import custom_ops
from tests.support.custom_ops import first_like, own_registry
from tests.support.native_ops import of, smooth_wave, wave

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.75])


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


@pytest.mark.parametrize("debug", [False, True])
def test_values(debug: bool) -> None:
    """Outside of a trace, in native code and in the interpreter."""
    op = wave(debug=debug)
    assert op.name == "wave"
    np.testing.assert_allclose(op(X, W), np.sin(X) * W)
    for run in runs(gradir.trace(op, X, W)):
        np.testing.assert_array_equal(run(X, W)[0], op(X, W))
        np.testing.assert_array_equal(run(W, X)[0], op(W, X))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)])
def test_shapes(shape: tuple[int, ...]) -> None:
    op, x = wave(), np.full(shape, 0.5)
    for run in runs(gradir.trace(op, x, x)):
        np.testing.assert_array_equal(run(x, x)[0], np.sin(x) * x)


@pytest.mark.parametrize("options", [{}, {"pure": True}, {"debug": True}])
def test_derivatives_of_both_orders(options: Any) -> None:
    op = smooth_wave(**options)
    check_grads(lambda x, w: gnp.sum(op(gnp.tanh(x), w) ** 2), [X, W], order=2)
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


@pytest.mark.parametrize("native", ["forward", "backward", "jvp"])
def test_native_and_python_functions_mix(native: str) -> None:
    parts = {"forward": of("wave"), "backward": of("wave_back"), "jvp": of("wave_tangent")}
    python: dict[str, Any] = {
        "forward": custom_ops.forward, "backward": custom_ops.backward, "jvp": custom_ops.tangent,
    }  # fmt: skip
    op = gradir.custom_op(
        infer=first_like, needs=("cotangents", "inputs"), **(python | {native: parts[native]})
    )
    check_grads(lambda x, w: gnp.sum(op(x, w) ** 2), [X, W], order=1)
    np.testing.assert_allclose(gradir.jvp(op, (X, W), (W, X))[1], W * np.cos(X) * W + np.sin(X) * X)


@pytest.mark.parametrize("place", [scanned, looped, until, chosen])
def test_in_loops_and_branches(place: Any) -> None:
    check_grads(place(smooth_wave()), [X], order=2 if place is not until else 1)


@pytest.mark.parametrize("policy", ["every=2", "binomial=2"])
def test_loops_that_run_again_take_pure_ops(policy: str) -> None:
    wanted = gradir.grad(looped(wave()))(X)
    made = gradir.grad(looped(wave(pure=True), policy=policy))(X)
    np.testing.assert_array_equal(made, wanted)
    with pytest.raises(PassError, match=r"host_call @wave\w*: has effects, so that a loop of"):
        gradir.grad(looped(wave(), policy=policy))(X)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "auto"])
@pytest.mark.parametrize("pure", [False, True])
def test_in_stages(policy: str, pure: bool) -> None:
    op = wave(pure=pure)

    def block(x: Any, w: Any) -> Any:
        return gnp.sin(op(gnp.tanh(x), w))

    staged = gradir.checkpoint(block, policy=policy)
    plain, made = (
        gradir.grad(lambda x, f=f: gnp.sum(gnp.exp(f(x, W))))(X) for f in (block, staged)
    )
    np.testing.assert_array_equal(plain, made)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("debug", [False, True])
def test_state(staged: bool, debug: bool) -> None:
    """It advances once in a step; backward sees only the needed arrays, which it checks."""
    options: dict[str, Any] = {"needs": ("cotangents",), "state": 1, "pure": True, "debug": debug}
    op = gradir.custom_op(of("centre"), lambda x, mean: x, of("centre_back"), **options)
    centred = gradir.checkpoint(op) if staged else op

    def loss(x: Any, mean: Any) -> Any:
        y, mean = centred(x, mean)
        return gnp.sum(y * y), mean

    step = gradir.jit(gradir.grad(loss, has_aux=True))
    x, mean, wanted = np.array([1.0, 3.0]), np.array(0.0), 0.0
    for _ in range(3):
        x_ct, mean = step(x, mean)
        np.testing.assert_array_equal(x_ct, 2 * (x - wanted))
        wanted = 0.5 * wanted + 0.5 * x.mean()
        assert mean == wanted


@pytest.mark.parametrize("threads", [1, 2])
def test_between_parallel_kernels(threads: int) -> None:
    """Kernels that several threads run write what the function reads, and read what it writes."""
    op, x = wave(), np.linspace(-1, 1, 1 << 17)
    module = gradir.trace(lambda x: gnp.sum(gnp.tanh(op(gnp.exp(x), x)) * x), x)
    found = gradir.compile(module.gradient("main", mode="grad"), "main_grad", threads)(x)
    s = np.sin(np.exp(x))
    t = np.tanh(s * x)
    slope = (1 - t * t) * (np.cos(np.exp(x)) * np.exp(x) * x + s) * x + t
    np.testing.assert_allclose(found[0], (t * x).sum())
    np.testing.assert_allclose(found[1], slope, atol=1e-12)


def test_results_in_place() -> None:
    """`out` and arguments that results replace: functions never see one memory under two names."""
    op = wave()
    step = gradir.jit(lambda x, w: (op(op(x, w), x), x * 2))
    wanted = np.sin(np.sin(X) * W) * X
    x, out = X.copy(), np.zeros(3)
    step(x, W, out=(out, x))
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(x, 2 * X)
    text = """func.func @f(%x: T {grad.in_out = 0}, %w: T) -> T {
      %y = grad.host_call %x, %w {callee = "wave"} : (T, T) -> T
      return %y : T
    }"""
    run = gradir.compile(gradir.parse(text.replace("T", "tensor<3xf64>")), "f")
    x = X.copy()
    run(W, out=x)
    np.testing.assert_array_equal(x, np.sin(X) * W)


@pytest.mark.parametrize("exec", ["sync", "async", "cross_device"])
def test_modes_of_execution(exec: Any) -> None:
    """A call of every kind is complete when it returns."""
    op = gradir.custom_op(of("positive"), first_like, exec=exec)
    for run in runs(gradir.trace(lambda x: op(x * x) + 1.0, X), "main"):
        np.testing.assert_array_equal(run(X)[0], X * X + 1)


def test_program_text_names_an_op() -> None:
    wave(name="wave_of_c")
    types = "(tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>"
    text = """func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
      %y = grad.host_call %x, %w {callee = "NAME"} : TYPES
      return %y : tensor<3xf64>
    }""".replace("TYPES", types)
    module = gradir.parse(text.replace("NAME", "wave_of_c"))
    for run in runs(module, "f"):
        np.testing.assert_allclose(run(X, W)[0], np.sin(X) * W)
    made = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")(X, W, np.ones(3))
    np.testing.assert_allclose(made[1:], [np.cos(X) * W, np.sin(X)])
    with pytest.raises(gradir.GradirError, match="no host function 'malloc' is registered"):
        gradir.compile(gradir.parse(text.replace("NAME", "malloc")), "f")
