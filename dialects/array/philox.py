"""Philox 4x32-10, the counter-based generator behind array.uniform, array.normal and nn.dropout.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011. A block of four 32-bit words is a function of a 128-bit counter and a 64-bit key alone:
no state, so that any thread, a replay, and the interpreter draw the same numbers.

How the operands `key` and `counter` (i64, read as unsigned bits) become Philox's arguments, all
words least significant first, for block number q of a tensor:

    key      = (key mod 2**32, key div 2**32)
    counter  = (q mod 2**32, q div 2**32, counter mod 2**32, counter div 2**32)

so that the streams of different keys, or of different counters of one key, never overlap. Elements
are numbered e = 0, 1, ... in row-major order. With the words w0, w1, w2, w3 of block q:

    uniform   f32, f16, bf16:  q = e div 4, w = w[e mod 4],
                               u = (w div 2**(32 - p)) / 2**p, p = 24, 11, 8 bits
              f64:             q = e div 2, w = w[2 (e mod 2)] + 2**32 w[2 (e mod 2) + 1],
                               u = (w div 2**11) / 2**53
    bits      i32:             q = e div 4, w[e mod 4]
              i64:             q = e div 2, w[2 (e mod 2)] + 2**32 w[2 (e mod 2) + 1]
    normal    f32, f16, bf16:  q = e div 4, a, b = w0, w1 where e mod 4 < 2, else w2, w3,
                               v = (a div 2 + 1/2) / 2**31, t = (b div 2**8) / 2**24
              f64:             q = e div 2, a = w0 + 2**32 w1, b = w2 + 2**32 w3,
                               v = (a div 2**11 + 1) / 2**53, t = (b div 2**11) / 2**53
              sqrt(-2 log(v)) * cos(2 pi (t - (e mod 2) / 4))

The last line is Box and Muller's transform: the two elements of a pair take cosine and sine of
one angle. f16 and bf16 are computed in f32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, i32
from xdsl.ir import Attribute

from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.value import Scalar
from gradir.dialects.building import body as b

# The rounds, multipliers and key steps of Philox 4x32-10 (Salmon et al.); the steps are the
# golden ratio - 1 and sqrt(3) - 1 as 32-bit fractions.
ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = (1 << 32) - 1

# Random bits of a uniform number, by the element's name: the bits of its significand.
UNIFORM_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


# On the scalars of a body: words are i64 below 2**32.


def _shifted_right(x: Scalar, count: int) -> Scalar:
    return x.emit(arith.ShRUIOp(x.ssa, b.constant(x, count).ssa))


def _low(x: Scalar) -> Scalar:
    return b.logical_and(x, b.constant(x, _LOW))


def _halves(x: Scalar) -> tuple[Scalar, Scalar]:
    return _low(x), _shifted_right(x, 32)


def words(key: Scalar, counter: Scalar, block: Scalar) -> list[Scalar]:
    """The four words of a block."""
    keys = list(_halves(key))
    state = [*_halves(block), *_halves(counter)]
    for k in range(ROUNDS):
        if k:
            keys = [_low(one + step) for one, step in zip(keys, _KEY_STEPS, strict=True)]
        state = _round(state, keys)
    return state


def _round(state: Sequence[Scalar], keys: Sequence[Scalar]) -> list[Scalar]:
    products = [word * factor for word, factor in zip(state[::2], _MULTIPLIERS, strict=True)]
    (low0, high0), (low1, high1) = map(_halves, products)
    first = b.logical_xor(b.logical_xor(high1, state[1]), keys[0])
    second = b.logical_xor(b.logical_xor(high0, state[3]), keys[1])
    return [first, low1, second, low0]


def _block(key: Scalar, counter: Scalar, element: Scalar, per_block: int) -> list[Scalar]:
    """The words of an element's block; a block has `per_block` elements."""
    return words(key, counter, _shifted_right(element, per_block.bit_length() - 1))


def _has_bit(element: Scalar, bit: int) -> Scalar:
    """Whether a bit of the element's number is set."""
    masked = b.logical_and(element, b.constant(element, bit))
    return b.not_equal(masked, b.constant(element, 0))


def _joined(low: Scalar, high: Scalar) -> Scalar:
    shifted = high.emit(arith.ShLIOp(high.ssa, b.constant(high, 32).ssa))
    return b.logical_or(low, shifted)


def _fraction(word: Scalar, width: int, bits: int, type_: Attribute) -> Scalar:
    """The highest bits of a word of some width as a number in [0, 1)."""
    top = _shifted_right(word, width - bits)
    if bits < 32:
        # every machine has conversions from i32 as instructions, but not those from i64
        top = b.cast(top, i32)
    number = b.cast(top, type_)
    return number * (2.0**-bits)


def word(key: Scalar, counter: Scalar, element: Scalar, width: int) -> Scalar:
    """The element's 32 or 64 random bits, as an i64."""
    if width == 64:
        w = _block(key, counter, element, 2)
        second = _has_bit(element, 1)
        return _joined(b.select(second, w[2], w[0]), b.select(second, w[3], w[1]))
    w = _block(key, counter, element, 4)
    odd, upper = _has_bit(element, 1), _has_bit(element, 2)
    return b.select(upper, b.select(odd, w[3], w[2]), b.select(odd, w[1], w[0]))


def uniform(key: Scalar, counter: Scalar, element: Scalar, name: str, type_: Attribute) -> Scalar:
    """A number in [0, 1), exact in the element type called `name`, as one of the compute type."""
    width = 64 if name == "f64" else 32
    return _fraction(word(key, counter, element, width), width, UNIFORM_BITS[name], type_)


def normal(key: Scalar, counter: Scalar, element: Scalar, type_: Attribute) -> Scalar:
    """A number of the standard normal distribution, of type f64 or f32."""
    if isinstance(type_, Float64Type):
        w = _block(key, counter, element, 2)
        number = b.cast(_shifted_right(_joined(w[0], w[1]), 11), type_)
        radius = (number + 1) * (2.0**-53)
        turn = _fraction(_joined(w[2], w[3]), 64, 53, type_)
    else:
        w = _block(key, counter, element, 4)
        upper = _has_bit(element, 2)
        number = b.cast(b.cast(_shifted_right(b.select(upper, w[2], w[0]), 1), i32), type_)
        radius = (number + 0.5) * (2.0**-31)
        turn = _fraction(b.select(upper, w[3], w[1]), 32, 24, type_)
    quarter = b.select(_has_bit(element, 1), b.constant(turn, 0.25), b.constant(turn, 0))
    angle = (turn - quarter) * (2 * pi)
    length = b.sqrt(b.log(radius) * (-2))
    return length * b.cos(angle)


# The same on NumPy arrays.


def numpy_words(key: Any, counter: Any, block: Any) -> tuple[Any, Any, Any, Any]:
    """The words of blocks, as uint64 below 2**32; `key`, `counter` and `block` are uint64."""
    low, half = np.uint64(_LOW), np.uint64(32)
    keys = [key & low, key >> half]
    x, y, z, w = block & low, block >> half, counter & low, counter >> half
    for k in range(ROUNDS):
        if k:
            steps = zip(keys, _KEY_STEPS, strict=True)
            keys = [(one + np.uint64(step)) & low for one, step in steps]
        first, second = x * np.uint64(_MULTIPLIERS[0]), z * np.uint64(_MULTIPLIERS[1])
        x, y = (second >> half) ^ y ^ keys[0], second & low
        z, w = (first >> half) ^ w ^ keys[1], first & low
    return x, y, z, w


def _numpy_blocks(key: Any, counter: Any, count: int, per_block: int) -> Any:
    """The words of all blocks of `count` elements, [.., blocks, 4] for keys of shape [..]."""
    blocks = np.arange(-(-count // per_block), dtype=np.uint64)
    keys, counters = (np.asarray(v, np.int64).view(np.uint64)[..., None] for v in (key, counter))
    found: Any = numpy_words(keys, counters, blocks)
    arrays: Any = np.broadcast_arrays(*found)
    return np.stack(arrays, axis=-1)


def _numpy_joined(low: Any, high: Any) -> Any:
    return low | high << np.uint64(32)


def _numpy_fraction(word: Any, width: int, bits: int, dtype: Any) -> Any:
    return (word >> np.uint64(width - bits)).astype(dtype) * dtype(2.0**-bits)


def numpy_word(key: Any, counter: Any, count: int, width: int) -> Any:
    """`count` times 32 or 64 random bits for each key, as uint64: [.., count]."""
    w = _numpy_blocks(key, counter, count, 128 // width)
    found = w if width == 32 else _numpy_joined(w[..., 0::2], w[..., 1::2])
    return found.reshape(*found.shape[:-2], -1)[..., :count]


def numpy_uniform(key: Any, counter: Any, count: int, name: str) -> Any:
    """`count` numbers in [0, 1) for each key: float64 for f64, else float32."""
    dtype, width = (np.float64, 64) if name == "f64" else (np.float32, 32)
    word = numpy_word(key, counter, count, width)
    return _numpy_fraction(word, width, UNIFORM_BITS[name], dtype)


def numpy_normal(key: Any, counter: Any, count: int, name: str) -> Any:
    """`count` standard normal numbers for each key: float64 for f64, else float32."""
    dtype: Any = np.float64 if name == "f64" else np.float32
    if name == "f64":
        w = _numpy_blocks(key, counter, count, 2)
        word = _numpy_joined(w[..., 0], w[..., 1]) >> np.uint64(11)
        radius = (word.astype(dtype) + 1) * dtype(2.0**-53)
        turn = _numpy_fraction(_numpy_joined(w[..., 2], w[..., 3]), 64, 53, dtype)
    else:
        w = _numpy_blocks(key, counter, count, 4)
        w = w.reshape(*w.shape[:-2], -1)
        word = w[..., 0::2] >> np.uint64(1)
        radius = (word.astype(dtype) + dtype(0.5)) * dtype(2.0**-31)
        turn = _numpy_fraction(w[..., 1::2], 32, 24, dtype)
    # the two elements of a pair: cosine and sine
    angle = (turn[..., None] - np.array([0, 0.25], dtype)) * dtype(2 * pi)
    length = np.sqrt(np.log(radius) * dtype(-2))
    found = length[..., None] * np.cos(angle)
    return found.reshape(*found.shape[:-2], -1)[..., :count]
