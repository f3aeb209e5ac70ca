"""The types of a call of a derivative: those that the arguments and results of its op have.

The gradient pass makes such calls; program text may contain others.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradir.dialects.grad.host_functions import Spec
from gradir.runtime.operator_layout import NativeOperator, OperatorLayout

OF_RESULTS = "outputs", "cotangents", "out_tangents"
"""The groups with an array for each result of the op; others have one for each argument."""

Named = tuple[str, Spec]


def misfit(
    operator: NativeOperator,
    layout: OperatorLayout,
    operands: Sequence[Spec],
    results: Sequence[Spec],
) -> str | None:
    """What is wrong with the types, as far as the arrays that are there tell; None for nothing."""
    known: tuple[dict[int, Named], dict[int, Named]] = {}, {}
    for name, places in (*layout.read, layout.written):
        specs = results if name == layout.written[0] else operands
        for k, place in enumerate(places):
            if place is None:
                continue
            here = f"{name}[{k}]", specs[place]
            there = known[name in OF_RESULTS].setdefault(k, here)
            if there[1] != here[1]:
                return f"{_shown(*here)} must have the type of {_shown(*there)}"
    counts = {name: len(places) for name, places in layout.read}
    if operator.infer is None or len(known[False]) < counts["inputs"]:
        return None
    wanted = operator.infer(*(known[False][k][1] for k in range(counts["inputs"])))
    if len(wanted) != counts["outputs"]:
        return f"infer gives {len(wanted)} results, got {counts['outputs']}"
    for k, here in known[True].items():
        if here[1] != wanted[k]:
            return f"{_shown(*here)} must have the type that infer gives, {_text(wanted[k])}"
    return None


def _shown(name: str, spec: Spec) -> str:
    return f"{name}, {_text(spec)},"


def _text(spec: Spec) -> str:
    return f"{spec[1]}{list(spec[0])}"
