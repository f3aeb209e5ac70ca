"""What became of a case: fine, refused, or a fault with a key that equal faults share."""

from __future__ import annotations

import re
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gradir.errors import GradirError, ParseError, PassError, VerifyError

ROOT = Path(__file__).parents[2]
FOLDERS = ("dialects", "passes", "gradir", "tools")


@dataclass(frozen=True)
class Outcome:
    """`key` names the kind of a fault, the same before and after shrinking; `done` are the checks
    that a case went through."""

    kind: Literal["fine", "refused", "fault"]
    key: str = ""
    detail: str = ""
    done: tuple[str, ...] = ()


class Broken(Exception):
    """A promise that does not hold: which one, and how far off it is."""

    def __init__(self, promise: str, detail: str):
        super().__init__(f"{promise}: {detail}")
        self.promise = promise
        self.detail = detail


class TimeUp(BaseException):
    """A case has used up its time; no `except Exception` may swallow that."""


@contextmanager
def must_work(step: str) -> Generator[None]:
    """A refusal inside is a fault: the program was accepted before, or is valid by construction."""
    try:
        yield
    except GradirError as error:
        raise Broken(f"{step} refused", f"{type(error).__name__}: {error}") from error


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of a case that ended with an exception."""
    detail = "".join(traceback.format_exception(error, limit=-12))
    match error:
        case Broken():
            return Outcome("fault", _broken_key(error), f"{error}\n\n{detail}")
        case TimeUp():
            return Outcome("fault", f"hang {innermost(error)}", detail)
        case ParseError() | VerifyError() | PassError() if _has_no_place(error):
            key = f"no place {type(error).__name__} {_plain(str(error))}"
            return Outcome("fault", key, detail)
        case GradirError() | MemoryError():
            return Outcome("refused", type(error).__name__, str(error))
        case _:
            return Outcome("fault", f"{type(error).__name__} {innermost(error)}", detail)


def innermost(error: BaseException) -> str:
    """Where in gradir an exception comes from: `file:function`; edits move lines."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            return f"{'/'.join(path.relative_to(ROOT).parts)}:{frame.name}"
    return "outside"


def _has_no_place(error: GradirError) -> bool:
    return error.diagnostic is None or error.diagnostic.file is None


def _broken_key(error: Broken) -> str:
    """Of a refusal also the message's form: another op's message is another fault."""
    return f"{error.promise} {_plain(error.detail)}" if "refuse" in error.promise else error.promise


def _plain(message: str) -> str:
    """A message without what differs from program to program."""
    line = message.partition("\n")[0]
    line = re.sub(r"^\w+: ", "", line)
    line = re.sub(r"\S*:\d+:\d+: ", "", line)
    line = re.sub(r"^error: (\S+: )?", "", line)
    return re.sub(r"[%@]\w+|'[^']*'|\d+", "_", line)[:80]
