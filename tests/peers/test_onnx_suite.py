"""ONNX's own tests of its operators: those that are not refused agree, and the list is true."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from onnx_cases import cases, outcome, refused
from onnx_slopes import slope_of

CHUNKS = 40
REFUSED = refused()


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.filterwarnings("ignore")
def test_operators(chunk: int) -> None:
    wrong: dict[str, str] = {}
    for name in sorted(cases())[chunk::CHUNKS]:
        try:
            reason = outcome(cases()[name])
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"
            continue
        if reason != REFUSED.get(name, ""):
            wrong[name] = f"found {reason!r}, listed {REFUSED.get(name, '')!r}"
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.filterwarnings("ignore")
def test_gradients(chunk: int) -> None:
    """Of every fourth case; `python tests/peers/onnx_slopes.py` tries all, in ten minutes."""
    wrong: dict[str, str] = {}
    for name in sorted(cases().keys() - REFUSED.keys())[4 * chunk :: 4 * CHUNKS]:
        try:
            slope_of(cases()[name])
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_the_list_names_cases() -> None:
    assert REFUSED.keys() <= cases().keys()
