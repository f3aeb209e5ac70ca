"""Refusals of command lines that name the option or the choice that was meant."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from gradir.nearest import nearest

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


def name_nearest(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, whose refusals end in the option or choice that is most like the unknown one."""
    refuse = parser.error

    def error(message: str) -> NoReturn:
        refuse(message + meant_by(parser, message))

    setattr(parser, "error", error)  # noqa: B010 - a method of one object
    return parser


def meant_by(parser: argparse.ArgumentParser, message: str) -> str:
    """The end of argparse's message: "; did you mean --function?", or nothing."""
    choice = _CHOICE.search(message)
    if choice is not None:
        return _ending(nearest(choice[1], [name.strip("' ") for name in choice[2].split(",")]))
    if not message.startswith("unrecognized arguments: "):
        return ""
    given = message.removeprefix("unrecognized arguments: ").split(" ")
    options = [word.partition("=")[0] for word in given if word.startswith("--")]
    known = [o for action in parser._actions for o in action.option_strings if o[:2] == "--"]
    return _ending(nearest(options[0], known) if options else "")


def _ending(name: str) -> str:
    return f"; did you mean {name}?" if name else ""
