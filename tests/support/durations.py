"""How long tests take, as tests/durations.txt says, and which of them are slow by that.

`make durations` runs all tests and writes the file; `make durations TESTS=tests/comm` some
files alone, whose lines it writes anew. A line is a test function, or one case of it that is slow
by itself, with the seconds that it takes (conftest.py) and its number of cases; no line: it is
fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "durations.txt"

# What `make check` spends on a test function: the fast tests then take 50 seconds of a core, each
# process 6 to find all tests, and style and types 17.
SECONDS_OF_CHECK = 0.04
# Less is not worth a line.
LEAST_SECONDS = SECONDS_OF_CHECK


class Duration(NamedTuple):
    seconds: float
    cases: int


Durations = Mapping[str, Duration]


def function_of(test: str) -> str:
    """The test without what it is parametrized by: `test_g` of `test_g[case]`."""
    return test.split("[", 1)[0]


def parse(text: str) -> dict[str, Duration]:
    lines = (line.split(maxsplit=2) for line in text.splitlines())
    return {test: Duration(float(seconds), int(cases)) for seconds, cases, test in lines}


def file_of(test: str) -> str:
    """The test's file."""
    return test.split("::", 1)[0]


def text_of(seconds: Mapping[str, float], stored: Durations | None = None) -> str:
    """The file's text, from the seconds that each test took.

    Files without any of these tests have the lines that are stored, while they are there.
    """
    ran = {file_of(test) for test in seconds}
    kept = {
        test: duration
        for test, duration in (stored or {}).items()
        if file_of(test) not in ran and (ROOT / file_of(test)).exists()
    }
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for test, taken in seconds.items():
        cases[function_of(test)].append(taken)
    lines = {test: Duration(s, 1) for test, s in seconds.items() if s >= SECONDS_OF_CHECK}
    lines |= {function: Duration(sum(each), len(each)) for function, each in cases.items()}
    lines |= kept
    return "".join(
        f"{seconds:.2f} {cases} {test}\n"
        for test, (seconds, cases) in sorted(lines.items())
        if seconds >= LEAST_SECONDS
    )


def slow_tests(tests: Iterable[str], stored: Durations) -> set[str]:
    """Cases that take too long by themselves, and those that do so together.

    Of the cases of one function as many are fast as there is time for, spread evenly over them.
    """
    cases: defaultdict[str, list[str]] = defaultdict(list)
    slow: set[str] = set()
    for test in tests:
        by_itself = stored.get(test)
        if by_itself is not None and by_itself.seconds >= SECONDS_OF_CHECK:
            slow.add(test)
        else:
            cases[function_of(test)].append(test)
    own: defaultdict[str, list[float]] = defaultdict(list)
    for test, (seconds, _) in stored.items():
        if test != (function := function_of(test)):
            own[function].append(seconds)
    for function, others in cases.items():
        whole = stored.get(function, Duration(0.0, 1))
        step = _step(_mean_of_others(whole, own[function]), len(others))
        slow.update(test for k, test in enumerate(others) if step == 0 or k % step)
    return slow


def _mean_of_others(whole: Duration, own: Sequence[float]) -> float:
    """The mean seconds of a function's cases that have no line of their own, if there are any."""
    seconds, cases = whole
    if len(own) >= cases:
        return seconds / cases
    return max(seconds - sum(own), 0.0) / (cases - len(own))


def _step(mean: float, count: int) -> int:
    """Every how many cases one is fast; 0: none is."""
    if mean * count <= SECONDS_OF_CHECK:
        return 1
    affordable = int(SECONDS_OF_CHECK / mean)
    return -(-count // affordable) if affordable else 0
