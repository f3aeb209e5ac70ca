"""gradir.jit, grad, value_and_grad and vjp of Python functions, alone and in each other."""

from __future__ import annotations

from functools import wraps
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError, TraceError
from gradir.testing import check_grads

X = np.random.default_rng(5).normal(size=4)
W = np.random.default_rng(6).normal(size=(4, 4))


def cubes(x: Any) -> Any:
    return gnp.sum(x**3.0)


# jit.


def test_jit_compiles_once_for_each_kind_of_arguments() -> None:
    traced: list[Any] = []

    @gradir.jit
    def f(x: Any, *, scale: Any) -> Any:
        traced.append(x)
        return {"scaled": gnp.sin(x) * scale["by"], "rest": [x.sum(), None]}

    for scale in (2.0, 3.0):
        found = f(X, scale={"by": scale})
        np.testing.assert_allclose(found["scaled"], np.sin(X) * scale)
        np.testing.assert_allclose(found["rest"][0], X.sum())
        assert found["rest"][1] is None
    assert len(traced) == 1
    f(X, scale={"by": 2})
    f(X[:2], scale={"by": 2.0})
    assert f(X.astype(np.float32), scale={"by": 2.0})["scaled"].dtype == np.float32
    assert len(traced) == 4
    assert "compiled 4 times" in repr(f)
    assert getattr(f, "__name__", None) == "f"


def test_jit_shows_what_it_runs() -> None:
    f = gradir.jit(lambda x, w: gnp.tanh(w @ x) @ w, threads=1)
    made = f.compiled(gradir.Spec(4), W)
    assert made.executable.plan.peak_bytes > 0 and made.executable.threads == 1
    assert "array.tanh" in str(made.traced.module)
    assert made is f.compiled(X, gradir.Spec((4, 4)))


def test_jit_within_a_trace_is_the_function() -> None:
    f = gradir.jit(lambda x: gnp.sin(x))
    assert str(gradir.trace(lambda x: f(x), X)) == str(gradir.trace(lambda x: gnp.sin(x), X))


def test_errors_of_jit() -> None:
    with pytest.raises(ArgumentTypeError, match="expected a Python function"):
        gradir.jit(3)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match=r"name: expected an array, .*, got str"):
        gradir.jit(lambda x, name: x)(X, "a")


# grad.


def test_gradients_of_each_argument() -> None:
    def f(x: Any, params: Any, y: Any = 1.0) -> Any:
        return gnp.sum(gnp.tanh(params["w"] @ x) * params["b"]) * y

    params = {"w": W, "b": X}
    t = np.tanh(W @ X)
    by_x = W.T @ ((1 - t**2) * X)
    by_w = np.outer((1 - t**2) * X, X)
    np.testing.assert_allclose(gradir.grad(f)(X, params), by_x)
    by_params = gradir.grad(f, argnums=1)(X, params, y=2.0)
    np.testing.assert_allclose(by_params["b"], 2 * t)
    np.testing.assert_allclose(by_params["w"], 2 * by_w)
    by_y, again = gradir.grad(f, argnums=(-1, 0))(X, params, 3.0)
    np.testing.assert_allclose(by_y, np.sum(t * X))
    np.testing.assert_allclose(again, 3 * by_x)


def test_value_and_grad() -> None:
    value, grads = gradir.value_and_grad(cubes)(X)
    np.testing.assert_allclose(value, np.sum(X**3))
    np.testing.assert_allclose(grads, 3 * X**2)


def test_has_aux() -> None:
    f: Any = lambda x: (cubes(x), {"x": x, "count": 4})  # noqa: E731
    (value, aux), grads = gradir.value_and_grad(f, has_aux=True)(X)
    np.testing.assert_allclose(value, np.sum(X**3))
    np.testing.assert_allclose(grads, 3 * X**2)
    assert aux["count"] == 4 and (aux["x"] == X).all()
    grads, aux = gradir.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(grads, 3 * X**2)
    assert (aux["x"] == X).all()


def test_gradients_of_gradients() -> None:
    second: Any = gradir.grad(lambda x: gnp.sum(gradir.grad(cubes)(x) * x))
    np.testing.assert_allclose(second(X), 9 * X**2)
    third: Any = gradir.grad(gradir.grad(gradir.grad(lambda x: x**4.0)))
    assert third(2.0) == pytest.approx(48)
    with_jit: Any = gradir.jit(gradir.grad(gradir.jit(cubes)))
    np.testing.assert_allclose(with_jit(X), 3 * X**2)


def test_a_gradient_inside_uses_values_from_around_it() -> None:
    """Derivatives flow through them too: for x, s and w at both orders."""

    def f(x: Any, w: Any) -> Any:
        s = gnp.sin(w)

        def inner(x: Any) -> Any:
            def innermost(y: Any) -> Any:
                return gnp.sum(gnp.tanh(s @ y) * x)

            return gnp.sum(gradir.grad(innermost)(x * x) * s[0])

        return gnp.sum(gradir.grad(inner)(x) * x) + inner(x)

    module = gradir.trace(f, X, W)
    check_grads((module, "f"), [X, W])
    np.testing.assert_allclose(gradir.jit(f)(X, W), gradir.interpret(module, "f", X, W)[0])


def test_gradients_in_loops_and_stages() -> None:
    """Gradient descent, differentiated by the starting point and the step."""

    def f(x: Any, rate: Any) -> Any:
        @gradir.checkpoint
        def step(i: Any, y: Any) -> Any:
            return y - rate * gradir.grad(lambda y: gnp.sum(gnp.cos(y * x[0])))(y)

        return gnp.sum(gradir.fori_loop(0, 3, step, x) ** 2)

    check_grads((gradir.trace(f, X, np.array(0.3)), "f"), [X, np.array(0.3)])


def test_a_body_that_is_traced_twice_leaves_one_function() -> None:
    def f(x: Any) -> Any:
        return gradir.fori_loop(0, 2, lambda i, y: y + gradir.grad(cubes)(x).sum(), 0)

    module = gradir.trace(f, X)
    assert module.functions == ("cubes_1_grad", "f")
    np.testing.assert_allclose(gradir.grad(f)(X), 12 * X)


def test_the_program_of_a_gradient() -> None:
    def half(x: Any) -> Any:
        return 0.5 * x * x

    assert str(gradir.trace(gradir.grad(half), gradir.Spec((), "float32"))) == (
        "builtin.module {\n"
        "  func.func @half_grad(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
        "    %0 = array.full {value = 0.5} : tensor<f32>\n"
        "    %x_ct = array.multiply %0, %x : tensor<f32>\n"
        "    %1 = array.multiply %x_ct, %x : tensor<f32>\n"
        "    %x_ct_1 = array.multiply %x, %0 : tensor<f32>\n"
        "    %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<f32>\n"
        "    func.return %1, %x_ct_2 : tensor<f32>, tensor<f32>\n"
        "  }\n"
        "  func.func @grad_half(%x: tensor<f32>) -> tensor<f32> {\n"
        "    %0, %1 = func.call @half_grad(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
        "    func.return %1 : tensor<f32>\n"
        "  }\n"
        "}"
    )


def test_functions_have_the_place_of_the_users_code() -> None:
    for function in (gradir.grad(cubes), gradir.checkpoint(cubes), gradir.jit(cubes)):
        ops: Any = gradir.trace(function, X).op.body.block.ops
        places = {(op.location.filename.data, op.location.line.data) for op in ops}
        assert places == {(__file__, cubes.__code__.co_firstlineno)}


def test_names_of_functions_do_not_meet() -> None:
    def f(x: Any) -> Any:
        return gnp.sum(x * x)

    def f_grad(x: Any) -> Any:
        return gnp.sum(gradir.grad(f)(x) * gradir.grad(f)(x * 2)) + gradir.grad(f)(x)[0]

    module = gradir.trace(f_grad, X)
    assert len(set(module.functions)) == 4
    np.testing.assert_allclose(gradir.grad(f_grad)(X), 16 * X + np.array([2, 0, 0, 0]))


def test_policies_and_memory_limits() -> None:
    def f(x: Any) -> Any:
        for _ in range(8):
            x = gnp.sin(gnp.tanh(W @ x))
        return gnp.sum(x)

    x = np.tile(X[:, None], (1, 256))
    plain = gradir.grad(f)(x)
    choices: list[dict[str, Any]] = [{"policy": "keep_none"}, {"memory_limit": 100_000}]
    for options in choices:
        found = gradir.grad(f, **options)(x)
        assert (found == plain).all()
    with pytest.raises(gradir.GradirError, match="infeasible: minimum is"):
        gradir.grad(f, memory_limit=10)(x)


def test_integers_among_parameters() -> None:
    """They have no gradient, and optimizers leave them as they are."""
    params = {"w": X, "n": 3, "tables": [np.array([True, False]), X[:2] + 1]}

    def f(p: Any) -> Any:
        return np.sum(p["w"] ** p["n"]) * np.sum(p["tables"][1] * p["tables"][0])

    for wrap in (lambda g: g, gradir.jit):
        made = wrap(gradir.grad(f))(params)
        assert made["n"] is None and made["tables"][0] is None
        np.testing.assert_allclose(made["w"], 3 * X**2 * (X[0] + 1))
        np.testing.assert_allclose(made["tables"][1], [np.sum(X**3), 0])
    second = gradir.grad(lambda w: gradir.grad(f)({**params, "w": w})["w"].sum())(X)
    np.testing.assert_allclose(second, 6 * X * (X[0] + 1))
    optimizer = gradir.optim.adam(0.1)
    state = optimizer.init(params)
    updates, state = optimizer.update(gradir.grad(f)(params), state, params)
    moved = gradir.optim.apply_updates(params, updates)
    assert moved["n"] == 3 and moved["tables"][0].tolist() == [True, False]
    np.testing.assert_allclose(abs(moved["w"] - X), 0.1, rtol=1e-6)


ERRORS: list[tuple[Any, tuple[Any, ...], str]] = [
    (lambda x: x, (X,), r"grad: @main must return a floating number, got float64\[4\]; sum it up"),
    (lambda x: (x, x), (X,), "grad: @main must return a floating number, got 2 nested arrays"),
    (lambda x: x.astype("int64").sum(), (X,), r"must return a floating number, got int64\[\]"),
    (lambda x: 1.0 * x, (2,), r"grad: argument x must be floating, got int64\[\]"),
    (
        lambda x: 1.0 * x["b"],
        ({"b": True},),
        r"grad: argument x_b must be floating, got bool\[\]",
    ),
]


@pytest.mark.parametrize(("function", "args", "message"), ERRORS, ids=range(len(ERRORS)))
def test_errors_of_grad(function: Any, args: Any, message: str) -> None:
    with pytest.raises((TraceError, TypeError), match=message):
        gradir.grad(function)(*args)


def test_functions_that_do_not_take_the_arguments() -> None:
    one: Any = lambda a: gnp.sum(a)  # noqa: E731
    two: Any = lambda a, b: gnp.sum(a * b)  # noqa: E731
    calls: list[tuple[str, Any]] = [
        ("grad", lambda x: gradir.grad(two)(x)),
        ("grad", lambda x: gradir.grad(one)(x, k=2.0)),
        ("vjp", lambda x: gradir.vjp(two, x)),
        ("jvp", lambda x: gradir.jvp(two, (x,), (x,))),
        ("jit", lambda x: gradir.jit(two)(x)),
        ("checkpoint", lambda x: gradir.checkpoint(two)(x)),
    ]
    for what, call in calls:
        for run in (lambda call=call: call(X), lambda call=call: gradir.trace(call, X)):
            with pytest.raises(TraceError, match=rf"{what}: <lambda> is called with") as caught:
                run()
            assert caught.value.diagnostic is not None and caught.value.diagnostic.file == __file__

    @wraps(two)
    def wrapper(a: Any) -> Any:
        return two(a, 3.0)

    assert (gradir.grad(wrapper)(X) == 3).all()


def test_errors_of_argnums_and_aux() -> None:
    with pytest.raises(TraceError, match="argnums: no argument 1: the call has 1 argument"):
        gradir.grad(cubes, argnums=1)(X)
    with pytest.raises(TraceError, match=r"argnums: expected an integer, or a tuple .* got 'x'"):
        gradir.grad(lambda x: x, argnums=cast(Any, "x"))(1.0)
    for derivative in (gradir.jvp, gradir.hvp):
        with pytest.raises(TraceError, match=r"primals: expected a tuple .*, \(x,\)") as caught:
            derivative(gnp.sum, cast(Any, np.ones(1)), cast(Any, np.ones(1)))
        assert caught.value.diagnostic is not None and caught.value.diagnostic.file == __file__
    with pytest.raises(TraceError, match=r"must return \(a floating number, aux\)"):
        gradir.grad(cubes, has_aux=True)(X)
    with pytest.raises(ArgumentTypeError, match="expected a Python function"):
        gradir.grad(3)  # pyrefly: ignore[no-matching-overload]


# vjp.


def test_vjp() -> None:
    y, back = gradir.vjp(lambda a, b, k: {"p": a * b, "s": a.sum(), "k": k}, X, X + 1, 3)
    np.testing.assert_allclose(y["p"], X * (X + 1))
    assert y["k"] == 3
    for scale, seed in ((1.0, 0), (2.0, None)):
        a_ct, b_ct, k_ct = back({"p": scale * X, "s": 1.0, "k": seed})
        np.testing.assert_allclose(a_ct, scale * X * (X + 1) + 1)
        np.testing.assert_allclose(b_ct, scale * X * X)
        assert k_ct is None
    with pytest.raises(TraceError, match="the cotangents must be nested like the results"):
        back(X)
    with pytest.raises(TraceError, match=r"None only at integers, got None for float64\[\]"):
        back({"p": X, "s": None, "k": None})


def test_vjp_inside_of_a_trace() -> None:
    def f(x: Any, w: Any) -> Any:
        y, back = gradir.vjp(lambda a: gnp.tanh(w @ a) * x, x)
        return gnp.sum(back(y)[0] ** 2)

    check_grads((gradir.trace(f, X, W), "f"), [X, W])


def test_vjp_of_a_loop() -> None:
    def f(x: Any) -> Any:
        return gradir.while_loop(lambda y: gnp.sum(y) < 50.0, lambda y: y * y + 1, x)

    x = abs(X)
    y, back = gradir.vjp(f, x)
    module = gradir.trace(f, x).gradient("f", mode="vjp")
    expected, expected_ct = gradir.compile(module, "f_vjp")(x, np.ones(4))
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(back(np.ones(4))[0], expected_ct)


def test_cotangents_of_python_numbers_take_the_type() -> None:
    def f(x: Any) -> Any:
        return gradir.vjp(gnp.sum, x)[1](2.0)[0]

    assert (gradir.jit(f)(X.astype(np.float32)) == 2).all()
    with pytest.raises(TraceError, match=r"cotangent .* must be float32\[\], got float64\[4\]"):
        gradir.trace(lambda x: gradir.vjp(gnp.sum, x)[1](X)[0], X.astype(np.float32))


# jvp.


def test_jvp() -> None:
    def f(x: Any, k: Any, w: Any) -> Any:
        return {"y": gnp.tanh(w["w"] @ x), "k": k}

    v, dw = np.cos(X), np.sin(W)
    out, moved = gradir.jvp(f, (X, 3, {"w": W}), (v, None, {"w": dw}))
    np.testing.assert_allclose(out["y"], np.tanh(W @ X))
    np.testing.assert_allclose(moved["y"], (1 - out["y"] ** 2) * (W @ v + dw @ X))
    assert out["k"] == 3 and moved["k"] is None
    with pytest.raises(TraceError, match="the tangents must be nested like the primals"):
        gradir.jvp(cubes, (X,), (X, X))


def test_hvp() -> None:
    def f(x: Any) -> Any:
        return gnp.sum(gnp.sin(W @ x))

    v = np.cos(X)
    expected = W.T @ (-np.sin(W @ X) * (W @ v))
    np.testing.assert_allclose(gradir.hvp(f, (X,), (v,)), expected, atol=1e-14)
    within: Any = gradir.jit(lambda x, v: gradir.hvp(lambda y: gnp.sum((y * x) ** 3.0), (x,), (v,)))
    np.testing.assert_allclose(within(X, v), 6 * X**4 * v)


def _with_aux(x: Any, y: Any) -> Any:
    return (gnp.sin(x) * y, {"a": x.sum()}), {"twice": x * 2, "k": 3}


def test_vjp_and_jvp_hand_aux_on() -> None:
    x, y = np.arange(3.0) + 0.5, np.full(3, 2.0)
    (value, _), back, aux = gradir.vjp(_with_aux, x, y, has_aux=True)
    np.testing.assert_allclose(value, np.sin(x) * y)
    np.testing.assert_allclose(aux["twice"], 2 * x)
    x_ct, y_ct = back((np.ones(3), {"a": np.float64(1)}))
    np.testing.assert_allclose(x_ct, np.cos(x) * y + 1)
    np.testing.assert_allclose(y_ct, np.sin(x))
    _, (moved, _), aux = gradir.jvp(_with_aux, (x, y), (np.ones(3), np.ones(3)), has_aux=True)
    np.testing.assert_allclose(moved, np.cos(x) * y + np.sin(x))
    assert aux["k"] == 3


def test_aux_of_vjp_and_jvp_is_differentiated_around_them() -> None:
    def by_vjp(x: Any) -> Any:
        _, back, aux = gradir.vjp(lambda x: (x**3, x + 1), x, has_aux=True)
        return gnp.sum(back(gnp.ones(3))[0] * aux)

    def by_jvp(x: Any) -> Any:
        _, moved, aux = gradir.jvp(lambda x: (x**3, x + 1), (x,), (gnp.ones(3),), has_aux=True)
        return gnp.sum(moved * aux)

    x = np.array([0.5, 1.5, 2.5])
    for function in (by_vjp, by_jvp):
        np.testing.assert_allclose(gradir.grad(function)(x), 9 * x * x + 6 * x)


@pytest.mark.parametrize("what", ["vjp", "jvp"])
def test_aux_needs_a_pair(what: str) -> None:
    x = np.ones(3)
    with pytest.raises(TraceError, match=rf"{what}: @main must return \(result, aux\)"):
        if what == "vjp":
            gradir.vjp(lambda x: x, x, has_aux=True)
        else:
            gradir.jvp(lambda x: [x, x], (x,), (x,), has_aux=True)
