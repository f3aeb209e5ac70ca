"""Steps of an optimizer on parameters of several kinds, and a leaf's numbers from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import gradir
from gradir import optim

Array = np.ndarray[Any, Any]
SHAPES = ((3, 5), (4,), (), (0, 3), (2, 3, 4))
STEPS = 4


def nested(leaves: list[Any]) -> dict[str, Any]:
    """Leaves of these shapes as parameters: dicts, a list, None, an empty dict."""
    weight, bias, scalar, empty, kernel = leaves
    layers: list[Any] = [{"w": weight, "b": bias}, None, (kernel, {})]
    return {"layers": layers, "scale": scalar, "empty": empty}


def leaves_of(params: Any) -> list[Array]:
    """The leaves in the order of SHAPES."""
    first, _, (kernel, _) = params["layers"]
    return [first["w"], first["b"], params["scale"], params["empty"], kernel]


def drawn(seed: int, dtype: str) -> list[Array]:
    """An array of each shape."""
    generator = np.random.default_rng(seed)
    return [np.asarray(generator.normal(size=shape)).astype(dtype) for shape in SHAPES]


def courses(
    optimizer: optim.GradientTransformation, dtype: str
) -> Iterator[tuple[list[Array], list[Array]]]:
    """For each leaf, its values before and after each step, and the gradients of the steps."""

    def one_step(params: Any, state: Any, grads: Any) -> tuple[Any, Any]:
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    step = gradir.jit(one_step)
    start, grads = drawn(0, dtype), [drawn(k + 1, dtype) for k in range(STEPS)]
    params = nested(start)
    state, values = optimizer.init(params), [start]
    for each in grads:
        params, state = step(params, state, nested(each))
        values.append(leaves_of(params))
    # a state that changed its dtypes would have been compiled again
    assert "compiled 1 times" in repr(step)
    for k in range(len(SHAPES)):
        yield [row[k] for row in values], [row[k] for row in grads]
