"""gradir.testing.check_op: all checks of an op, in its cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradir.argument_checks import known_arguments
from gradir.checking import checks
from gradir.checking.case import OpCase
from gradir.checking.random_programs import check_random_programs
from gradir.dialects.base.interfaces import TensorOp
from gradir.errors import ArgumentError
from gradir.plugins import op_class_of, register_op


@known_arguments
def check_op(
    op_class: type[TensorOp],
    cases: Sequence[OpCase | Sequence[Any]],
    programs: int = 3,
    seed: int = 0,
) -> None:
    """Hold an op against what gradir's own ops are held against, in each of its cases.

    A case is a `gradir.testing.OpCase`, or its operands: shapes, which stand for random floats, and
    arrays. Checked are the text, the value against the case's reference, first and second
    derivatives against central differences, forward and backward halves, rows of vmap, whether the
    derivative has derivatives, and native code against the interpreter in all floating types, with
    special numbers and, where the op takes them, integers; then random `programs` around it, chosen
    by `seed`: in loops, branches, stages, rows and calls. An op that is not known yet is
    registered, as by gradir.register_op.

    Raises the first error, an AssertionError or gradir's, with the check and the case in a note.
    """
    try:
        known = op_class_of(op_class.name) is op_class
    except ArgumentError:
        known = False
    if not known:
        register_op(op_class)
    rows = [c if isinstance(c, OpCase) else OpCase(op_class.name, c) for c in cases]
    wrong = next((c for c in rows if c.op != op_class.name), None)
    if wrong is not None or not rows:
        got = "none" if wrong is None else wrong.op
        raise ArgumentError(f"cases: expected cases of {op_class.name}, got {got}")
    for name, check in checks.OF_CASES.items():
        for case in rows:
            _noting(f"check_op: {name} of {case}", lambda check=check, case=case: check(case))
    for name, check in checks.OF_OPS.items():
        _noting(f"check_op: {name} of {op_class.name}", lambda check=check: check(rows))
    _check_programs(rows, programs, seed)


def _check_programs(rows: Sequence[OpCase], programs: int, seed: int) -> None:
    current = ""
    try:
        for current in check_random_programs(rows, programs, seed):  # noqa: B007
            pass
    except Exception as error:
        error.add_note(f"check_op: {current}")
        raise


def _noting(note: str, check: Callable[[], None]) -> None:
    try:
        check()
    except Exception as error:
        error.add_note(note)
        raise
