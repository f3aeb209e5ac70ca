"""gradir doctor: what it prints, and that it sees what is wrong; the ranges that it reads."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import gradir
from gradir.codegen.text.target import LEVELS, target_of
from gradir.tools import gradir_doctor
from gradir.tools.requirements import Requirement, extras_of, release_of, requirements_of

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]

LINES = [
    "xdsl~=0.74.0",
    'numpy>=1.26; python_version < "3.13"',
    'numpy>=2.1; python_version == "3.13"',
    'jax<0.13,>=0.10; extra == "jax"',
    'tool==1.2; python_version >= "3.12" and extra == "jax"',
]


@pytest.fixture(autouse=True)
def metadata_of_gradir(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of this version that declares LINES: the tests may run without one."""
    found = {"gradir": gradir.__version__, "xdsl": "0.74.0", "numpy": "2.4.6", "tool": "1.2"}

    def version(name: str) -> str:
        if name not in found:
            raise metadata.PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: LINES)


def test_the_report(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_NUM_THREADS", "3")
    assert gradir_doctor.main([]) == 0
    output = capsys.readouterr().out
    assert f"gradir         {gradir.__version__}, " in output
    assert "threads        3 of " in output
    assert "native code    works" in output
    assert "xdsl           0.74.0 (xdsl~=0.74.0)" in output
    assert "jax            missing: pip install 'gradir[jax]' for JAX functions" in output
    assert "GRADIR_NUM_THREADS 3" in output
    assert output.endswith("nothing is wrong\n")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("GRADIR_NUM_THREADS", "many", "threads: GradirError: GRADIR_NUM_THREADS: a positive"),
        ("GRADIR_CPU", "pentium", "machine: ArgumentError: GRADIR_CPU: one of host"),
        ("GRADIR_CACHE", "yes", "cache: GradirError: GRADIR_CACHE: 0 or 1 expected"),
    ],
)
def test_wrong_settings_are_told(
    variable: str, value: str, told: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert gradir_doctor.main([]) == 1
    assert f"problem: {told}" in capsys.readouterr().out


def test_wrong_packages_are_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["xdsl~=0.75.0", "nothing-of-this-name>=1", "numpy>=1.26"]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    assert gradir_doctor.main([]) == 1
    output = capsys.readouterr().out
    assert "problem: xdsl: 0.74.0 is installed: pip install 'xdsl~=0.75.0'" in output
    assert "problem: nothing-of-this-name: missing: pip install 'nothing-of-this" in output
    assert output.endswith("problems: 2\n")


def test_wrong_numbers_are_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradir, "interpret", lambda *arguments: (0.0, 1.0))
    assert gradir_doctor.main([]) == 1
    assert "problem: native code: a gradient is" in capsys.readouterr().out


def test_the_level_is_the_machine_s() -> None:
    best = gradir_doctor.best_level()
    assert not target_of(best).lacking
    higher = LEVELS[LEVELS.index(best) + 1 :]
    assert all(target_of(level).lacking for level in higher)


def test_every_extra_of_users_has_a_purpose() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    of_developers = {"dev", "peers", "site", "release"}
    assert project["optional-dependencies"].keys() - of_developers == gradir_doctor.PURPOSES.keys()


def test_ranges_of_pyproject_are_read() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for version in ("3.11", "3.12", "3.13", "3.14"):
        found = requirements_of(project["dependencies"], version)
        names = [each.name for each in found]
        assert len(set(names)) == len(names) == 6
        assert all(each.oldest and each.allows(each.oldest) for each in found)


def test_requirements() -> None:
    assert [str(each) for each in requirements_of(LINES, "3.11")] == ["xdsl~=0.74.0", "numpy>=1.26"]
    assert [each.oldest for each in requirements_of(LINES, "3.13")] == ["0.74.0", "2.1"]
    assert [each.name for each in requirements_of(LINES, "3.11", "jax")] == ["jax"]
    assert [each.name for each in requirements_of(LINES, "3.12", "jax")] == ["jax", "tool"]
    assert extras_of(LINES) == ["jax"]


@pytest.mark.parametrize(
    ("sign", "bound", "allowed", "refused"),
    [
        ("~=", "0.74.0", ["0.74", "0.74.9"], ["0.75.0", "0.73.9"]),
        (">=", "1.26", ["1.26.0", "2.0", "1.26+cpu"], ["1.25.9"]),
        ("<", "0.13", ["0.12.9"], ["0.13.0", "1.0"]),
        ("==", "2.1", ["2.1.0"], ["2.1.1"]),
        ("!=", "2.1", ["2.1.1"], ["2.1.0"]),
        ("~=", "1.4", ["1.4", "1.10"], ["2.0", "1.3"]),
    ],
)
def test_ranges(sign: str, bound: str, allowed: list[str], refused: list[str]) -> None:
    requirement = Requirement("x", ((sign, bound),))
    assert all(requirement.allows(version) for version in allowed)
    assert not any(requirement.allows(version) for version in refused)


@pytest.mark.parametrize("line", ["x @ file", "x>=1; os_name == 'nt'", "x>1 y"])
def test_other_forms_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected, got"):
        requirements_of([line], "3.11")


def test_versions() -> None:
    assert release_of("2.13.0+cpu") == (2, 13)
    with pytest.raises(ValueError, match="numbers and dots"):
        release_of("unknown")


def test_the_command() -> None:
    command = [sys.executable, "-m", "gradir", "doctor", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout) == (0, f"gradir doctor {gradir.__version__}\n")
