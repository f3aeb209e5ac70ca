"""What is made once is one thing for all threads, also where they ask at the same time."""

from __future__ import annotations

import threading

from gradir.cache.memory import made_once
from gradir.runtime import callbacks, native_call

THREADS = 4


def test_all_threads_have_the_value_that_is_kept() -> None:
    meeting, found = threading.Barrier(THREADS), list[object]()

    @made_once
    def make() -> object:
        meeting.wait()  # all are here before the first one is done
        return object()

    threads = [threading.Thread(target=lambda: found.append(make())) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == THREADS and all(each is make() for each in found)


def test_code_that_calls_hold_by_address_is_made_once() -> None:
    """functools.cache let the code of the first of two threads be freed while it ran."""
    for code in (native_call._code, callbacks._code):
        assert code() is code() and not hasattr(code, "cache_clear")
