"""The functions of all array ops by name: `op.split(x, sizes=[1, 2])` makes an array.split.

The functions of gradir.numpy are made of these; those whose op has NumPy's own parameters are
public as they are.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gradir.dialects.array import OPS
from gradir.dialects.array.data_dependent import REFUSED
from gradir.frontends.functions.op_functions import functions_of

OP_FUNCTIONS = functions_of((*OPS, *REFUSED), "gradir.numpy")
op: Any = SimpleNamespace(**OP_FUNCTIONS)
