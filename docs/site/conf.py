"""The documentation site (`make site`): Sphinx on the Markdown of README.md, docs/ and others.

The source folder is the project itself, so that links are the files' own; this folder holds what
only the site has. Every warning is an error there: a link to no page or heading, a page in no list.
"""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from gradir import __version__

project = "gradir"
author = "The gradir authors"
version = release = __version__
root_doc = "docs/site/index"
include_patterns = ["*.md", "docs/**", "benchmarks/README.md", "examples/data/README.md"]
exclude_patterns = ["**/__pycache__"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
suppress_warnings = ["misc.highlighting_failure"]  # MLIR and cut texts have no lexer

autosummary_generate = False
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
autodoc_member_order = "alphabetical"
autodoc_default_options = {"members": True, "imported-members": True}

html_theme = "furo"
html_title = f"gradir {release}"
html_copy_source = False
html_show_sourcelink = False


def as_plain_text(
    app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]
) -> None:
    """Show a docstring as it is written: gradir's are plain text, not reStructuredText.

    Blocks with indented lines keep their form, others flow, with code in backticks.
    """
    module = getattr(found, "__module__", None) or getattr(found, "__name__", "")
    if module and not str(module).startswith("gradir"):
        lines[:] = [f"``{module}``'s own."]
        return
    written: list[str] = []
    for block in "\n".join(lines).split("\n\n"):
        if re.search(r"^ ", block, re.MULTILINE):
            written += ["::", "", *(f"    {line}" for line in block.splitlines()), ""]
        elif block.strip():
            written += [*marked(block).splitlines(), ""]
    lines[:] = written


def marked(text: str) -> str:
    """Prose whose only mark is code in backticks."""
    parts = re.split(r"`+([^`]+)`+", text)
    quiet = [re.sub(r"([*_|`\\])", r"\\\1", part) for part in parts[::2]]
    code = [f"\\ ``{' '.join(part.split())}``\\ " for part in parts[1::2]]
    return "".join(a + b for a, b in zip(quiet, [*code, ""], strict=True))


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", as_plain_text)
