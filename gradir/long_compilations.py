"""What is said of a program that takes long to trace or compile: its length and its longest line.

Most such programs are loops of Python, which make ops in each iteration. The message is of the
logger "gradir", once for each program.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block

from gradir.dialects.base.diagnostics import file_location

SECONDS = 5.0
"""How long a program may take before something is said."""

FEWEST_OPS = 1000
"""Shorter programs are not loops of Python."""

LEAST_REPEATED = 64
"""The ops of one line from which on it may be in a loop."""


OPS_BETWEEN_LOOKS = 1024
"""How many ops a trace has between two looks at the clock; a power of 2."""


class _Tracing(threading.local):
    """When this thread began to trace, how long it traced the program that it compiles next, and
    whether something was said of it."""

    since: float | None = None
    seconds: float = 0.0
    is_told: bool = False


_tracing = _Tracing()


@contextmanager
def tracing_time() -> Generator[None]:
    """A context in which a program is traced that is compiled next."""
    outer, start = _tracing.since, time.perf_counter()
    if outer is None:
        _tracing.since, _tracing.is_told = start, False
    try:
        yield
    finally:
        _tracing.since, _tracing.seconds = outer, time.perf_counter() - start


def tell_while_tracing(name: str, blocks: Iterable[Block]) -> None:
    """Tell the length of a function under construction, if its trace has taken long."""
    since = _tracing.since
    if since is None or _tracing.is_told or time.perf_counter() - since < SECONDS:
        return
    _tracing.is_told = True
    told = f"@{name} has been traced for more than {SECONDS:g} s, and has so far"
    _tell(told, [op.location for block in blocks for op in block.walk()])


@contextmanager
def telling(module: ModuleOp, function: str) -> Generator[None]:
    """A context in which a program is compiled: its length is told if it takes long."""
    spent, is_told = _tracing.seconds, _tracing.is_told
    _tracing.seconds, _tracing.is_told = 0.0, False
    places = [op.location for op in module.walk()]
    if len(places) < FEWEST_OPS or is_told:
        yield
        return
    told = f"@{function} takes more than {SECONDS:g} s to trace and compile: it has"
    timer = threading.Timer(max(SECONDS - spent, 0.0), _tell, (told, places))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(told: str, places: Sequence[LocationAttr]) -> None:
    import logging

    found = map(file_location, places)
    lines = Counter(f"{place.filename.data}:{place.line.data}" for place in found if place)
    logging.getLogger("gradir").warning(f"{told} {_length(len(places), lines)}")


def _length(count: int, lines: Counter[str]) -> str:
    """The length of a program, and the line with most of its ops."""
    said = f"{count:,} ops"
    line, most = lines.most_common(1)[0] if lines else ("", 0)
    if most < LEAST_REPEATED:
        return said
    return (
        f"{said}, {most:,} of them of {line}. A loop of Python has its ops anew in each iteration; "
        "gradir.scan, fori_loop and while_loop have them once"
    )
