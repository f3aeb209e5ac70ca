"""A process in which cases run, so that one that ends it, or never ends, is only a case."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz.outcome import Outcome, TimeUp, outcome_of

CASE_SECONDS = 100
"""CPU time of a case: neither a busy machine nor a slow one must look like a hang. The longest case
of the suite's takes 33 s where Python is slow."""
DEADLOCK_SECONDS = 400
"""Time after which a process that says nothing is ended."""


class Worker:
    """Runs tasks in a process of its own; the next task after a death gets a new process."""

    def __init__(
        self, case_seconds: float = CASE_SECONDS, silent_seconds: float = DEADLOCK_SECONDS
    ) -> None:
        self.case_seconds = case_seconds
        self.silent_seconds = silent_seconds
        self.process: Any = None
        self.deaths = 0

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function(*arguments)` returns there, or the Outcome of a death or a hang."""
        if self.process is None or not self.process.is_alive():
            self._start()
        self.connection.send((function, arguments))
        try:
            if self.connection.poll(self.silent_seconds):
                return self.connection.recv()
            self.stop()
            return Outcome("fault", "hang without using time", self._last_words())
        except (EOFError, ConnectionResetError):
            return Outcome("fault", f"death by {self._cause()}", self._last_words())

    def _start(self) -> None:
        context = get_context("spawn")
        descriptor, self.log = tempfile.mkstemp(prefix="gradir-fuzz-")
        os.close(descriptor)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.log, self.case_seconds))
        self.process.start()
        theirs.close()

    def _cause(self) -> str:
        """What ended the process."""
        process = self.process
        process.join()
        code = process.exitcode
        self.stop()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _last_words(self) -> str:
        """What the process wrote when it died."""
        text = Path(self.log).read_text(errors="replace")[-4000:]
        Path(self.log).unlink(missing_ok=True)
        return text

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.deaths += 1
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def close(self) -> None:
        """End the process and forget what it wrote."""
        if self.process is not None:
            self.stop()
            Path(self.log).unlink(missing_ok=True)


def _serve(connection: Connection, log: str, case_seconds: float) -> None:
    """Run the cases that are sent and send back their outcomes, until the pipe closes."""
    with open(log, "w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    faulthandler.enable()
    gc.set_threshold(20_000)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        connection.send(limited(function, arguments, case_seconds))


def limited(function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
    """What a function returns, or the Outcome that its exception is."""
    try:
        with _alarm(seconds):
            return function(*arguments)
    except (Exception, TimeUp) as error:
        return outcome_of(error)


class TooLong(Exception):
    """A part of a case has used up the time that it may take."""


@contextmanager
def at_most(seconds: float) -> Generator[None]:
    """TooLong if the block takes more time, which is not counted as time of the case."""
    try:
        with _alarm(seconds):
            yield
    except TimeUp:
        raise TooLong from None


@contextmanager
def _alarm(seconds: float) -> Generator[None]:
    """TimeUp once the block has used up some CPU time; timer and handler are as before after it.

    A timer that goes on in a process without the handler ends the process, and nothing is said.
    """
    handler = signal.signal(signal.SIGPROF, _time_up)
    # again each second: what runs may have swallowed the first one
    left, _ = signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, left, 1 if left else 0)
        signal.signal(signal.SIGPROF, handler)


def _time_up(number: int, frame: object) -> None:
    raise TimeUp("the case has used up its time")
