"""A profile as text: a row for each part, and below it the source lines that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradir.diagnostics import printable
from gradir.profiling.profile import Part, Profile

SHOWN_LINES, SHOWN_OPS, WIDTH = 6, 8, 100
"""The source lines and ops that are shown of a part, and the characters of a line."""

HEAD = (
    f"{'part':24}{'calls':>9}{'us':>11}{'share':>8}{'GFLOP/s':>10}{'GB/s':>8}{'of limit':>10}  by"
)


def table(profile: Profile) -> str:
    """All parts, the longest first."""
    rows = (row for part in profile.parts for row in _rows(profile, part))
    return "\n".join([*_head(profile), HEAD, *rows])


def _head(profile: Profile) -> Iterator[str]:
    limits, threads = profile.limits, profile.threads
    yield (
        f"profile of @{profile.function}: {profile.seconds * 1e6:.1f} us a call "
        f"({profile.plain_seconds * 1e6:.1f} without clocks), average of {profile.runs}; "
        f"{threads} thread{'s' if threads > 1 else ''}"
    )
    yield (
        f"limits, measured: {limits.flops[32] / 1e9:.0f} GFLOP/s in f32, "
        f"{limits.flops[64] / 1e9:.0f} in f64, {limits.bytes / 1e9:.1f} GB/s of memory"
    )


def _rows(profile: Profile, part: Part) -> Iterator[str]:
    of_limit = part.share_of_limit(profile.limits)
    cells = [
        f"{title(part):24}{part.calls:9.6g}{part.seconds * 1e6:11.2f}{profile.share(part):8.1%}",
        _cell(part.flops_per_second, 10, 1e9),
        _cell(part.bytes_per_second, 8, 1e9),
        f"{'-':>10}" if of_limit is None else f"{of_limit:10.0%}",
        f"  {part.bound(profile.limits) or '-'}",
    ]
    yield "".join(cells)
    if part.ops:
        yield _cut(f"    {_some(part.ops, SHOWN_OPS)}")
    for line in part.lines[:SHOWN_LINES]:
        yield _cut(printable(f"    {line}  {line.text}".rstrip()))
    if len(part.lines) > SHOWN_LINES:
        yield f"    and {len(part.lines) - SHOWN_LINES} more lines"


def title(part: Part) -> str:
    """A part's name, with its kind where that does not say it."""
    return part.name if part.kind in ("kernel", "rest") else f"{part.kind}: {part.name}"


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _cell(value: float | None, width: int, unit: float) -> str:
    return f"{'-':>{width}}" if value is None else f"{value / unit:{width}.1f}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
