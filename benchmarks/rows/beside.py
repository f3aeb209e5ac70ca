"""The picture of the README: times and memory beside JAX, PyTorch and torch.compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rows.networks import SHARES, limited_call
from rows.row import GRADIR, Outcome, Setting

NAMES: Mapping[str, str] = {
    "MLP 64 x 784-256-256-10, value and gradient": "MLP",
    "encoder block, 8 x 64 x 128, 4 heads, value and gradient": "transformer block",
    "convolution 3 x 3, 16 x 64 x 28 x 28 to 64 channels, value and gradient": "convolution",
    "ResNet of 8 blocks, 16 x 3 x 32 x 32, value and gradient": "ResNet",
    "attention, 1 x 8 heads x 1024 x 64, value and gradient": "attention",
    "LSTM traced, 256 steps, batch 16, 64 units, value and gradient": "LSTM",
    "sum(softmax(x) * w), 4096 x 4096, value and gradient": "softmax",
    "Black-Scholes, 4 million, mean of the prices and 5 gradients": "Black-Scholes",
    "Gaussian mixture (10, 25, 1000), f64, value and gradient": "Gaussian mixture",
}
"""The rows that are drawn, and their names in the picture."""

LIMITED = "gradir, limit"
LEAST = min(SHARES)
"""The least share of gradir's memory within which a call is made."""

COLOURS: Mapping[str, str] = {
    GRADIR: "#4e8f3a",
    LIMITED: "#8fbf7f",
    "JAX": "#7a6fb0",
    "PyTorch": "#d98032",
    "torch.compile": "#b9a13a",
}
WIDTH, LEFT, UNIT, BAR, GAP, TOP = 640, 150, 52, 11, 9, 46
MOST = 8.0
"""Longer bars end there; their numbers stand beside them."""
STYLE = "text{font:12px sans-serif;fill:#222} .name{text-anchor:end} .head{font-weight:bold}"

Bars = list[tuple[str, float, str]]
"""Contenders, their figures over gradir's, and what stands beside the bar."""


def picture(outcomes: Sequence[Outcome], head: str) -> str:
    """Two panels of bars, one group for each row: times and memory over gradir's."""
    quiet = [o for o in outcomes if o.name in NAMES and o.setting == Setting()]
    times = [(NAMES[o.name], _times(o)) for o in quiet]
    memory = [(NAMES[o.name], _memory(o)) for o in quiet]
    lines, y = list[str](), TOP
    panels = (
        ("value and gradient, 2 threads: time over gradir's", times),
        ("memory beside arguments and results, over gradir's without a limit", memory),
    )
    for title, groups in panels:
        lines.append(f'<text x="{LEFT}" y="{y}" class="head">{title}</text>')
        first = y = y + 8
        for name, bars in groups:
            if len(bars) > 1:
                lines += _group(name, bars, y)
                y += BAR * len(bars) + GAP
        lines.append(f'<path d="M{LEFT + UNIT} {first}V{y - GAP / 2}" stroke="#222"/>')
        y += 26
    shown = [
        who for who in COLOURS if any(who == b[0] for _, bars in (*times, *memory) for b in bars)
    ]
    about = f'<text x="12" y="{y - 8}" fill="#666">{escape(head.partition(";")[0])}</text>'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}">'
    ground = f'<path d="M0 0H{WIDTH}V{y}H0z" fill="#fff"/>'
    every = [start, f"<style>{STYLE}</style>", ground, *_legend(shown), *lines, about, "</svg>"]
    return "\n".join(every) + "\n"


def _figure(outcome: Outcome, who: str, what: str) -> float | None:
    found = (f.value for f in outcome.figures if (f.who, f.what) == (who, what))
    return next(found, None)


def _times(outcome: Outcome) -> Bars:
    return _over(outcome, "time")


def _memory(outcome: Outcome) -> Bars:
    bars = _over(outcome, "arena")
    if _figure(outcome, GRADIR, limited_call(LEAST)) is not None and bars:
        bars.insert(1, (LIMITED, LEAST, f"{LEAST:g}, the same bits"))
    return bars


def _over(outcome: Outcome, what: str) -> Bars:
    mine = _figure(outcome, GRADIR, what)
    if not mine or mine < 0.1:  # a megabyte in ten: there is nothing to compare
        return []
    unit = next(f.unit for f in outcome.figures if f.what == what)
    said = f"{mine / 1000:.3g} ms" if unit == "us" and mine >= 1000 else f"{mine:.3g} {unit}"
    found = [(GRADIR, 1.0, said)]
    for who in ("JAX", "PyTorch", "torch.compile"):
        if (value := _figure(outcome, who, what)) is not None:
            share = value / mine
            found.append((who, share, f"{share:.0f}" if share >= 10 else f"{share:.2g}"))
    return found


def _group(name: str, bars: Bars, y: float) -> Iterator[str]:
    middle = y + BAR * len(bars) / 2 + 4
    yield f'<text x="{LEFT - 8}" y="{middle}" class="name">{escape(name)}</text>'
    for k, (who, share, said) in enumerate(bars):
        top, length = y + k * BAR, UNIT * min(share, MOST)
        yield (
            f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR - 1}" '
            f'fill="{COLOURS[who]}"/>'
        )
        yield (
            f'<text x="{LEFT + max(length, UNIT) + 5:.1f}" y="{top + BAR - 2}" '
            f'style="font-size:10px">{escape(said)}</text>'
        )


def _legend(shown: Sequence[str]) -> Iterator[str]:
    x = 12
    for who in shown:
        yield f'<rect x="{x}" y="12" width="12" height="12" fill="{COLOURS[who]}"/>'
        yield f'<text x="{x + 17}" y="22">{escape(who)}</text>'
        x += 40 + 7 * len(who)
