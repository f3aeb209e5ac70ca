"""Outcomes as text, as the table in docs/benchmarks.md, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from rows.row import FASTER_IS_MORE, GRADIR, Asked, Figure, Outcome, Setting
from rows.table import by_name

BEGIN, END = "<!-- made by make bench -->", "<!-- end of make bench -->"

# Sizes of the picture in pixels, and the longest bar in multiples of what is asked for.
WIDTH, LEFT, UNIT, HEIGHT, TOP, MOST = 1100, 560, 90, 20, 60, 4.0
LETTERS = 74
"""The letters of a bar's name."""

MET, MISSED = "#4e8f3a", "#c2571a"
STYLE = "text{font:12px monospace;fill:#222} .name{text-anchor:end} .head{font-weight:bold}"


def asked_of(outcome: Outcome) -> dict[str, Asked]:
    """What is asked for in this setting, by figure."""
    row = by_name(outcome.name)
    return {a.what: a for a in row.asked if a.holds_in(outcome.setting)}


def whats(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(f.what for f in outcome.figures))


def number(figure: Figure) -> str:
    if figure.value is None:
        return figure.note or "-"
    value = figure.value
    before = max(0, math.floor(math.log10(max(value, 1e-3))) + 1)
    return f"{value:,.{max(3 - before, 0)}f} {figure.unit}"


def verdict(outcome: Outcome, what: str) -> tuple[str, str]:
    """What is asked for, and whether it is met."""
    asked = asked_of(outcome).get(what)
    if asked is None:
        return "", ""
    met = asked.is_met(outcome.figures)
    text = asked.wanted(outcome.figures)[1]
    return text, "nobody to compare with" if met is None else "met" if met else "not met"


def text(outcome: Outcome) -> str:
    """A block of lines: a line for each figure, gradir's first."""
    lines = [f"\n{outcome.name}; {outcome.setting}  ({outcome.seconds:.0f} s)"]
    if outcome.failed:
        lines.append(f"  FAILED: {outcome.failed}")
    for what in whats(outcome):
        mine = [f for f in outcome.figures if f.what == what]
        said = "   ".join(f"{f.who} {number(f)}" for f in mine)
        asked, met = verdict(outcome, what)
        lines.append(f"  {what:14} {said}" + (f"   asked {asked}: {met.upper()}" if asked else ""))
    if outcome.why:
        lines.append(f"  in the way: {outcome.why}")
    return "\n".join(lines)


def markdown(outcomes: Sequence[Outcome], head: str) -> str:
    """The generated section of docs/benchmarks.md."""
    lines = [
        *(BEGIN, head, "", "![gradir's figures over those asked for](benchmarks.svg)", ""),
        *(
            "| row | setting | figure | gradir | others | asked | |",
            "|---|---|---|---|---|---|---|",
        ),
    ]
    for outcome in outcomes:
        lines += _rows(outcome)
    reasons = [o for o in outcomes if o.why or o.failed]
    if reasons:
        lines += ["", "What stands in the way where a row misses, by the profiler:", ""]
        lines += [f"- {o.name}; {o.setting}: {o.why or f'failed: {o.failed}'}" for o in reasons]
    return "\n".join([*lines, END])


def _rows(outcome: Outcome) -> Iterator[str]:
    for what in whats(outcome):
        figures = [f for f in outcome.figures if f.what == what]
        mine = "".join(number(f) for f in figures if f.who == GRADIR)
        others = ", ".join(f"{f.who} {number(f)}" for f in figures if f.who != GRADIR)
        cells = (outcome.name, str(outcome.setting), what, mine, others, *verdict(outcome, what))
        yield f"| {' | '.join(cells)} |"


def replaced(page: str, section: str) -> str:
    """The page with another generated section."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"no lines {BEGIN} and {END}")
    return before + section + after


def picture(outcomes: Sequence[Outcome], head: str) -> str:
    """A bar for each figure with a bound: how many times what is asked for; 1 is the line."""
    bars = [bar for outcome in outcomes for bar in _bars(outcome)]
    height = TOP + HEIGHT * len(bars) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<path d="M0 0H{WIDTH}V{height}H0z" fill="#fff"/>',
        f'<text x="16" y="20" class="head">{escape(head.partition(";")[0])}</text>',
        '<text x="16" y="38">gradir over what is asked for: left of the line is met</text>',
        f'<line x1="{LEFT + UNIT}" y1="{TOP - 12}" x2="{LEFT + UNIT}" y2="{height - 8}" '
        'stroke="#222"/>',
    ]
    for k, (name, share, said) in enumerate(bars):
        y, length = TOP + k * HEIGHT, UNIT * min(share, MOST)
        colour = MET if share <= 1 else MISSED
        lines.append(f'<text x="{LEFT - 8}" y="{y + 13}" class="name">{escape(name)}</text>')
        lines.append(
            f'<rect x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="{HEIGHT - 6}" '
            f'fill="{colour}"/>'
        )
        right = LEFT + max(length, UNIT) + 6
        lines.append(f'<text x="{right:.1f}" y="{y + 13}">{escape(said)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bars(outcome: Outcome) -> Iterator[tuple[str, float, str]]:
    for what, asked in asked_of(outcome).items():
        wanted, said = asked.wanted(outcome.figures)
        mine = next((f for f in outcome.figures if (f.who, f.what) == (GRADIR, what)), None)
        if mine is None or not mine.value or not wanted:
            continue
        share = wanted / mine.value if what in FASTER_IS_MORE else mine.value / wanted
        place = "" if outcome.setting == Setting() else f"; {outcome.setting}"
        end = f": {what}{place}"
        yield _cut(outcome.name, LETTERS - len(end)) + end, share, f"{number(mine)} ({said})"


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 3] + "..."
