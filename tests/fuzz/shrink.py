"""Makes a case that fails smaller, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from fuzz.outcome import Outcome

Subject = TypeVar("Subject")


def shrink(
    subject: Subject,
    key: str,
    smaller: Callable[[Subject], Iterable[Subject]],
    outcome: Callable[[Subject], Outcome],
    tries: int = 1000,
    seconds: float = 90,
) -> Subject:
    """The smallest subject found whose outcome has the key.

    A candidate that fails too takes the place of the subject at once, and the candidates of that
    one go on from the same place; it ends when none of all candidates does.
    """
    tried, start, end, seen = 0, 0, time.monotonic() + seconds, {subject}
    while True:
        for at, candidate in enumerate(smaller(subject)):
            if at < start or candidate in seen:
                continue
            if tried >= tries or time.monotonic() > end:
                return subject
            seen.add(candidate)
            tried += 1
            if outcome(candidate).key == key:
                subject, start = candidate, at
                break
        else:
            if start == 0:
                return subject
            start = 0
