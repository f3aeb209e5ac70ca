"""gradir.debug: print and check values of traced functions while their programs run, and explain
where numbers that are not finite come from."""

from gradir.explain.explanation import Explanation
from gradir.frontends.transforms.debug import check_nan, print
from gradir.frontends.transforms.explain import explain
from gradir.validation.report import reports as validations

__all__ = ["Explanation", "check_nan", "explain", "print", "validations"]
