"""Which tests are slow by the durations that are stored."""

import durations
from durations import Duration, parse, slow_tests, text_of


def test_written_and_read() -> None:
    """A line for a function that takes long, and for each case that does so by itself."""
    taken = {"f.py::test_a[0]": 3.0, "f.py::test_a[1]": 0.03, "f.py::test_b": 0.01}
    found = parse(text_of(taken))
    assert found == {"f.py::test_a": Duration(3.03, 2), "f.py::test_a[0]": Duration(3.0, 1)}
    assert slow_tests(taken, found) == {"f.py::test_a[0]"}


def test_lines_of_other_files_stay() -> None:
    """Those of the files that ran, and of files that are no more, go."""
    here, other = "tests/whole/test_durations.py", "tests/whole/test_paths.py"
    tests = (f"{here}::test_old", f"{other}::test_a", "no_more.py::test_b")
    stored = {test: Duration(2.0, 1) for test in tests}
    found = parse(text_of({f"{here}::test_new": 1.0}, stored))
    assert found == {f"{here}::test_new": Duration(1.0, 1), f"{other}::test_a": Duration(2.0, 1)}


def test_a_share_of_many_cases_is_fast() -> None:
    """As many as there is time for, evenly spread; all of a function that nothing is known of."""
    cases = [f"f.py::test_many[{k}]" for k in range(100)]
    stored = {"f.py::test_many": Duration(10 * durations.SECONDS_OF_CHECK, 100)}
    fast = [test for test in cases if test not in slow_tests(cases, stored)]
    assert fast == cases[::10]
    assert slow_tests(cases, {}) == set()


def test_no_case_is_fast_that_takes_too_long() -> None:
    cases = ["f.py::test_few[0]", "f.py::test_few[1]"]
    stored = {"f.py::test_few": Duration(3 * durations.SECONDS_OF_CHECK, 2)}
    assert slow_tests(cases, stored) == set(cases)
    alone = {**stored, cases[0]: Duration(3 * durations.SECONDS_OF_CHECK, 1)}
    stored = {**alone, "f.py::test_few": Duration(3 * durations.SECONDS_OF_CHECK, 1)}
    assert slow_tests(cases, stored) == set(cases)


def test_stored_tests_are_there() -> None:
    """The files of the tests that have a line."""
    root = durations.FILE.parent.parent
    stored = parse(durations.FILE.read_text(encoding="utf-8"))
    assert stored
    files = {test.split("::")[0] for test in stored}
    assert {file for file in files if not (root / file).exists()} == set()
