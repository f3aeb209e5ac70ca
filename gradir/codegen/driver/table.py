"""The words of the table that a program is handed, as the walk of its function asks for them."""

from __future__ import annotations

from gradir.codegen.driver.threads import SharedWork
from gradir.codegen.text.table import TABLE_ARGUMENTS


class TableWords:
    """Hands out words of the table, and pointers to them that the whole driver can use."""

    def __init__(self, work: SharedWork):
        self.work = work
        self.count = TABLE_ARGUMENTS

    def take(self, count: int = 1) -> int:
        """The number of the first of `count` words that nothing else uses."""
        first = self.count
        self.count += count
        return first

    def pointer(self, word: int, hint: str = "v") -> str:
        return self.work.early(f"getelementptr i64, ptr %table, i64 {word}", hint)
