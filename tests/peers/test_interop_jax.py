"""gradir.interop.jax: values, and gradients of every order, under JAX's transformations."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp
from torch_ops import torch

import gradir
import gradir.numpy as gnp
from gradir.frontends.tracing.paths import Path
from gradir.interop.jax import wrap

RANDOM = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float64) -> Any:
    return jnp.asarray(RANDOM.uniform(0.5, 1.5, shape), dtype)


def close(found: Any, expected: Any, rtol: float = 1e-12, atol: float = 1e-14) -> None:
    """Whether two nestings of arrays are equal, dtypes too."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        wide = (np.asarray(x, np.float64) for x in (a, b))
        np.testing.assert_allclose(*wide, rtol=rtol, atol=atol)


def layer(np_: Any, params: Any, x: Any, k: Any) -> Any:
    h = np_.tanh(x @ params["w"] + params["b"])
    return {"loss": np_.sum(np_.sin(h) * h) * k, "h": [h, np_.argmax(h, 1)]}


def loss_of(function: Any) -> Callable[..., Any]:
    def loss(w: Any, b: Any, x: Any) -> Any:
        made = function({"w": w, "b": b}, x, k=2.0)
        return made["loss"] + jnp.sum(made["h"][0] ** 3)

    return loss


WRAPPED = wrap(lambda params, x, k: layer(gnp, params, x, k))
OURS = loss_of(WRAPPED)
THEIRS = loss_of(lambda params, x, k: layer(jnp, params, x, k))
ARGUMENTS = random(3, 2), random(2), random(4, 3)


def test_nested_arguments_and_results() -> None:
    params, x = {"w": random(3, 2), "b": random(2)}, random(4, 3)
    close(WRAPPED(params, x, 3), layer(jnp, params, x, 3))
    close(jax.jit(WRAPPED, static_argnums=2)(params, x, 3), layer(jnp, params, x, 3))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_gradients_of_three_orders(compiled: bool) -> None:
    def slopes(f: Any, order: int) -> Any:
        if not order:
            return f
        inner = slopes(f, order - 1)

        def total(*args: Any) -> Any:
            made = inner(*args)
            return made if order == 1 else sum(jnp.sum(grad**2) for grad in made)

        return jax.grad(total, argnums=(0, 1, 2))

    for order in (1, 2, 3):
        found, expected = slopes(OURS, order), slopes(THEIRS, order)
        close((jax.jit(found) if compiled else found)(*ARGUMENTS), expected(*ARGUMENTS), 1e-9)


def test_the_hessian_is_that_of_jax() -> None:
    ours = jax.jacrev(jax.jacrev(OURS, argnums=(0, 2)), argnums=(0, 1))(*ARGUMENTS)
    close(ours, jax.jacrev(jax.jacrev(THEIRS, argnums=(0, 2)), argnums=(0, 1))(*ARGUMENTS), 1e-10)


def test_only_what_is_differentiated_is_computed() -> None:
    counted: list[tuple[str, ...]] = []

    def backward(cts: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        counted.append(req)
        for k in (0, 1):
            if req[k] == "write":
                grads[k][...] = cts[0] * inputs[1 - k]

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0] * inputs[1]

    op = gradir.custom_op(forward, lambda x, y: x, backward, needs=("cotangents", "inputs"))
    f = wrap(lambda x, y: gnp.sum(op(x, y)))
    x, y = random(3), random(3)
    close(jax.jit(jax.grad(f, argnums=1))(x, y), x)
    assert counted == [("null", "write")]


def test_vmap() -> None:
    ours, theirs = wrap(lambda x, w: gnp.sum(gnp.sin(x @ w))), lambda x, w: jnp.sum(jnp.sin(x @ w))
    xs, w = random(5, 4, 3), random(3, 2)
    for axes in ((0, None), (1, None)):
        for f in (lambda f: f, lambda f: jax.grad(f, argnums=1)):
            made = jax.vmap(f(ours), in_axes=axes)(xs.swapaxes(0, axes[0]), w)
            close(made, jax.vmap(f(theirs), in_axes=axes)(xs.swapaxes(0, axes[0]), w))
    # the gradient of a map adds its members' gradients
    found, expected = (
        jax.jit(jax.grad(lambda xs, w, f=f: jax.vmap(f, (0, None))(xs, w).sum(), argnums=(0, 1)))
        for f in (ours, theirs)
    )
    close(found(xs, w), expected(xs, w))
    assert jax.vmap(ours, (0, None))(xs[:0], w).shape == (0,)


def test_loops_branches_and_remat_of_jax() -> None:
    def program(f: Any) -> Any:
        def loss(x: Any) -> Any:
            def step(c: Any, k: Any) -> Any:
                kept = jax.lax.cond(k % 2 == 0, f, lambda x: x * 0.5, c)
                return kept, jnp.sum(kept)

            last, sums = jax.lax.scan(step, x, jnp.arange(4))
            return jnp.sum(jax.checkpoint(f)(last)) + jnp.sum(sums**2)

        return jax.jit(jax.value_and_grad(loss))

    x = random(3)
    ours, theirs = program(wrap(lambda x: gnp.tanh(x) * x)), program(lambda x: jnp.tanh(x) * x)
    close(ours(x), theirs(x))


def test_loops_of_unknown_length() -> None:
    def squares(lax: Any, np_: Any) -> Any:
        return lambda x: lax(lambda c: np_.sum(c) < 50.0, lambda c: c * c + 1, x)

    x = random(3)
    ours = wrap(squares(gradir.while_loop, gnp))
    count = 0
    while jnp.sum(squares(jax.lax.while_loop, jnp)(x)) != jnp.sum(unrolled(x, count)):
        count += 1

    def second(f: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(f(x)))(x) ** 2))

    close(second(ours)(x), second(lambda x: unrolled(x, count))(x), 1e-11)


def unrolled(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x * x + 1
    return x


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_floating_dtypes(name: str) -> None:
    x, i = random(3, 2, dtype=name), jnp.asarray([2, 0, 2])
    ours = wrap(lambda x, i: gnp.tanh(x[i]) * 2)
    tolerance = {2: 2e-2, 4: 1e-6, 8: 1e-12}[x.dtype.itemsize]
    for f in (lambda f: f, lambda f: jax.grad(lambda x, i: f(x, i).sum())):
        close(f(ours)(x, i), f(lambda x, i: jnp.tanh(x[i]) * 2)(x, i), tolerance, tolerance)


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "uint16", "uint64", "int8", "int16", "int32", "int64"]
)
def test_integers(name: str) -> None:
    x, y = jnp.asarray([0, 1, 1], name), random(3)
    assert wrap(lambda x: gnp.concat([x, x]))(x).dtype == name
    made, back = jax.vjp(wrap(lambda x, y: (x, gnp.where(gnp.astype(x, bool), y * y, y))), x, y)
    close(made[0], x)
    none, slope = back((np.zeros(3, jax.dtypes.float0), jnp.ones(3)))
    assert none.dtype == jax.dtypes.float0
    close(slope, jnp.where(x > 0, 2 * y, 1))


def test_without_x64() -> None:
    f = wrap(lambda x: gnp.sum(gnp.sin(x) * x))
    with jax.enable_x64(False):
        x = random(3, dtype=np.float32)
        slope = jax.jit(jax.grad(f))(x)
        close(slope, jnp.cos(x) * x + jnp.sin(x), 1e-6)
        close(f(np.ones(3)), jnp.sum(jnp.sin(jnp.ones(3))), 1e-6)  # as JAX reads NumPy's float64
        with pytest.raises(gradir.GradirError, match=r"result 0 of @main is int64.*x64") as error:
            wrap(lambda x: gnp.argmax(x))(x)
        assert f"{__file__}:" in str(error.value)


def test_unused_empty_and_constant() -> None:
    x = random(3)
    f = wrap(lambda x, y: (gnp.sum(x * 2), gnp.ones(3)))
    close(jax.grad(lambda x, y: f(x, y)[0], argnums=(0, 1))(x, x), (jnp.full(3, 2.0), jnp.zeros(3)))
    close(jax.grad(lambda x: jnp.sum(f(x, x)[1]))(x), jnp.zeros(3))
    assert jax.grad(wrap(lambda x: gnp.sum(x * x)))(random(0, 3)).shape == (0, 3)
    close(wrap(lambda: gnp.ones(2))(), jnp.ones(2))


def test_a_call_is_compiled_once(caplog: pytest.LogCaptureFixture) -> None:
    """By JAX as well, though no jit is around it."""
    f = wrap(lambda x: gnp.sum(x * x))
    with jax.log_compiles(), caplog.at_level("WARNING"):
        x = random(3)
        f(x)
        assert "Compiling" in caplog.text
        caplog.clear()
        f(x)
    assert "Compiling" not in caplog.text


def test_programs_hold_for_all_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient by eager calls is made once: no index, mask or row is part of the program."""

    def asked(*_: Any) -> None:
        raise AssertionError("a value of an argument is asked for")

    def loss(table: Any, rows: Any, at: Any) -> Any:
        taken = jnp.tanh(table[rows])
        moved = jax.lax.dynamic_slice_in_dim(taken, at, 2).at[at % 2, rows[0]].add(1.0)
        return jnp.sum(jnp.take_along_axis(moved, rows[:2, None], 1)) + jnp.sum(moved**2)

    monkeypatch.setattr(Path, "ask", asked)
    ours = gradir.value_and_grad(gradir.interop.jax.differentiable(loss))
    table = np.random.default_rng(0).standard_normal((3, 3)).astype("f4")
    for at, rows in enumerate(np.array([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 2, 2]])):
        wanted = jax.value_and_grad(loss)(table, rows, np.int32(at))
        for one, other in zip(ours(table, rows, np.int32(at)), wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-6, 1e-6)


def test_places_outside_have_no_gradient() -> None:
    """Also where the cotangent of their nan is nan."""

    def loss(x: Any, at: Any) -> Any:
        return jnp.sum(jnp.take(x, at, mode="fill") ** 2)

    x, at = np.array([1, 2, 3], "f4"), np.array([0, 5, 1])
    ours = gradir.grad(gradir.interop.jax.differentiable(loss))(x, at)
    np.testing.assert_array_equal(ours, jax.grad(loss)(x, at))


def test_threads() -> None:
    f, start = wrap(lambda x: gnp.sum(gnp.tanh(x) * x)), Barrier(8)

    def slope(seed: int) -> Any:
        start.wait()
        return [jax.grad(f)(jnp.full(5, float(seed + k))) for k in range(4)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(slope, range(8)))
    expected = jax.grad(lambda x: jnp.sum(jnp.tanh(x) * x))
    for seed, slopes in enumerate(found):
        close(slopes, [expected(jnp.full(5, float(seed + k))) for k in range(4)])


def test_threads_with_large_arrays() -> None:
    """Callbacks that wait for copies by JAX's threads would wait for ever."""
    f = wrap(lambda x, y: (gnp.sin(x) * y, gnp.sum(x * y)))

    def loss(x: Any) -> Any:
        a, s = f(x, x * 2)
        b, t = f(a * 3, x + 1)
        return jnp.sum(a * b) + s + t

    step = jax.jit(jax.grad(loss))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: step(jnp.full(100_000, k * 0.1))[0], range(16)))
    expected = [step(jnp.full(1, k * 0.1))[0] for k in range(16)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_jit() -> None:
    f, x = wrap(lambda x: gnp.flip(gnp.sin(x))), random(4)
    with jax.disable_jit():
        close(jax.grad(lambda x: f(x)[0])(x), jnp.zeros(4).at[3].set(jnp.cos(x[3])))
        close(jax.vmap(f)(x[:, None]), jnp.sin(x)[:, None])


def test_errors_of_native_code() -> None:
    f = wrap(lambda x, i: x[i])
    with pytest.raises(jax.errors.JaxRuntimeError, match="index 7 is out of"):
        f(random(3), jnp.asarray([7])).block_until_ready()
    x = random(3)
    close(f(x, jnp.asarray([-1])), x[2:])


def double(x: Any) -> Any:
    return x * 2


doubled = wrap(double)


def test_pickles_and_traced_calls() -> None:
    x = random(2)
    close(pickle.loads(pickle.dumps(doubled))(x), x * 2)
    assert gradir.grad(lambda x: gnp.sum(doubled(x)))(np.asarray(x)).tolist() == [2, 2]


OF_COMPLEX: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "product with the conjugate": (lambda xp, x: xp.sin(x) * xp.conj(x), (1,)),
    "real loss": (lambda xp, x: xp.sum(xp.abs(x) ** 3), (1,)),
    "of both kinds": (lambda xp, x, y: x * y + 1j * xp.exp(y), (1, 0)),
    "transform of reals": (lambda xp, x: xp.fft.rfft(x), (0,)),
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_gradients_of_complex_numbers_are_jaxs(name: str) -> None:
    """Cotangents pass as they are, at both orders."""
    function, kinds = OF_COMPLEX[name]
    args = tuple(random(4) + (1j * random(4) if is_complex else 0) for is_complex in kinds)
    ours, theirs = wrap(partial(function, gnp)), partial(function, jnp)

    def loss(f: Any) -> Any:
        return lambda *a: jnp.sum(jnp.abs(f(*a)) ** 2 * jnp.arange(1.0, f(*a).size + 1))

    def twice(f: Any) -> Any:
        return jax.grad(lambda *a: jnp.sum(jnp.abs(jax.grad(loss(f))(*a)) ** 2))

    np.testing.assert_allclose(ours(*args), theirs(*args), 1e-12)
    np.testing.assert_allclose(jax.grad(loss(ours))(*args), jax.grad(loss(theirs))(*args), 1e-9)
    np.testing.assert_allclose(twice(ours)(*args), twice(theirs)(*args), 1e-9)
    np.testing.assert_allclose(jax.jit(ours)(*args), theirs(*args), 1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: doubled(torch.ones(2)), "x: expected an array of JAX.* got Tensor of torch"),
        (lambda: doubled([{1, 2}]), "x_0: expected an array of JAX.* got set of builtins"),
        (lambda: doubled(jax.random.key(0)), "wrap: x: dtype: expected .* got key"),
        (lambda: wrap(lambda x: "word")(random(2)), "expected an array or a number, got str"),
        (lambda: jax.grad(lambda y: wrap(lambda x: gnp.sum(x * y))(y))(random(2)), "pass it as an"),
        (lambda: jax.jit(lambda y: wrap(lambda x: (x, y))(y))(random(2)), "pass it as an argument"),
        (lambda: wrap(3), "expected a Python function, got 3"),  # pyrefly: ignore[bad-argument-type]
        (lambda: jax.jit(doubled)(), "missing a required argument: 'x'"),
        (lambda: jax.jit(wrap(lambda x: x.reshape(7)))(random(2)), "sizes must match"),
        (lambda: wrap(double, threads=0)(random(2)), "threads: a positive number expected, got 0"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    """All errors but wrap's own are at the place of the call."""
    with pytest.raises(gradir.GradirError, match=message) as error:
        call()
    assert f"{__file__}:" in str(error.value) or re.search("Python function|threads", message)


def test_forward_mode_is_refused() -> None:
    x = random(3)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(doubled, (x,), (x,))
