"""By how much eager and compiled functions differ: the table of docs/numpy.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"
RANDOM = np.random.default_rng(0)
COUNT = 2000
# Other processors have other code in NumPy.
MARGIN = 1

SPANS: dict[str, tuple[float, float]] = {
    "exp": (-80, 80), "exp2": (-80, 80), "expm1": (-30, 80), "log1p": (-0.999, 1e6),
    "sqrt": (0, 1e6), "cbrt": (-1e3, 1e3), "sin": (-1e4, 1e4), "cos": (-1e4, 1e4),
    "tan": (-1e3, 1e3), "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-1e3, 1e3),
    "sinh": (-80, 80), "cosh": (-80, 80), "tanh": (-20, 20), "arcsinh": (-1e6, 1e6),
    "arccosh": (1, 1e6), "arctanh": (-0.9999, 0.9999), "erf": (-6, 6), "erfc": (-6, 6),
    "square": (-9, 9), "reciprocal": (0.1, 9), "sinc": (-9, 9), "i0": (-30, 30),
    "lgamma": (0.1, 100),
}  # fmt: skip
PAIRS: dict[str, tuple[float, float]] = {
    "power": (0.01, 30), "float_power": (0.01, 30), "arctan2": (-9, 9), "hypot": (-9, 9),
    "logaddexp": (-50, 50), "logaddexp2": (-50, 50), "divide": (-9, 9), "remainder": (-9, 9),
    "fmod": (-9, 9),
}  # fmt: skip
LOGARITHMS = ("log", "log2", "log10")


def _table() -> dict[str, tuple[int, int]]:
    text = PAGE.read_text().partition("## Eager and compiled")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    return {name: (int(wide), int(narrow)) for names, wide, narrow in rows
            for name in re.findall(r"`(\w+)`", names)}  # fmt: skip


TABLE = _table()


def _arguments(name: str) -> list[Any]:
    if name in LOGARITHMS:
        return [np.geomspace(1e-30, 1e30, COUNT)]
    low, high = SPANS.get(name) or PAIRS[name]
    if name in PAIRS:
        return [RANDOM.uniform(low, high, COUNT), RANDOM.uniform(max(low, 0.1), 9, COUNT)]
    near = np.geomspace(1e-8, high, COUNT)
    return [np.concatenate([np.linspace(low, high, COUNT), near[near >= low]])]


def _distance(one: Any, other: Any) -> float:
    """In ulp; in ulp of 1 for smaller numbers that come of a cancellation."""
    unit = np.spacing(np.maximum(np.abs(one), np.abs(other)))
    return float(np.max(np.abs(one - other) / unit))


def test_the_table_has_all() -> None:
    assert set(TABLE) == {*SPANS, *PAIRS, *LOGARITHMS}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_eager_and_compiled(name: str) -> None:
    function = getattr(gnp, name)

    @gradir.jit
    def compiled(narrow: Any, wide: Any) -> Any:
        return function(*narrow), function(*wide)

    wide = _arguments(name)
    narrow = [a.astype(np.float32) for a in wide]
    found = compiled(narrow, wide)
    for values, arguments, most in zip(found, (narrow, wide), TABLE[name][::-1], strict=True):
        eager = function(*arguments)
        assert eager.dtype == values.dtype
        if name in ("lgamma", "logaddexp", "logaddexp2"):
            eager, values = (np.copysign(np.abs(v) + 1, v) for v in (eager, values))
        assert _distance(eager, values) <= (most + MARGIN if most else 0)
