"""What the fuzzer has found stays mended: the programs in tests/fuzz/found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.found import FOUND, level_of
from fuzz.levels import run_text
from fuzz.outcome import Outcome
from fuzz.worker import Worker

FILES = sorted(path for path in FOUND.iterdir() if path.suffix != ".md")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all of them, unless one of them ends it."""
    found = Worker()
    yield found
    found.close()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_mended(path: Path, worker: Worker) -> None:
    outcome: Outcome = worker.run(run_text, level_of(path), path.read_text(encoding="utf-8"))
    assert outcome.kind != "fault", f"{outcome.key}\n{outcome.detail}"
