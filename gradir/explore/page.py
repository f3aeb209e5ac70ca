"""One HTML file on one function: it needs no network, no server and no other file.

The facts are JSON in the page, and its script puts them into the document as text. So names and
strings of a program are never read as HTML, and a policy forbids all connections.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from gradir.diagnostics import Sources, printable
from gradir.errors import ArgumentError
from gradir.explore.collect import Exploration
from gradir.explore.facts import facts_text

SCRIPTS = ("model.js", "stages.js", "memory.js", "code.js")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

BODY = """\
<header><h1>{title}</h1>
<nav><button type="button" data-view="stages">Stages</button><button type="button" \
data-view="memory">Memory</button><button type="button" data-view="time">Time</button><button \
type="button" data-view="code">Code</button></nav><span class="quiet">{about}</span></header>
<main>
<section id="stages">
<div class="bar"><div class="strip"></div><label><input \
type="checkbox" class="only-changes"> differences alone</label></div>
<div class="source"></div><div class="scroll"><table class="texts"></table></div>
<div class="trail" hidden></div>
</section>
<section id="memory" hidden>
<div class="limits"><input type="range" min="0" value="0" aria-label="plans within memory limits">\
<b class="limit"></b><span class="end quiet"></span></div>
<p class="legend"><span><i class="stored"></i>stored</span><span><i class="recomputed"></i>\
recomputed</span><span><i class="cotangent"></i>cotangent</span><span><i class="scratch"></i>\
scratch</span></p>
<div class="picture"></div><p class="said"></p>
</section>
<section id="time" hidden></section>
<section id="code" hidden><div class="kernels"></div><div class="shown"></div></section>
</main>
<noscript><p>This page needs its own script, which is part of the file.</p></noscript>
"""


class ExplorerPage:
    """A page on one function: `html` is the whole file, `save(path)` writes it.

    A notebook shows it. `exploration` has the facts.
    """

    def __init__(self, exploration: Exploration, sources: Sources):
        self.exploration = exploration
        self.html = "".join(_parts(exploration, facts_text(exploration, sources)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file; ArgumentError where that cannot be written."""
        try:
            Path(path).write_text(self.html, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ArgumentError(f"cannot write '{os.fspath(path)}': {error}") from None

    def __repr__(self) -> str:
        size = len(self.html) // 1024
        return f"<gradir page on @{self.exploration.function}, {size} KiB; .save(path) writes it>"

    def _repr_html_(self) -> str:
        """The page in a frame, apart from the notebook's own styles and scripts."""
        style = "width:100%;height:640px;border:1px solid #8884;border-radius:6px"
        sandbox = "allow-scripts"
        return f'<iframe sandbox="{sandbox}" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def _parts(of: Exploration, facts: str) -> Iterator[str]:
    title = escape(printable(f"@{of.function}"))
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width">\n'
    yield f"<title>{title} - gradir</title>\n"
    yield f"<style>\n{asset('explore.css')}</style></head>\n<body>\n"
    yield BODY.format(title=title, about=escape(_about(of)))
    yield f'<script type="application/json" id="facts">{_inert(facts)}</script>\n'
    yield from (f"<script>\n{asset(name)}</script>\n" for name in SCRIPTS)
    yield "</body></html>\n"


def _about(of: Exploration) -> str:
    machine = of.machine
    threads = f"{machine.threads} thread{'s' if machine.threads > 1 else ''}"
    kernels = f"{len(of.kernels)} kernel{'' if len(of.kernels) == 1 else 's'}"
    return f"{kernels}, {of.plan.peak_bytes:,} bytes of arena; {machine.target.cpu}, {threads}"


def _inert(facts: str) -> str:
    """JSON that ends no element of HTML: it has no < and no & left."""
    return facts.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def asset(name: str) -> str:
    """The text of a file of the page."""
    return (files("gradir.explore") / "assets" / name).read_text(encoding="utf-8")
