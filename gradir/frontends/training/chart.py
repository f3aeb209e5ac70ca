"""Curves as SVG: panels side by side, each with its own scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]

COLOURS = ("#1f6fb4", "#c2571a", "#4e8f3a", "#7a4fa3", "#555")
PANEL_WIDTH, PANEL_HEIGHT, PANELS_IN_A_ROW = 370, 300, 3
PLOT_WIDTH, PLOT_HEIGHT, LEFT, TOP = 260, 200, 70, 50
LARGEST = 1e300
"""The bound of numbers that have a place: differences of them are finite."""


@dataclass(frozen=True)
class Curve:
    """Points from left to right; nan, inf and larger ones are left out. The name may be empty."""

    name: str
    points: Points

    @property
    def finite(self) -> Points:
        return [p for p in self.points if all(abs(x) < LARGEST for x in p)]


@dataclass(frozen=True)
class Panel:
    """Curves on one scale: logarithmic where they are positive and span more than a decade."""

    title: str
    curves: Sequence[Curve]


@dataclass(frozen=True)
class Axis:
    """A scale: its ends, and the places with labels; of logarithms if `log`."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def place(self, value: float, begin: float, end: float) -> float:
        """Where between two ends of a line on the page a value is."""
        at = math.log10(value) if self.log else value
        return begin + (end - begin) * (at - self.low) / (self.high - self.low)


def chart(panels: Sequence[Panel], across: str) -> str:
    """The panels as an SVG document; `across` is what the horizontal axes count."""
    columns = min(max(len(panels), 1), PANELS_IN_A_ROW)
    width = columns * PANEL_WIDTH + 20
    height = max(-(-len(panels) // columns), 1) * PANEL_HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#444">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for k, panel in enumerate(panels):
        x, y = k % columns * PANEL_WIDTH, k // columns * PANEL_HEIGHT
        lines += [f'<g transform="translate({x} {y})">', *_panel(panel, across), "</g>"]
    return "\n".join([*lines, "</svg>\n"])


def _panel(panel: Panel, across: str) -> Iterator[str]:
    right, bottom = LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT
    points = [point for curve in panel.curves for point in curve.finite]
    horizontal, vertical = _across([x for x, _ in points]), _upward([y for _, y in points])
    yield f'<text x="{LEFT}" y="24" font-size="15" fill="#111">{escape(panel.title)}</text>'
    for value, label in vertical.ticks:
        y = vertical.place(value, bottom, TOP)
        yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#e4e4e4"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    for value, label in horizontal.ticks:
        x = horizontal.place(value, LEFT, right)
        yield f'<path d="M{x:.1f} {bottom}v5" stroke="#888"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>'
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#888"/>'
    middle = LEFT + PLOT_WIDTH / 2
    yield f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{escape(across)}</text>'
    labels: list[float] = []
    for k, curve in enumerate(panel.curves):
        if curve.name:
            x, colour = LEFT + k * PLOT_WIDTH / len(panel.curves), COLOURS[k % len(COLOURS)]
            yield f'<text x="{x:.1f}" y="42" fill="{colour}">{escape(curve.name)}</text>'
        yield from _curve(curve, k, horizontal, vertical, labels)


def _curve(
    curve: Curve, number: int, horizontal: Axis, vertical: Axis, labels: list[float]
) -> Iterator[str]:
    """A line with its last value; later lines are dashed, as they may lie on others."""
    if not curve.finite:
        return
    right, bottom, colour = LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT, COLOURS[number % len(COLOURS)]
    places = [
        (horizontal.place(x, LEFT, right), vertical.place(y, bottom, TOP)) for x, y in curve.finite
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashes = f' stroke-dasharray="{8 - number % 4 * 2} 5"' if number else ""
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
    x, y = places[-1]
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    while any(abs(y - other) < 12 for other in labels):
        y += 12
    labels.append(y)
    last = f"{curve.finite[-1][1]:.4g}"
    yield f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{last}</text>'


def _across(values: Sequence[float]) -> Axis:
    """A scale from 0, or from the least value below, to the last one."""
    whole = _linear([0.0, *values])
    first = min(0.0, *values) if values else 0.0
    last = max(values, default=0.0)
    last = last if last > first else whole.high
    return Axis(first, last, [(n, label) for n, label in whole.ticks if first <= n <= last])


def _upward(values: Sequence[float]) -> Axis:
    """A linear scale, or a logarithmic one for positive values of more than a decade."""
    if not values or min(values) < 1 / LARGEST or max(values) <= 10 * min(values):
        return _linear(values)
    decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    every, parts = -(-len(decades) // 8), (1, 2, 5) if len(decades) <= 3 else (1,)
    places = [m * 10.0**d for d in decades[::every] for m in parts]
    low = max((p for p in places if p <= min(values)), default=places[0])
    high = min((p for p in places if p >= max(values)), default=10.0 ** decades[-1])
    ticks = [(p, f"{p:g}") for p in places if low <= p <= high]
    return Axis(math.log10(low), math.log10(high), ticks, log=True)


def _linear(values: Sequence[float]) -> Axis:
    """A scale with about five ticks at multiples of 1, 2 or 5 times a power of ten."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    size = max(abs(low), abs(high))
    if high - low <= max(1e-9 * size, 1 / LARGEST):
        apart = size / 2 if size > 1 / LARGEST else 0.5
        low, high = low - apart, high + apart
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    apart = next(m * power for m in (1, 2, 5, 10) if m * power * 5.001 >= high - low)
    first, last = math.floor(low / apart + 1e-9), math.ceil(high / apart - 1e-9)
    ticks = [(n * apart, f"{n * apart:.6g}") for n in range(first, last + 1)]
    return Axis(first * apart, last * apart, ticks)
