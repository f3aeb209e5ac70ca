"""What is said of a program that takes long to trace and compile: its length and its longest line.

Most such programs are loops of Python, which make ops in each iteration. The message is of the
logger "gradir", once for each program.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from gradir.dialects.base.diagnostics import file_location

SECONDS = 5.0
"""How long a program may take before something is said."""

FEWEST_OPS = 1000
"""Shorter programs are not loops of Python."""

LEAST_REPEATED = 64
"""The ops of one line from which on it may be in a loop."""


class _Traced(threading.local):
    """The seconds that this thread traced the program that it compiles next."""

    seconds: float = 0.0


_traced = _Traced()


@contextmanager
def tracing_time() -> Generator[None]:
    """A context in which a program is traced that is compiled next."""
    start = time.perf_counter()
    try:
        yield
    finally:
        _traced.seconds = time.perf_counter() - start


@contextmanager
def telling(module: ModuleOp, function: str) -> Generator[None]:
    """A context in which a program is compiled: its length is told if it takes long."""
    spent, _traced.seconds = _traced.seconds, 0.0
    places = [op.location for op in module.walk()]
    if len(places) < FEWEST_OPS:
        yield
        return

    def tell() -> None:
        lines = Counter(
            f"{place.filename.data}:{place.line.data}"
            for place in map(file_location, places)
            if place
        )
        import logging

        logging.getLogger("gradir").warning(message(function, len(places), lines))

    timer = threading.Timer(max(SECONDS - spent, 0.0), tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def message(function: str, count: int, lines: Counter[str]) -> str:
    """How long a program is, and the line with most of its ops."""
    said = f"@{function} takes more than {SECONDS:g} s to trace and compile: it has {count:,} ops"
    line, most = lines.most_common(1)[0] if lines else ("", 0)
    if most < LEAST_REPEATED:
        return said
    return (
        f"{said}, {most:,} of them of {line}. A loop of Python has its ops anew in each iteration; "
        "gradir.scan, fori_loop and while_loop have them once"
    )
