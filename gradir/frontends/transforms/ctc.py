"""gradir.nn.ctc_loss: alignments of a sequence with a shorter one, summed by a scan over time."""

from __future__ import annotations

import inspect
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.arguments import checked, floating, one_of
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.wide import as_indices, wide
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted, tracing

if TYPE_CHECKING:
    from gradir.frontends.transforms.flow import scan
    from gradir.frontends.transforms.jit import jit
else:
    scan = lazy_function("gradir.frontends.transforms.flow", "scan")
    jit = lazy_function("gradir.frontends.transforms.jit", "jit")

# In place of log(0): sums of its exponentials are 0, and their derivatives no nan.
_NEVER = -1e30


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tracer:  # fmt: skip
    """Connectionist temporal classification: -log of the sum of the probabilities of all alignments
    of each target, as PyTorch has it.

    log_probs: [T, N, C], log probabilities, or [T, C]. targets: integers [N, S], or [S], none the
        `blank`. input_lengths, target_lengths: integers [N], or []: how much of T and S counts.
    reduction: "none", [N]; "sum"; "mean", of the losses / max(target length, 1).
    zero_infinity: a target without an alignment has the loss 0 and no gradient, in place of inf.
    Lengths outside of T and S, and targets outside of C, are no error but meaningless.
    """
    given, labels = floating(log_probs), as_indices(targets)
    x = wide(given)
    inputs, lengths = lifted(input_lengths), lifted(target_lengths)
    one_of(reduction, "nn.ctc_loss: reduction", ("mean", "sum", "none"))
    if x.ndim == 2:
        each = _losses(x[:, None], labels[None], inputs[None], lengths[None], blank, zero_infinity)
    else:
        each = _losses(x, labels, inputs, lengths, blank, zero_infinity)
    if reduction == "mean":
        sizes = gnp.maximum(gnp.reshape(lengths, each.shape), 1)
        made = gnp.mean(each / gnp.astype(sizes, each.dtype))
    elif reduction == "sum":
        made = gnp.sum(each)
    else:
        made = each[0] if x.ndim == 2 else each
    return converted(made, element(given))


def _losses(x: Any, labels: Any, inputs: Any, lengths: Any, blank: int, zeroes: bool) -> Any:
    """The loss of each sequence."""
    _check(x, labels, inputs, lengths, blank)
    steps, batch, _ = x.shape
    states = 2 * labels.shape[1] + 1
    # blank, label, blank, label, ..., blank
    at: Any = _numbers(states)
    padded = gnp.pad(labels, ((0, 0), (0, 1)))
    states_labels = gnp.where(at % 2 == 0, blank, gnp.take(padded, at // 2, 1))
    # a blank between two different labels may be left out
    before = gnp.pad(states_labels, ((0, 0), (2, 0)), constant_values=blank)[:, :states]
    skips = (states_labels != blank) & (states_labels != before) & (at >= 2)
    places = gnp.broadcast_to(states_labels, (steps, batch, states))
    emitted = gnp.take_along_axis(gnp.maximum(x, _NEVER), places, 2)
    start = gnp.where(at < 2, emitted[0], _NEVER)

    def step(alpha: Any, row: Any) -> Any:
        found, time = row
        moved = gnp.pad(alpha, ((0, 0), (2, 0)), constant_values=_NEVER)
        skipped = gnp.where(skips, moved[:, :states], _NEVER)
        ways = gnp.stack([alpha, moved[:, 1 : states + 1], skipped])
        after = gnp.maximum(gnp.logsumexp(ways, axis=0) + found, _NEVER)
        return gnp.where(gnp.expand_dims(time < inputs, 1), after, alpha), 0.0

    alpha, _ = scan(step, start, (emitted[1:], gnp.arange(1, steps)))
    last = gnp.expand_dims(gnp.astype(lengths, "int64") * 2, 1)
    ends = gnp.concatenate([last, gnp.maximum(last - 1, 0)], axis=1)
    total = gnp.take_along_axis(alpha, ends, 1)
    counts = gnp.concatenate([last >= 0, last > 0], axis=1)
    total = gnp.logsumexp(gnp.where(counts, total, _NEVER), axis=1)
    return gnp.where(total < _NEVER / 2, 0.0 if zeroes else gnp.inf, -total)


def _numbers(count: int) -> Any:
    return np.arange(count)


def _check(x: Any, labels: Any, inputs: Any, lengths: Any, blank: int) -> None:
    integers = not any(is_float(element(n)) for n in (labels, inputs, lengths))
    fits = x.ndim == 3 and labels.ndim == 2 and labels.shape[0] == x.shape[1] and x.shape[0] > 0
    if not fits or not integers or not inputs.shape == lengths.shape == x.shape[1:2]:
        raise refusal(
            "nn.ctc_loss: log_probs [T, N, C] and integers [N, S], [N] and [N] expected, got "
            f"{x!r}, {labels!r}, {inputs!r} and {lengths!r}"
        )
    if not 0 <= blank < x.shape[2]:
        raise refusal(f"nn.ctc_loss: blank must be one of the {x.shape[2]} classes, got {blank}")


_STATIC = ("blank", "reduction", "zero_infinity")
_PARAMETERS = inspect.signature(ctc_loss)
_checked = checked(ctc_loss, "nn.ctc_loss", "gradir.nn")


@cache
def _compiled() -> Any:
    return jit(ctc_loss, static_argnames=_STATIC)


@wraps(_checked)
def _anywhere(*args: Any, **kwargs: Any) -> Any:
    """In a trace, or compiled: a scan has no meaning on arrays."""
    try:
        given = _PARAMETERS.bind(*args, **kwargs).arguments
    except TypeError:
        return _checked(*args, **kwargs)  # which refuses it
    if tracing() is not None:
        return _checked(**given)
    return _compiled()(**given)


FUNCTIONS = {"ctc_loss": public(_anywhere)}
