"""Imports of gradir's modules that come late, in a fraction of the time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gradir.dialects.base.lazy_formats import lazy_formats
from gradir.dialects.base.quick_dataclasses import quick_dataclasses
from gradir.gc_pause import lasting_objects


@contextmanager
def quick_imports() -> Generator[None]:
    """Formats of ops and methods of dataclasses wait for their first use, and the collector for
    the end."""
    with lasting_objects(), quick_dataclasses(), lazy_formats():
        yield
