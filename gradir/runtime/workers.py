"""Worker threads for async host calls: few, shared by all programs, and none after a fork.

They are daemons, so that a function that never returns does not keep the process alive.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from gradir.forking import in_child, short_lock

MOST_WORKERS = min(32, (os.cpu_count() or 1) + 4)
"""As many as concurrent.futures has: enough for calls that wait for something else."""

Task = Callable[[], Any]


class Job:
    """A function that a worker runs."""

    def __init__(self, task: Task):
        self._task: Task | None = task
        self._done: Future[Any] = Future()

    def run(self) -> None:
        """Run the function, unless another thread does, or the job was dropped."""
        if self._done.set_running_or_notify_cancel():
            self._complete()

    def _complete(self) -> None:
        task, self._task = self._task, None
        assert task is not None
        try:
            result = task()
        except BaseException as error:
            del task  # with what it holds
            self._done.set_exception(error)
        else:
            del task
            self._done.set_result(result)

    def result(self, timeout: float | None) -> Any:
        """What the function returns or raises; TimeoutError after some seconds.

        On a worker, a function that none has begun runs here: so workers may wait for each other.
        """
        if hasattr(_here, "is_worker") and self._done.cancel():
            task, self._task = self._task, None
            assert task is not None
            return task()
        return self._done.result(timeout)

    def drop(self) -> None:
        """Nobody waits for it: it is not begun any more."""
        if self._done.cancel():
            self._task = None


class _Pool:
    """At most MOST_WORKERS threads, each started when no other is idle."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = short_lock()
        self._count = 0

    def submit(self, job: Job) -> None:
        self._jobs.put(job)
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if self._count == MOST_WORKERS:
                return
            self._count += 1
            number = self._count
        name = f"gradir-async-{number}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        except RuntimeError:  # no more threads: another worker has it, if there is one
            with self._lock:
                self._count -= 1
                if not self._count:
                    raise

    def _work(self) -> None:
        _here.is_worker = True
        while True:
            self._jobs.get().run()
            self._idle.release()


_pool = _Pool()
_here = threading.local()


@in_child
def _renew() -> None:
    global _pool
    _pool = _Pool()


def start(task: Task) -> Job:
    """Have a worker run a function."""
    job = Job(task)
    _pool.submit(job)
    return job
