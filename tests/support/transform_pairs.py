"""Transformations as functions of functions of x [3], to be applied one to another.

Each takes two namespaces, of arrays (gradir.numpy, jax.numpy or numpy) and of transformations
(gradir, JAX's, or `Numeric`, which has central differences and Python loops), and a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Callable[[Any], Any]
Array = np.ndarray[Any, np.dtype[Any]]

X = np.array([0.7, -0.4, 0.5])
W = np.array([0.6, -1.1, 0.8])
MATRIX = np.array([[0.5, -0.3, 0.8], [0.2, 0.9, -0.4], [-0.6, 0.1, 0.7]])


def base(np_: Any, x: Any) -> Any:
    """The function that all is applied to; its values keep away from the edges of branches."""
    return np_.sin(MATRIX @ x) + 0.3 * x * np_.flip(x)


def _weighted(np_: Any, f: Function) -> Function:
    return lambda x: np_.sum(f(x) * W)


# Derivatives.


def grad(np_: Any, g: Any, f: Function) -> Function:
    return g.grad(_weighted(np_, f))


def value_and_grad(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        value, slope = g.value_and_grad(_weighted(np_, f))(x)
        return value * slope

    return transformed


def vjp(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        y, back = g.vjp(f, x)
        return back(y)[0]

    return transformed


def jvp(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        y, tangent = g.jvp(f, (x,), (W * x,))
        return y * tangent

    return transformed


def jacfwd(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.jacfwd(f)(x) @ W


def jacrev(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.jacrev(f)(x) @ W


def hessian(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.hessian(_weighted(np_, f))(x) @ W


def linearize(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        y, push = g.linearize(f, x)
        return y + push(W)

    return transformed


def linear_transpose(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        return g.linear_transpose(lambda t: g.jvp(f, (x,), (t,))[1], x)(W)[0]

    return transformed


# Rules by hand; each is the function's own rule.


def custom_vjp(np_: Any, g: Any, f: Function) -> Function:
    made = g.custom_vjp(lambda x: f(x))
    made.defvjp(lambda x: (made(x), x), lambda x, ct: (g.vjp(f, x)[1](ct)[0],))
    return lambda x: made(x)


def custom_jvp(np_: Any, g: Any, f: Function) -> Function:
    made = g.custom_jvp(lambda x: f(x))
    made.defjvp(lambda p, t: g.jvp(f, p, t))
    return lambda x: made(x)


# Rows, stages, branches and loops.


def jit(np_: Any, g: Any, f: Function) -> Function:
    return g.jit(lambda x: f(x))


def checkpoint(np_: Any, g: Any, f: Function) -> Function:
    return g.checkpoint(lambda x: f(x))


def vmap(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: np_.sum(g.vmap(f)(np_.stack([x, 0.5 * x])), axis=0)


def cond(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.cond(x[0] > x[1], f, lambda y: f(2.0 * y), x)


def switch(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        place = np_.where(x[0] > x[1], 1, 0)
        return g.switch(place, [lambda y: f(2.0 * y), lambda y: f(y) * y], x)

    return transformed


def fori_loop(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.fori_loop(0, 2, lambda k, y: 0.4 * f(y) + 0.5 * x, x)


def while_loop(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        def body(carried: Any) -> Any:
            k, y = carried
            return k + 1, 0.4 * f(y) + 0.5 * x

        return g.while_loop(lambda carried: carried[0] < 2, body, (0, x))[1]

    return transformed


def scan(np_: Any, g: Any, f: Function) -> Function:
    def transformed(x: Any) -> Any:
        def body(y: Any, row: Any) -> Any:
            following = 0.4 * f(y) + row
            return following, following * y

        end, rows = g.scan(body, x, np_.stack([x, 0.2 * x]))
        return end + np_.sum(rows, axis=0)

    return transformed


def mapped(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: np_.sum(g.map(f, np_.stack([x, 0.5 * x])), axis=0)


def associative_scan(np_: Any, g: Any, f: Function) -> Function:
    return lambda x: g.associative_scan(lambda a, b: a * b, 0.3 * f(x) + 1.0)


DERIVATIVES: tuple[Any, ...] = (
    grad, value_and_grad, vjp, jvp, jacfwd, jacrev, hessian, linearize, linear_transpose,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    custom_vjp, custom_jvp, jit, checkpoint, vmap, cond, switch, fori_loop, while_loop, scan,
    mapped, associative_scan,
)  # fmt: skip
ALL = DERIVATIVES + OTHERS
FORWARD: tuple[Any, ...] = (jvp, jacfwd, linear_transpose, custom_jvp)
"""They take tangents first, and so are refused of a function with a vjp of its own alone."""


# What each means, by central differences and Python loops.

STEP = 2e-3


def _difference(f: Function, x: Array, way: Array) -> Any:
    """The derivative of f at x along a way, of fourth order in the step."""
    h = STEP
    near = f(x + h * way) - f(x - h * way)
    return (8 * near - (f(x + 2 * h * way) - f(x - 2 * h * way))) / (12 * h)


class _Ruled:
    """A function whose rule is not read."""

    def __init__(self, function: Function):
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)

    def defvjp(self, *rules: Function) -> None: ...

    def defjvp(self, rule: Any) -> None: ...


class Numeric:
    """The namespace of transformations for plain NumPy."""

    custom_vjp = custom_jvp = _Ruled

    @staticmethod
    def jit(f: Function) -> Function:
        return f

    checkpoint = jit

    @staticmethod
    def jacfwd(f: Function) -> Function:
        return lambda x: np.stack([_difference(f, x, e) for e in np.eye(len(x))], axis=-1)

    jacrev = grad = jacfwd

    @staticmethod
    def value_and_grad(f: Function) -> Function:
        return lambda x: (f(x), Numeric.grad(f)(x))

    @staticmethod
    def vjp(f: Function, x: Array) -> Any:
        return f(x), lambda ct: (ct @ Numeric.jacfwd(f)(x),)

    @staticmethod
    def jvp(f: Function, primals: Any, tangents: Any) -> Any:
        return f(primals[0]), _difference(f, primals[0], tangents[0])

    @staticmethod
    def hessian(f: Function) -> Function:
        return Numeric.jacfwd(Numeric.grad(f))

    @staticmethod
    def linearize(f: Function, x: Array) -> Any:
        return f(x), lambda t: _difference(f, x, t)

    @staticmethod
    def linear_transpose(f: Function, x: Array) -> Function:
        return lambda ct: (ct @ np.stack([f(e) for e in np.eye(len(x))], axis=-1),)

    @staticmethod
    def vmap(f: Function) -> Function:
        return lambda xs: np.stack([f(x) for x in xs])

    @staticmethod
    def map(f: Function, xs: Array) -> Array:
        return np.stack([f(x) for x in xs])

    @staticmethod
    def cond(is_first: Any, first: Function, second: Function, x: Array) -> Any:
        return first(x) if is_first else second(x)

    @staticmethod
    def switch(index: Any, branches: Sequence[Function], x: Array) -> Any:
        return branches[int(index)](x)

    @staticmethod
    def fori_loop(low: int, high: int, body: Any, value: Any) -> Any:
        for k in range(low, high):
            value = body(k, value)
        return value

    @staticmethod
    def while_loop(condition: Function, body: Function, value: Any) -> Any:
        while condition(value):
            value = body(value)
        return value

    @staticmethod
    def scan(body: Any, value: Any, rows: Array) -> Any:
        made: list[Array] = []
        for row in rows:
            value, one = body(value, row)
            made.append(one)
        return value, np.stack(made)

    @staticmethod
    def associative_scan(function: Any, x: Array) -> Array:
        return np.multiply.accumulate(x)


def applied(np_: Any, g: Any, *transforms: Any) -> Function:
    """The first of the second of ... the base function."""
    f: Function = lambda x: base(np_, x)  # noqa: E731
    for transform in reversed(transforms):
        f = transform(np_, g, f)
    return f


def is_refused(transforms: Sequence[Any]) -> bool:
    """Whether forward mode meets a function that has a vjp of its own and no jvp."""
    inside = False
    for transform in reversed(transforms):
        if inside and transform in FORWARD:
            return True
        # the derivative of such a function is another function
        inside = transform is custom_vjp or (inside and transform not in DERIVATIVES)
    return False
