"""nn.batch_norm of the tracing frontend: its state is one argument and one result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.errors import TraceError
from gradir.testing import check_grads

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((4, 3, 2))
SCALE, BIAS = RANDOM.standard_normal(3), RANDOM.standard_normal(3)
STATE = RANDOM.standard_normal(3), RANDOM.uniform(0.5, 2, 3)


def layer(x: Any, scale: Any, bias: Any, state: Any, training: bool) -> Any:
    return nn.batch_norm(x, scale, bias, state, training=training, momentum=0.25)


def expected(training: bool) -> tuple[Any, Any, Any]:
    mean, var = (X.mean((0, 2)), X.var((0, 2))) if training else STATE
    wide = (1, 3, 1)
    normal = (X - mean.reshape(wide)) / np.sqrt(var.reshape(wide) + 1e-5)
    y = SCALE.reshape(wide) * normal + BIAS.reshape(wide)
    if not training:
        return y, *STATE
    unbiased = X.var((0, 2), ddof=1)
    return y, 0.75 * STATE[0] + 0.25 * mean, 0.75 * STATE[1] + 0.25 * unbiased


@pytest.mark.parametrize("training", [True, False])
def test_values(training: bool) -> None:
    def apply(x: Any, scale: Any, bias: Any, state: Any) -> Any:
        return layer(x, scale, bias, state, training)

    y, state = gradir.jit(apply)(X, SCALE, BIAS, STATE)
    for one, other in zip((y, *state), expected(training), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("training", [True, False])
def test_derivatives(training: bool) -> None:
    def loss(x: Any, scale: Any, bias: Any) -> Any:
        y, _ = layer(x, scale, bias, STATE, training)
        return gnp.sum(gnp.sin(y))

    check_grads(loss, [X, SCALE, BIAS])


@pytest.mark.parametrize("policy", [None, "keep_none", "auto"])
def test_state_advances_once(policy: str | None) -> None:
    """Also where a stage computes the layer again."""

    def loss(scale: Any, state: Any) -> Any:
        def stage(scale: Any) -> Any:
            return layer(X, scale, BIAS, state, True)

        y, state = (stage if policy is None else gradir.checkpoint(stage, policy=policy))(scale)
        return gnp.sum(gnp.sin(y)), state

    step = gradir.jit(gradir.value_and_grad(loss, has_aux=True))
    (_, state), _ = step(SCALE, STATE)
    for one, other in zip(state, expected(True)[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_state_is_a_pair() -> None:
    def apply(x: Any) -> Any:
        return nn.batch_norm(x, SCALE, BIAS, STATE[0])

    with pytest.raises(TraceError, match=r"state must be \(mean, var\)"):
        gradir.jit(apply)(X)
