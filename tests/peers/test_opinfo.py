"""gradir against torch's OpInfo database: the samples by which torch tests its own ops.

Each op of the database has a function of ours (the opinfo files beside this one), or a reason why
not (opinfo_absent). Samples of float64 are compared, values and gradients; a sample is refused, or
agrees. The tests take a part of the samples; all of them, with a table, run by

    python tests/peers/test_opinfo.py [--most N] [REGEX]
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

from opinfo_absent import ABSENT, ABSENT_COMPLEX, REFUSED
from opinfo_bind import torch
from opinfo_complex import COMPLEX
from opinfo_elements import ELEMENTS
from opinfo_linalg import LINALG
from opinfo_losses import LOSSES
from opinfo_new import NEW
from opinfo_nn import NN
from opinfo_places import PLACES
from opinfo_run import Outcome, run
from opinfo_shapes import SHAPES

# The samples of an op that a test runs, of real and of complex numbers.
MOST, MOST_COMPLEX = 8, 3
MAPPINGS: dict[str, Any] = {
    **ELEMENTS, **SHAPES, **PLACES, **NEW, **LINALG, **NN, **LOSSES, **COMPLEX,
}  # fmt: skip
OPS: list[Any] = import_module("torch.testing._internal.common_methods_invocations").op_db
pytestmark = pytest.mark.filterwarnings("ignore")


def name_of(op: Any) -> str:
    return f"{op.name}[{op.variant_test_name}]" if op.variant_test_name else op.name


def mapping_of(op: Any) -> Any:
    """Ours, None of an op that has none."""
    if name_of(op) in ABSENT:
        return None
    return MAPPINGS.get(name_of(op), MAPPINGS.get(op.name))


def is_float(op: Any) -> bool:
    return torch.float64 in op.dtypes


def is_complex(op: Any) -> bool:
    return torch.complex128 in op.dtypes and name_of(op) not in ABSENT_COMPLEX


def unexpected(outcome: Outcome) -> list[str]:
    """The samples that do not pass without a reason."""
    refused = [t for t in outcome.refused if reason_of(t) is None]
    return [*(f"refused {t}" for t in refused), *(f"wrong {t}" for t in outcome.wrong)]


def reason_of(refusal: str) -> str | None:
    return next((why for why, text in REFUSED.items() if re.search(text, refusal)), None)


def test_every_op_has_a_function_or_a_reason() -> None:
    missing = [name_of(op) for op in OPS if is_float(op) and mapping_of(op) is None
               and not {op.name, name_of(op)} & set(ABSENT)]  # fmt: skip
    assert not missing
    names = {op.name for op in OPS} | {name_of(op) for op in OPS}
    assert not (set(MAPPINGS) | set(ABSENT) | set(ABSENT_COMPLEX)) - names


@pytest.mark.parametrize(
    "op", [op for op in OPS if is_float(op) and mapping_of(op) is not None], ids=name_of
)
def test_samples_agree(op: Any) -> None:
    outcome = run(op, mapping_of(op), MOST)
    assert not unexpected(outcome), "\n".join(unexpected(outcome))


@pytest.mark.parametrize(
    "op", [op for op in OPS if is_complex(op) and mapping_of(op) is not None], ids=name_of
)
def test_complex_samples_agree(op: Any) -> None:
    outcome = run(op, mapping_of(op), MOST_COMPLEX, torch.complex128)
    assert not unexpected(outcome), "\n".join(unexpected(outcome))


def main() -> None:
    """Compare samples of all ops that match, and print what came of them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("regex", nargs="?", default="")
    parser.add_argument("--most", type=int, default=10**6, help="samples of an op")
    parser.add_argument("--complex", action="store_true", help="samples of complex numbers")
    options = parser.parse_args()
    dtype = torch.complex128 if options.complex else torch.float64
    begun = time.process_time()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for op in OPS:
        if not (is_complex if options.complex else is_float)(op):
            counts[f"ops without {dtype}"] += 1
        elif mapping_of(op) is None:
            counts["ops without a function"] += 1
            reasons[f"op: {ABSENT.get(name_of(op)) or ABSENT[op.name]}"] += 1
        elif re.search(options.regex, name_of(op)):
            outcome = run(op, mapping_of(op), options.most, dtype)
            counts["ops compared"] += 1
            counts["ops of which all samples pass"] += outcome.passed == outcome.samples
            for what in ("samples", "passed"):
                counts[what] += getattr(outcome, what)
            for text in outcome.refused:
                reasons[f"sample: {reason_of(text) or text}"] += 1
            for text in outcome.wrong:
                reasons[f"sample: WRONG {op.name} {text}"] += 1
            for text in outcome.other:
                reasons[f"sample: {text.rpartition(': ')[2]}"] += 1
    for text, count in [*counts.items(), *reasons.most_common()]:
        print(f"{count:6} {text[:300]}")
    print(f"{time.process_time() - begun:6.0f} seconds of CPU")


if __name__ == "__main__":
    main()
