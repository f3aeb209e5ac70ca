"""A template for packages that give gradir ops and passes: the dialect `soft`."""

from gradir import op_function
from gradir_softthings.dialect import CenterOp, SoftsignOp

softsign = op_function(SoftsignOp)
center = op_function(CenterOp)

__all__ = ["center", "softsign"]
