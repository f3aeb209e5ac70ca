"""gradir.debug: print and check values of traced functions while their programs run."""

from gradir.frontends.transforms.debug import check_nan, print

__all__ = ["check_nan", "print"]
