"""The fuzzer finds faults that are planted, of each kind, and makes them small."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fuzz.__main__ import main
from fuzz.campaign import Campaign, Fault, seeds
from fuzz.corpus import pieces, tokens
from fuzz.found import level_of, write
from fuzz.layouts import odd_layout
from fuzz.levels import LEVELS, level, run_subject, run_text
from fuzz.outcome import Outcome
from fuzz.shrink import shrink
from fuzz.text_forms import FORMS, NO_GRAD, filled
from fuzz.worker import TooLong, Worker, at_most, limited

import gradir
from gradir.dialects.array.elementwise import MultiplyOp, SinOp
from gradir.dialects.array.movement import PermuteDimsOp
from gradir.dialects.building import body
from gradir.dialects.comm.collectives import BroadcastOp
from gradir.dialects.grad.gates import Gates
from gradir.dialects.grad.grad import BarrierOp


def first_fault(name: str, first: int, most: int, checks: tuple[str, ...]) -> tuple[Any, Outcome]:
    """The first case of a level that fails in one of the checks, in this process."""
    for seed in range(first, first + most):
        case = replace(level(name).make(seed), checks=checks)
        outcome = run_subject(name, case)
        if outcome.kind == "fault":
            return case, outcome
    raise AssertionError(f"{most} cases found nothing")


def found_and_shrunk(name: str, checks: tuple[str, ...], key: str, first: int = 0) -> str:
    """The text that is left of a fault with the key."""
    case, outcome = first_fault(name, first, 300, checks)
    assert outcome.key.startswith(key), outcome.detail
    smallest = shrink(case, outcome.key, level(name).smaller, partial(run_subject, name), 600)
    text = level(name).write(smallest)
    assert run_text(name, f"\n\n{text}").key == outcome.key
    return text


def statements(text: str) -> list[str]:
    """The lines of a text of level 2 that compute something, of the program with marks."""
    return [x for x in text.partition("// without")[0].splitlines() if " = " in x]


@pytest.mark.parametrize("check", ["differences", "transposed"])
def test_a_wrong_factor_in_a_derivative(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = SinOp.vjp

    def wrong(self: Any, ct: Any, y: Any, x: Any) -> Any:
        return [c * 1.001 for c in right(self, ct, y, x)]

    monkeypatch.setattr(SinOp, "vjp", wrong)
    if check == "transposed":
        # forward mode transposes the rule as it is: here both are wrong alike
        for seed in range(10):
            case = replace(level("tensor").make(seed), checks=(check,))
            assert run_subject("tensor", case).kind != "fault"
        return
    text = found_and_shrunk("tensor", (check,), "gradients and differences", first=350)
    assert "array.sin" in text and len(statements(text)) <= 4, text


def test_a_gate_that_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def ungated(
        self: Any, op: Any, rule: Any, cts: Any, results: Any, operands: Any, _: Any
    ) -> Any:
        return rule(op, cts, results, operands)

    monkeypatch.setattr(Gates, "flow", ungated)
    cases = map(level("points").make, range(20))
    found = ((case, run_subject("points", case)) for case in cases)
    case, outcome = next((c, o) for c, o in found if o.kind == "fault")
    assert outcome.key.startswith("a derivative is not that of what was selected"), outcome.detail
    run = partial(run_subject, "points")
    smallest = shrink(case, outcome.key, level("points").smaller, run, 600)
    assert len(smallest.steps) <= 2
    assert run_text("points", f"\n\n{level('points').write(smallest)}").key == outcome.key


def test_a_wrong_factor_in_a_traced_program(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = MultiplyOp.vjp

    def wrong(self: Any, ct: Any, y: Any, x: Any, z: Any) -> Any:
        one, other = right(self, ct, y, x, z)
        return [one * 1.001, other]

    monkeypatch.setattr(MultiplyOp, "vjp", wrong)
    text = found_and_shrunk("traced", ("differences",), "gradients and differences")
    assert len(text.partition("def f(")[2].splitlines()) <= 8, text


def test_a_collective_with_another_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is right on one rank."""

    def wrong(self: Any, ct: Any, y: Any, x: Any) -> Any:
        return [ct]

    monkeypatch.setattr(BroadcastOp, "vjp", wrong)
    outcome = run_subject("ranks", level("ranks").make(11))
    assert outcome.key == "gradients and differences over all ranks"


def test_a_recomputed_value_that_is_off_by_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stages run again goes through a barrier."""

    def off(self: Any, x: Any) -> Any:
        return np.nextafter(x, np.inf) if x.dtype.kind == "f" else x

    monkeypatch.setattr(BarrierOp, "numpy", off)
    text = found_and_shrunk("tensor", ("policies", "marks"), "bits ")
    assert len(statements(text)) <= 14, text


def test_native_code_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = MultiplyOp.body

    def off(self: Any, x: Any, y: Any) -> Any:
        return body.multiply(right(self, x, y), body.constant(x, 1 + 1e-9))

    monkeypatch.setattr(MultiplyOp, "body", off)
    text = found_and_shrunk("tensor", ("native_forward",), "native values")
    assert "array.multiply" in text and len(statements(text)) <= 4, text


def test_an_internal_error_in_a_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails in a pass is left."""

    def fails(self: Any, *given: Any) -> Any:
        raise IndexError("planted")

    monkeypatch.setattr(PermuteDimsOp, "vjp", fails)
    mutants = level("mutants")
    text = """func.func @f(%x: tensor<2x3xf64>, %y: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %a = array.sin %x : tensor<2x3xf64>
  %b = array.permute_dims %a {axes = [1, 0]} : tensor<2x3xf64> -> tensor<3x2xf64>
  %c = array.multiply %b, %y : tensor<3x2xf64>
  func.return %c : tensor<3x2xf64>
}
"""
    case = mutants.Mutant(text, "gradir-gradient{function=f mode=vjp},cse", False)
    outcome = run_subject("mutants", case)
    assert outcome.key.startswith("IndexError")
    smallest = shrink(case, outcome.key, mutants.smaller, partial(run_subject, "mutants"))
    assert "sin" not in smallest.text and "cse" not in smallest.passes, smallest


def test_ends_and_hangs_belong_to_their_cases(tmp_path: Path) -> None:
    worker = Worker(case_seconds=0.2)
    try:
        assert worker.run(os.abort).key == "death by SIGABRT"
        assert worker.run(os.getpid) != os.getpid()
        assert worker.run(_endless).key.startswith("hang")
        # a process that has started: that takes seconds on a busy machine
        assert worker.run(len, "abc") == 3
        worker.silent_seconds = 1
        assert worker.run(time.sleep, 60).key == "hang without using time"
    finally:
        worker.close()


def _endless() -> None:
    while True:
        pass


def test_limits_of_time_leave_nothing_behind() -> None:
    """A timer that outlives its block ends the process of the tests 100 s later, silently."""

    def state() -> Any:
        return signal.getitimer(signal.ITIMER_PROF), signal.getsignal(signal.SIGPROF)

    before = state()
    with pytest.raises(TooLong), at_most(0.05):
        _endless()
    assert state() == before == ((0, 0), signal.SIG_DFL)
    with at_most(1000):
        _, handler = state()
        with at_most(5):
            assert 4 < state()[0][0] < 6
        (left, again), same = state()
        assert 900 < left < 1001 and (again, same) == (1, handler)
    assert limited(_endless, (), 0.05).key.startswith("hang")
    assert state() == before


@pytest.mark.parametrize("name", ["traced", "tensor"])
def test_whatever_is_left_out_it_is_a_program(name: str) -> None:
    """Smaller cases are valid, and a case is made of its seed alone."""
    for seed in range(3):
        case = level(name).make(seed)
        assert case == level(name).make(seed)
        for smaller in islice(level(name).smaller(replace(case, checks=("a",))), 0, 60, 6):
            outcome = run_subject(name, replace(smaller, checks=()))
            assert outcome.kind != "fault", outcome.detail


def test_forms_are_ops() -> None:
    for form in (*FORMS, *NO_GRAD):
        names = [f"%a{k}" for k in range(len(form.operands))]
        taken = ", ".join(f"{n}: {t}" for n, t in zip(names, form.operands, strict=True))
        body = filled(form.text, names, "%r")
        text = (
            f"func.func @f({taken}) -> {form.result} {{\n{body}\nfunc.return %r : {form.result}\n}}"
        )
        gradir.parse(text.replace("$N", "3").replace("$F", "f64") + "\n")


def test_mutants_are_mostly_programs() -> None:
    """Words join to the text; enough mutants get past the parser."""
    assert all("".join(tokens(p.text)) == p.text for p in pieces())
    mutants = level("mutants")
    outcomes = [run_subject("mutants", replace(mutants.make(s), passes="", execute=False))
                for s in range(60)]  # fmt: skip
    assert sum(o.kind == "fine" for o in outcomes) >= 15


def test_odd_layouts_hold_the_same() -> None:
    choose = Random(0)
    for shape in ((), (0,), (3,), (2, 3)):
        array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        for _ in range(20):
            np.testing.assert_array_equal(odd_layout(array, choose), array)


def test_a_fault_becomes_a_file(tmp_path: Path) -> None:
    for name in LEVELS:
        case = level(name).make(1)
        path = write(Fault(name, 1, Outcome("fault", "a key: of it"), case), tmp_path)
        assert level_of(path) == name and path.stem == "a_key_of_it_1"
        assert f"make fuzz LEVEL={name} CASE=1" in path.read_text()
        assert run_text(name, path.read_text()).kind == run_subject(name, case).kind


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--mutants", "20", "--programs", "1", "--seed", "3", "--folder", str(tmp_path)]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "mutants: 20 cases" in said and "traced: 1 cases" in said


def test_a_campaign_counts_equal_faults_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "run", lambda *given: Outcome("fault", "always"))
    found: list[Fault] = []
    campaign = Campaign(found.append)
    campaign.run(seeds("mutants", 0, 5), jobs=1)
    assert len(found) == 1 and campaign.known == {"mutants: always": 5}
