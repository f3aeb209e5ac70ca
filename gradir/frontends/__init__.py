"""Programs from Python functions. Loading it registers what the operators of traced arrays call."""

from gradir.frontends.functions import numpy

__all__ = ["numpy"]
