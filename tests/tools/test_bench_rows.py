"""The table of `make bench`: which rows count as met, the text of rows that fail, and its forms."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict

import bench
import harness
import numpy as np
import pytest
from rows import beside, report
from rows.row import GRADIR, Asked, Figure, Measured, Outcome, Row, Run, Setting
from rows.table import ROWS, outcome_of
from rows.timing import hot_parts, per_second, timed

from gradir.profiling.limits import Limits

RUN = Run(Setting(), 1, 0.0)
TIMES = [Figure(GRADIR, "time", 2.0, "ms"), Figure("JAX", "time", 1.8, "ms")]
NO_PEER = [TIMES[0], Figure("JAX", "time", None, "ms", "not installed")]
RATES = [Figure(GRADIR, "steps", 90.0, "/s"), Figure("gradir, 1 thread", "steps", 101.0, "/s")]


@pytest.mark.parametrize(
    ("asked", "figures", "wanted", "met"),
    [
        (Asked("time", 2.0), TIMES, (2.0, "<= 2 ms"), True),
        (Asked("time", 1.9), TIMES, (1.9, "<= 1.9 ms"), False),
        (Asked("time", peers=0.9), TIMES, (2.0, "0.9 x as fast as the best peer"), True),
        (Asked("time", peers=1.2), TIMES, (1.5, "1.2 x as fast as the best peer"), False),
        (Asked("time", peers=1.1), NO_PEER, (None, "1.1 x as fast as the best peer"), None),
        (Asked("steps", 90.0), RATES, (90.0, ">= 90 /s"), True),
        (Asked("steps", 91.0), RATES, (91.0, ">= 91 /s"), False),
        (
            Asked("steps", other=("gradir, 1 thread", 0.9)),
            RATES,
            (90.9, ">= 0.9 of gradir, 1 thread"),
            False,
        ),
        (Asked("arena", 1.0), TIMES, (1.0, "<= 1"), None),
    ],
)
def test_asked(
    asked: Asked, figures: list[Figure], wanted: tuple[float | None, str], met: bool | None
) -> None:
    bound, text = asked.wanted(figures)
    assert (bound if bound is None else round(bound, 6), text) == wanted
    assert asked.is_met(figures) is met


def test_rows_are_named_once_and_have_settings() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    for row in ROWS:
        assert row.settings and set(row.quick or ()) <= set(row.settings)
    quick = sum(map(len, bench.plan(True, None).values()))
    assert len(ROWS) <= quick < sum(map(len, bench.plan(False, None).values()))
    [(setting, rows)] = bench.plan(True, ["logsumexp"]).items()
    assert (setting, [row.measure for row in rows]) == (Setting(), [by("logsumexp").measure])


def by(text: str) -> Row:
    return next(row for row in ROWS if row.name.startswith(text))


def test_a_row_that_misses_says_why() -> None:
    def measure(run: Run) -> Measured:
        return Measured(TIMES, lambda: f"a reason at {run.setting}")

    asked = [Asked("time", 1.0, busy=0), Asked("time", 5.0, busy=2)]
    row = Row("row", measure, asked)
    assert outcome_of(row, RUN).why == "a reason at 2 threads"
    assert outcome_of(row, Run(Setting(busy=2), 1, 0.0)).why == ""


def test_a_row_that_fails_is_told() -> None:
    def broken(run: Run) -> Measured:
        raise ValueError(f"no such op in {run.setting}\nwith details")

    outcome = outcome_of(Row("row", broken), RUN)
    assert outcome.failed == "ValueError: no such op in 2 threads" and outcome.figures == []


def test_contenders_without_a_figure() -> None:
    def base() -> object:
        return np.ones(3)

    def wrong() -> object:
        return np.zeros(3)

    figures = timed(
        RUN,
        [
            harness.Contender(GRADIR, lambda: base),
            harness.Contender("wrong", lambda: wrong),
            harness.Contender("missing", lambda: base, "no_such_library"),
        ],
        "us",
    )
    assert [f.value is not None for f in figures] == [True, False, False]
    assert figures[1].note.startswith("WRONG") and figures[2].note == "not installed"
    rates = per_second([Figure(GRADIR, "time", 500.0, "us"), figures[2]], "steps", 3)
    assert [(f.what, f.value, f.unit) for f in rates] == [
        *(("steps", 6000.0, "/s"), ("steps", None, "/s")),
    ]


def outcomes() -> list[Outcome]:
    row = by("logsumexp")
    figures = [
        *(Figure(GRADIR, "time", 10.0, "ms"), Figure("JAX", "time", 40.0, "ms")),
        Figure(GRADIR, "arena", 0.25, "MB"),
    ]
    return [Outcome(row.name, Setting(), figures, "rows_0 <55 %>")]


def test_forms() -> None:
    [outcome] = outcomes()
    lines = report.text(outcome).splitlines()
    assert lines[1] == f"{outcome.name}; 2 threads  (0 s)"
    assert lines[2].endswith("gradir 10.0 ms   JAX 40.0 ms   asked <= 5 ms: NOT MET")
    assert lines[3].split() == ["arena", "gradir", "0.250", "MB"]
    assert lines[4] == "  in the way: rows_0 <55 %>"
    table = report.markdown([outcome], "head")
    cells = f"| {outcome.name} | 2 threads | time | 10.0 ms | JAX 40.0 ms | <= 5 ms | not met |"
    assert cells in table.splitlines()
    drawn = ElementTree.fromstring(report.picture([outcome], "head"))
    [bar] = [e for e in drawn.iter() if e.tag.endswith("rect")]
    assert bar.attrib["fill"] == report.MISSED
    assert float(bar.attrib["width"]) == 2 * report.UNIT


def test_the_section_is_replaced() -> None:
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    made = report.replaced(page, report.markdown(outcomes(), "new head"))
    assert made.startswith("before\n") and made.endswith(f"{report.END}\nafter\n")
    assert "new head" in made and "old" not in made
    assert report.replaced(made, report.markdown(outcomes(), "new head")) == made
    with pytest.raises(ValueError, match="no lines"):
        report.replaced("before", "x")


def test_outcomes_travel() -> None:
    [outcome] = outcomes()
    assert bench.restored(json.loads(json.dumps(asdict(outcome)))) == outcome


def test_hot_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def limits(threads: int) -> Limits:
        return Limits(threads, {32: 1e12, 64: 1e12}, 1e10)

    monkeypatch.setattr("gradir.profiling.run.measured_limits", limits)
    monkeypatch.setattr("gradir.profiling.run.SECONDS", 0.001)
    gradir = harness.library("gradir")
    text = "func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
    text += "%y = array.tanh %x : tensor<64xf32>\nfunc.return %y : tensor<64xf32>\n}"
    profile = gradir.compile(gradir.parse(text), "f").profile(np.ones(64, np.float32))
    said = hot_parts(profile, 2)
    assert "nest_0 " in said and "of the limit by" in said and "(tanh)" in said


def test_the_picture_of_peers() -> None:
    name = "ResNet of 8 blocks, 16 x 3 x 32 x 32, value and gradient"
    figures = [
        *(Figure(GRADIR, "time", 2000.0, "us"), Figure("JAX", "time", 1000.0, "us")),
        *(Figure("PyTorch", "time", None, "us", "not installed"), Figure(GRADIR, "arena", 5, "MB")),
        *(
            Figure("JAX", "arena", 60.0, "MB"),
            Figure(GRADIR, "first call in 0.35 of the arena", 1.0, "s"),
        ),
    ]
    busy = Outcome(name, Setting(busy=2), [Figure(GRADIR, "time", 9.0, "us")])
    alone = Outcome("another", Setting(), figures)
    drawn = beside.picture([Outcome(name, Setting(), figures), busy, alone], "today; gradir 1")
    root = ElementTree.fromstring(drawn)
    said = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert said[:3] == [GRADIR, beside.LIMITED, "JAX"] and said[-1] == "today"
    assert said.count("ResNet") == 2 and "2 ms" in said and "0.5" in said and "12" in said
    assert set(beside.NAMES) <= {row.name for row in ROWS}
