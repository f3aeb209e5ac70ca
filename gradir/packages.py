"""Optional packages: modules that an extra of gradir installs, or an error that names it."""

import os
from importlib import import_module
from typing import Any

from gradir.errors import GradirError


class MissingPackage(GradirError, ImportError):
    """A package that an extra of gradir installs is not there."""


def package(name: str, extra: str, room: str = "interop") -> Any:
    """A module of an optional package; MissingPackage, which names the extra, without it.

    `room` is the part of gradir that needs it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # it is there, and lacks something itself
        raise MissingPackage(
            f"gradir.{room}.{extra} needs the package {error.name}: pip install 'gradir[{extra}]'"
        ) from None


def folder_of(module: Any) -> str:
    """The folder of a package, with a separator at its end."""
    return os.path.join(os.path.dirname(module.__file__), "")
