"""The words of the table that a program is handed, as the walk of its function asks for them."""

from __future__ import annotations

from gradir.codegen.driver.threads import SharedWork
from gradir.codegen.text.table import TABLE_ARGUMENTS


class TableWords:
    """Hands out words of the table, and pointers to them that the whole driver can use."""

    def __init__(self, work: SharedWork):
        self.work = work
        self.count = TABLE_ARGUMENTS
        self._pointers: dict[int, str] = {}

    def take(self, count: int = 1) -> int:
        """The number of the first of `count` words that nothing else uses."""
        first = self.count
        self.count += count
        return first

    def pointer(self, word: int, hint: str = "v") -> str:
        if word not in self._pointers:
            instruction = f"getelementptr i64, ptr %table, i64 {word}"
            self._pointers[word] = self.work.early(instruction, hint)
        return self._pointers[word]

    def new_part(self) -> None:
        """What is written next is another function, which has no pointers yet."""
        self._pointers.clear()
