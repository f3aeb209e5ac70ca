"""The benchmark harness: a wrong, broken or missing contender is told, never counted as a time."""

import harness
import numpy as np
import pytest

ONES = np.ones(3, np.float32)


def broken() -> harness.Call:
    raise ValueError("no such op\nwith details")


def unavailable() -> harness.Call:
    raise harness.UnavailableError("needs a compiler")


def run(*contenders: harness.Contender) -> dict[str, harness.Entry]:
    workload = harness.Workload(
        "work", [harness.Contender("base", lambda: base), *contenders], "base"
    )
    return {entry.name: entry for entry in harness.run(workload, rounds=1, turn=0.0)}


def base() -> object:
    return 2.0, [ONES]


def test_equal_results_are_timed() -> None:
    entry = run(harness.Contender("same", lambda: base))["same"]
    assert entry.samples
    assert not entry.failed
    assert entry.note == "within 0e+00 of base"


@pytest.mark.parametrize(
    "result",
    [(2.1, ONES), (2.0, ONES * 1.1), (2.0, np.array([1, 1, np.nan])), (2.0,), (2.0, ONES[:2])],
    ids=["value", "gradient", "nan", "count", "shape"],
)
def test_wrong_results_fail(result: object) -> None:
    assert run(harness.Contender("wrong", lambda: lambda: result))["wrong"].failed


def test_a_broken_contender_fails_and_the_others_run() -> None:
    entries = run(harness.Contender("broken", broken))
    assert entries["broken"].failed
    assert entries["broken"].note == "failed: ValueError: no such op"
    assert entries["base"].samples


@pytest.mark.parametrize(
    ("contender", "note"),
    [
        (harness.Contender("other", lambda: base, "no_such_library"), "not installed"),
        (harness.Contender("other", unavailable), "needs a compiler"),
    ],
)
def test_a_missing_contender_is_no_failure(contender: harness.Contender, note: str) -> None:
    entry = run(contender)["other"]
    assert (entry.failed, entry.samples, entry.note) == (False, [], note)


def test_the_table_shows_ratios_to_the_reference() -> None:
    entries = [harness.Entry("base", samples=[2e-3]), harness.Entry("half", samples=[1e-3])]
    entries.append(harness.Entry("absent", note="not installed"))
    workload = harness.Workload("work", [], "base", operations=10)
    title, header, *rows = harness.table(workload, entries, 2).strip().splitlines()
    assert title == "work; 2 threads"
    assert "median ms" in header
    assert rows[0].split()[:5] == ["base", "2.000", "2.000", "1.00", "200.00"]
    assert rows[1].split()[:5] == ["half", "1.000", "1.000", "0.50", "100.00"]
    assert rows[2].split() == ["absent", "not", "installed"]
