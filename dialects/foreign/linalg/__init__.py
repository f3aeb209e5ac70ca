"""linalg on tensors: xDSL's ops and those that it lacks, as ops that gradir differentiates.

`Linalg` is the dialect, `TmTensor` what torch-mlir has beside it. They are imported where text has
an op of them (`gradir/builtin.py`).
"""

from xdsl.dialects.linalg import Linalg as Theirs
from xdsl.ir import Dialect

from gradir.dialects.foreign.linalg.named import op_classes
from gradir.dialects.foreign.linalg.rules import register
from gradir.dialects.foreign.linalg.text import GenericOp, RunningOp, TmTensor

_THEIRS = [op for op in Theirs.operations if op.name != GenericOp.name]
_OURS = [GenericOp, *op_classes(frozenset(op.name for op in _THEIRS))]
register([*_THEIRS, *_OURS, RunningOp])

Linalg = Dialect("linalg", [*_THEIRS, *_OURS], list(Theirs.attributes))

__all__ = ["Linalg", "TmTensor"]
