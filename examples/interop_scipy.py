"""Find the peaks of a spectrum with SciPy's minimizers and gradir's derivatives.

    .venv/bin/pip install --editable '.[scipy]'
    .venv/bin/python examples/interop_scipy.py

The unknowns are a dict of arrays. A method without derivatives is compared with one that takes the
gradient and one that takes products with the Hessian as well. Exit code 1 if a peak is not found.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp

CENTERS, HEIGHTS, WIDTHS = [2.0, 4.5, 7.0], [1.0, 0.6, 1.4], [0.3, 0.5, 0.4]
METHODS = ("Nelder-Mead", "L-BFGS-B", "trust-ncg")


def spectrum(peaks: Any, at: Any) -> Any:
    """A sum of bells, on a constant ground."""
    apart = (at[:, None] - peaks["center"]) / gnp.exp(peaks["log_width"])
    return gnp.sum(peaks["height"] * gnp.exp(-0.5 * apart**2), axis=1) + peaks["ground"]


def loss(peaks: Any, at: Any, measured: Any) -> Any:
    """What is minimized."""
    return gnp.sum((spectrum(peaks, at) - measured) ** 2)


def main() -> None:
    """Make a spectrum with noise, and fit it by each method."""
    try:
        from gradir.interop.scipy import minimize
    except gradir.GradirError as error:
        sys.exit(f"error: {error}")
    random = np.random.default_rng(0)
    at = np.linspace(0, 10, 500)
    truth = {
        "center": np.array(CENTERS),
        "height": np.array(HEIGHTS),
        "log_width": np.log(WIDTHS),
        "ground": np.array(0.2),
    }
    measured = gradir.jit(spectrum)(truth, at) + random.normal(0, 0.02, at.shape)
    start = {
        "center": np.array([1.7, 4.2, 7.3]),
        "height": np.ones(3),
        "log_width": np.full(3, -1.0),
        "ground": np.array(0.0),
    }
    for method in METHODS:
        found = minimize(loss, start, args=(at, measured), method=method)
        off = np.abs(found.x["center"] - CENTERS).max()
        print(f"{method}: loss {found.fun:.4f}, {found.nfev} evaluations, centers within {off:.3f}")
        # that one stops at its limit of evaluations
        if method != "Nelder-Mead" and not off < 0.02:
            sys.exit(f"error: expected centers within 0.02 of {CENTERS}")


if __name__ == "__main__":
    main()
