"""The packages that an installation declares in its metadata, and the ranges of their versions.

It reads the part of the standard (PEP 508) that pyproject.toml uses, without a package of its own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Version = tuple[int, ...]

COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_OPERATORS = r"~=|==|!=|<=|>=|<|>"
_LINE = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?P<ranges>[^;\[]*?)\s*(?:;\s*(?P<marker>.*?)\s*)?")
_RANGE = re.compile(rf"\s*({_OPERATORS})\s*([\w.+!]+)\s*")
_CONDITION = re.compile(rf"\s*(python_version|extra)\s*({_OPERATORS})\s*(['\"])(.*?)\3\s*")


@dataclass(frozen=True)
class Requirement:
    """A package and the versions of it that are taken, all of them together."""

    name: str
    ranges: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return self.name + ",".join(f"{sign}{version}" for sign, version in self.ranges)

    def allows(self, version: str) -> bool:
        """Whether a version is in the ranges."""
        return all(_fits(version, sign, bound) for sign, bound in self.ranges)

    @property
    def oldest(self) -> str | None:
        """The lowest version that is taken; None where no bound says it."""
        bounds = [bound for sign, bound in self.ranges if sign in (">=", "~=", "==")]
        return max(bounds, key=release_of, default=None)


def requirements_of(lines: Iterable[str], python: str, extra: str = "") -> list[Requirement]:
    """The requirements that hold for a version of Python such as `3.11`, of an extra or of none.

    ValueError for a line in a form that pyproject.toml does not use.
    """
    found: list[Requirement] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"requirement: a name, versions and a marker expected, got {line!r}")
        values = {"python_version": python, "extra": extra}
        named = "extra" in (match["marker"] or "")
        if named == bool(extra) and _holds(match["marker"], values):
            found.append(Requirement(match["name"], _ranges(match["ranges"])))
    return found


def extras_of(lines: Iterable[str]) -> list[str]:
    """The names of the extras that requirements belong to, in order."""
    found = [match[1] for line in lines for match in re.finditer(r"extra == ['\"](.*?)['\"]", line)]
    return list(dict.fromkeys(found))


def release_of(version: str) -> Version:
    """The numbers of a version, without zeros at the end: `2.13.0+cpu` is (2, 13)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    if match is None:
        raise ValueError(f"version: numbers and dots expected, got {version!r}")
    numbers = [int(number) for number in match[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _fits(version: str, sign: str, bound: str) -> bool:
    if sign != "~=":
        return COMPARISONS[sign](release_of(version), release_of(bound))
    kept = len(bound.split(".")) - 1  # ~=0.74.0 is >=0.74.0,==0.74.*
    numbers = (*release_of(version), *(0,) * kept)
    same = numbers[:kept] == tuple(int(number) for number in bound.split(".")[:kept])
    return same and release_of(version) >= release_of(bound)


def _ranges(text: str) -> tuple[tuple[str, str], ...]:
    parts = [part for part in text.strip("() ").split(",") if part.strip()]
    found = [_RANGE.fullmatch(part) for part in parts]
    if None in found:
        raise ValueError(f"requirement: comparisons of versions expected, got {text!r}")
    return tuple((match[1], match[2]) for match in found if match is not None)


def _holds(marker: str | None, values: dict[str, str]) -> bool:
    """Whether a marker holds: conditions joined by `and`."""
    for condition in (marker or "").split(" and "):
        if not condition.strip():
            continue
        match = _CONDITION.fullmatch(condition.strip("() "))
        if match is None:
            raise ValueError(f"marker: python_version or extra expected, got {marker!r}")
        name, sign, _, bound = match.groups()
        if name == "extra":
            if (values[name] == bound) != (sign == "=="):
                return False
        elif not _fits(values[name], sign, bound):
            return False
    return True
