"""The programs of tests/conformance/loops in other systems: outcomes are those that are stored."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from conformance.loops.all_programs import PROGRAMS
from conformance.loops.outcomes import KINDS, load
from conformance.loops.references import load as load_references
from loop_systems import SYSTEMS, outcomes_in

STORED = load()
REFERENCES = load_references()

# Enzyme-JAX may end the process: tests/peers/record_loops.py runs it in one of its own.
IN_PROCESS = ["JAX", "PyTorch"]


def installed(system: str) -> str | None:
    try:
        return version(SYSTEMS[system].package)
    except PackageNotFoundError:
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("system", IN_PROCESS)
def test_outcomes_are_current(system: str, name: str) -> None:
    """Of the version that is stored: another one may have got better."""
    if installed(system) != STORED["versions"][system]:
        pytest.skip(f"outcomes are stored of {system} {STORED['versions'][system]}")
    found = outcomes_in(system, PROGRAMS[name], REFERENCES[name])
    wanted = STORED["outcomes"][system][name]
    assert {k: found[k] for k in KINDS} == {k: wanted[k] for k in KINDS}
