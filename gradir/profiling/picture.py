"""A profile as a picture: a bar for each part, as long as its share of the time, in SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gradir.profiling.profile import Part, Profile
from gradir.profiling.table import title

SHOWN = 30
"""The longest parts have bars."""

# Sizes in pixels.
WIDTH, LEFT, BAR, ROW, TOP = 960, 220, 420, 22, 44
COLOURS = {"kernel": "#4a6fa5", "host call": "#c2571a", "loop": "#4e8f3a", "wait": "#b0b0b0"}
REST = "#d8d8d8"
FONT = 'font-family="monospace" font-size="12" fill="#222"'


def picture(profile: Profile) -> str:
    """The longest parts, one below the other."""
    parts = profile.parts[:SHOWN]
    height = TOP + ROW * len(parts) + 10
    head = f"@{profile.function}: {profile.seconds * 1e6:.1f} us a call, {profile.threads} threads"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {FONT}>',
        f'<path d="M0 0H{WIDTH}V{height}H0z" fill="#fff"/>',
        f'<text x="16" y="24" font-weight="bold">{escape(head)}</text>',
    ]
    for k, part in enumerate(parts):
        lines += _bar(profile, part, TOP + k * ROW)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(profile: Profile, part: Part, y: int) -> Iterator[str]:
    """A part's bar, with its place in the source as the title that a pointer shows."""
    share = profile.share(part)
    of_limit = part.share_of_limit(profile.limits)
    note = f"{share:.1%}" + ("" if of_limit is None else f", {of_limit:.0%} of the limit")
    places = "; ".join(f"{line} {line.text}".rstrip() for line in part.lines)
    length = BAR * min(share, 1.0)
    yield f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(title(part))}</text>'
    yield (
        f'<rect x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="{ROW - 6}" '
        f'fill="{COLOURS.get(part.kind, REST)}"><title>{escape(places)}</title></rect>'
    )
    shown = f"{note}  {escape(str(part.lines[0])) if part.lines else ''}".rstrip()
    yield f'<text x="{LEFT + length + 6:.1f}" y="{y + 14}">{shown}</text>'
