"""Refusals about values of arguments that are Python numbers: they may choose the program."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gradir.diagnostics import render
from gradir.errors import GradirError
from gradir.frontends.tracing.source_locations import SOURCES
from gradir.frontends.tracing.tracing import is_number

_ASKS = re.compile("no value yet|known while tracing|expected (a sequence of )?integers?|integers")
"""What messages say where a value decides what a program is."""


@contextmanager
def naming_static(leaves: Sequence[object], names: Sequence[str]) -> Generator[None]:
    """A context in which refusals of values name gradir.jit's option for arguments to have them."""
    asked = [
        name
        for leaf, name in zip(leaves, names, strict=True)
        if is_number(leaf) and not isinstance(leaf, float) and name.isidentifier()
    ]
    try:
        yield
    except TypeError as error:
        if not asked or not _ASKS.search(str(error)):
            raise
        given = repr(asked[0] if len(asked) == 1 else asked)
        way_out = (
            f"if {' or '.join(asked)} may choose the program, which is then compiled for each "
            f"value: gradir.jit(f, static_argnames={given})"
        )
        found = error.diagnostic if isinstance(error, GradirError) else None
        if found is None:
            error.add_note(way_out)
            raise
        told = replace(found, message=f"{found.message}; {way_out}")
        raise type(error)(render(told, SOURCES), told) from None
