"""The programs of tests/conformance/loops in other systems: outcomes are those that are stored."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from conformance.loops.all_programs import PROGRAMS
from conformance.loops.outcomes import KINDS, load
from conformance.loops.references import load as load_references
from loop_systems import SYSTEMS, outcomes_in

STORED = load()
REFERENCES = load_references()

# Enzyme-JAX may end the process: tests/peers/record_loops.py runs it in one of its own.
IN_PROCESS = ["JAX", "PyTorch"]


@pytest.fixture(autouse=True)
def torch_dtype() -> Iterator[None]:
    """PyTorch's default dtype, which its programs here change, is that of before afterwards."""
    if installed("PyTorch") is None:
        yield
        return
    torch: Any = import_module("torch")
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


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
