"""Programs that the tests of pages explore, and how the facts of a page are read back."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import gradir
import gradir.numpy as gnp
from gradir.explore.page import ExplorerPage

LAYER = """\
func.func @layer(%x: tensor<8x3xf32>, %w: tensor<3x2xf32>) -> tensor<f32> {
  %z = array.matmul %x, %w : tensor<8x3xf32>, tensor<3x2xf32> -> tensor<8x2xf32>
  %y = array.tanh %z : tensor<8x2xf32>
  %l = array.sum %y : tensor<8x2xf32> -> tensor<f32>
  func.return %l : tensor<f32>
}
"""

HOSTILE = """\
func.func @"</script><img src=x onerror=alert(1)><!--"(%x: tensor<3xf64>) -> tensor<3xf64>
    attributes {note = "</script><script>alert(2)</script>"} {
  %y = array.tanh %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
"""


def deep(w: Any, x: Any, y: Any) -> Any:
    """A loss whose gradient has something to recompute."""
    h = x
    for _ in range(6):
        h = gnp.tanh(h @ w)
    error = gnp.sum(h, axis=1) - y
    return gnp.mean(error * error)


DEEP_SPECS = tuple(gradir.Spec(shape, "float32") for shape in ((64, 64), (256, 64), (256,)))


class _Elements(HTMLParser):
    """The elements of a page, and the text of the one with the facts."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[str] = []
        self.facts = ""
        self.addresses: list[str] = []
        self._in_facts = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.kinds.append(tag)
        self.addresses += [name for name, _ in attrs if name in ("src", "href")]
        self._in_facts = ("id", "facts") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._in_facts = False

    def handle_data(self, data: str) -> None:
        self.facts += data if self._in_facts else ""


def read_page(html: str) -> tuple[list[str], Any]:
    """The kinds of a page's elements, and its facts."""
    reader = _Elements()
    reader.feed(html)
    return reader.kinds, json.loads(reader.facts)


def facts_of(page: ExplorerPage) -> Any:
    return read_page(page.html)[1]


def stage_text(facts: Any, name: str) -> str:
    """The text after the last stage of a name."""
    number = [text for stage, text, _ in facts["stages"] if stage == name][-1]
    return "\n".join(facts["texts"][number]["lines"])


def values_named(facts: Any, text: int, name: str) -> set[int]:
    """The numbers of the values that a text calls `%name`."""
    of = facts["texts"][text]
    tokens = [of["tokens"][k : k + 4] for k in range(0, len(of["tokens"]), 4)]
    return {
        v for line, at, length, v in tokens if of["lines"][line][at : at + length] == f"%{name}"
    }


def outside_addresses(html: str) -> list[str]:
    """What a page would load from elsewhere; the name of SVG's namespace is no address."""
    reader = _Elements()
    reader.feed(html)
    found = reader.addresses + re.findall(r"""https?://[^\s"'<)]+""", html)
    return [address for address in found if address != "http://www.w3.org/2000/svg"]
