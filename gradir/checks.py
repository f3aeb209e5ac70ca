"""The checks that environment variables ask for: read when code is made or loaded, not in calls."""

from __future__ import annotations

import os

from gradir.errors import ArgumentError

NAN_VARIABLE = "GRADIR_NAN"
"""`raise`: calls whose results are not finite raise NonFiniteError."""

VALIDATE_VARIABLE = "GRADIR_VALIDATE"
"""`1`: compilations are held against the interpreter, stage by stage."""

_ON = {NAN_VARIABLE: "raise", VALIDATE_VARIABLE: "1"}
VARIABLES = tuple(_ON)


def is_asked_for(variable: str) -> bool:
    """Whether a check is on; ArgumentError for an unknown setting."""
    setting = os.environ.get(variable, "")
    if setting in ("", "0"):
        return False
    if setting != _ON[variable]:
        raise ArgumentError(f"{variable}: expected {_ON[variable]}, or nothing, got {setting!r}")
    return True
