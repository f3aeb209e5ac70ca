"""Draw what train.c prints: loss and held-out accuracy by epoch.

./train digits.bin | .venv/bin/python examples/ahead_of_time/draw.py digits_c.svg
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gradir.frontends.training.chart import Curve, Panel, chart

EPOCH = re.compile(r"epoch +(\d+)  loss (\S+)  accuracy (\S+)")


def main(picture: Path) -> None:
    """Read the lines of the program, print them, and write the picture."""
    losses: list[tuple[float, float]] = []
    accuracies: list[tuple[float, float]] = []
    for line in sys.stdin:
        print(line, end="")
        if found := EPOCH.match(line):
            epoch, loss, accuracy = map(float, found.groups())
            losses.append((epoch, loss))
            accuracies.append((epoch, accuracy))
    if not losses:
        sys.exit("no epoch was read: pipe the output of train into this program")
    panels = [
        Panel("Loss", [Curve("", losses)]),
        Panel("Held-out accuracy", [Curve("", accuracies)]),
    ]
    picture.write_text(chart(panels, "epoch"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "digits_c.svg"))
