"""NumPy as `np`, imported at its first use: compiling needs none of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
else:
    from importlib import import_module

    class _LazyNumpy:
        def __getattr__(self, name):
            # kept, so that the next look finds it without this method
            value = self.__dict__[name] = getattr(import_module("numpy"), name)
            return value

    np = _LazyNumpy()

__all__ = ["np"]
