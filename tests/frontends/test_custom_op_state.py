"""gradir.custom_op with state, from many threads, and pickled."""

from __future__ import annotations

import gc
import pickle
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import NotPicklable
from gradir.testing import check_grads
from tests.support.custom_ops import Arrays, backward, first_like, forward, own_registry, wave

X, W = np.array([0.5, -2.0]), np.array([1.5, 0.25])


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


def same(x: gradir.Spec, *state: gradir.Spec) -> gradir.Spec:
    return x


def square(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    """x**2; its state becomes 1."""
    np.square(inputs[0], out=outputs[0])
    outputs[1][...] = 1


def square_back(cts: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: Arrays) -> None:
    """Reads the new state; in MXNet's test it is 1 here."""
    assert (outputs[1] == 1).all() and (inputs[1] == 0).all()
    assert cts[1] is None and grads[1] is None and req == ("write", "null")
    np.multiply(2 * inputs[0], cts[0], out=grads[0])


def test_backward_sees_the_new_state() -> None:
    op, state = gradir.custom_op(square, same, square_back, state=1), np.zeros(2, np.float32)
    y, new = op(X, state)
    np.testing.assert_array_equal(y, X * X)
    assert (new == 1).all() and (state == 0).all()

    def loss(x: Any, state: Any) -> Any:
        y, new = op(x, state)
        return gnp.sum(y), new

    x_ct, new = gradir.grad(loss, has_aux=True)(X, state)
    np.testing.assert_array_equal(x_ct, 2 * X)
    assert (new == 1).all()


def counting(count: list[int], **options: Any) -> Any:
    """sin(x) * (steps + 1), with the number of steps as state."""

    def run(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        count.append(1)
        x, steps = inputs
        outputs[0][...] = np.sin(x) * (steps + 1)
        if req[1] == "write":
            outputs[1][...] = steps + 1

    def back(cts: Arrays, inputs: Arrays, outputs: Any, grads: Arrays, req: Arrays) -> None:
        x, steps = inputs
        grads[0][...] = cts[0] * np.cos(x) * (steps + 1)

    given: dict[str, Any] = {"state": 1, "needs": ("cotangents", "inputs"), **options}
    return gradir.custom_op(run, same, back, **given)


def test_no_gradient_flows_through_state() -> None:
    op, state = counting([]), np.array(2.0)

    def loss(x: Any, state: Any) -> Any:
        y, new = op(x, state)
        return gnp.sum(y) + new * new

    x_ct, state_ct = gradir.grad(loss, argnums=(0, 1))(X, state)
    np.testing.assert_allclose(x_ct, 3 * np.cos(X))
    assert state_ct == 0
    with pytest.raises(AssertionError):
        check_grads(lambda s: loss(X, s), [state], order=1)


def test_second_order_beside_state() -> None:
    """The op that is the backward function gets the state, and has no gradient for it."""

    def cubed(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        outputs[0][...], outputs[1][...] = inputs[0] ** 3 * inputs[1], inputs[1] + 1

    def slope(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        ct, x, scale, new = inputs
        assert new == scale + 1
        outputs[0][...] = 3 * x * x * scale * ct

    def curve(cts: Arrays, inputs: Arrays, outputs: Any, grads: Arrays, req: Arrays) -> None:
        (c,), (ct, x, scale, _) = cts, inputs
        grads[0][...], grads[1][...] = 3 * x * x * scale * c, 6 * x * scale * ct * c
        if req[2] == "write":
            grads[2][...] = 3 * x * x * ct * c
        if req[3] == "write":
            grads[3][...] = 0

    def slope_spec(ct: gradir.Spec, x: gradir.Spec, *more: gradir.Spec) -> gradir.Spec:
        return x

    needs = ("cotangents", "inputs", "out1")
    back = gradir.custom_op(slope, slope_spec, curve, needs=("cotangents", "inputs"))
    op = gradir.custom_op(cubed, same, back, needs=needs, state=1)
    check_grads(lambda x: gnp.sum(op(x, np.array(2.0))[0] ** 2), [X], order=2)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "auto"])
@pytest.mark.parametrize("pure", [False, True])
def test_state_advances_once_a_step(policy: str, pure: bool) -> None:
    calls: list[int] = []
    op = counting(calls, pure=pure)

    def stage(x: Any, state: Any) -> Any:
        y, state = op(gnp.tanh(x), state)
        return gnp.sin(y), state

    def loss(x: Any, state: Any) -> Any:
        for _ in range(3):
            x, state = gradir.checkpoint(stage, policy=policy)(x, state)
        return gnp.sum(x), state

    step = gradir.jit(gradir.value_and_grad(loss, has_aux=True))
    state = np.array(0)
    for k in range(2):
        (_, state), _ = step(X, state)
        assert state == 3 * (k + 1)
    assert len(calls) == 6 or (pure and len(calls) <= 12)
    check_grads(lambda x: loss(x, np.array(0))[0], [X], order=1)


def test_state_in_a_scan() -> None:
    op = counting([])

    def body(carried: Any, _: Any) -> Any:
        y, state = op(*carried)
        return (y, state), gnp.sum(y)

    def loss(x: Any) -> Any:
        (_, state), sums = gradir.scan(body, (x, np.array(0)), None, length=3)
        return gnp.sum(sums), state

    _, state = gradir.jit(loss)(X)
    assert state == 3
    check_grads(lambda x: loss(x)[0], [X], order=1)


def test_many_calls_from_many_threads() -> None:
    """Each has right numbers; neither references nor memory pile up."""
    op = wave()
    fn = gradir.compile(
        gradir.trace(lambda x, w: gnp.sum(op(x, w)), X, W).gradient("main", mode="grad"),
        "main_grad",
    )
    wrong: list[int] = []

    def work(k: int, times: int) -> None:
        x = X + k
        value, slope = np.sum(np.sin(x) * W), np.cos(x) * W
        for _ in range(times):
            y, x_ct, _ = fn(x, W)
            if abs(y - value) > 1e-12 or np.abs(x_ct - slope).max() > 1e-12:
                wrong.append(k)

    def run(times: int) -> None:
        threads = [threading.Thread(target=work, args=(k, times)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    run(50)
    gc.collect()
    before, objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    run(1250)
    gc.collect()
    assert not wrong
    assert len(gc.get_objects()) < objects + 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10


def test_copies_and_pickles() -> None:
    op = wave(name="known")
    assert pickle.loads(pickle.dumps(op)) is op
    within = gradir.custom_op(lambda i, o, r: None, first_like)
    with pytest.raises(NotPicklable, match="custom_op of test_copies_and_pickles"):
        pickle.dumps(within)
    code = "import pickle,sys; op = pickle.load(sys.stdin.buffer); print(op, *op([0.0], [2.0]))"
    made = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(op), capture_output=True, check=True
    )
    assert made.stdout.decode().split() == ["<gradir.custom_op", "@known>", "0.0"]
    assert gradir.custom_op(forward, first_like, backward).__doc__ == forward.__doc__
