"""gradir.grad with req: gradients that are written, left out, added to an array, or row slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ArgumentTypeError, TraceError

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(5, 3))
PARAMS = {"b": RANDOM.normal(size=2), "w": RANDOM.normal(size=(3, 2))}


def loss(params: Any, x: Any) -> Any:
    return gnp.sum(gnp.tanh(x @ params["w"] + params["b"]) ** 2)


def ones() -> Any:
    return {k: np.ones_like(v) for k, v in PARAMS.items()}


def test_add_is_the_sum_of_the_array_and_the_gradient():
    plain, adding = gradir.grad(loss)(PARAMS, X), gradir.grad(loss, req="add")
    sums, wanted = ones(), ones()
    for _ in range(3):
        found = adding(PARAMS, X, out=sums)
        wanted = {k: wanted[k] + plain[k] for k in wanted}
        for k, array in sums.items():
            assert found[k] is array
            np.testing.assert_array_equal(array, wanted[k])


def test_add_in_a_traced_function():
    """Traced arrays are read; the sums go where the results of the function go."""

    def step(sums: Any, x: Any) -> Any:
        return gradir.grad(loss, req="add")(PARAMS, x, out=sums)

    plain, sums = gradir.grad(loss)(PARAMS, X), ones()
    found = gradir.jit(step)(sums, X)
    again = gradir.jit(step, donate_argnums=0)(sums, X)
    for k in sums:
        np.testing.assert_array_equal(found[k], 1 + plain[k])
        np.testing.assert_array_equal(again[k], found[k])
    with pytest.raises(ArgumentError, match="sums_b was donated"):
        gradir.jit(step)(sums, X)


def test_gradients_of_microbatches_add_up_in_a_loop():
    def total(x: Any) -> Any:
        def body(k: Any, sums: Any) -> Any:
            return gradir.grad(loss, req="add")(PARAMS, x[k], out=sums)

        zeros = {k: gnp.zeros_like(v) for k, v in PARAMS.items()}
        return gradir.fori_loop(0, 3, body, zeros)

    parts = RANDOM.normal(size=(3, 5, 3))
    found = gradir.jit(total)(parts)
    wanted = gradir.grad(loss)(PARAMS, parts.reshape(15, 3))
    for k in found:
        np.testing.assert_allclose(found[k], wanted[k], rtol=1e-12)


def test_a_derivative_of_a_sum_of_gradients():
    """The second derivative passes to the array that was added to, and through the gradient."""

    def outer(params: Any, sums: Any) -> Any:
        grads = gradir.grad(loss, req={"w": "null", "b": "add"})(
            *(params, X), out={"w": None, "b": sums}
        )
        assert grads["w"] is None
        return gnp.sum(grads["b"] ** 2)

    def plain(params: Any, sums: Any) -> Any:
        return gnp.sum((sums + gradir.grad(loss)(params, X)["b"]) ** 2)

    for argnums in (0, 1):
        found, wanted = (
            gradir.grad(f, argnums=argnums)(PARAMS, np.full(2, 0.5)) for f in (outer, plain)
        )
        for one, other in zip(*map(_leaves, (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def _leaves(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else [value]


def test_values_and_aux_beside_it():
    plain = gradir.grad(loss)(PARAMS, X)
    value, grads = gradir.value_and_grad(
        loss, argnums=(0, 1), req=({"b": "write", "w": "add"}, "null")
    )(PARAMS, X, out=(None, ({"b": None, "w": (sums := np.ones((3, 2)))}, None)))
    np.testing.assert_allclose(value, gradir.jit(loss)(PARAMS, X))
    assert grads[1] is None and grads[0]["w"] is sums
    np.testing.assert_array_equal(sums, 1 + plain["w"])
    np.testing.assert_array_equal(grads[0]["b"], plain["b"])

    def with_aux(params: Any, x: Any) -> Any:
        return loss(params, x), x[0]

    grads, aux = gradir.grad(with_aux, has_aux=True, req="add")(
        *(PARAMS, X), out=({"b": None, "w": None} | ones(), None)
    )
    np.testing.assert_array_equal(aux, X[0])
    np.testing.assert_array_equal(grads["b"], 1 + plain["b"])


def test_slices_by_request():
    table, ids = RANDOM.normal(size=(9, 2)), np.array([1, 1, -1])

    def of_rows(tables: Any) -> Any:
        return gnp.sum(tables["a"][ids] ** 2) + gnp.sum(tables["b"])

    found = gradir.grad(of_rows, req={"a": "slices", "b": "write"})({"a": table, "b": table})
    wanted = gradir.grad(of_rows)({"a": table, "b": table})
    assert isinstance(found["a"], gradir.RowSlices)
    np.testing.assert_array_equal(found["a"].densify(), wanted["a"])
    np.testing.assert_array_equal(found["b"], wanted["b"])
    with pytest.raises(TraceError, match="tables_b is sparse, and its req is 'null'"):
        gradir.grad(of_rows, req={"a": "slices", "b": "null"}, sparse=True)(
            {"a": table, "b": table}
        )


def test_requests_by_a_function():
    big = gradir.grad(
        loss, req=lambda params: {k: "write" if v.ndim > 1 else "null" for k, v in params.items()}
    )
    assert big(PARAMS, X)["b"] is None
    np.testing.assert_array_equal(big(PARAMS, X)["w"], gradir.grad(loss)(PARAMS, X)["w"])


def test_null_prunes():
    """No op and no kept byte serves a gradient that nobody asked for."""

    def deep(w: Any, x: Any) -> Any:
        return gnp.sum(gnp.tanh(gnp.sin(x) * w) * gnp.exp(x))

    x, w = RANDOM.normal(size=(2, 40))
    module = gradir.trace(deep, w, x)
    kept: dict[str, int] = {}
    ops: dict[str, int] = {}
    for request in ("write", "null"):
        split = module.gradient("deep", wrt=[0, 1], req={1: request})
        ops[request] = str(split).count(" = array.")
        kept[request] = sum(array.nbytes for array in gradir.interpret(split, "deep_fwd", w, x)[1:])
    assert ops["null"] < ops["write"] and kept["null"] < kept["write"]
    only = gradir.trace(gradir.grad(deep), w, x)
    pruned = gradir.trace(
        lambda w, x: gradir.grad(deep, argnums=(0, 1), req=("write", "null"))(w, x)[0], w, x
    )
    assert _ops(pruned) == _ops(only)
    np.testing.assert_array_equal(
        gradir.grad(deep, argnums=(0, 1), req=("write", "null"))(w, x)[0], gradir.grad(deep)(w, x)
    )


def _ops(module: gradir.Module) -> list[str]:
    return [op.name for op in module.op.walk()]


def test_null_for_all():
    value, grads = gradir.value_and_grad(loss, req="null")(PARAMS, X)
    assert grads == {"b": None, "w": None}
    np.testing.assert_allclose(value, gradir.jit(loss)(PARAMS, X))


def test_write_reads_no_old_bytes():
    plain, places = gradir.grad(loss)(PARAMS, X), {k: v * np.nan for k, v in PARAMS.items()}
    found = gradir.grad(loss)(PARAMS, X, out=places)  # pyrefly: ignore[unexpected-keyword]
    for k, array in places.items():
        assert found[k] is array
        np.testing.assert_array_equal(array, plain[k])


@pytest.mark.parametrize("count", [2, 4, 5, 7, 8, 9, 17])
@pytest.mark.parametrize("kind", ["rows", "products", "elements"])
def test_add_of_many_contributions(count: int, kind: str):
    """However many uses contribute, the array counts once, and nothing else is lost."""
    w, ids = RANDOM.normal(size=(4, 4)), np.array([0, 2, 2])
    factors = RANDOM.normal(size=(count, 4, 4))

    def uses(w: Any) -> Any:
        if kind == "rows":
            return sum(gnp.sum(w[ids] * factor[:3]) for factor in factors)
        if kind == "products":
            return sum(gnp.sum(w @ factor) for factor in factors)
        return sum(gnp.sum(w * factor) for factor in factors)

    old = RANDOM.normal(size=(4, 4))
    for policy in ("keep_all", "keep_none"):
        sums = old.copy()
        gradir.grad(uses, req="add", policy=policy)(w, out=sums)
        np.testing.assert_array_equal(sums, old + gradir.grad(uses, policy=policy)(w))
    exact = np.zeros((4, 4))
    if kind == "rows":
        np.add.at(exact, ids, factors.sum(0)[:3])
    else:
        total = factors.sum(0)
        exact += total.sum(1) if kind == "products" else total
    np.testing.assert_allclose(sums, old + exact, atol=1e-12)


def test_an_array_that_is_argument_and_sum():
    """The gradient is computed from the old values: w += d loss / d w."""
    w, x = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 3))

    def of(w: Any, x: Any) -> Any:
        return gnp.sum((w @ x) ** 2)

    wanted = w + gradir.grad(of)(w, x)
    adding = gradir.grad(of, req="add")
    with pytest.raises(ArgumentError, match="shares memory"):
        adding(w, x, out=w)
    np.testing.assert_array_equal(adding(w.copy(), x, out=w), wanted)


@pytest.mark.parametrize(
    ("req", "out", "message"),
    [
        ("wriite", None, "req must be one of 'write', 'null', 'add', 'slices', got 'wriite'"),
        ({"w": "add"}, None, "req must be nested like the gradient, got nothing at req['b']"),
        (None, None, "req must be nested like the gradient, got None"),
        (3, None, "got int"),
        ("add", None, "the gradient of params_b is added to an array: give it in out="),
        ("add", [1.0], "out must be nested as the result is"),
        ("add", {"b": None, "w": np.ones((3, 2))}, "the gradient of params_b is added"),
        (
            "add",
            {"b": np.ones(2, np.float32), "w": np.ones((3, 2))},
            "out must be float64[2] for params_b, got float32[2]",
        ),
        ("slices", None, "params_s has no rows"),
    ],
)
def test_refused(req: Any, out: Any, message: str):
    params = PARAMS | ({"s": np.float64(1)} if req == "slices" else {})
    with pytest.raises(TraceError) as caught:
        gradir.grad(loss, req=req)(params, X, out=out)
    assert message in str(caught.value)


def test_a_function_with_a_parameter_out():
    def scaled(x: Any, out: Any) -> Any:
        return gnp.sum(x * x) * out

    np.testing.assert_array_equal(gradir.grad(scaled)(X, out=3.0), 6 * X)
    with pytest.raises(ArgumentTypeError, match="'add' needs out=, which is a parameter of scaled"):
        gradir.grad(scaled, req="add")
