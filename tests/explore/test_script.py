"""The page's script: its functions on plain data in Node, and the whole page in Chromium.

Both are left out where they are not installed: Debian's `nodejs` and `chromium`, and playwright.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explore.programs import DEEP_SPECS, HOSTILE, deep, facts_of

import gradir
from gradir.explore.page import SCRIPTS, asset
from gradir.explore.page import __file__ as page_file

ASSETS = Path(page_file).parent / "assets"
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

in_node = pytest.mark.skipif(NODE is None, reason="needs Node")
in_browser = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None, reason="needs chromium and playwright"
)


def evaluated(expression: str) -> Any:
    """The value of an expression in JavaScript that may use model.js."""
    model = json.dumps(str(ASSETS / "model.js"))
    program = f"const m = require({model}); console.log(JSON.stringify({expression}))"
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@in_node
@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("abc", "abc", [[0, 0], [1, 1], [2, 2]]),
        ("abc", "axc", [[0, 0], [1, 1], [2, 2]]),
        ("abc", "ac", [[0, 0], [1, -1], [2, 1]]),
        ("", "ab", [[-1, 0], [-1, 1]]),
        ("ab", "", [[0, -1], [1, -1]]),
        ("abcde", "xbydz", [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]]),
    ],
)
def test_rows_of_differences(left: str, right: str, rows: list[list[int]]) -> None:
    assert evaluated(f"m.alignedRows([...{left!r}], [...{right!r}])") == rows


@in_node
def test_rows_hold_every_line_once() -> None:
    """Also of texts that differ in too many lines to compare, and with the longest common part."""
    draw = np.random.default_rng(0)
    cases = [
        [list(map(str, draw.integers(0, 4, n))) for n in draw.integers(0, 30, 2)] for _ in range(60)
    ]
    cases.append([[f"a{k}" for k in range(900)], [f"b{k}" for k in range(800)]])
    found = evaluated(f"{json.dumps(cases)}.map(([a, b]) => m.alignedRows(a, b))")
    for (left, right), rows in zip(cases, found, strict=True):
        assert [a for a, _ in rows if a >= 0] == list(range(len(left)))
        assert [b for _, b in rows if b >= 0] == list(range(len(right)))
        equal = sum(a >= 0 and b >= 0 and left[a] == right[b] for a, b in rows)
        assert equal >= longest_common(left, right)


def longest_common(left: list[str], right: list[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(right) + 1)
    for a in left:
        before = row[:]
        for k, b in enumerate(right):
            row[k + 1] = before[k] + 1 if a == b else max(before[k + 1], row[k])
    return row[-1]


@in_node
def test_relatives_go_both_ways() -> None:
    facts = '{"texts": [0, 0, 0], "links": [[[0], [0, 1], []], [[1], []]]}'
    said = f"m.relatives({facts}, 1, 0).map((s) => [...s].sort())"
    assert evaluated(said) == [[0, 1], [0], [1]]


@in_node
def test_numbers_as_text() -> None:
    assert evaluated("[m.bytesText(12), m.bytesText(1536), m.bytesText(3 << 20)]") == [
        *("12 bytes", "1.50 KiB", "3.00 MiB"),
    ]
    plan = {"steps": 4, "buffers": [["a", 0, 8, 0, 1], ["b", 8, 4, 1, 3]]}
    assert evaluated(f"m.aliveBytes({json.dumps(plan)})") == [8, 12, 4, 4]


@in_node
def test_scripts_are_strict_and_put_no_html() -> None:
    for name in SCRIPTS:
        text = asset(name)
        assert '"use strict";' in text
        assert not any(
            word in text for word in ("innerHTML", "outerHTML", "eval(", "document.write")
        )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


class Opened:
    """A page in the browser, with the errors of its script and the addresses that it asks for."""

    def __init__(self, browser: Any, file: Path, scheme: str = "light"):
        self.page = browser.new_page(viewport={"width": 1440, "height": 860}, color_scheme=scheme)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append("dialog"))
        self.page.on("console", lambda said: self.errors.append(said.text))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def open(self, view: str) -> None:
        self.page.locator("nav button", has_text=view).click()


@in_browser
def test_clicks_in_a_browser(browser: Any, tmp_path: Path) -> None:
    arrays = [np.ones(spec.shape, np.float32) / 64 for spec in DEEP_SPECS]
    explored = gradir.jit(gradir.value_and_grad(deep)).explore(*arrays)
    facts, file = facts_of(explored), tmp_path / "page.html"
    explored.save(file)
    opened = Opened(browser, file)
    page = opened.page
    page.locator(".value", has_text="%error").first.click()
    assert page.locator(".source .pinned").inner_text().endswith("error = gnp.sum(h, axis=1) - y")
    assert page.locator(".trail li").count() == len(facts["texts"])
    page.locator(".trail .stage", has_text="fuse").click()
    assert page.locator(".texts thead th").last.inner_text() == "gradir-fuse"
    assert page.locator(".texts .value.pinned").count() > 0
    page.keyboard.press("ArrowRight")
    assert page.locator(".texts thead th").last.inner_text() != "gradir-fuse"
    page.keyboard.press("Escape")
    assert page.locator(".pinned").count() == 0 and page.locator(".trail").is_hidden()
    opened.open("Memory")
    plan, smallest = facts["memory"]["plan"], facts["memory"]["limited"][-1]
    assert page.locator("rect.buffer").count() == len(plan["buffers"])
    page.locator("input[type=range]").fill(str(len(facts["memory"]["limited"])))
    assert page.locator("rect.buffer").count() == len(smallest["buffers"])
    assert page.locator("rect.recomputed").count() > 0
    page.locator("input[type=range]").fill("0")
    page.locator("rect.buffer").first.click()
    assert page.locator(".texts .value.pinned").count() > 0
    opened.open("Time")
    page.locator("tr.link").first.click()
    assert page.locator("#code .pane").count() == 2
    assert opened.errors == [] and opened.asked == [file.as_uri()]


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_hostile_program_in_a_browser(browser: Any, tmp_path: Path, scheme: str) -> None:
    module = gradir.parse(HOSTILE, "<b onclick=alert(3)>.mlir")
    file = tmp_path / "page.html"
    module.explore().save(file)
    opened = Opened(browser, file, scheme)
    for view in ("Memory", "Time", "Code", "Stages"):
        opened.open(view)
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("h1").inner_text() == f"@{module.functions[0]}"
    assert opened.page.title() == f"@{module.functions[0]} - gradir"
    assert opened.errors == [] and opened.asked == [file.as_uri()]


@in_browser
def test_the_frame_of_a_notebook(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(gradir.parse(HOSTILE).explore()._repr_html_())
    opened = Opened(browser, file)
    frame = opened.page.frame_locator("iframe")
    frame.locator("nav button", has_text="Code").click()
    assert frame.locator(".kernel").count() == 2
    assert opened.errors == []
