"""gradir.optim.to_module: an optimizer as text, and steps made of it by gradir-train-step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import optim
from gradir.errors import ArgumentTypeError, PassError, TraceError
from gradir.frontends.tracing.trees import flatten

Array = np.ndarray[Any, np.dtype[Any]]
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(8, 3)).astype(np.float32)
LABELS = GENERATOR.integers(0, 2, 8)
PARAMS = {
    "b1": np.zeros(5, np.float32),
    "w1": GENERATOR.normal(size=(5, 3)).astype(np.float32),
    "w2": GENERATOR.normal(size=(2, 5)).astype(np.float32),
}


def loss(params: Any, x: Any, labels: Any) -> Any:
    h = gnp.tanh(nn.linear(x, params["w1"], params["b1"]))
    return nn.cross_entropy(nn.linear(h, params["w2"]), labels)


def leaves(tree: Any) -> list[Array]:
    return [np.asarray(leaf) for leaf in flatten(tree)[0]]


SCHEDULE = optim.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=2, decay_steps=10)
OPTIMIZERS = [
    optim.sgd(0.1),
    optim.chain(optim.clip_by_global_norm(0.5), optim.adamw(SCHEDULE)),
    optim.adafactor(1e-2),
    optim.dynamic_loss_scale(optim.adam(1e-2), growth_interval=2),
    optim.static_loss_scale(optim.sgd(0.1), 4.0),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_bits_are_those_of_a_python_step(optimizer: optim.GradientTransformation) -> None:
    """Three steps of optim.train_step, and of the text's functions joined by the pass."""
    by_python = gradir.jit(optim.train_step(loss, optimizer))
    params, state = PARAMS, optimizer.init(PARAMS)
    traced = gradir.trace(loss, PARAMS, X, LABELS)
    module = gradir.parse(str(traced.merge(optim.to_module(optimizer, PARAMS))))
    in_place = "gradir-train-step{function=loss wrt=0,1,2 in_place=true}"
    step = gradir.compile(module.run_passes(in_place), "loss_step")
    ours = [*leaves(PARAMS), *gradir.compile(module, "init")(*leaves(PARAMS))]
    ours = [array.copy() for array in ours]
    for _ in range(3):
        params, state, value = by_python(params, state, X, LABELS)
        *_, last = step(X, LABELS, out=[*ours, None])
        for one, other in zip(leaves((params, state, value)), [*ours, last], strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def test_a_step_that_overflows_is_left_out() -> None:
    """The scale falls until gradients of float16 are finite; till then nothing else changes."""
    scaled = optim.dynamic_loss_scale(
        optim.sgd(0.05, momentum=0.9), initial_scale=2.0**15, growth_interval=1
    )
    by_python = gradir.jit(optim.train_step(power, scaled))
    params, state = np.full(2, 4, np.float16), scaled.init(np.zeros(2, np.float16))
    module = gradir.trace(power, params).merge(optim.to_module(scaled, params))
    step = gradir.compile(module.train_step("power"), "power_step")
    ours, scales = [params, *leaves(state)], list[float]()
    for _ in range(6):
        params, state, value = by_python(params, state)
        *ours, last = step(*ours)
        scales.append(float(ours[1]))
        for one, other in zip(leaves((params, state, value)), [*ours, last], strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    # the gradient is 8 times the scale: 2**16 is inf
    assert scales[:4] == [2.0**14, 2.0**13, 2.0**12, 2.0**13] and 0 < ours[0][0] < 4


def power(x: Any) -> Any:
    return gnp.sum(x * x)


def retrieval(params: Any, ids: Any, targets: Any) -> Any:
    found = gnp.sum(params["table"][ids] * params["w"], axis=-1)
    return gnp.mean((found - targets) ** 2)


ROWS = [
    optim.adagrad(0.1),
    optim.adam(0.1, lazy=True),
    optim.static_loss_scale(optim.adagrad(0.1), 8.0),
]


@pytest.mark.parametrize("optimizer", ROWS)
def test_row_slices_are_two_arguments(optimizer: optim.GradientTransformation) -> None:
    """The optimizer's signature asks for them; the bits are as in a sparse Python step."""
    by_python = gradir.jit(
        optim.train_step(retrieval, optimizer, sparse={"table": True, "w": False})
    )
    params = {"table": GENERATOR.normal(size=(7, 2)), "w": np.ones(2)}
    ids, targets = np.array([3, -1, 3]), np.ones(3)
    made = optim.to_module(optimizer, params, rows={"table": 3, "w": None})
    module = gradir.trace(retrieval, params, ids, targets).merge(made)
    step = gradir.compile(module.train_step("retrieval", wrt=[0, 1]), "retrieval_step")
    state = optimizer.init(params)
    ours = leaves((params, state))
    for _ in range(2):
        params, state, value = by_python(params, state, ids, targets)
        *ours, last = step(*ours, ids, targets)
        for one, other in zip(leaves((params, state, value)), [*ours, last], strict=True):
            assert one.tobytes() == other.tobytes()
    other = optim.to_module(optimizer, params, rows={"table": 4, "w": None})
    with pytest.raises(PassError, match=r"is the gradient of .* must be tensor<3xi64>, got .*<4xi"):
        gradir.trace(retrieval, params, ids, targets).merge(other).train_step(
            "retrieval", wrt=[0, 1]
        )


def test_half_precision_and_empty_parameters() -> None:
    """Dtypes of parameters and state are kept; an array of no elements stays one."""
    params = [gradir.Spec((2,), "bfloat16"), gradir.Spec((0, 3), "float16")]
    optimizer = optim.adam(0.5, state_dtype="float32")
    module = optim.to_module(optimizer, params)
    text = (
        "func.func @f(%a: tensor<2xbf16>, %e: tensor<0x3xf16>) -> tensor<bf16> {\n"
        "  %s = array.sum %a : tensor<2xbf16> -> tensor<bf16>\n  func.return %s : tensor<bf16>\n}"
    )
    stepped = gradir.parse(text).merge(module).train_step("f")
    a = np.ones(2, params[0].dtype)
    given = [a, np.zeros((0, 3), np.float16)]
    state = gradir.compile(module, "init")(*given)
    new = gradir.compile(stepped, "f_step")(*given, *state)
    assert [array.dtype.name for array in new[:3]] == ["bfloat16", "float16", "int32"]
    assert new[0].tolist() == [0.5, 0.5] and new[1].shape == (0, 3) and new[3].dtype == np.float32


def test_names_and_places() -> None:
    """Functions under other names, for two optimizers in one module."""
    params = (gradir.Spec((2,)), gradir.Spec(()))
    one = optim.to_module(optim.sgd(0.1, momentum=0.9), params)
    other = optim.to_module(optim.sgd(0.2), params, init="init_other", update="update_other")
    assert one.functions == ("init", "update")
    assert one.merge(other).functions == ("init", "update", "init_other", "update_other")
    assert one.merge(one).functions == one.functions
    with pytest.raises(PassError, match=r"merge: .* got @update in both; rename one"):
        one.merge(optim.to_module(optim.sgd(0.2, momentum=0.9), params))


def test_refusals() -> None:
    with pytest.raises(ArgumentTypeError, match=r"optimizer: expected one of .*, got 3"):
        optim.to_module(3, PARAMS)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match=r"rows\['b1'\]: expected None, or .*, got -1 for"):
        optim.to_module(optim.sgd(0.1), PARAMS, rows={"b1": -1, "w1": None, "w2": None})
    with pytest.raises(ArgumentTypeError, match="rows: expected numbers, or None, nested like"):
        optim.to_module(optim.sgd(0.1), PARAMS, rows=[3])
    with pytest.raises(TraceError, match="must be floating, got int64"):
        optim.to_module(optim.sgd(0.1), [LABELS])
