"""Modules of tests/support, from which pages of the documentation are made."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@cache
def support(name: str) -> Any:
    """A module of tests/support."""
    folder = str(ROOT / "tests" / "support")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)
