"""Writes the tables of docs/numpy.md: the names that are there, differ, or are not there.

Run by `make docs`. The text before the marker is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from gradir.frontends import numpy
from gradir.frontends.functions import absent, linalg
from gradir.frontends.scipy import fft as scipy_fft
from gradir.frontends.scipy import integrate, ndimage, signal, special, stats
from gradir.frontends.scipy import linalg as scipy_linalg

PAGE = Path(__file__).resolve().parent.parent / "docs" / "numpy.md"
SUPPORT = PAGE.parent.parent / "tests" / "support"
ORDERS = ("value", "first", "second")
ERRORS = """The largest errors of native code in float64 and float32, of values and derivatives
{by}, at the points of `tests/support/{table}_rows.py`:
{points}.
They are counted in units of the last place of the result, or of what one such unit of an argument
changes in it, where that is more. Results below the least normal number are not counted.
`tests/support/scipy_faults.py` lists where it is worse.
"""
MARKER = "<!-- written by `make docs` from here on -->\n"


def page() -> str:
    """The whole text of docs/numpy.md."""
    head, _, _ = PAGE.read_text().partition(MARKER)
    nn = import_module("gradir.nn")
    there = sorted(set(numpy.__all__) - set(absent.ABSENT))
    parts = [
        _section("gradir.numpy", there, absent.DIFFERS, absent.ABSENT),
        f"NumPy's own: {_names(absent.OWN)}.\n",
        _section("gradir.numpy.linalg", linalg.__all__, linalg.DIFFERS, linalg.ABSENT),
        _section("gradir.nn", nn.__all__, {}, nn.ABSENT),
        _section("gradir.scipy.special", special.__all__, {}, special.ABSENT),
        _errors(
            "special",
            "in the last argument",
            "ends, tiny and huge numbers, integers, half-integers",
        ),
        _section("gradir.scipy.stats", stats.__all__, {}, stats.ABSENT),
        _errors(
            "stats",
            "by `x`, of discrete distributions by the last parameter",
            "beside ends and centres, in both tails, tiny and huge numbers",
        ),
        _section("gradir.scipy.linalg", scipy_linalg.__all__, {}, scipy_linalg.ABSENT),
        _section("gradir.scipy.signal", signal.__all__, {}, signal.ABSENT),
        _section("gradir.scipy.ndimage", ndimage.__all__, {}, ndimage.ABSENT),
        _section("gradir.scipy.fft", scipy_fft.__all__, {}, scipy_fft.ABSENT),
        _section("gradir.scipy.integrate", integrate.__all__, {}, integrate.ABSENT),
    ]
    return "\n".join([head + MARKER, *parts])


def _section(
    module: str, there: Iterable[str], differs: Mapping[str, str], missing: Mapping[str, str]
) -> str:
    lines = [f"## {module}", "", f"There: {_names(there)}.", ""]
    for title, reasons in (("what differs", differs), ("why it is not there", missing)):
        if reasons:
            lines += [f"| names | {title} |", "|---|---|"]
            for reason in dict.fromkeys(reasons.values()):
                names = [name for name, its in reasons.items() if its == reason]
                lines.append(f"| {_names(names)} | {reason} |")
            lines.append("")
    return "\n".join(lines)


def _errors(table: str, by: str, points: str) -> str:
    """The table of the largest errors that the tests state of a module."""
    stated = json.loads((SUPPORT / f"{table}_worst.json").read_text())
    rows = [
        f"| `{name}` | {' | '.join(_row_of_ulps(kinds[kind]) for kind in ('f64', 'f32'))} |"
        for name, kinds in stated.items()
    ]
    text = ERRORS.format(table=table, by=by, points=points)
    return "\n".join([text, f"| function | {_KINDS} |", "|---" * 7 + "|", *rows, ""])


_KINDS = " | ".join(f"{part}, {kind}" for kind in ("f64", "f32") for part in ORDERS)


def _row_of_ulps(ulps: list[float]) -> str:
    """The errors of values and derivatives; none for a derivative that is not there."""
    return " | ".join([*(f"{u:g}" for u in ulps), *[""] * (len(ORDERS) - len(ulps))])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def main() -> None:
    """Write docs/numpy.md beside this package's sources."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
