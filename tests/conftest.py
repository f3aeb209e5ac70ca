"""What holds for all tests: they compile, look for garbage seldom; some are slow."""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import durations
import kept_objects
import pytest

from gradir.runtime import llvm, native_call

# IR is made of cycles. Between tests it is garbage; within them most of it is in use, and Python's
# looks for garbage, after every 700 objects by default, were a fifth of the time of long programs.
gc.set_threshold(3_000_000)
OBJECTS_BETWEEN_TESTS = 1_000_000

# Tests test the compiler; tests of the cache turn it on, in folders of their own. By GRADIR_CACHE=1
# and a folder in GRADIR_CACHE_DIR, all test code that an earlier run has kept.
os.environ.setdefault("GRADIR_CACHE", "0")
# The code under test is the one that runs for long. Tests of the quick code before it ask for it.
os.environ.setdefault("GRADIR_TIERS", "0")


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are native from the first one on, not after the process has made some by Python."""
    monkeypatch.setattr(native_call, "PYTHON_CALLS", 0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-durations",
        action="store_true",
        help=f"write {durations.FILE.name}: how long each test function takes",
    )


def pytest_configure(config: pytest.Config) -> None:
    # The processes of pytest-xdist hand their reports to the first one, which writes the file.
    if hasattr(config, "workerinput"):
        return
    kept_objects.drop_if_large()
    if config.getoption("--write-durations"):
        config.pluginmanager.register(DurationsWriter())


@pytest.fixture(scope="session", autouse=True)
def _kept_objects() -> Generator[None]:
    kept = kept_objects.begin()
    yield
    if kept is not None:
        kept_objects.end(kept)


@pytest.fixture
def llvm_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM compiles all modules, also those that an earlier run has kept."""
    monkeypatch.setattr(llvm._Worker, "compile", kept_objects.compile_by_llvm)


# Before pytest looks at the marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    stored = durations.parse(durations.FILE.read_text(encoding="utf-8"))
    slow = durations.slow_tests((item.nodeid for item in items), stored)
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    # What is loaded by now stays: a third of the time for garbage went into looking at it again.
    keep_what_is_left()


def keep_what_is_left() -> None:
    """Free what is garbage now. The rest stays, in caches for most part: a test that looks for
    garbage itself, which took seconds after thousands of others, looks at what it made."""
    gc.collect()
    gc.freeze()


# How long a test takes: the time of a core, with processes that have ended, which is the same on a
# busy machine; or half of the time that passes, where a test waits.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[BEGUN] = os.times()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    try:
        yield
    finally:
        passed = [now - begun for now, begun in zip(os.times(), item.stash[BEGUN], strict=True)]
        item.user_properties.append((SECONDS, max(sum(passed[:4]), passed[4] / 2)))
        stop_timers()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    yield
    if gc.get_count()[0] > OBJECTS_BETWEEN_TESTS:
        keep_what_is_left()


def stop_timers() -> None:
    """A timer that a test leaves behind would end the process later, without a word."""
    left = [t for t in (signal.ITIMER_PROF, signal.ITIMER_REAL) if signal.getitimer(t)[0]]
    for timer in left:
        signal.setitimer(timer, 0)
    assert not left, "the test has left a timer that goes on"


BEGUN = pytest.StashKey[os.times_result]()
SECONDS = "seconds"


class DurationsWriter:
    """Notes the time of each test's setup and call."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            found: Any = dict(report.user_properties)[SECONDS]
            self.seconds[report.nodeid] = found

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            stored = durations.parse(durations.FILE.read_text(encoding="utf-8"))
            text = durations.text_of(self.seconds, stored)
            durations.FILE.write_text(text, encoding="utf-8")
