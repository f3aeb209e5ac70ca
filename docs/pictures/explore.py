"""Take the pictures of docs/explore.md in Chromium: the page on the gradient of a small network.

It needs Debian's `chromium`, and playwright (`pip install playwright`).
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import gradir

HERE = Path(__file__).parent


NETWORK = """\
import gradir.numpy as gnp


def loss(w, x, y):
    hidden = x
    for _ in range(6):
        hidden = gnp.tanh(hidden @ w)
    error = gnp.sum(hidden, axis=1) - y
    return gnp.mean(error * error)
"""


def main() -> None:
    draw = np.random.default_rng(0)
    shapes = ((64, 64), (256, 64), (256,))
    arrays = [draw.standard_normal(shape).astype(np.float32) / 8 for shape in shapes]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file, network = Path(folder) / "page.html", Path(folder) / "network.py"
        network.write_text(NETWORK)
        loss = runpy.run_path(str(network))["loss"]
        gradir.jit(gradir.value_and_grad(loss)).explore(*arrays).save(file)
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1180, "height": 600})
        page.goto(file.as_uri())
        page.locator(".value", has_text="%error").first.click()
        page.locator(".chip", has_text="fuse").click()
        page.screenshot(path=HERE / "explore_stages.png")
        page.locator("nav button", has_text="Memory").click()
        page.locator("input[type=range]").fill("2")
        page.locator("rect.recomputed").first.hover()
        page.screenshot(path=HERE / "explore_memory.png")
        browser.close()


if __name__ == "__main__":
    main()
