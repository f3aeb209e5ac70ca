"""Gradients of ONNX's test cases against central differences along a direction, in float32.

Inputs move by a thousandth, so slopes have some three digits. A case is at a kink where the slopes
on both sides differ; then any gradient between them is right.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import Any

import numpy as np
from onnx_cases import cases, loaded, onnx_array, refused

import gradir
import gradir.numpy as gnp
from gradir.errors import GradirError

STEP, CLOSE = 2e-3, 3e-2
AGREES, NO_SLOPE, EDGE, REFUSED = "agrees", "no slope", "edge", "refused"

Arrays = dict[str, Any]


def slope_of(case: Any) -> str:
    """How a case went; AssertionError where the gradient is another than the difference's."""
    inputs, _ = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    given = dict(zip(names, map(onnx_array, inputs), strict=False))
    moving = [name for name, x in given.items() if _is_moving(x)]
    try:
        call, results = loaded(case.model, given)
        weights = [_weights(y) for y in results]
        if not moving or all(w is None for w in weights):
            return NO_SLOPE
        return _compared(call, given, moving, weights)
    except GradirError as error:
        return f"{REFUSED}: {str(error).splitlines()[0]}"


def _is_moving(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float32 and 0 < x.size <= 20_000


def _weights(y: Any) -> Any:
    if np.asarray(y).dtype != np.float32:
        return None
    return np.random.default_rng(1).uniform(0.5, 1.5, np.shape(y)).astype(np.float32)


def _compared(call: Any, given: Arrays, moving: list[str], weights: list[Any]) -> str:
    def total(moved: Arrays) -> Any:
        results = call(given | moved)
        pairs = zip(results, weights, strict=True)
        return sum(gnp.sum(gnp.asarray(y) * w) for y, w in pairs if w is not None)

    random = np.random.default_rng(0)
    start = {name: given[name] for name in moving}
    directions = {n: random.choice([-1, 1], x.shape).astype(np.float32) for n, x in start.items()}
    found = gradir.grad(total)(start)
    slope = sum(float(np.sum(g.astype(np.float64) * directions[n])) for n, g in found.items())

    def at(step: float) -> float:
        moved = {n: (x + step * directions[n]).astype(np.float32) for n, x in start.items()}
        results = call(given | moved)
        pairs = zip(results, weights, strict=True)
        return sum(float(np.sum(np.asarray(y, np.float64) * w)) for y, w in pairs if w is not None)

    here = at(0.0)
    right, left = ((at(step) - here) / step for step in (STEP, -STEP))
    if not (isfinite(right) and isfinite(left)):
        return EDGE
    nearer = max(abs(at(step) - here) / (STEP / 4) for step in (STEP / 4, -STEP / 4))
    if nearer > 1.3 * (1 + abs(right) + abs(left)):
        return EDGE  # of a jump: the smaller the step, the larger the difference
    scale = 1 + abs(right) + abs(left) + 1e-5 * abs(here) / STEP
    low, high = sorted((right, left))
    assert low - CLOSE * scale <= slope <= high + CLOSE * scale, (
        f"gradient {slope:.6g}, differences {left:.6g} and {right:.6g}"
    )
    return AGREES


def main() -> None:
    """Print how all cases go."""
    counts = Counter[str]()
    for name, case in cases().items():
        if name in refused():
            continue
        try:
            went = slope_of(case)
        except Exception as error:
            went = "WRONG"
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        if went.startswith(REFUSED):
            print(f"{name}: {went[:300]}", flush=True)
        counts[went.partition(":")[0]] += 1
    print(counts)


if __name__ == "__main__":
    main()
