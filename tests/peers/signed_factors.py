"""Factors of matrices by a peer, with the signs of ours: LAPACK leaves the choice free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SignedFactors:
    """The factors of a peer's `linalg`; `signs` are those by which its vectors are `like` ours."""

    linalg: Any
    signs: Callable[[Any, Any], Any]

    def eigh(self, a: Any, like: Any) -> Any:
        """Of the symmetric part, as ours."""
        w, v = self.linalg.eigh((a + a.mT) / 2)
        return w, v * self.signs(v, like)

    def svd(self, a: Any, like: Any) -> Any:
        u, s, vh = self.linalg.svd(a, full_matrices=False)
        signs = self.signs(u, like)
        return u * signs, s, vh * signs.mT

    def qr(self, a: Any, like: Any) -> Any:
        q, r = self.linalg.qr(a)
        signs = self.signs(q, like)
        return q * signs, r * signs.mT
