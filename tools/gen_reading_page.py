"""Writes docs/reading.md: one program after every stage, with the function that made it.

Run by `make docs`. The code of the page runs here, and what it prints stands below it. The words
are in `reading_stops.py`: a stop for each stage of gradir/compiler/pipeline.py, in its order.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from inspect import unwrap
from pathlib import Path
from textwrap import fill
from typing import Any

from gradir.compiler.pipeline import STAGES
from gradir.tools.reading_stops import AFTER_STAGES, BEFORE_STAGES, ON_STAGES, Stop

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reading.md"
LINKS = ("dialects", "passes", "tools")

HEAD = """# Reading gradir along one program

Written by `make docs`; do not edit. A program of five lines goes through every stage, from Python
to machine code. Each stop names the functions that did the work: open them beside the page. The
code runs in order, so paste it into a session to stop anywhere and look.
[architecture.md](architecture.md) has a paragraph on each stage, and `gradir-opt -p
"gradir-stages{until=NAME}"` prints any program after one of them.
"""


def page() -> str:
    """The whole text of docs/reading.md."""
    return "\n".join(_lines()) + "\n"


def stops() -> list[Stop]:
    """All stops of the page; AssertionError where a stage of the pipeline has none."""
    names = [stage.name for stage in STAGES]
    assert [stop.title for stop in ON_STAGES] == names, "a stop for each stage, in their order"
    return [*BEFORE_STAGES, *ON_STAGES, *AFTER_STAGES]


def _lines() -> Iterator[str]:
    yield HEAD
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, stop in enumerate(stops(), 1):
        yield f"## {number}. {stop.title}\n"
        yield f"Open {', '.join(map(_place, stop.made_by))}.\n"
        yield f"{fill(stop.says, 120, break_long_words=False)}\n"
        yield f"```python\n{stop.code}\n```\n"
        if printed := _printed(stop.code, namespace):
            language = "text" if printed == "as before" else stop.language
            yield f"<!-- output -->\n\n```{language}\n{printed}\n```\n"


def _place(function: Any) -> str:
    """A function, and its file."""
    module = unwrap(function).__module__.split(".")
    if module[0] != "gradir":
        return f"`{function.__qualname__}` in xDSL's `{'.'.join(module)}`"
    path = "/".join(module[1:] if module[1] in LINKS else module) + ".py"
    assert (ROOT / path).is_file(), path
    return f"`{function.__qualname__}` in [{path}](../{path})"


def _printed(code: str, namespace: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    return output.getvalue().rstrip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
