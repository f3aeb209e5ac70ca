"""gradir.debug: print and check values of traced functions while their programs run, and explain
where numbers that are not finite come from."""

from typing import TYPE_CHECKING

from gradir.explain.explanation import Explanation
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.transforms.debug import check_nan, print
from gradir.frontends.transforms.explain import explain
from gradir.validation.report import reports as validations

__all__ = ["Explanation", "check_nan", "explain", "print", "validations"]

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.debug", {})
