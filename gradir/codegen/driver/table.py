"""The words of the table that a program is handed, as the walk of its function asks for them."""

from __future__ import annotations

from gradir.codegen.text.table import TABLE_ARGUMENTS
from gradir.codegen.text.writer import FunctionWriter


class TableWords:
    """Hands out words of the table, and pointers to them that the whole driver can use."""

    def __init__(self, text: FunctionWriter):
        self.text = text
        self.count = TABLE_ARGUMENTS
        self._pointers: dict[int, str] = {}

    def take(self, count: int = 1) -> int:
        """The number of the first of `count` words that nothing else uses."""
        first = self.count
        self.count += count
        return first

    def pointer(self, word: int) -> str:
        if word not in self._pointers:
            with self.text.early():
                self._pointers[word] = self.text.address("i64", "%table", word)
        return self._pointers[word]

    def new_part(self) -> None:
        """Code written next is in another function, which has no pointers yet."""
        self._pointers.clear()
