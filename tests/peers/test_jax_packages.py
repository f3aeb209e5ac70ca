"""Programs of JAX's packages as they install: solvers of equations, simulations, alignments.

Each test needs its package, and is skipped without it. JAX refuses reverse mode through most of
them, so gradients are compared with central differences, or with a loop of equal length.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp

from gradir.interop.jax import differentiable

# the checks of equinox would call Python, which a program does not; read when it is imported
os.environ.setdefault("EQX_ON_ERROR", "nan")
RANDOM = np.random.default_rng(0)
REFUSED = "Reverse-mode differentiation does not work"
# packages warn of what they still use of JAX's
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """No words on programs that take long to compile."""
    logger = logging.getLogger("gradir")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def package(name: str) -> Any:
    return pytest.importorskip(name, exc_type=ImportError)


def check_slope(function: Callable[..., Any], *args: Any, step: float = 1e-6) -> Any:
    """The gradient of a scalar function by gradir, compared on a random direction with central
    differences of JAX's values."""
    found = differentiable(function)
    np.testing.assert_allclose(found(*args), function(*args), rtol=1e-10)
    slopes = jax.grad(found, tuple(range(len(args))))(*args)
    along = [jnp.asarray(RANDOM.normal(size=x.shape)) for x in args]
    compiled = jax.jit(function)
    ahead, behind = (
        compiled(*(x + s * step * v for x, v in zip(args, along, strict=True))) for s in (1, -1)
    )
    wanted = (ahead - behind) / (2 * step)
    assert abs(wanted) > 1e-3
    total = sum(jnp.sum(g * v) for g, v in zip(slopes, along, strict=True))
    np.testing.assert_allclose(total, wanted, rtol=1e-6)
    return slopes


def growth(time: Any, state: Any, rate: Any) -> Any:
    return rate * state * (1.0 - state) + 0.1 * jnp.sin(time)


def test_diffrax() -> None:
    """A solve of bounded length as diffrax differentiates it, and one without a bound."""
    diffrax = package("diffrax")

    def solve(rate: Any, start: Any, **options: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(growth), diffrax.Tsit5(), 0.0, 2.0, 0.1, start, args=rate,
            stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8), **options,
        )  # fmt: skip
        return jnp.sum(solution.ys**2)

    def bounded(rate: Any, start: Any) -> Any:
        return solve(rate, start, max_steps=64)

    def unbounded(rate: Any, start: Any) -> Any:
        return solve(rate, start, max_steps=None, adjoint=diffrax.DirectAdjoint())

    at = jnp.asarray(1.3), jnp.asarray([0.2, 0.4])
    wanted = jax.grad(bounded, (0, 1))(*at)
    for function in (bounded, unbounded):
        found = jax.grad(differentiable(function), (0, 1))(*at)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    with pytest.raises(RuntimeError, match="Cannot reverse-mode"):
        jax.grad(unbounded)(*at)


def test_optimistix() -> None:
    """Newton's root, whose derivative is that of an implicit function."""
    optimistix = package("optimistix")

    def root(a: Any) -> Any:
        solver = optimistix.Newton(rtol=1e-12, atol=1e-12)
        found = optimistix.root_find(
            lambda y, a: y**3 + a * y - 1.0, solver, jnp.asarray([0.5, 0.6]), args=a
        )
        return jnp.sum(found.value * jnp.arange(1.0, 3.0))

    a = jnp.asarray([0.7, 1.9])
    np.testing.assert_allclose(jax.grad(differentiable(root))(a), jax.grad(root)(a), rtol=1e-10)


PENDULUM = """
<mujoco><option timestep="0.01" iterations="2" ls_iterations="2" solver="Newton"/><worldbody>
<body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>
"""


def test_mjx() -> None:
    """Steps of a pendulum until it has swung through, which the state decides."""
    mjx, mujoco = package("mujoco.mjx"), package("mujoco")
    model = mjx.put_model(mujoco.MjModel.from_xml_string(PENDULUM))
    data = mjx.make_data(model)

    def swing(angle: Any) -> Any:
        def goes_on(carry: Any) -> Any:
            return (carry[0] < 40) & (carry[1].qpos[0] > 0.25)

        def step(carry: Any) -> Any:
            return carry[0] + 1, mjx.step(model, carry[1])

        _, last = jax.lax.while_loop(goes_on, step, (0, data.replace(qpos=angle)))
        return jnp.sum(last.qpos * 2.0 + last.qvel**2)

    angle = jnp.asarray([0.3])
    with pytest.raises(ValueError, match=REFUSED):
        jax.grad(swing)(angle)
    check_slope(swing, angle)


def test_jax_md() -> None:
    """Descent to a packing of soft spheres, as long as forces are large."""
    jax_md = package("jax_md")
    displacement, shift = jax_md.space.periodic(3.0)

    def packed(sigma: Any, places: Any) -> Any:
        energy = jax_md.energy.soft_sphere_pair(displacement, sigma=sigma)
        begin, descend = jax_md.minimize.fire_descent(energy, shift)

        def goes_on(carry: Any) -> Any:
            return (carry[0] < 12) & (jnp.max(jnp.abs(carry[1].force)) > 1e-3)

        def step(carry: Any) -> Any:
            return carry[0] + 1, descend(carry[1])

        _, state = jax.lax.while_loop(goes_on, step, (0, begin(places)))
        return energy(state.position) + jnp.sum(state.position * jnp.asarray([0.3, -0.2]))

    at = jnp.asarray(1.4), jnp.asarray(RANDOM.uniform(0.5, 2.5, (6, 2)))
    with pytest.raises(ValueError, match=REFUSED):
        jax.grad(packed)(*at)
    check_slope(packed, *at)


def test_optax_ctc() -> None:
    """Alignments of labels with sequences of several lengths, to second derivatives."""
    optax = package("optax")
    lengths, counts = np.array([9, 8, 6]), np.array([3, 2, 1])
    empty = jnp.asarray(np.arange(9)[None] >= lengths[:, None], float)
    unused = jnp.asarray(np.arange(3)[None] >= counts[:, None], float)
    labels = jnp.asarray(RANDOM.integers(1, 5, (3, 3)))

    def loss(logits: Any) -> Any:
        return jnp.sum(optax.ctc_loss(logits, empty, labels, unused))

    logits, along = (jnp.asarray(RANDOM.normal(size=(3, 9, 5))) for _ in range(2))
    ours = differentiable(loss)
    np.testing.assert_allclose(ours(logits), loss(logits), rtol=1e-12)
    slope = jax.grad(ours)
    np.testing.assert_allclose(slope(logits), jax.grad(loss)(logits), rtol=1e-10, atol=1e-13)
    found = jax.grad(lambda x: jnp.sum(slope(x) * along))(logits)
    wanted = jax.jvp(jax.grad(loss), (logits,), (along,))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
