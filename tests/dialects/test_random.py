"""Random numbers: published vectors of Philox, the same bits everywhere, their range and spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_references import Array
from random_references import philox

import gradir
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.array.philox import numpy_words
from gradir.dialects.base.rounding import below
from gradir.dialects.base.shapes import NUMPY_NAMES, is_float

FLOATS = {str(element): element for element in NUMPY_NAMES if is_float(element)}
float_type = pytest.mark.parametrize("name", list(FLOATS))

# The known-answer vectors of the authors' Random123 (kat_vectors): counter, key, words.
VECTORS = (
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


def word64(low: int, high: int) -> int:
    return low | high << 32


@pytest.mark.parametrize(("counter", "key", "words"), VECTORS)
def test_published_vectors(
    counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    numbers = word64(*key), word64(*counter[2:]), word64(*counter[:2])
    assert tuple(map(int, numpy_words(*map(np.uint64, numbers)))) == words
    assert tuple(philox(*numbers)) == words


def program(op: str, shape: str, type_: str, attributes: str = "") -> gradir.Module:
    result = f"tensor<{shape}{type_}>"
    return gradir.parse(f"""
        func.func @f(%key: tensor<i64>, %counter: tensor<i64>) -> {result} {{
          %0 = {op} %key, %counter {attributes} : tensor<i64>, tensor<i64> -> {result}
          func.return %0 : {result}
        }}""")


def test_published_vectors_natively() -> None:
    """In the first block of a tensor; each number shows the upper 24 bits of a word."""
    draw = gradir.compile(program("array.uniform", "4x", "f32"), "f")
    for counter, key, words in VECTORS[:1]:
        (found,) = draw(word64(*key), word64(*counter[2:]))
        np.testing.assert_array_equal(found, [(w >> 8) / 2**24 for w in words])
    signed: Any = np.array([word64(*VECTORS[2][1]), word64(*VECTORS[2][0][2:])], np.uint64)
    key, counter = map(int, signed.view(np.int64))
    (found,) = draw(key, counter)
    np.testing.assert_array_equal(found, [(w >> 8) / 2**24 for w in philox(key, counter, 0)])


@float_type
@pytest.mark.parametrize("bounds", ["", "{low = -3.0, high = 0.25}", "{low = 100.0, high = 101.0}"])
def test_uniform_has_the_same_bits_on_any_number_of_threads(name: str, bounds: str) -> None:
    module = program("array.uniform", "301x257x", name, bounds)
    (expected,) = gradir.interpret(module, "f", -(2**62), 12345)
    for threads in (1, 2):
        (found,) = gradir.compile(module, "f", threads=threads)(-(2**62), 12345)
        assert found.tobytes() == expected.tobytes()


@float_type
def test_normal_agrees_up_to_the_last_bits(name: str) -> None:
    module = program("array.normal", "301x257x", name)
    (expected,) = gradir.interpret(module, "f", 3, -1)
    one, two = (gradir.compile(module, "f", threads=t)(3, -1)[0] for t in (1, 2))
    assert one.tobytes() == two.tobytes()
    eps = float(np.finfo(np.float32 if name != "f64" else np.float64).eps)
    if name in ("f16", "bf16"):
        eps = {"f16": 2.0**-10, "bf16": 2.0**-7}[name]
    # 8 ulp of the radius: near its zeros, the error of a cosine is one of the angle
    np.testing.assert_allclose(one.astype(float), expected.astype(float), rtol=eps, atol=8 * eps)


@float_type
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (-1.0, 1.0), (1.0, 1.25), (-2.0, -1.0), (3.0, 1000.0), (-1.0, 0.0)],
)
def test_uniform_never_returns_high(name: str, low: float, high: float) -> None:
    """Not where rounding would, either: the largest words are given to the op's last step."""
    from gradir.dialects.array.philox import UNIFORM_BITS
    from gradir.dialects.array.random import UniformOp

    module = program("array.uniform", "", name, f"{{low = {low}, high = {high}}}")
    op = next(o for o in module.op.walk() if isinstance(o, UniformOp))
    wide: Any = np.float64 if name == "f64" else np.float32
    largest = wide(1 - 2.0 ** -UNIFORM_BITS[name])
    last = below(high, FLOATS[name])
    dtype = numpy_dtype(FLOATS[name])
    assert np.nextafter(dtype.type(high), dtype.type(-np.inf)) == dtype.type(last)
    assert op.bounds == (low, high)
    rounded = wide(min(largest * wide(high - low) + wide(low), wide(last))).astype(dtype)
    assert low <= rounded < high
    (drawn,) = gradir.compile(program("array.uniform", "40000x", name,
                                      f"{{low = {low}, high = {high}}}"), "f")(1, 2)  # fmt: skip
    assert low <= drawn.astype(float).min() and drawn.astype(float).max() < high


@pytest.mark.parametrize("name", ["f64", "f32"])
def test_distributions(name: str) -> None:
    count = 200_000
    (flat,) = gradir.compile(program("array.uniform", f"{count}x", name), "f")(0, 0)
    counts = np.histogram(flat, 64, (0, 1))[0]
    # chi squared of 63 degrees of freedom: mean 63, deviation 11
    assert np.sum((counts - count / 64) ** 2 / (count / 64)) < 63 + 5 * 11
    (bell,) = gradir.compile(program("array.normal", f"{count}x", name), "f")(0, 0)
    wide = bell.astype(np.float64)
    moments = [np.mean(wide**k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.05)
    assert abs(np.corrcoef(wide[::2], wide[1::2])[0, 1]) < 0.01


def test_other_keys_and_counters_give_other_numbers() -> None:
    draw = gradir.compile(program("array.uniform", "64x", "f32"), "f")
    keys = [(0, 0), (1, 0), (0, 1), (2**32, 0), (0, 2**32), (-1, 0), (0, -1)]
    drawn = [draw(*key)[0].copy() for key in keys]
    assert len({d.tobytes() for d in drawn}) == len(keys)
    assert not set(drawn[0]) & set(drawn[2])


DROPOUT = """
func.func @f(%x: tensor<64x50x{0}>, %key: tensor<i64>, %counter: tensor<i64>) -> tensor<64x50x{0}> {{
  %y, %mask = nn.dropout %x, %key, %counter {{p = {1}}} : tensor<64x50x{0}>, tensor<i64>, tensor<i64> -> (tensor<64x50x{0}>, tensor<64x50xi1>)
  func.return %y : tensor<64x50x{0}>
}}"""  # noqa: E501


@float_type
@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_dropout_and_its_gradient_drop_the_same(name: str, p: float) -> None:
    module = gradir.parse(DROPOUT.format(name, p)).gradient("f", mode="vjp")
    dtype = numpy_dtype(FLOATS[name])
    x, ct = (np.full((64, 50), v, dtype) for v in (3, 1))
    for results in (
        gradir.interpret(module, "f_vjp", x, 5, 6, ct),
        gradir.compile(module, "f_vjp")(x, 5, 6, ct),
    ):
        y: Array = results[0].astype(np.float64)
        grad: Array = results[1].astype(np.float64)
        assert ((y != 0) == (grad != 0)).all()
        assert abs(np.count_nonzero(y == 0) / y.size - p) < 0.03
        if p < 1:
            np.testing.assert_allclose(y[y != 0], 3 / (1 - p), rtol=0.004)
            np.testing.assert_allclose(grad[y != 0], 1 / (1 - p), rtol=0.004)


def test_dropped_infinities_are_gone() -> None:
    module = gradir.parse(DROPOUT.format("f32", 0.5)).gradient("f", mode="vjp")
    x, ct = np.full((64, 50), np.inf, np.float32), np.full((64, 50), np.nan, np.float32)
    y, grad = gradir.compile(module, "f_vjp")(x, 0, 0, ct)
    assert set(np.unique(y)) == {0.0, np.inf}
    assert (np.isnan(grad) == (y != 0)).all()


def test_a_replay_draws_the_same_numbers() -> None:
    """A stage that is computed again for its derivative drops the same elements, to the bit."""
    module = gradir.parse("""
        func.func @f(%x: tensor<40xf32>, %k: tensor<i64>, %c: tensor<i64>) -> tensor<f32> {
          %s = grad.start_checkpoint %x : tensor<40xf32>
          %a = array.sin %s : tensor<40xf32>
          %d, %m = nn.dropout %a, %k, %c {p = 0.4} : tensor<40xf32>, tensor<i64>, tensor<i64> -> (tensor<40xf32>, tensor<40xi1>)
          %q = array.square %d : tensor<40xf32>
          %e = grad.end_checkpoint %q : tensor<40xf32>
          %y = array.sum %e : tensor<40xf32> -> tensor<f32>
          func.return %y : tensor<f32>
        }""")  # noqa: E501
    x = np.linspace(-1, 1, 40).astype(np.float32)
    grads: list[Array] = []
    for policy in ("keep_all", "keep_none"):
        step = gradir.compile(module.gradient("f", mode="grad", policy=policy), "f_grad")
        grads.append(step(x, 3, 4)[1])
    assert grads[0].tobytes() == grads[1].tobytes()
    assert 0 < np.count_nonzero(grads[0] == 0) < 40
