"""Random programs of in-place statements, which run on NumPy's arrays and on traced ones alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Key = Any


def program(random: np.random.Generator, count: int = 10) -> Callable[[Any], Any]:
    """A function of an array of shape (3, 4): its statements read and write arrays and views."""
    seeds = random.integers(0, 2**31, count)

    def run(x: Any) -> Any:
        arrays = [x * 2, x + 1]
        for seed in seeds:
            _statement(np.random.default_rng(seed), arrays)
        return np.concatenate([np.ravel(a.copy()) for a in arrays])

    return run


def _statement(random: np.random.Generator, arrays: list[Any]) -> None:
    """A view, a copy or an alias more, or a write; the same for equal shapes of the arrays."""
    target, other = (arrays[random.integers(len(arrays))] for _ in range(2))
    if random.integers(2):
        arrays.append(_seen(random, target))
    elif random.integers(2):
        _changed(random, target, other)
    else:
        key = _key(random, target.shape)
        value = np.sin(other.ravel()[0]) if random.integers(2) else np.cos(target[key])
        if random.integers(2):
            target[key] += value
        else:
            target[key] = value


def _seen(random: np.random.Generator, x: Any) -> Any:
    """A view of x, itself, or a copy; of rank 0 too, where NumPy's are arrays and no numbers."""
    key = _key(random, x.shape)
    found = x[key]
    choices = [
        found if found.shape or Ellipsis in key else x,
        np.copy(found),
        np.zeros_like(found),
        x.T,
        np.flip(np.expand_dims(x, 0), -1),
        x.reshape((*x.shape[:1], 1, *x.shape[1:])),
        x,
        x.copy(),
    ]
    return choices[random.integers(len(choices))]


def _changed(random: np.random.Generator, x: Any, other: Any) -> None:
    values = [np.cos(np.sum(other)), np.sin(other.ravel()[-1])]
    some = random.integers(0, x.size, 3)
    changes: list[Callable[[], Any]] = [
        lambda: x.__iadd__(np.sum(other) / 8),
        lambda: x.__imul__(0.5),
        lambda: x.__setitem__(x > 1, 0.75),
        lambda: np.subtract(x, 0.25, out=x),
        lambda: np.put(x, some, np.array(values)),
        lambda: np.place(x, x > 0.5, np.stack(values)),
        lambda: np.putmask(x, x < 0.5, np.stack(values)),
        lambda: np.sqrt(x, where=x > 0.25, out=x),
        lambda: np.divide(values[0], x, where=abs(x) > 0.25, out=x),
        lambda: x.flat.__setitem__(slice(None, None, 2), values[1]),
        lambda: x.sort(axis=-1),
        lambda: np.fill_diagonal(x, np.stack(values)),
        lambda: np.put_along_axis(x, np.argsort(x, 0)[:1], values[0], 0),
    ]
    rank = np.ndim(x)
    least = {10: 1, 11: 2, 12: 1}
    kind = int(random.integers(len(changes)))
    if rank < least.get(kind, 0) or (kind == 11 and len({*x.shape}) > 1 and rank > 2):
        kind = 1
    changes[kind]()


def _key(random: np.random.Generator, shape: tuple[int, ...]) -> Key:
    keys: list[Any] = []
    for extent in shape[: random.integers(len(shape) + 1)]:
        at = int(random.integers(-extent, extent)) if extent else 0
        step = int(random.choice([-2, -1, 1, 2]))
        keys.append(at if random.integers(2) and extent else slice(None, None, step))
    return (*keys, ...) if random.integers(2) else tuple(keys)
