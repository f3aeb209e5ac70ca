"""Classes of ops and dataclasses that are made in a fraction of the time, while modules load."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gradir.dialects.base.lazy_formats import lazy_formats
from gradir.dialects.base.quick_dataclasses import quick_dataclasses


@contextmanager
def quick_classes() -> Generator[None]:
    """Formats of ops are read, and methods of dataclasses compiled, at their first use."""
    with quick_dataclasses(), lazy_formats():
        yield
