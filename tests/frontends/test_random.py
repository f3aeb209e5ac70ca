"""gradir.random: keys, the same numbers under every transformation, and refusals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_draws import EVERY, every
from random_references import bits
from trace_harness import fails, run

import gradir
import gradir.numpy as gnp
from gradir import random

KEY = random.key(7)


def word(key: int, counter: int, place: int = 0) -> int:
    return int(bits((place + 1,), "int64", np.array(key), np.array(counter))[place])


# Keys.


def test_keys_are_words_of_philox() -> None:
    key = -(2**40) - 5
    assert random.key(key).dtype == np.int64 and random.key(key) == key
    children = [word(key, -1, k) for k in range(5)]
    assert random.split(key, 5).tolist() == children
    assert random.split(random.key(key)).tolist() == children[:2]
    assert random.split(key, (2, 2)).tolist() == [children[:2], children[2:4]]
    for data in (0, 3, -1, 2**64 - 1):
        assert random.fold_in(key, data) == word(word(key, -2), data)
    assert random.fold_in(key, np.int32(3)) == random.fold_in(key, 3)


def test_seeds_are_taken_mod_2_to_the_64() -> None:
    assert random.key(-1) == random.key(2**64 - 1) == -1
    assert random.PRNGKey(2**63) == random.key(-(2**63)) == -(2**63)
    assert gradir.jit(random.key)(np.int32(5)) == 5
    assert gradir.jit(lambda: random.key(2**64 - 1))() == -1
    assert (random.normal(2**64 - 1, (3,)) == random.normal(random.key(-1), (3,))).all()


def test_a_thousand_keys_and_their_streams_differ() -> None:
    keys = random.split(0, 500)
    more = gradir.vmap(random.fold_in, in_axes=(None, 0))(0, np.arange(500))
    assert len({*keys.tolist(), *more.tolist()}) == 1000
    drawn = gradir.vmap(lambda k: random.uniform(k, (4,)))(np.concatenate([keys, more]))
    assert len(set(drawn.ravel().tolist())) == 4000
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.15


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (0.5, "key: expected an integer, got float64[]; make keys with gradir.random.key(seed) and"
              " gradir.random.split"),
        (True, "key: expected an integer, got bool[]; make keys with gradir.random.key(seed) and "
               "gradir.random.split"),
        (np.arange(2), "key: expected one key, got int64[2]; gradir.vmap gives a function each of "
                       "them"),
        (2**64, "key: expected an integer of 64 bits, got 18446744073709551616; take it mod 2**64"),
        ("a", "got str"),
    ],
)  # fmt: skip
def test_what_is_no_key(key: Any, message: str) -> None:
    assert fails(lambda: random.normal(key, (3,))).endswith(message)
    with pytest.raises(gradir.GradirError) as caught:
        random.normal(key, (3,))
    assert message in str(caught.value)


# The same numbers everywhere.


def draws(key: Any) -> list[Any]:
    return every(key, (3,))


def test_calls_outside_of_traces_have_the_bits_of_traced_ones() -> None:
    names = ("uniform", "normal", "gumbel", "gamma", "poisson", "wald", "randint")
    chosen = [draw for draw in EVERY if draw.name in names]
    traced = gradir.jit(lambda key: [draw(key, (3,)) for draw in chosen])(KEY)
    for draw, one in zip(chosen, traced, strict=True):
        outside = draw(KEY, (3,))
        assert outside.dtype == one.dtype and outside.tobytes() == one.tobytes(), draw


def test_rows_of_keys_are_the_keys_one_by_one() -> None:
    keys = random.split(KEY, 3)
    rows = run(lambda k: gradir.vmap(draws)(k), keys)
    one_by_one = gradir.trace(draws, KEY)
    for k, key in enumerate(keys):
        found = gradir.interpret(one_by_one, one_by_one.functions[-1], key)
        for draw, row, one in zip(EVERY, rows, found, strict=True):
            np.testing.assert_array_equal(row[k], one, err_msg=draw.name)


def test_rows_of_parameters_share_the_numbers() -> None:
    """Also in loops whose rows are accepted in different rounds, natively."""
    shapes = np.array([0.2, 3.0, 50.0])

    def one(a: Any) -> Any:
        return random.gamma(KEY, a, (2,)), random.poisson(KEY, a, (2,))

    gammas, counts = gradir.jit(gradir.vmap(one))(shapes)
    for k, a in enumerate(shapes):
        assert (gammas[k] == random.gamma(KEY, a, (2,))).all()
        assert (counts[k] == random.poisson(KEY, a, (2,))).all()
    wide = random.gamma(KEY, shapes[:, None], (3, 2))
    assert (wide[0] == gammas[0]).all()


def test_scans_and_loops_draw_as_python_does() -> None:
    def step(x: Any, key: Any) -> Any:
        one, two = random.split(key)
        x = x + random.normal(one) + random.poisson(two, 3.0)
        return x, x

    keys = random.split(KEY, 4)
    _, path = gradir.scan(step, 0.0, keys)
    x, expected = 0.0, list[Any]()
    for key in keys:
        x, _ = step(x, key)
        expected.append(x)
    np.testing.assert_array_equal(path, expected)
    total = gradir.fori_loop(0, 4, lambda k, x: x + random.uniform(random.fold_in(KEY, k)), 0.0)
    wanted = 0.0
    for k in range(4):
        wanted = wanted + random.uniform(random.fold_in(KEY, k))
    assert total == wanted


def noisy(x: Any, key: Any) -> Any:
    one, two, three = random.split(key, 3)
    y = x * random.gamma(one, gnp.exp(x)) + gnp.sin(x + random.normal(two, x.shape))
    return y * random.bernoulli(three, 0.7, x.shape)


def test_stages_and_policies_draw_the_same() -> None:
    x = np.linspace(0.1, 1.0, 3)

    def loss(wrap: Any, policy: str = "store_all") -> Any:
        def f(x: Any, keys: Any) -> Any:
            def step(x: Any, key: Any) -> Any:
                return gnp.tanh(wrap(noisy)(x, key)), None

            return gnp.sum(gradir.scan(step, x, keys, policy=policy)[0])

        return gradir.jit(gradir.value_and_grad(f))

    keys = random.split(KEY, 4)
    value, slope = loss(lambda f: f)(x, keys)
    for other in (loss(gradir.checkpoint), loss(lambda f: f, "every=2")):
        found = other(x, keys)
        assert found[0] == value and found[1].tobytes() == slope.tobytes()


def test_draws_in_branches_and_custom_functions() -> None:
    def f(p: Any) -> Any:
        return gradir.cond(
            p > 0, lambda: random.gamma(KEY, 2.0), lambda: random.poisson(KEY, 2.0) * 1.0
        )

    assert gradir.jit(f)(1.0) == random.gamma(KEY, 2.0)
    assert gradir.jit(f)(-1.0) == random.poisson(KEY, 2.0)
    assert pickle.loads(pickle.dumps(random.gamma)) is random.gamma


# Types, shapes, refusals.


def test_types() -> None:
    assert random.normal(0).dtype == np.float64 and random.poisson(0, 1.0).dtype == np.int64
    with gradir.default_dtype("float32"):
        assert random.normal(0).dtype == random.uniform(0, (2,)).dtype == np.float32
        assert gradir.jit(lambda: random.beta(0, 1.0, 2.0))().dtype == np.float32
    assert random.normal(0, 3).shape == (3,)
    assert random.randint(0, (2,), 0, 5, "uint8").dtype == np.uint8
    assert random.rademacher(0, (2,), "bfloat16").dtype == gnp.bfloat16
    weak = gradir.jit(lambda x: x + random.normal(0, (2,)))(np.ones(2, np.float32))
    assert weak.dtype == np.float64
    # a parameter has the type of the result
    single = np.float32(2.0)
    assert random.gamma(0, single).dtype == np.float64


REFUSED: tuple[tuple[Any, str], ...] = (
    (lambda: random.normal(0, (2,), "int32"), "normal: dtype must be floating, got 'int32'"),
    (lambda: random.poisson(0, 1.0, dtype="float32"),
     "poisson: dtype must be an integer type, got 'float32'"),
    (lambda: random.gamma(0, np.ones(3), (2,)),
     "gamma: the parameters must broadcast to shape [2], got [3]"),
    (lambda: random.gamma(0, 1.0, shapes=(2,)),
     "gamma: unknown argument shapes; did you mean shape? known: key, a, shape, dtype"),
    (lambda: random.randint(0, (2,), 0.5, 3), "randint: bounds must be integers, got 0.5"),
    (lambda: random.rademacher(0, (2,), "uint8"), "rademacher: dtype must have -1, got 'uint8'"),
    (lambda: random.choice(0, 3, (4,), replace=False),
     "choice: expected at most 3 draws of 3 places, got 4"),
    (lambda: random.choice(0, 3, p=np.ones(2)), "choice: p must have shape [3], got [2]"),
    (lambda: random.choice(0, 4, (3,), replace=False, p=np.array([0.5, 0, 0.5, 0])),
     "choice: without replacement, p must be above 0 for as many places as draws, 3, got 2"),
    (lambda: random.choice(0, np.arange(3), (2,), False, [1, 0, 0]),
     "choice: without replacement, p must be above 0 for as many places as draws, 2, got 1"),
    (lambda: random.choice(0, 0), "choice: expected at most 0 draws of 0 places, got 1"),
    (lambda: random.permutation(0, -1),
     "permutation: a number of places must not be negative, got -1"),
    (lambda: random.categorical(0, np.zeros((2, 0))),
     "categorical: logits must have categories, got float64[2, 0]"),
    (lambda: random.categorical(0, np.zeros((2, 3)), shape=(4, 2), replace=False),
     "categorical: without replacement, shape must be numbers of draws, at most 3 in all, and then "
     "[2], got [4, 2]"),
    (lambda: random.dirichlet(0, 1.0),
     "dirichlet: alpha must have an axis of numbers, got float64[]"),
    (lambda: random.multinomial(0, 3, np.zeros(0)),
     "multinomial: p must have an axis of probabilities, got float64[0]"),
    (lambda: random.multivariate_normal(0, np.zeros(2), np.eye(3)),
     "multivariate_normal: mean must be [.., n] and cov [.., n, n], got [2] and [3, 3]"),
    (lambda: random.multivariate_normal(0, np.zeros(2), np.eye(2), method="qr"),
     "multivariate_normal: method must be one of 'cholesky', 'eigh', 'svd', got 'qr'"),
    (lambda: random.orthogonal(0, -1), "orthogonal: n and m must not be negative, got -1 and -1"),
    (lambda: random.fold_in(0, 0.5), "fold_in: data must be one integer, got float64[]"),
)  # fmt: skip


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[m[:20] for _, m in REFUSED])
def test_refusals(function: Any, message: str) -> None:
    """At their lines, in traces and outside."""
    assert fails(function).startswith(message)
    with pytest.raises(gradir.GradirError) as caught:
        function()
    assert message in str(caught.value) and "test_random.py" in str(caught.value)


def test_absent_names_have_reasons() -> None:
    for name, reason in (
        ("shuffle", "permutation"), ("default_rng", "key(seed)"), ("standard_normal", "normal"),
        ("integers", "randint"), ("zipf", "categorical"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match=f"gradir.random has no {name}: ") as caught:
            getattr(random, name)
        assert reason in str(caught.value)
    with pytest.raises(AttributeError, match=r"gradir\.random has no nothing$"):
        _ = random.nothing  # pyrefly: ignore
    assert gnp.random is np.random  # data is drawn with NumPy's as before


def test_numpy_random_of_traced_values_points_here() -> None:
    for draw in (np.random.normal, np.random.default_rng(0).poisson, np.random.exponential):
        for x in (1.0, np.ones(2)):
            assert "gradir.random instead of numpy.random" in fails(lambda x, d=draw: d(x), x)


def test_draws_are_of_every_public_function() -> None:
    """The table has every function whose result has the shape that is asked for."""
    others = {
        *("key", "PRNGKey", "split", "fold_in", "bits", "rademacher", "categorical", "choice"),
        *("permutation", "dirichlet", "multinomial", "multivariate_normal", "orthogonal", "ball"),
    }
    assert {draw.name for draw in EVERY} == set(random.__all__) - others
    page = (Path(__file__).parents[2] / "docs" / "random.md").read_text()
    assert [name for name in random.__all__ if f"{name}" not in page] == []
