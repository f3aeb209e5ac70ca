"""A memory plan to look at: when each buffer is stored and freed, as text, and as a picture.

Which buffers hold cotangents or recomputed values is read from their names (`value_names.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradir.dialects.base.value_names import Kind, kind_by_name

if TYPE_CHECKING:
    from gradir.passes.buffers.plan_memory import MemoryPlan, PlannedBuffer

WIDTH, HEIGHT, MARGIN = 960, 480, 48
COLOURS: Mapping[Kind, str] = {
    "stored": "#4878a8",
    "recomputed": "#d98c3f",
    "cotangent": "#6a9f58",
    "scratch": "#999",
}


def schedule_text(plan: MemoryPlan) -> str:
    """A line for each step at which memory is taken or freed: what, and the bytes then alive."""
    steps = sorted({b.first for b in plan.buffers} | {b.last + 1 for b in plan.buffers})
    lines: list[str] = []
    alive = 0
    for step in steps:
        freed = [b for b in plan.buffers if b.last + 1 == step]
        taken = [b for b in plan.buffers if b.first == step]
        alive += sum(b.size for b in taken) - sum(b.size for b in freed)
        words = [f"free {label(b)}" for b in freed]
        words += [f"{verb(b)} {label(b)} ({b.size} at {b.offset})" for b in taken]
        lines.append(f"{step:5}: {', '.join(words)}; {alive} bytes")
    return "\n".join([*lines, f"peak {plan.peak_bytes} bytes"])


def label(buffer: PlannedBuffer) -> str:
    """A buffer's name without its number."""
    return buffer.name.partition(":")[2]


def verb(buffer: PlannedBuffer) -> str:
    return "recompute" if kind_by_name(label(buffer)) == "recomputed" else "store"


def timeline_svg(plan: MemoryPlan, top: int = 0) -> str:
    """Time to the right, the arena upward: a rectangle for each buffer.

    The height stands for the arena, or for `top` bytes if those are more.
    """
    from html import escape  # each compilation imports this file, for the text

    steps = max((b.last for b in plan.buffers), default=0) + 1
    across, up = (WIDTH - 2 * MARGIN) / steps, (HEIGHT - 2 * MARGIN) / max(plan.peak_bytes, top, 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
        f'height="{HEIGHT - 2 * MARGIN}" fill="none" stroke="#444"/>',
    ]
    for buffer in plan.buffers:
        x = MARGIN + buffer.first * across
        y = HEIGHT - MARGIN - (buffer.offset + buffer.size) * up
        title = f"{label(buffer)}: {buffer.size} bytes, steps {buffer.first} to {buffer.last}"
        width = (buffer.last - buffer.first + 1) * across
        colour = COLOURS[kind_by_name(label(buffer))]
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{buffer.size * up:.1f}" fill="{colour}" stroke="white" '
            f'stroke-width="0.3"><title>{escape(title)}</title></rect>'
        )
    x = MARGIN
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="18" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="29">{name}</text>')
        x += 120
    parts.append(
        f'<text x="{WIDTH - MARGIN}" y="29" text-anchor="end">{plan.peak_bytes} bytes</text>'
    )
    parts.append(f'<text x="{MARGIN}" y="{HEIGHT - 20}">time, in steps of {steps}</text>')
    return "\n".join([*parts, "</svg>", ""])
