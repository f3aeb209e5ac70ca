"""StableHLO on XLA: golden programs, examples, all ops and loops, beside gradir's native code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from op_cases import CASES
from stablehlo_programs import REASONS, Array, assert_close, paths, programs_of
from stablehlo_run import run_on_xla
from xdsl.dialects.builtin import f32, f64

import gradir
from gradir.checking.case import OpCase
from gradir.checking.programs import CompiledTogether, function, is_active
from gradir.errors import GradirError
from gradir.stablehlo.to_stablehlo import REFUSED


@pytest.mark.parametrize("path", list(paths()), ids=lambda path: path.stem)
def test_programs(path: Path) -> None:
    for program in programs_of(path):
        program.compare(run_on_xla(program.text, program.arrays))


# Ops.


class OnXla(CompiledTogether):
    """The functions on XLA in place of native code."""

    def found(self) -> list[tuple[Array, ...]]:
        counts = self.add_driver()
        arrays = [a for _, arrays in self.calls for a in arrays]
        text = gradir.Module(self.module).to_stablehlo("driver")
        values = iter(run_on_xla(text, arrays))
        return [tuple(next(values) for _ in range(count)) for count in counts]

    def compare(self, scaled: bool = True) -> None:
        for (_, arrays), expected, found in zip(self.calls, self.expected(), self.found(),
                                                strict=True):  # fmt: skip
            sizes = [float(np.max(np.abs(a.astype(float)), initial=0)) for a in arrays]
            assert_close(found, expected, max([1.0, *(s for s in sizes if np.isfinite(s))]))


def cases_of() -> dict[str, list[OpCase]]:
    found: dict[str, list[OpCase]] = {}
    for case in CASES:
        found.setdefault(case.op, []).append(case)
    return found


BY_OP = cases_of()
# Of each op; they are taken evenly from its rows.
MOST_CASES = 8


@pytest.mark.parametrize("op", sorted(BY_OP))
def test_ops(op: str) -> None:
    """Values in f32 and f64, and first derivatives in f64, of the rows of the op table."""
    if op in REFUSED:
        pytest.skip(REFUSED[op])
    together = OnXla()
    cases = BY_OP[op]
    for number, case in enumerate(cases[:: -(-len(cases) // MOST_CASES)]):
        for element in (f32, f64):
            arrays = case.arrays(element)
            made = function(case, arrays, element, f"f{number}_{element}")
            together.add(made, arrays)
            if element == f64 and is_active(case):
                made = function(case, arrays, element, f"g{number}")
                together.add(made, arrays, case.wrt, 1)
    try:
        together.compare()
    except GradirError as error:
        assert REASONS.search(str(error)), error
        pytest.skip(str(error).splitlines()[0])
