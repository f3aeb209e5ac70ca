"""Programs from Python functions. Loading it registers the operators of traced arrays."""

from gradir.frontends.functions import numpy

__all__ = ["numpy"]
