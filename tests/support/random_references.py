"""Philox 4x32-10 and the draws from it, in plain Python integers and float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, log, pi, prod, sqrt

import numpy as np
from op_references import Array


def philox(key: int, counter: int, block: int) -> list[int]:
    """The four words of a block, as the paper has it."""
    k = [key % 2**32, key >> 32 & 0xFFFFFFFF]
    c = [block % 2**32, block >> 32, counter % 2**32, counter >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k[0], q % 2**32, p >> 32 ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def uniform(
    shape: Sequence[int], key: Array, counter: Array, low: float = 0.0, high: float = 1.0
) -> Array:
    """In float64: two words per element."""
    numbers: list[float] = []
    for e in range(prod(shape)):
        w = philox(int(key), int(counter), e // 2)[2 * (e % 2) :]
        numbers.append(low + (w[0] + 2**32 * w[1] >> 11) / 2**53 * (high - low))
    return np.array(numbers).reshape(shape)


def bits(shape: Sequence[int], dtype: str, key: Array, counter: Array) -> Array:
    """One word per element of int32, two of int64."""
    words = [w for q in range(prod(shape)) for w in philox(int(key), int(counter), q)]
    wide = np.array(words, np.uint32).view(np.int32 if dtype == "int32" else np.int64)
    return wide[: prod(shape)].reshape(shape)


def normal(shape: Sequence[int], key: Array, counter: Array) -> Array:
    numbers: list[float] = []
    for e in range(prod(shape)):
        w = philox(int(key), int(counter), e // 2)
        radius, turn = ((w[k] + 2**32 * w[k + 1] >> 11) for k in (0, 2))
        angle = 2 * pi * (turn / 2**53 - e % 2 / 4)
        numbers.append(sqrt(-2 * log((radius + 1) / 2**53)) * cos(angle))
    return np.array(numbers).reshape(shape)


def dropout(x: Array, key: Array, counter: Array, p: float = 0.5) -> tuple[Array, Array]:
    words = [philox(int(key), int(counter), e // 4)[e % 4] for e in range(x.size)]
    mask = np.array([(w >> 8) / 2**24 >= np.float32(p) for w in words], bool).reshape(x.shape)
    return np.array([v / (1 - p) if m else 0.0 for v, m in zip(x.flat, mask.flat, strict=True)],
                    np.float64).reshape(x.shape), mask  # fmt: skip
