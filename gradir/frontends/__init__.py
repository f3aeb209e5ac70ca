"""Programs from Python functions. Loading it registers the operators of traced arrays."""

from gradir.gc_pause import lasting_objects

with lasting_objects():
    from gradir.frontends.functions import numpy
    from gradir.frontends.transforms.numpy_loops import BY_NAME

__all__ = ["numpy"]

numpy.register(BY_NAME)
