"""array: the discrete Fourier transform along one axis.

A length is taken apart into small factors: each is a product with its matrix of roots of unity
(J. Cooley and J. Tukey, Math. Comp. 19, 1965), in the self-sorting order of T. Stockham (1966).
Lengths with a large prime factor are convolutions of a power of two (L. Bluestein, 1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import ConstantOp, numpy_dtype
from gradir.dialects.array.dot_general import DotGeneralOp
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, moved_axis, reshaped
from gradir.dialects.array.slicing import padded_back, part
from gradir.dialects.base.attributes import Attributes, Types, flag, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    is_complex_tensor,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value

LARGEST_RADIX = 16
"""The largest factor that is a product of smaller primes."""
LARGEST_PRIME = 31
"""Lengths with a larger prime factor are convolutions."""


@irdl_op_definition
class FftOp(TensorOp):
    """y[k] = sum over j of x[j] * exp(-2 pi i j k / n) along `axis`, by default the last one.

    `inverse`: with exp(2 pi i j k / n). Neither is divided by n, the extent of the axis.
    vjp: the same transform of ct, as its matrix is symmetric
    """

    name = "array.fft"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "inverse")

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [x] = operands
        if not is_complex_tensor(x):
            raise VerifyException(f"elements must be complex, got {x}")
        axis = normalize_axis(integer(attributes, "axis", -1), len(shape_of(x)))
        flag(attributes, "inverse", False)
        if shape_of(x)[axis] == 0:
            raise VerifyException(f"the axis must not be empty, got axis {axis} of {x}")
        return [x]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

    @property
    def inverse(self) -> bool:
        return flag(self.attributes, "inverse", False)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [FftOp.on(ct, axis=self.axis, inverse=self.inverse)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def decompose(self, x: Value) -> Value:
        axis = self.axis
        front = moved_axis(x, axis, 0)
        lines = reshaped(front, [front.shape[0], prod(front.shape[1:])])
        made = _transformed(lines, 1 if self.inverse else -1)
        return moved_axis(reshaped(made, front.shape), 0, axis)

    def numpy(self, x: Any) -> Any:
        if self.inverse:
            return np.fft.ifft(x, axis=self.axis, norm="forward")
        return np.fft.fft(x, axis=self.axis)


def _transformed(x: Value, sign: int) -> Value:
    """The transform of (n, lines) along the first axis, with exp(sign * 2 pi i j k / n)."""
    n = x.shape[0]
    if DYNAMIC in x.shape or n == 1 or 0 in x.shape:
        return x
    factors = radices(n)
    return _by_convolution(x, sign) if factors is None else _by_factors(x, factors, sign)


@lru_cache(256)
def radices(n: int) -> tuple[int, ...] | None:
    """The factors of a length, the largest first; None where a prime factor is too large."""
    primes: list[int] = []
    rest, prime = n, 2
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        while rest % prime == 0:
            primes.append(prime)
            rest //= prime
        prime += 1
    if primes and max(primes) > LARGEST_PRIME:
        return None
    found: list[int] = []
    for each in sorted(primes, reverse=True):
        fits = [k for k, one in enumerate(found) if one * each <= LARGEST_RADIX]
        if fits:
            found[fits[0]] *= each
        else:
            found.append(each)
    return tuple(sorted(found, reverse=True))


def _by_factors(x: Value, factors: Sequence[int], sign: int) -> Value:
    """One step for each factor: (rest, done, lines) becomes (rest / r, done * r, lines)."""
    n, lines = x.shape
    state, rest, done = reshaped(x, [n, 1, lines]), n, 1
    for radix in factors:
        rest //= radix
        columns = reshaped(state, [radix, rest, done, lines])
        roots = _constant(x, _turns(sign, radix, radix, radix))
        made = DotGeneralOp.on(roots, columns, lhs_contract=[1], rhs_contract=[0])
        if rest > 1:
            turns = _constant(x, _turns(sign, radix * rest, radix, rest))
            made = made * BroadcastToOp.on(reshaped(turns, [radix, rest, 1, 1]), type=made.type)
        made = PermuteDimsOp.on(made, axes=[1, 0, 2, 3])
        done *= radix
        state = reshaped(made, [rest, done, lines])
    return reshaped(state, [n, lines])


def _turns(sign: int, n: int, rows: int, columns: int) -> Any:
    """exp(sign * 2 pi i j k / n) for j and k."""
    return _roots(sign, n, np.multiply.outer(np.arange(rows), np.arange(columns)))


def _roots(sign: int, n: int, places: Any) -> Any:
    """exp(sign * 2 pi i k / n) for integers k, by sines and cosines of an eighth of the circle."""
    octant, rest = np.divmod(8 * (places % n), n)
    angle = np.where(octant % 2, n - rest, rest) * (np.pi / (4 * n))
    c, s = np.cos(angle), np.sin(angle)
    real = np.choose(octant, [c, s, -s, -c, -c, -s, s, c])
    return real + sign * 1j * np.choose(octant, [s, c, c, s, -s, -c, -c, -s])


def _by_convolution(x: Value, sign: int) -> Value:
    """Bluestein's: j * k is (j * j + k * k - (j - k) ** 2) / 2."""
    n, lines = x.shape
    size = 1 << (2 * n - 2).bit_length()
    chirp = _roots(sign, 2 * n, np.arange(n, dtype=np.int64) ** 2)
    kernel = np.zeros(size, complex)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp[1:][::-1].conj()
    spectrum = np.fft.fft(kernel) / size
    turned = _line(x, chirp, [n, lines])
    padded = padded_back(x * turned, 0, 0, size)
    product = _transformed(padded, -1) * _line(x, spectrum, [size, lines])
    return part(_transformed(product, 1), 0, 0, n) * turned


def _line(near: Value, numbers: Any, shape: Sequence[int]) -> Value:
    """Numbers along the first axis, repeated along the second."""
    column = reshaped(_constant(near, numbers), [shape[0], 1])
    return BroadcastToOp.on(column, type=tensor(shape, near.element))


def _constant(near: Value, numbers: Any) -> Value:
    """A constant tensor with the elements of a value."""
    element: Attribute = near.element
    type_: Any = tensor(numbers.shape, element)
    data = np.ascontiguousarray(numbers, numpy_dtype(element)).tobytes()
    dense = DenseIntOrFPElementsAttr(type_, BytesAttr(data))
    op = ConstantOp.create(result_types=[type_], attributes={"value": dense})
    return near.emitter.value(near.emitter.insert(op).y)


OPS: tuple[type[TensorOp], ...] = (FftOp,)
