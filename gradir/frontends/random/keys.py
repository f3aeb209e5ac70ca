"""Keys: seeds, and further keys made of them.

A key is an int64 of rank 0, all of whose 64 bits are Philox's key. New keys are words of its own
stream, at counters that no draw uses: `split` takes words of counter -1, `fold_in` the first
word of counter -2, and for each integer the word of that counter of the key so found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i64

from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.promotion import converted
from gradir.frontends.random.draws import key_of, words, wrapped
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

_SPLIT, _FOLD = -1, -2


def key(seed: Any) -> Tracer:
    """The key of a seed: the same integer, as an int64 of rank 0.

    Python integers are taken mod 2**64: from -2**63, which is 2**63, up to 2**64 - 1. Longer ones
    are refused, and so are floats and bools. Different seeds are different streams.
    """
    return key_of(seed, "key: seed")


def split(key: Any, num: int | Sequence[int] = 2) -> Tracer:
    """`num` keys that are made of a key, [num]; a tuple is the shape of an array of keys.

    They are random words: of n keys made of any others, two are equal with a probability of about
    n * n / 2**65, 3e-8 for a million. Key k is the same for every num > k. Use the old key no more.
    """
    return words(key_of(key, "split: key"), _SPLIT, as_shape(num))


def fold_in(key: Any, data: Any) -> Tracer:
    """The key that is made of a key and an integer, such as the number of a step.

    Integers are taken mod 2**64. Keys collide as rarely as keys of `split`.
    """
    return words(words(key_of(key, "fold_in: key"), _FOLD, ()), _integer(data), ())


def _integer(data: Any) -> Tracer:
    if isinstance(data, int) and not isinstance(data, bool):
        return lifted(wrapped(data, "fold_in: data"), i64)
    made = lifted(data, what="fold_in: data: ")
    if is_float(element(made)) or is_bool(element(made)) or made.ndim:
        raise refusal(f"fold_in: data must be one integer, got {type_text(made.type)}")
    return converted(made, i64)


def derived(key: Tracer, count: int) -> list[Any]:
    """Keys for the parts of a distribution, as `split` makes them."""
    made: Any = words(key, _SPLIT, (count,))
    return [made[k] for k in range(count)]


FUNCTIONS: tuple[Callable[..., Any], ...] = (key, split, fold_in)
