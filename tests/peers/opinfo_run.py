"""Runs OpInfo's samples through a function of ours and torch's: values, then gradients.

Values come from eager calls, gradients from the interpreter, on the vjp of the traced
function; of the first sample of each op, native code too. Gradients of complex numbers are the
conjugates of torch's, from the conjugates of its cotangents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from opinfo_bind import array_of, leaves, mapped, torch

import gradir

Array = Any
# Numbers agree up to this, on the scale of the largest of an array.
TOLERANCE = 1e-7


@dataclass
class Outcome:
    """What came of the samples of one op: texts of the samples that did not pass."""

    passed: int = 0
    refused: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    other: list[str] = field(default_factory=list[str])

    @property
    def samples(self) -> int:
        return self.passed + len(self.refused) + len(self.wrong) + len(self.other)


def samples_of(op: Any, most: int, dtype: Any = torch.float64) -> list[Any]:
    """At most `most` samples, spread over all."""
    torch.manual_seed(0)
    np.random.seed(0)
    found = list(
        op.sample_inputs("cpu", dtype, requires_grad=_is_inexact(dtype) and op.supports_autograd)
    )
    step = max(1, -(-len(found) // most))
    return [s for s in found[::step] if _size(s) <= LARGEST]


# Samples with more elements are left out.
LARGEST = 20_000


def _is_inexact(dtype: Any) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _size(sample: Any) -> int:
    tensors = leaves(mapped([sample.input, *sample.args, sample.kwargs], lambda t: [t]))
    return max((t.numel() for t in tensors if isinstance(t, torch.Tensor)), default=0)


def run(op: Any, mapping: Any, most: int, dtype: Any = torch.float64) -> Outcome:
    """All samples of an op."""
    outcome = Outcome()
    ours, theirs = mapping if isinstance(mapping, tuple) else (mapping, op)
    for k, sample in enumerate(samples_of(op, most, dtype)):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _run_sample(ours, theirs, sample, k == 0, outcome)
    return outcome


def _run_sample(ours: Any, theirs: Any, sample: Any, is_native: bool, outcome: Outcome) -> None:
    text = text_of(sample)
    try:
        differences = list(Comparison(ours, theirs, sample).differences(is_native))
    except NotImplementedError as error:
        outcome.other.append(f"{text}: {error}")
    except gradir.GradirError as error:
        message = str(error).partition("error: ")[2] or str(error)
        outcome.refused.append(f"{text}: {message.splitlines()[0]}")
    else:
        if differences:
            outcome.wrong.append(f"{text}: {'; '.join(differences)}")
        else:
            outcome.passed += 1


def text_of(sample: Any) -> str:
    def shown(t: Any) -> Any:
        return f"{'x'.join(map(str, t.shape)) or '0d'}"

    parts = [mapped(sample.input, shown), *mapped(list(sample.args), shown)]
    named = [f"{k}={v}" for k, v in mapped(sample.kwargs, shown).items()]
    return f"({', '.join([*map(str, parts), *named])})"


class Comparison:
    """One sample: its tensors as arrays, in order, and both functions of these."""

    def __init__(self, ours: Callable[..., Any], theirs: Callable[..., Any], sample: Any):
        self.sample, self.ours, self.theirs = sample, ours, theirs
        self.tensors: list[Any] = []
        mapped([sample.input, list(sample.args), sample.kwargs], self.tensors.append)
        self.arrays = [array_of(t) for t in self.tensors]
        self.active = [k for k, t in enumerate(self.tensors) if t.requires_grad]

    def call(self, *arrays: Any) -> list[Any]:
        """Ours, of the active arrays."""
        values = list(self.arrays)
        for k, array in zip(self.active, arrays, strict=True):
            values[k] = array
        left = iter(values)
        first, args, kwargs = mapped(
            [self.sample.input, list(self.sample.args), self.sample.kwargs], lambda _: next(left)
        )
        return leaves(self.ours(first, *args, **kwargs))

    def differences(self, is_native: bool) -> Iterator[str]:
        sample = self.sample
        expected = self.theirs(sample.input, *sample.args, **sample.kwargs)
        results = [r for r in leaves(expected) if r is not None]
        primals = [self.arrays[k] for k in self.active]
        found = self.call(*primals)
        if len(found) != len(results):
            yield f"{len(found)} results, theirs {len(results)}"
            return
        for k, (one, other) in enumerate(zip(found, results, strict=True)):
            wanted = array_of(other) if isinstance(other, torch.Tensor) else other
            if not close(one, wanted):
                yield f"result {k} is {short_text(one)}, theirs {short_text(wanted)}"
                return
        yield from self._gradients(primals, found, results, is_native)

    def _gradients(self, primals: Any, found: Any, results: Any, is_native: bool) -> Iterator[str]:
        places = [
            k
            for k, r in enumerate(results)
            if isinstance(r, torch.Tensor) and r.requires_grad and _is_inexact(r.dtype)
        ]
        if not places or not primals:
            return
        generator = np.random.default_rng(7)
        cts = [_numbers(generator, results[k]) for k in places]
        cts = [
            np.asarray(ct, np.asarray(found[k]).dtype) for ct, k in zip(cts, places, strict=True)
        ]
        theirs = torch.autograd.grad(
            [results[k] for k in places],
            [self.tensors[k] for k in self.active],
            [
                torch.tensor(ct.astype(_widest(ct)).conj()).to(results[k].dtype)
                for ct, k in zip(cts, places, strict=True)
            ],
            allow_unused=True,
        )

        def chosen(*arrays: Any) -> Any:
            made = self.call(*arrays)
            return tuple(made[k] for k in places)

        module = gradir.trace(chosen, *primals)
        ours = gradir.interpret(module.gradient("chosen", mode="vjp"), "chosen_vjp", *primals, *cts)
        yield from compared("gradient", ours[len(places) :], theirs)
        if is_native:
            _, push = gradir.vjp(chosen, *primals)
            yield from compared("native gradient", push(tuple(cts)), theirs)


def _numbers(generator: np.random.Generator, like: Any) -> Array:
    """Random numbers, complex ones like complex numbers."""
    made = generator.uniform(-1, 1, tuple(like.shape))
    return made + 1j * generator.uniform(-1, 1, tuple(like.shape)) if like.is_complex() else made


def _widest(x: Array) -> type[Any]:
    return np.complex128 if np.iscomplexobj(x) else np.float64


def compared(what: str, ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[str]:
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if other is not None and other._is_zerotensor():
            other = other.new_zeros(other.shape)  # it has no memory that could be read
        wanted = np.zeros_like(one) if other is None else array_of(other.to_dense()).conj()
        if not close(one, wanted):
            yield f"{what} {k} is {short_text(one)}, theirs {short_text(wanted)}"


def close(found: Any, expected: Any) -> bool:
    one, other = np.asarray(found), np.asarray(expected)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" and other.dtype.kind not in "fc":
        return np.array_equal(one, other)
    if (one.dtype.kind == "c") != (other.dtype.kind == "c"):
        return False
    least = TOLERANCE if str(one.dtype) in ("float64", "complex128") else 1e-2
    one, other = one.astype(_widest(one)), other.astype(_widest(one))
    scale = max(float(np.max(np.abs(other[np.isfinite(other)]), initial=0)), 1e-3)
    return np.allclose(one, other, least, least * scale, equal_nan=True)


def short_text(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.shape} {np.array2string(array.ravel()[:6], precision=5, separator=',')}"
