"""Standard output whose reader has gone, or whose disk is full."""

from __future__ import annotations

import os
import sys


def drop_output() -> None:
    """Drop what is still to be written, or Python would complain when it closes the output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
