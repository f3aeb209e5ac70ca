"""Samples of a curved density by Hamiltonian Monte Carlo, with gradients of a NumPy function.

    .venv/bin/python examples/hmc.py

A whole chain is one program: a scan over samples, each a loop of leapfrog steps. 64 chains run as
rows of it, by vmap. Writes hmc.svg. Exit code 1 if a mean or a deviation is not the exact one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import random
from gradir.frontends.training.chart import Curve, Panel, chart

CHAINS, SAMPLES, LEAPS, STEP = 64, 500, 12, 0.15
WIDTH = 0.5  # of the density of y around x * x


def energy(q: Any) -> Any:
    """Minus the logarithm of the density: x is normal, y lies on a parabola, with noise."""
    x, y = q
    return 0.5 * x**2 + 0.5 * ((y - x**2) / WIDTH) ** 2


def leapfrog(q: Any, p: Any) -> tuple[Any, Any]:
    """Place and momentum after some time; both halves of a step are as in a mirror."""

    def leap(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        q, p = state
        p = p - 0.5 * STEP * gradir.grad(energy)(q)
        q = q + STEP * p
        return q, p - 0.5 * STEP * gradir.grad(energy)(q)

    return gradir.fori_loop(0, LEAPS, leap, (q, p))


def sample(q: Any, key: Any) -> tuple[Any, tuple[Any, Any]]:
    """The next place, and whether it is a new one."""
    for_momentum, for_choice = random.split(key)
    p = random.normal(for_momentum, (2,))
    new_q, new_p = leapfrog(q, p)
    change = energy(q) - energy(new_q) + 0.5 * gnp.sum(p**2) - 0.5 * gnp.sum(new_p**2)
    is_taken = gnp.log(random.uniform(for_choice)) < change
    q = gnp.where(is_taken, new_q, q)
    return q, (q, is_taken)


@gradir.jit
@gradir.vmap
def chain(key: Any) -> Any:
    """All samples of a chain, and how often it moved."""
    begin, rest = random.split(key)
    keys = random.split(rest, SAMPLES)
    _, (places, moves) = gradir.scan(sample, random.normal(begin, (2,)), keys)
    return places, gnp.mean(moves)


def density(name: str, values: Any, edges: Any) -> Curve:
    """How often values lie between edges, as a density."""
    counts, _ = np.histogram(values, edges, density=True)
    middles = (edges[1:] + edges[:-1]) / 2
    return Curve(name, list(zip(middles.tolist(), counts.tolist(), strict=True)))


def main() -> None:
    """Run the chains, and hold them against exact draws."""
    places, moves = chain(random.split(random.key(0), CHAINS))
    x, y = places[:, SAMPLES // 5 :].reshape(-1, 2).T
    rng = np.random.default_rng(0)
    exact_x = rng.normal(size=400_000)
    exact_y = exact_x**2 + WIDTH * rng.normal(size=exact_x.size)
    print(f"{x.size} samples, moves taken: {moves.mean():.0%}")
    print(f"x: mean {x.mean():.2f}, deviation {x.std():.2f}; exact 0.00, 1.00")
    print(f"y: mean {y.mean():.2f}, deviation {y.std():.2f}; exact 1.00, 1.50")
    panels = [
        Panel(f"Density of {name}", [density("HMC", a, edges), density("exact", b, edges)])
        for name, a, b, edges in (
            ("x", x, exact_x, np.linspace(-3, 3, 41)),
            ("y", y, exact_y, np.linspace(-1.5, 6, 41)),
        )
    ]
    Path("hmc.svg").write_text(chart(panels, "place"))
    if max(abs(x.mean()), abs(x.std() - 1), abs(y.mean() - 1), abs(y.std() - 1.5)) > 0.15:
        sys.exit("error: expected the exact means and deviations")


if __name__ == "__main__":
    main()
