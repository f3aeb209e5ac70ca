"""PyTorch's ops as gradir imports them: OpInfo's samples, exported one by one.

Each op of the database that exports is compared, values and gradients; a sample is refused for a
reason that is known here, or agrees. The tests take one sample of an op; more of them, with a
table, run by

    python tests/peers/test_torch_ops.py [--most N] [--write] [REGEX]

`--write` puts the table into docs/torch.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from opinfo_bind import torch
from opinfo_exported import run_exported
from opinfo_run import Outcome

from gradir.frontends.imported.torch_rules.table import TORCH

MOST = 1
"""The samples of an op that a test runs."""
GROUPS = 24
"""The tests into which ops are divided."""
OPS: list[Any] = import_module("torch.testing._internal.common_methods_invocations").op_db
pytestmark = pytest.mark.filterwarnings("ignore")

DIFFERENT = {
    "as_strided_scatter": "PyTorch's gradient is that of elements that are written over",
    "max_unpool": "PyTorch gives the cotangent of a place to all elements that are put there",
    "empty": "values are not defined",
    "jiterator": "it runs on other machines",
    "linalg.eigh": "signs of vectors",
    "linalg.pinv[hermitian]": "derivatives by matrices that are not symmetric",
    "special.bessel": "PyTorch is exact to 1e-7 alone",
}
"""Ops whose samples are not compared, by the beginnings of their names."""
REFUSED = {
    "programs with complex numbers are not read": r"complex numbers|elements of type complex",
    "random numbers are others": r"draws random numbers|there is no such draw|windows of its own",
    "the shape depends on values": r"symbolic, or depends on values|shape of the result depends",
    "a number depends on values": r"number of Python depends|number that depends on values"
    r"|aten\.(equal|allclose)\.",
    "export gives up": r"torch\.export gives up",
    "arguments are changed": r"is changed in place|it writes to memory|keep their memory",
    "factorizations that are not there": r"there is no factorization of this kind",
    "layouts": r"its layout is|sparse and nested tensors",
    "PyTorch's own": r"a part of PyTorch's own",
    "known ends": r"ends must be known numbers|ends must be given|bins depend on values",
    "not there": (
        r"the bits of floats|most frequent element|filters against aliasing|index_reduce: of prod"
        r"|reads behind the elements|must have one extent, got|autograd.Function is lost"
        r'|full_matrices=True needs square|qr: mode "complete"|axis must be in \[0, 0\)'
        r"|eps must be finite|momentum must be in|there is no axis of channels"
        r"|there must be elements to reduce|counts that are tensors|tolerances must be known"
        r"|there is no such function|polynomial is not there|memory beside the elements|in pieces"
    ),
}
"""Reasons of refusals, by what their texts say."""


def name_of(op: Any) -> str:
    return f"{op.name}[{op.variant_test_name}]" if op.variant_test_name else op.name


def is_compared(op: Any) -> bool:
    name = name_of(op).removeprefix("nn.functional.").removeprefix("new_")
    dtypes = torch.float64, torch.int64, torch.bool
    return any(d in op.dtypes for d in dtypes) and not name.startswith(tuple(DIFFERENT))


def reason_of(refusal: str) -> str | None:
    return next((why for why, text in REFUSED.items() if re.search(text, refusal)), None)


def unexpected(outcome: Outcome) -> list[str]:
    """The samples that do not pass without a reason."""
    refused = [text for text in outcome.refused if reason_of(text) is None]
    return [*(f"refused {text}" for text in refused), *(f"wrong {text}" for text in outcome.wrong)]


def core_ops() -> set[str]:
    """Core ATen's ops, with their overloads, but for those whose results are extents."""
    found: set[str] = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if not isinstance(packet, torch._ops.OpOverloadPacket) or name.startswith("sym_"):
            continue
        every = (getattr(packet, overload) for overload in packet.overloads())
        found |= {str(op) for op in every if torch.Tag.core in op.tags}
    return found


def name_of_core(op: str) -> str:
    return op.split(".")[1]


def test_every_core_op_has_a_rule_or_a_reason() -> None:
    names = {name_of_core(op) for op in core_ops()}
    assert not names - set(TORCH.rules) - set(TORCH.absent)
    assert sum(name_of_core(op) in TORCH.rules for op in core_ops()) >= 160


@pytest.mark.parametrize("group", range(GROUPS))
def test_samples_agree(group: int) -> None:
    compared = [op for op in OPS if is_compared(op)][group::GROUPS]
    failed = [f"{name_of(op)}: {text}" for op in compared
              for text in unexpected(run_exported(op, MOST, set()))]  # fmt: skip
    assert not failed, "\n".join(failed)


def main() -> None:
    """Compare samples of all ops that match, and print what came of them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("regex", nargs="?", default="")
    parser.add_argument("--most", type=int, default=10**6, help="samples of an op")
    parser.add_argument("--write", action="store_true", help="write the table of docs/torch.md")
    parser.add_argument("--core", action="store_true", help="decomposed to core ATen first")
    options = parser.parse_args()
    begun = time.process_time()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    seen: set[str] = set()
    for op in OPS:
        if not is_compared(op) or not re.search(options.regex, name_of(op)):
            continue
        if options.core and name_of(op).startswith("sparse."):
            continue  # PyTorch's decomposition ends the process
        outcome = run_exported(op, options.most, seen, options.core)
        counts["ops of the database"] += 1
        counts["of which all samples agree"] += outcome.passed == outcome.samples
        counts["samples"] += outcome.samples
        counts["samples that agree"] += outcome.passed
        for text in outcome.refused:
            reasons[f"refused: {reason_of(text) or f'{name_of(op)} {text}'}"] += 1
        for text in outcome.wrong:
            reasons[f"WRONG: {name_of(op)} {text}"] += 1
    counts["ops of ATen in programs that agree"] = len(seen & set(TORCH.rules))
    counts["core ops of ATen in programs that agree"] = len(seen & core_ops())
    rows = [*counts.items(), *reasons.most_common()]
    for text, count in rows:
        print(f"{count:6} {text[:400]}")
    if options.write:
        write(rows)
    rest = [op for op in core_ops() - seen if name_of_core(op) in TORCH.rules]
    print("core ops without a program:", *sorted(rest))
    print(f"{time.process_time() - begun:6.0f} seconds of CPU")


PAGE = Path(__file__).parents[2] / "docs" / "torch.md"
BEGIN, END = "<!-- written by tests/peers/test_torch_ops.py -->\n", "\n<!-- end of it -->"


def write(rows: list[tuple[str, int]]) -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    lines = [f"| {text} | {count:,} |" for text, count in rows]
    table = "\n".join(["| | |", "|---|---|", *lines])
    PAGE.write_text(before + BEGIN + table + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
