"""Gradients through branches and loops: every construct, nested, at first and second order."""

from __future__ import annotations

import pytest
from control_flow_programs import PROGRAMS

import gradir
from gradir.testing import check_grads


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_and_second_order(name: str) -> None:
    """Central differences of the function, and of its vjp in primals and cotangents."""
    program = PROGRAMS[name]
    check_grads((gradir.parse(program.text), "f"), program.arguments(), native=False)
