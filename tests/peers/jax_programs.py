"""Programs of JAX as people write them, with arguments: networks, loops, samplers, solvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from jax_ops import jax, jnp

lax: Any = jax.lax
optax: Any = import_module("optax")
checkpoint_name: Any = import_module("jax.ad_checkpoint").checkpoint_name
RANDOM = np.random.default_rng(2)


class JaxProgram(NamedTuple):
    """A function, its arguments, and one that JAX can differentiate where it cannot this one."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    reference: Callable[..., Any] | None = None
    orders: int = 2


def w(*shape: int) -> Any:
    return jnp.asarray(RANDOM.normal(size=shape) * 0.5)


# Networks.


def mlp(params: Any, x: Any) -> Any:
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    return jax.nn.log_softmax(x @ weight + bias)


def train(params: Any, x: Any, y: Any) -> Any:
    """Five steps of Adam, their losses and the trained parameters."""
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))

    def loss(params: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)

    def step(state: Any, _: Any) -> Any:
        params, inner = state
        value, grads = jax.value_and_grad(loss)(params)
        updates, inner = optimizer.update(grads, inner, params)
        return (optax.apply_updates(params, updates), inner), value

    (params, _), losses = lax.scan(step, (params, optimizer.init(params)), None, length=5)
    return params, losses


def convolutional(params: Any, x: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    x = lax.conv_general_dilated(x, params[0], (1, 1), "SAME", dimension_numbers=numbers)
    x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ params[1])


def lstm(params: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ params[0] + h @ params[1] + params[2], 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(4), jnp.zeros(4)), xs)[1]


def block(params: Any, x: Any) -> Any:
    """A block of GPT-2."""

    def normal(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    batch, steps, width = x.shape
    parts = jnp.split(normal(x) @ params["qkv"], 3, -1)
    q, k, v = (p.reshape(batch, steps, 2, width // 2).transpose(0, 2, 1, 3) for p in parts)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // 2)
    scores = jnp.where(jnp.tril(jnp.ones((steps, steps), bool)), scores, -jnp.inf)
    y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    x = x + y @ params["out"]
    return x + jax.nn.gelu(normal(x) @ params["up"]) @ params["down"]


def named_block(params: Any, x: Any) -> Any:
    return jnp.sin(checkpoint_name(block(params, x), "kept"))


GPT = {"qkv": w(4, 12), "out": w(4, 4), "up": w(4, 8), "down": w(8, 4)}
POLICIES = jax.checkpoint_policies


# Loops that depend on values.


def newton(a: Any) -> Any:
    def step(x: Any) -> Any:
        return x - (x * x - a) / (2 * x)

    return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-12, step, a)


def integrate(y: Any, pull: Any, loop: Callable[..., Any]) -> Any:
    """A pendulum by Heun's method, whose steps depend on its error."""

    def slope(y: Any) -> Any:
        return jnp.stack([y[1], -pull * jnp.sin(y[0])])

    def step(state: Any) -> Any:
        t, y, h = state
        first = slope(y)
        second = slope(y + h * first)
        error = h * jnp.max(jnp.abs(second - first)) / 2
        is_good = error < 1e-2
        t, y = jnp.where(is_good, t + h, t), jnp.where(is_good, y + h * (first + second) / 2, y)
        h = h * jnp.clip(0.9 * jnp.sqrt(1e-2 / error), 0.3, 2.0)
        return t, y, jnp.minimum(h, 1.0 - t + 1e-3)

    return loop(lambda state: state[0] < 1.0, step, (jnp.zeros(()), y, jnp.asarray(0.1)))[1]


def bounded(condition: Any, body: Any, init: Any) -> Any:
    """A while loop of at most 40 steps that JAX differentiates."""

    def step(state: Any, _: Any) -> Any:
        return lax.cond(condition(state), body, lambda state: state, state), None

    return lax.scan(step, init, None, length=40)[0]


def sampled(q: Any, key: Any) -> Any:
    """Three steps of Hamiltonian Monte Carlo."""

    def energy(q: Any) -> Any:
        return jnp.sum(q**2) / 2 + jnp.sum(q**4) / 4

    def step(q: Any, key: Any) -> Any:
        ahead, chance = jax.random.split(key)
        p = jax.random.normal(ahead, q.shape)

        def leap(state: Any, _: Any) -> Any:
            q, p = state
            p = p - 0.05 * jax.grad(energy)(q)
            q = q + 0.1 * p
            return (q, p - 0.05 * jax.grad(energy)(q)), None

        (new, speed), _ = lax.scan(leap, (q, p), None, length=3)
        gain = energy(q) + jnp.sum(p**2) / 2 - energy(new) - jnp.sum(speed**2) / 2
        return jnp.where(jnp.log(jax.random.uniform(chance)) < gain, new, q), None

    return lax.scan(step, q, jax.random.split(key, 3))[0]


def counted(x: Any, count: Any) -> Any:
    return lax.fori_loop(0, count, lambda i, c: jnp.sin(c) * 1.1, x)


# Implicit functions.


def root(a: Any) -> Any:
    def solve(f: Any, x: Any) -> Any:
        return lax.while_loop(
            lambda x: jnp.abs(f(x)) > 1e-13, lambda x: x - f(x) / jax.grad(f)(x), x
        )

    return lax.custom_root(
        lambda x: x**3 + a * x - 1, jnp.ones_like(a), solve,
        lambda g, y: y / g(jnp.ones_like(y)),
    )  # fmt: skip


def conjugate(a: Any, b: Any) -> Any:
    a = (a + a.T) / 2

    def solve(product: Any, b: Any) -> Any:
        return jax.scipy.sparse.linalg.cg(product, b, tol=1e-14)[0]

    return lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)


@jax.custom_vjp
def fixed_point(a: Any) -> Any:
    start = 0.5 * jnp.ones_like(a)
    return lax.while_loop(
        lambda x: jnp.abs(x - jnp.cos(a * x)) > 1e-14, lambda x: jnp.cos(a * x), start
    )


def _fixed_point_forward(a: Any) -> Any:
    x = fixed_point(a)
    return x, (a, x)


def _fixed_point_backward(kept: Any, ct: Any) -> Any:
    a, x = kept
    return (-ct * x * jnp.sin(a * x) / (1 + a * jnp.sin(a * x)),)


fixed_point.defvjp(_fixed_point_forward, _fixed_point_backward)


def scaled_slope(factor: float) -> Callable[..., Any]:
    """sin with a slope of its own: made twice, its functions differ in what they read alone."""

    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), factor * jnp.cos(primals[0]) * tangents[0]

    return f


def captured(array: Any) -> Callable[..., Any]:
    """Made twice, its functions differ in an array that a jitted part of them has captured."""

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jax.jit(lambda x: x * array)(x)

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (3 * ct,))
    return f


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def clipped(limit: float, x: Any) -> Any:
    return x * x


@clipped.defjvp
def _clipped(limit: float, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return clipped(limit, x), jnp.clip(2 * x, -limit, limit) * t


def two_rules(x: Any) -> Any:
    made = scaled_slope(2.0)(x) + scaled_slope(5.0)(x)
    made = made + clipped(0.5, x) + clipped(3.0, x)
    return made + captured(np.array([1.0, 2.0, 3.0]))(x) * captured(np.array([7.0] * 3))(x)


SPD = w(3, 3) @ w(3, 3).T * 0.1 + 2 * jnp.eye(3)
PROGRAMS: dict[str, JaxProgram] = {
    "mlp": JaxProgram(mlp, ([(w(3, 4), w(4)), (w(4, 2), w(2))], w(5, 3))),
    "training": JaxProgram(train, ({"w": w(3, 2), "b": w(2)}, w(5, 3), w(5, 2)), None, 1),
    "convolutional": JaxProgram(convolutional, ((w(3, 3, 1, 2), w(8, 3)), w(2, 4, 4, 1))),
    "lstm": JaxProgram(lstm, ((w(3, 16), w(4, 16), w(16)), w(5, 3))),
    "block": JaxProgram(block, (GPT, w(1, 3, 4))),
    "block, products kept": JaxProgram(
        jax.checkpoint(block, policy=POLICIES.dots_saveable), (GPT, w(1, 3, 4)), None, 1
    ),
    "block, names kept": JaxProgram(
        jax.checkpoint(named_block, policy=POLICIES.save_only_these_names("kept")),
        (GPT, w(1, 3, 4)), None, 1,
    ),
    "block, nothing kept": JaxProgram(jax.checkpoint(block), (GPT, w(1, 3, 4)), None, 1),
    "newton": JaxProgram(newton, (jnp.asarray(2.0),), jnp.sqrt),
    "newton of rows": JaxProgram(jax.vmap(newton), (jnp.asarray([2.0, 90.0, 0.1]),), jnp.sqrt),
    "ode": JaxProgram(
        partial(integrate, loop=lax.while_loop), (jnp.asarray([1.0, 0.3]), jnp.asarray(1.7)),
        partial(integrate, loop=bounded),
    ),
    "monte carlo": JaxProgram(lambda q: sampled(q, jax.random.key(1)), (w(2),), None, 1),
    "counted": JaxProgram(lambda x: counted(x, 3 + x[0].astype(int)), (jnp.asarray([1.5, 2.0]),),
                          lambda x: counted(x, 4)),
    "cond": JaxProgram(lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda x: x**3, x), (w(3),)),
    "cond of rows": JaxProgram(
        jax.vmap(lambda x: lax.cond(x > 0, jnp.sin, lambda x: x**3, x)), (w(5),)
    ),
    "switch": JaxProgram(
        lambda x: lax.switch(x[0].astype(int), [jnp.sin, jnp.cos, jnp.tanh], x), (1.5 + w(3) * 0.1,)
    ),
    "associative scan": JaxProgram(
        lambda x: lax.associative_scan(lambda a, b: a * b + a, x), (w(6),)
    ),
    "map": JaxProgram(lambda x: lax.map(lambda row: jnp.sin(row).sum(), x), (w(3, 2),)),
    "grad inside": JaxProgram(jax.vmap(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 3))), (w(4, 3),)),
    "custom_root": JaxProgram(root, (jnp.asarray(2.0),)),
    "custom_linear_solve": JaxProgram(conjugate, (SPD, w(3))),
    "custom_vjp": JaxProgram(fixed_point, (jnp.asarray(0.7),)),
    "rules alike": JaxProgram(two_rules, (w(3),)),
}  # fmt: skip
