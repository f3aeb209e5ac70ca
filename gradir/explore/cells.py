"""What a notebook shows of a program: its text, which can be folded away."""

from __future__ import annotations

from html import escape

from gradir.diagnostics import printable
from gradir.explore.folding import folded_lines

MOST_LINES = 400
"""The lines of a text that a notebook shows."""

STYLE = "margin:4px 0;max-height:480px;overflow:auto;font-size:12px;line-height:1.5;text-align:left"


def text_cell(title: str, text: str) -> str:
    """A text as HTML, without its middle if it is long."""
    shown = folded_lines(text.split("\n"), MOST_LINES)
    lines, (at, left_out) = shown["lines"], shown["fold"]
    if left_out:
        lines = [*lines[:at], f"... {left_out} lines left out ...", *lines[at:]]
    body = escape(printable("\n".join(lines)))
    summary = f"<summary><code>{escape(printable(title))}</code></summary>"
    return f'<details open>{summary}<pre style="{STYLE}">{body}</pre></details>'
