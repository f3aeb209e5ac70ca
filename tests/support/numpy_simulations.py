"""Programs as users of NumPy and SciPy write them: arrays are made by numpy and assigned to.

`SIMULATIONS` and `STATEMENTS` are functions of one array or number that give a number
nothing in
here knows of gradir, but for a loop by gradir.scan.
"""

import functools
from functools import partial
from typing import Any

import numpy as np
import numpy.linalg as la
from numpy import zeros

import gradir

Array = Any

x_grid = np.linspace(0.0, 1.0, 11)
dx = x_grid[1] - x_grid[0]
u0 = np.exp(-50 * (x_grid - 0.4) ** 2)


def laplacian(u: Array) -> Array:
    out = np.zeros_like(u)
    out[1:-1] = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2
    return out


def heat(k: Array) -> Array:
    u = u0.copy()
    dt = 0.2 * dx**2
    for _ in range(3):
        u += dt * k * laplacian(u)
    return np.sum((u - 0.3) ** 2)


def heat_with_boundary(p: Array) -> Array:
    u = np.zeros(11)
    u[5:9] = 1.0
    for _ in range(3):
        un = u.copy()
        u[1:-1] = un[1:-1] + p * 0.1 * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0] = 0
        u[-1] = p
    return u @ u


def curve(p: Array) -> Array:
    t = np.linspace(0, 4, 30)
    out = np.empty(30)
    m = t < 2
    out[m] = p[0] * t[m]
    out[~m] = p[0] * 2 + p[1] * (t[~m] - 2)
    return ((out - np.sin(t)) ** 2).mean()


def particles(k: Array) -> Array:
    n, dt = 3, 0.01
    pos = np.arange(2.0 * n).reshape(n, 2) ** 1.1
    vel = np.zeros((n, 2))
    for _ in range(2):
        force = np.zeros((n, 2))
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = pos[j] - pos[i]
                    force[i] += k * d / (np.sum(d**2) + 0.1) ** 1.5
        vel += dt * force
        pos += dt * vel
    return 0.5 * np.sum(vel**2)


returns = np.random.default_rng(0).normal(0.01, 0.1, (8, 4))


def portfolio(w: Array) -> Array:
    wealth = np.ones(9)
    weights = np.zeros(5)
    weights[:4] = w
    weights[4] = 1 - w.sum()
    for t in range(8):
        wealth[t + 1] = wealth[t] * (1 + returns[t] @ weights[:4])
    r = np.diff(np.log(wealth))
    return -r.mean() / r.std()


def predators(p: Array) -> Array:
    def f(y: Array) -> Array:
        dy = np.empty(2)
        dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
        dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]
        return dy

    n, h = 2, 0.1
    ys = zeros((n + 1, 2))
    ys[0] = [1.0, 0.5]
    for k in range(n):
        k1 = f(ys[k])
        k2 = f(ys[k] + h * k1)
        ys[k + 1] = ys[k] + h / 2 * (k1 + k2)
    return ys[:, 0].sum()


class Wave:
    def __init__(self, n: int) -> None:
        self.n = n
        self.start = np.sin(np.pi * np.linspace(0, 1, n))

    def lap(self, u: Array) -> Array:
        out = np.zeros(self.n)
        out[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        return out

    def run(self, c: Array) -> Array:
        u = self.start.copy()
        v = np.zeros(self.n)
        for _ in range(3):
            v += 0.1 * c * self.lap(u)
            u += 0.1 * v
        return np.sum(u**2)


def stiffness(k: Array) -> Array:
    """A constant matrix made by loops, which stays NumPy's, and one of arguments beside it."""
    n = 5
    A = np.zeros((n, n))
    for i in range(n):
        A[i, i] = 2.0
        if i:
            A[i, i - 1] = A[i - 1, i] = -1.0
    B = np.zeros((n, n))
    for i in range(n):
        B[i, i] = k[i]
    f = np.ones(n)
    f[0] = k[0]
    return np.linalg.solve(A + B, f).sum()


SIMULATIONS: list[tuple[Any, Any]] = [
    (heat, 0.7), (heat_with_boundary, 0.7), (curve, np.array([0.5, -0.2])), (particles, 1.3),
    (portfolio, np.full(4, 0.2)), (predators, np.array([1.0, 0.7, 0.5, 0.9])),
    (Wave(7).run, 0.8), (stiffness, np.linspace(1, 2, 5)),
]  # fmt: skip


G = np.arange(6.0)
M = np.arange(12.0).reshape(3, 4)


def alias(x: Any) -> Any:
    a = np.zeros(4)
    b = a
    v = a[1:3]
    a[0] = x
    b[1] = 2 * x
    v *= 3.0
    v += x
    return np.sum(a * np.arange(4.0)) + b.sum() + v[0] * v[1]


def views(x: Any) -> Any:
    a = np.zeros((3, 4))
    t = a.T
    r = a.reshape(12)
    row = a[1]
    d = a[:, ::2]
    r[5] = x
    t[2, 0] = x**2
    row[3] = 3.0
    d += x
    return (a * M).sum() + (t.T * a).sum() + (r**2).sum() + row @ row


def viewstage(x: Any) -> Any:
    a = np.arange(12.0).reshape(3, 4)
    b = a.ravel()[2:7]
    c = np.transpose(a)
    s = np.split(a, 3)
    a[0, 3] = x
    s[1][0, 1] = x * x
    c[0, 2] = np.sin(x)
    return (b * np.arange(5)).sum() + (a * M).sum() + c[1].sum() + s[2].sum()


def outer_copy(x: Any) -> Any:
    u = G.copy()
    w = G * 2
    z = np.array(G)
    q = G[1:4].copy()
    u[2] = x
    w += x
    z *= x
    q[0] -= x
    return u @ w + z @ G + q.sum() ** 2


def helper(u: Any, k: Any) -> Any:
    u[1:-1] = u[1:-1] + k * u[2:]
    return u


def inplace_callee(x: Any) -> Any:
    u = np.ones(6)
    for _ in range(3):
        helper(u, x)
    return u.sum()


def nested(x: Any) -> Any:
    import numpy as numpy2
    from numpy import full

    a = numpy2.ones(3)
    b = full(3, 2.0)

    def inner(y: Any) -> Any:
        a[1] = y * b[1]
        return (lambda z: a * z)(b)

    r = inner(x)
    b[0] = x
    return (r * b).sum()


def fact(n: Any, x: Any) -> Any:
    out = np.zeros(3)
    out[n % 3] = x
    return out.sum() if n == 0 else fact(n - 1, x * out.sum())


def recursion(x: Any) -> Any:
    return fact(3, x)


def deco(f: Any) -> Any:
    @functools.wraps(f)
    def g(*a: Any, **k: Any) -> Any:
        return 2 * f(*a, **k)

    return g


W = np.array([1.0, 2.0, 3.0])


@deco
def decorated(x: Any, buf: Any = None, *, w: Any = W) -> Any:
    o = zeros(3)
    o[:] = w * x
    return np.sum(o**2)


def defaults(x: Any, start: Any = G) -> Any:
    s = start.copy()
    s[0] = x
    return s @ start + x


def masks(x: Any) -> Any:
    a = np.linspace(-1, 1, 9)
    m = a > 0
    a[m] *= x
    a[~m] = np.exp(a[~m]) * x
    if a.shape[0] > 3 and m.any():
        a = np.where(m, a, -a)
    k = np.argsort(np.array([3, 1, 2]))
    b = np.zeros(3)
    b[k] = x * k
    return a.sum() + b[k[0]] * b @ np.ones(3)


def ints(x: Any) -> Any:
    idx = np.zeros(3, dtype=int)
    idx[1] = 2
    idx[2] = 1
    o = np.zeros(3)
    for i, j in enumerate(idx):
        o[j] += x * i
    for i in range(idx[1]):
        o[i] *= 2.0
    return o @ np.array([1.0, 2.0, 3.0])


def meth(x: Any) -> Any:
    a = np.zeros((2, 3))
    a.fill(2.0)
    a[0].fill(x)
    b = a.copy()
    b.sort(axis=1)
    a.flat[4] = x * x
    c = np.empty(6)
    c[:] = a.ravel()
    np.copyto(c[:2], x)
    np.put(c, [3], x)
    np.add(c, 1, out=c)
    np.fill_diagonal(a, 3 * x)
    return a.sum() * b.sum() + (c**2).sum()


def rank0(x: Any) -> Any:
    s = np.zeros(())
    s += x
    s *= 2
    t = np.array(0.0)
    t[...] = x
    n = np.float64(3.0)
    return s * t + n * s[()]


def stacks(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x
    b = np.array([a[0], 1.0, x])
    c = np.vstack([a, b, np.ones(3)])
    d = np.concatenate([a, [1.0, x]])
    return la.det(c + np.eye(3) * 2) + d @ d + np.array([[x, 1.0], [2.0, x]], dtype=float).sum()


def augmented(x: Any) -> Any:
    a = np.ones((3, 3))
    a[0] += x
    a[:, 1] *= x
    a[1, 2] -= x
    a /= 2.0
    a **= 2
    a @= np.eye(3)
    return a.sum()


def partialed(x: Any, n: Any = 4) -> Any:
    f = partial(helper, k=x)
    return f(np.ones(n)).sum()


def einsums(x: Any) -> Any:
    A = np.eye(3)
    A[0, 1] = x
    A[1, 0] = x
    w, v = np.linalg.eigh(A + np.diag([0.0, 1.0, 2.0]))
    return (
        np.einsum("i,ij->", w, v**2)
        + np.linalg.norm(A)
        + np.dot(A, A).trace()
        + np.outer(A[0], A[1]).sum()
    )


def scanned(x: Any) -> Any:
    base = np.ones(3)
    base[0] = 2.0

    def body(c: Any, t: Any) -> Any:
        new = np.zeros(3)
        new[0] = c[1] * t
        new[1] = c[0] + base[0]
        new[2] = x
        return new, new.sum()

    c, ys = gradir.scan(body, np.ones(3), np.arange(4.0))
    return c.sum() + ys @ ys


def aug_attr(x: Any) -> Any:
    class P:
        pos: Any = None
        vel: Any = None

    p = P()
    p.pos = np.zeros(3)
    p.vel = np.ones(3)
    for _ in range(3):
        p.vel += x
        p.pos += 0.1 * p.vel
    return p.pos.sum()


def listed(x: Any) -> Any:
    parts = [np.zeros(2) for _ in range(3)]
    parts[1][0] = x
    d = {"a": np.ones(2)}
    d["a"][1] *= x
    return np.stack(parts).sum() + sum(p @ d["a"] for p in parts)


def chained(x: Any) -> Any:
    u = np.zeros((4, 4))
    u[1:3, 1:3] = x
    n = u.copy()
    n[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    u, n = n, u
    u[0] = 1.0
    return (u * n).sum() + u.max() + np.abs(u).mean() + u.std()


class Ball:
    g = 9.81
    table = np.array([1.0, 2.0])

    def __init__(self) -> Any:
        self.state = np.array([0.0, 1.0])
        self.n = 3

    def step(self, s: Any, dt: Any) -> Any:
        new = np.empty(2)
        new[0] = s[0] + dt * s[1]
        new[1] = s[1] - dt * self.g
        return new

    @property
    def start(self) -> Any:
        return self.state.copy()

    def __call__(self, x: Any) -> Any:
        s = self.start
        s[1] = x
        for _ in range(self.n):
            s = self.step(s, 0.1)
        return s @ self.table


ball = Ball()


def use_ball(x: Any) -> Any:
    return ball(x) * 2 + ball.step(ball.state, x).sum()


def generators(x: Any) -> Any:
    def gen() -> Any:
        a = np.zeros(2)
        for k in range(2):
            a[k] = x * (k + 1)
            yield a[k]

    return sum(gen()) + sum(v for v in np.array([x, x**2]))


def random(x: Any) -> Any:
    rng = np.random.default_rng(0)
    e = rng.normal(size=5)
    e += x
    np.random.seed(1)
    p = np.random.rand(3)
    p[0] = x
    return e @ e + p.sum()


STATEMENTS: list[Any] = [
    alias, views, viewstage, outer_copy, inplace_callee, nested, recursion, decorated, defaults,
    masks, ints, meth, rank0, stacks, augmented, partialed, einsums, scanned, aug_attr, listed,
    chained, ball, use_ball, generators, random,
]  # fmt: skip
