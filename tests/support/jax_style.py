"""Twelve programs as JAX's users write them: with jax, or with gradir.compat in its place.

Each is a function (jax, jnp, lax) -> results; its text is what stands behind the imports of a
script. Numbers of NumPy are their data, so that both systems compute the same.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

Modules = tuple[Any, Any, Any]


def mlp_with_adam(jax: Any, jnp: Any, lax: Any) -> Any:
    """A classifier, by an optimizer as optax has it."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(32, 4)))
    labels = jnp.asarray((rng.normal(size=32) > 0).astype(np.int32))
    params = [
        {"w": jnp.asarray(rng.normal(size=(4, 8)) * 0.5), "b": jnp.zeros(8)},
        {"w": jnp.asarray(rng.normal(size=(8, 2)) * 0.5), "b": jnp.zeros(2)},
    ]

    def predict(params: Any, x: Any) -> Any:
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return x @ params[-1]["w"] + params[-1]["b"]

    def loss(params: Any, x: Any, labels: Any) -> Any:
        logits = jax.nn.log_softmax(predict(params, x))
        return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 2) * logits, axis=-1))

    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)

    @jax.jit
    def step(params: Any, m: Any, v: Any, t: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, labels)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, grads)
        rate = 0.05 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        new = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, m, v)
        return new, m, v, value

    m, v, losses = zeros, zeros, list[Any]()
    for t in range(1, 6):
        params, m, v, value = step(params, m, v, jnp.float64(t))
        losses.append(value.block_until_ready())
    return losses, params


def gpt_block(jax: Any, jnp: Any, lax: Any) -> Any:
    """Causal attention by vmap over heads, layers by scan."""
    rng = np.random.default_rng(1)
    layers, heads, width = 2, 2, 4
    shapes = {"qkv": (layers, heads, 8, 3 * width), "out": (layers, heads, width, 8),
              "up": (layers, 8, 16), "down": (layers, 16, 8)}  # fmt: skip
    params = {k: jnp.asarray(rng.normal(size=s) * 0.3) for k, s in shapes.items()}
    x = jnp.asarray(rng.normal(size=(5, 8)))

    def normed(x: Any) -> Any:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)

    def head(x: Any, qkv: Any, out: Any) -> Any:
        q, k, v = jnp.split(x @ qkv, 3, axis=-1)
        scores = q @ k.T / jnp.sqrt(width)
        causal = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), dtype=bool))
        return jax.nn.softmax(jnp.where(causal, scores, -1e9)) @ v @ out

    def layer(x: Any, p: Any) -> Any:
        y = normed(x)
        x = x + jnp.sum(jax.vmap(head, in_axes=(None, 0, 0))(y, p["qkv"], p["out"]), axis=0)
        return x + jax.nn.gelu(normed(x) @ p["up"]) @ p["down"], None

    def loss(params: Any, x: Any) -> Any:
        return jnp.sum(lax.scan(layer, x, params)[0] ** 2)

    return jax.jit(jax.value_and_grad(loss))(params, x)


def neural_ode(jax: Any, jnp: Any, lax: Any) -> Any:
    """Runge-Kutta steps by fori_loop, through which parameters are fitted."""
    rng = np.random.default_rng(2)
    params = {"w": jnp.asarray(rng.normal(size=(2, 2)) * 0.5), "b": jnp.zeros(2)}

    def field(y: Any, p: Any) -> Any:
        return jnp.tanh(p["w"] @ y + p["b"])

    def step(h: Any, p: Any, y: Any) -> Any:
        k1 = field(y, p)
        k2 = field(y + h / 2 * k1, p)
        k3 = field(y + h / 2 * k2, p)
        k4 = field(y + h * k3, p)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def loss(p: Any) -> Any:
        y = lax.fori_loop(0, 20, lambda i, y: step(0.1, p, y), jnp.array([1.0, 0.0]))
        return jnp.sum((y - jnp.array([0.5, 0.5])) ** 2)

    return jax.jit(jax.grad(loss))(params), jax.jit(loss)(params)


def hmc(jax: Any, jnp: Any, lax: Any) -> Any:
    """Hamiltonian steps from given momenta: leapfrog by scan, acceptance by where."""
    rng = np.random.default_rng(3)
    momenta = jnp.asarray(rng.normal(size=(6, 2)))
    chances = jnp.asarray(rng.uniform(size=6))

    def log_density(q: Any) -> Any:
        return -0.5 * q[0] ** 2 - 0.5 * (q[1] - q[0] ** 2) ** 2

    def leapfrog(state: Any, _: Any) -> Any:
        q, p = state
        p = p + 0.05 * jax.grad(log_density)(q)
        q = q + 0.1 * p
        p = p + 0.05 * jax.grad(log_density)(q)
        return (q, p), None

    def sample(q: Any, drawn: Any) -> Any:
        p, chance = drawn
        (q1, p1), _ = lax.scan(leapfrog, (q, p), None, length=10)
        energy = log_density(q1) - 0.5 * p1 @ p1 - log_density(q) + 0.5 * p @ p
        q = jnp.where(jnp.log(chance) < energy, q1, q)
        return q, q

    return jax.jit(lambda q: lax.scan(sample, q, (momenta, chances)))(jnp.array([0.5, -0.5]))


def implicit_layer(jax: Any, jnp: Any, lax: Any) -> Any:
    """JAX's tutorial: a fixed point whose backward function solves a fixed point."""

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f: Any, a: Any, x_guess: Any) -> Any:
        def cond_fun(carry: Any) -> Any:
            x_prev, x = carry
            return jnp.abs(x_prev - x) > 1e-10

        def body_fun(carry: Any) -> Any:
            _, x = carry
            return x, f(a, x)

        _, x_star = lax.while_loop(cond_fun, body_fun, (x_guess, f(a, x_guess)))
        return x_star

    def fixed_point_fwd(f: Any, a: Any, x_init: Any) -> Any:
        x_star = fixed_point(f, a, x_init)
        return x_star, (a, x_star)

    def fixed_point_rev(f: Any, res: Any, x_star_bar: Any) -> Any:
        a, x_star = res
        _, vjp_a = jax.vjp(lambda a: f(a, x_star), a)
        (a_bar,) = vjp_a(fixed_point(partial(rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
        return a_bar, jnp.zeros_like(x_star)

    def rev_iter(f: Any, packed: Any, u: Any) -> Any:
        a, x_star, x_star_bar = packed
        _, vjp_x = jax.vjp(lambda x: f(a, x), x_star)
        return x_star_bar + vjp_x(u)[0]

    fixed_point.defvjp(fixed_point_fwd, fixed_point_rev)

    def newton_sqrt(a: Any) -> Any:
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)

    return newton_sqrt(2.0), jax.grad(newton_sqrt)(2.0), jax.grad(jax.grad(newton_sqrt))(2.0)


def hvp_and_newton(jax: Any, jnp: Any, lax: Any) -> Any:
    """Hessian-vector products in three ways, and a step of Newton."""

    def f(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x, v = jnp.array([1.2, 0.7, -0.4]), jnp.array([1.0, -2.0, 0.5])
    ahead = jax.jvp(jax.grad(f), (x,), (v,))[1]
    back = jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)
    _, pushed = jax.linearize(jax.grad(f), x)
    return ahead, back, pushed(v), x - jnp.linalg.solve(jax.hessian(f)(x), jax.grad(f)(x))


def recurrent_net(jax: Any, jnp: Any, lax: Any) -> Any:
    """A GRU by scan, per-example gradients by vmap of grad, clipped."""
    rng = np.random.default_rng(4)
    params = {k: jnp.asarray(rng.normal(size=(3, 5)) * 0.4) for k in ("z", "r", "h")}
    xs = jnp.asarray(rng.normal(size=(4, 6, 2)))

    def cell(p: Any, h: Any, x: Any) -> Any:
        both = jnp.concatenate([x, h])
        z, r = jax.nn.sigmoid(p["z"] @ both), jax.nn.sigmoid(p["r"] @ both)
        new = jnp.tanh(p["h"] @ jnp.concatenate([x, r * h]))
        h = (1 - z) * h + z * new
        return h, h

    def loss(p: Any, x: Any) -> Any:
        h, hs = lax.scan(partial(cell, p), jnp.zeros(3), x)
        return jnp.sum(h**2) + jnp.mean(hs)

    each = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0)))(params, xs)
    squares = sum(jnp.sum(g**2, axis=(1, 2)) for g in jax.tree.leaves(each))
    factor = jnp.minimum(1.0, 0.1 / jnp.sqrt(squares))
    return jax.tree.map(lambda g: jnp.tensordot(factor, g, axes=1), each)


class Ball(NamedTuple):
    """The state of a ball."""

    position: Any
    velocity: Any


def bouncing_ball(jax: Any, jnp: Any, lax: Any) -> Any:
    """Physics with contacts by cond, at indices that are updated in a loop."""

    def step(i: Any, carry: Any) -> Any:
        ball, heights = carry
        ball = Ball(ball.position + 0.05 * ball.velocity, ball.velocity - 0.05 * 9.81)
        ball = lax.cond(
            ball.position < 0.0,
            lambda b: Ball(-b.position, -0.8 * b.velocity),
            lambda b: b,
            ball,
        )
        return ball, heights.at[i].set(ball.position)

    def final(height: Any) -> Any:
        start = Ball(height, jnp.zeros_like(height)), jnp.zeros(40)
        ball, heights = lax.fori_loop(0, 40, step, start)
        return jnp.sum(heights) + ball.velocity

    return jax.jit(jax.value_and_grad(final))(1.3)


def gaussian_process(jax: Any, jnp: Any, lax: Any) -> Any:
    """The likelihood of a Gaussian process by a Cholesky factor."""
    rng = np.random.default_rng(5)
    x = jnp.asarray(rng.uniform(size=8))
    y = jnp.sin(6 * x)

    @jax.jit
    def likelihood(p: Any) -> Any:
        scale, noise = jnp.exp(p["scale"]), jnp.exp(p["noise"])
        k = jnp.exp(-((x[:, None] - x[None, :]) ** 2) / scale) + noise * jnp.eye(8)
        factor = jnp.linalg.cholesky(k)
        z = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * z @ z + jnp.sum(jnp.log(jnp.diag(factor)))

    p = {"scale": -2.0, "noise": -3.0}
    return likelihood(p), jax.grad(likelihood)(p), jax.scipy.special.erf(y)


def softplus_rules(jax: Any, jnp: Any, lax: Any) -> Any:
    """custom_jvp with a decorator, checkpoint, stop_gradient, static arguments, at-updates."""

    @jax.custom_jvp
    def log1pexp(x: Any) -> Any:
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def log1pexp_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot

    assert callable(log1pexp_jvp)

    @partial(jax.jit, static_argnums=(1,), static_argnames=("mode",))
    def powers(x: Any, n: int, mode: str = "sum") -> Any:
        total = sum(x**k for k in range(n))
        return jnp.sum(total) if mode == "sum" else jnp.prod(total)

    @jax.checkpoint
    def block(x: Any) -> Any:
        return jnp.sin(x) * lax.stop_gradient(jnp.cos(x))

    x = jnp.linspace(-1.0, 1.0, 5)
    changed = x.at[1].set(3.0).at[jnp.array([0, 2])].add(1.0)
    return (
        jax.vmap(jax.grad(log1pexp))(x),
        jax.grad(lambda x: powers(x, 3, mode="sum"))(x),
        jax.grad(lambda x: jnp.sum(block(block(x))))(x),
        changed,
        lax.associative_scan(jnp.add, x),
        jax.jacfwd(lambda x: x[:2] ** 2)(x),
    )


def conv_net(jax: Any, jnp: Any, lax: Any) -> Any:
    """Images in NHWC, with max pools, trained with clipped gradients; leaves by their paths."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(8, 8, 8, 1)), np.arange(8) % 4
    params = {
        "conv": [rng.normal(size=(3, 3, 1, 4)) * 0.3, rng.normal(size=(3, 3, 4, 8)) * 0.2],
        "out": {"w": rng.normal(size=(8, 4)) * 0.3, "b": np.zeros(4)},
    }

    def net(params: Any, x: Any) -> Any:
        for kernel in params["conv"]:
            x = lax.conv_general_dilated(
                x, kernel, window_strides=(1, 1), padding="SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )  # fmt: skip
            x = lax.reduce_window(
                jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
            )
        return jnp.mean(x, axis=(1, 2)) @ params["out"]["w"] + params["out"]["b"]

    def loss(params: Any) -> Any:
        logits = jax.nn.log_softmax(net(params, x))
        return -jnp.take_along_axis(logits, y[:, None], axis=-1).mean()

    @jax.jit
    def step(params: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params)
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree_util.tree_leaves(grads)))
        scale = jnp.minimum(1.0, 1.0 / norm)
        return jax.tree.map(lambda p, g: p - 0.3 * g * scale, params, grads), value

    losses = list[Any]()
    for _ in range(3):
        params, value = step(params)
        losses.append(value)
    named = jax.tree_util.tree_map_with_path(
        lambda path, leaf: leaf.sum() + len(jax.tree_util.keystr(path)), params
    )
    return losses, named


def data_parallel(jax: Any, jnp: Any, lax: Any) -> Any:
    """Copies of a net by vmap: batch norm over all of them, and the mean of their gradients."""
    rng = np.random.default_rng(6)
    params = {"w": rng.normal(size=(5, 7)), "scale": np.ones(7), "out": rng.normal(size=7) * 0.3}
    x = rng.normal(size=(4, 8, 5))
    y = x[..., 0]

    def normalized(x: Any, scale: Any) -> Any:
        mean = lax.pmean(x.mean(0), "copies")
        variance = lax.pmean((x**2).mean(0), "copies") - mean**2
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale

    def loss(params: Any, x: Any, y: Any) -> Any:
        hidden = jax.nn.relu(normalized(x @ params["w"], params["scale"]))
        return jnp.mean((hidden @ params["out"] - y) ** 2)

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0, 0), out_axes=(None, 0), axis_name="copies")
    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        grads = lax.pmean(grads, axis_name="copies")
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), value

    losses = list[Any]()
    for _ in range(3):
        params, value = step(params, x, y)
        losses.append(value)
    return losses, params


PROGRAMS = {
    program.__name__: program
    for program in (
        *(mlp_with_adam, gpt_block, neural_ode, hmc, implicit_layer, hvp_and_newton),
        *(recurrent_net, bouncing_ball, gaussian_process, softplus_rules),
        *(conv_net, data_parallel),
    )
}
