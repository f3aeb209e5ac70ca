"""Locations in text, in all forms that MLIR prints: behind the ops, of ranges, with metadata.

With `--mlir-print-debuginfo` MLIR writes `loc(#loc3)` at an op, and `#loc3 = loc(...)` behind all.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, LocationAttr, NoneAttr
from xdsl.parser import Parser

_ALIAS = re.compile(r"^#[\w$.]+ = loc\(", re.MULTILINE)
_USE = "loc(#"


class LocationParser(Parser):
    """xDSL's parser, and the locations that it does not read."""

    def parse_location_aliases(self) -> None:
        """Parse the aliases of locations before the ops, which may stand before them."""
        self._alias_ends: dict[int, int] = {}
        text = self.lexer.input.content
        if _USE not in text:
            return
        start = self._current_token.span.start
        for match in _ALIAS.finditer(text):
            self._resume_from(match.start())
            self._parse_alias_def()
            self._alias_ends[match.start()] = self._current_token.span.start
        self._resume_from(start)

    def skip_location_alias(self) -> bool:
        """Go on behind an alias that was parsed before; false at everything else."""
        end = self._alias_ends.get(self._current_token.span.start)
        if end is not None:
            self._resume_from(end)
        return end is not None

    def _parse_location(self) -> LocationAttr:
        if self._current_token.text == "fused":
            return self._parse_fused()
        location = super()._parse_location()
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to"):
            # the end of a range, `to :21` or `to 5:21`; a place is where it begins
            self.parse_optional_integer(False, False)
            self.parse_punctuation(":")
            self.parse_integer(False, False)
        return location

    def _parse_fused(self) -> FusedLoc:
        self.parse_keyword("fused")
        metadata = None
        if self.parse_optional_punctuation("<"):
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(parts), metadata or NoneAttr())
