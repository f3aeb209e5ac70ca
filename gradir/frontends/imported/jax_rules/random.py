"""JAX's random bits: threefry, and keys as integers of 64 bits.

A typed key is a pair of words. As one integer an array of keys has the shape that JAX says, so that
slices, loops and the like of keys are those of any array.
"""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.table import RuleTable

RULES = RuleTable("JAX")


@RULES.rule("random_wrap", note="keys of threefry")
def _wrapped(call: Any, words: Any) -> Any:
    return key_of_words(words)


@RULES.rule("random_unwrap", note="keys of threefry")
def _unwrapped(call: Any, key: Any) -> Any:
    return words_of_key(key)


def key_of_words(words: Any) -> Any:
    """Keys [...] as integers of 64 bits, of their words [..., 2]."""
    wide: Any = gnp.astype(words, "uint64")
    return op.bitwise_or(op.bitwise_left_shift(wide[..., 0], 32), wide[..., 1])


def words_of_key(key: Any) -> Any:
    """The words [..., 2] of keys [...]."""
    high = gnp.astype(op.bitwise_right_shift(key, 32), "uint32")
    low = gnp.astype(op.bitwise_and(key, 0xFFFFFFFF), "uint32")
    return op.stack([high, low], axis=-1)


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@RULES.rule("threefry2x32", note="bit for bit")
def _threefry(call: Any, first: Any, second: Any, x: Any, y: Any) -> list[Any]:
    """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011: 20 rounds."""
    keys = [first, second, op.bitwise_xor(op.bitwise_xor(first, second), 0x1BD11BDA)]
    x, y = op.add(x, keys[0]), op.add(y, keys[1])
    for k in range(5):
        for count in _ROTATIONS[k % 2]:
            x = op.add(x, y)
            y = op.bitwise_xor(x, _rotated(y, count))
        x = op.add(x, keys[(k + 1) % 3])
        y = op.add(op.add(y, keys[(k + 2) % 3]), k + 1)
    return [x, y]


def _rotated(x: Any, count: int) -> Any:
    return op.bitwise_or(op.bitwise_left_shift(x, count), op.bitwise_right_shift(x, 32 - count))
