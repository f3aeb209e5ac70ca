"""Errors that code finds in its data, as text: the record that they are left in."""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_INDEX
from gradir.codegen.text.writer import FunctionWriter


def report_error(
    f: FunctionWriter,
    error: str,
    wrong: str,
    message: str,
    index: Callable[[], str],
    bound: int,
) -> None:
    """Store code, index and bound in the record at `error` if `wrong`, an i1, and none was yet.

    `index` gives the name of the index, and writes it where it is wrong.
    """
    with f.when(f.call("i1", "@llvm.expect.i1", f"i1 {wrong}, i1 false"), "outside"):
        found, code = index(), f.needs.message_code(message)
        pair = f.emit(f"cmpxchg ptr {error}, i64 0, i64 {code} monotonic monotonic")
        with f.when(f.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"), "report"):
            f.store("i64", 1, f.address("i64", error, ERROR_INDEX), found)
            f.store("i64", 1, f.address("i64", error, ERROR_BOUND), str(bound))
