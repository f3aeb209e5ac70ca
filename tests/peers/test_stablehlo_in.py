"""StableHLO in beside jaxlib: JAX's own texts, and StableHLO's interpreter tests.

The latter lie in the folder `stablehlo/testdata` of StableHLO's repository, which the variable
GRADIR_STABLEHLO_TESTDATA names; without it they are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from stablehlo_suite import run_suite  # noqa: E402

import gradir  # noqa: E402
from gradir.frontends.imported.stablehlo_rules.table import STABLEHLO  # noqa: E402
from gradir.frontends.stablehlo import load  # noqa: E402

VARIABLE = "GRADIR_STABLEHLO_TESTDATA"
# Other reasons against a file than that it cannot be expressed here.
AGREEING = 2000


def network(x: Any) -> Any:
    h = jnp.tanh(x @ jnp.ones((3, 4)) + jnp.arange(4.0))
    return jax.nn.log_softmax(h, axis=-1)


def loop(x: Any) -> Any:
    return jax.lax.while_loop(lambda v: jnp.sum(v) < 50, lambda v: v * 1.5 + 1, x)


def ordered(x: Any) -> Any:
    return jnp.sort(x, axis=0)[::-1], jnp.argmax(x, axis=1), jnp.cumsum(x, axis=1)


def indexed(x: Any) -> Any:
    return x.at[jnp.array([0, 2, 0])].add(1.0)[jnp.array([[1], [0]])]


def branch(x: Any) -> Any:
    return jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)


@pytest.mark.parametrize("function", [network, loop, ordered, indexed, branch])
@pytest.mark.parametrize("form", ["pretty", "generic"])
def test_jax_texts(function: Callable[..., Any], form: str) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(4, 3))
        lowered = jax.jit(function).lower(x).compiler_ir("stablehlo")
        text = lowered.operation.get_asm(print_generic_op_form=form == "generic")
        wanted = jax.tree.leaves(function(jnp.asarray(x)))
    found = gradir.compile(load(text), "main")(x)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), 1e-10, 1e-12)


@pytest.mark.parametrize("function", [network, loop, indexed, branch])
def test_gradients_of_jax_texts(function: Callable[..., Any]) -> None:
    """Beside JAX's reverse mode, and its forward mode for the loop."""
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(4, 3))
        text = jax.jit(function).lower(x).as_text()
        y = np.asarray(function(jnp.asarray(x)))
        jacobian = np.asarray(jax.jacfwd(function)(x)).reshape(y.size, 4, 3)
    wanted = np.einsum("i,ikl->kl", y.reshape(-1), jacobian)
    module = load(text, trust_derivatives=True).gradient("main", mode="vjp")
    found = gradir.compile(module, "main_vjp")(x, y)[-1]
    np.testing.assert_allclose(found, wanted, 1e-9, 1e-10)


@pytest.mark.parametrize(
    ("shape", "text"),
    [("3", "gradir fails on it, where jaxlib finds no fault"), ("4", "it is not valid StableHLO")],
)
def test_a_fault_of_a_rule(monkeypatch: pytest.MonkeyPatch, shape: str, text: str) -> None:
    """It is the text's where jaxlib refuses the text: a tanh of other extents than its operand."""

    def rule(call: Any, x: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setitem(STABLEHLO.rules, "stablehlo.tanh", rule)
    program = f"""
func.func @main(%x: tensor<3xf64>) -> tensor<{shape}xf64> {{
  %y = "stablehlo.tanh"(%x) : (tensor<3xf64>) -> tensor<{shape}xf64>
  func.return %y : tensor<{shape}xf64>
}}
"""
    with pytest.raises(gradir.GradirError, match=text):
        load(program)


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no folder")
def test_the_interpreter_tests() -> None:
    outcomes = run_suite(Path(os.environ[VARIABLE]))
    print("\n".join(f"{count} {what}" for what, count in outcomes.most_common()))
    assert not [what for what in outcomes if what.startswith("wrong")]
    assert outcomes["agrees"] >= AGREEING
