"""A fixed part of the fuzzer's cases, which all must pass; `make fuzz` runs others, without end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz.campaign import Campaign, Fault, seeds
from fuzz.found import text_of
from fuzz.levels import LEVELS
from fuzz.worker import Worker

SEED = 0
CHUNKS = 8
PROGRAMS = {"traced": 8, "tensor": 12, "ranks": 3, "points": 4, "mutants": 200, "stablehlo": 20,
            "onnx": 60}  # fmt: skip
"""Cases of each level in a chunk: two minutes of a core in all."""


@pytest.fixture(scope="module")
def idle() -> Iterator[list[Worker]]:
    """A process for all chunks: one takes more than a second to start."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.close()


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_found(name: str, chunk: int, idle: list[Worker]) -> None:
    if name not in LEVELS:
        pytest.skip("the package onnx is not installed")
    found: list[Fault] = []
    campaign = Campaign(found.append, idle=idle)
    count = PROGRAMS[name]
    campaign.run(seeds(name, SEED, count, chunk * count), jobs=1)
    assert not found, "\n\n".join(text_of(fault) for fault in found)
    assert campaign.tallies[name].cases == count
