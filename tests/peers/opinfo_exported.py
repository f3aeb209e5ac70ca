"""Runs OpInfo's samples through torch.export and gradir's interpreter: values, then gradients.

Each sample is a module of its tensors, whose other arguments are constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from opinfo_bind import leaves, mapped, torch
from opinfo_run import Outcome, close, compared, samples_of, short_text, text_of

import gradir
from gradir.interop.torch_export import exported, read_program
from gradir.interop.torch_programs import traced_program
from gradir.interop.torch_types import array_of


class Sample(torch.nn.Module):
    """A call of an op, of the tensors in its arguments; the tensors in its results."""

    def __init__(self, op: Any, sample: Any):
        super().__init__()
        self.op, self.sample = op, sample

    def forward(self, *tensors: Any) -> Any:
        rest = iter(tensors)
        given = [self.sample.input, list(self.sample.args), self.sample.kwargs]
        first, args, kwargs = mapped(given, lambda _: next(rest))
        return [x for x in leaves(self.op(first, *args, **kwargs)) if isinstance(x, torch.Tensor)]


def tensors_of(sample: Any) -> list[Any]:
    found: list[Any] = []
    mapped([sample.input, list(sample.args), sample.kwargs], found.append)
    return [x.detach().requires_grad_(x.requires_grad) for x in found]


def run_exported(op: Any, most: int, seen: set[str], is_core: bool = False) -> Outcome:
    """Samples of an op; `seen` gets the names of the ops of the programs that agree.

    `is_core`: the programs are decomposed to core ATen first, by PyTorch.
    """
    outcome = Outcome()
    dtype = next(d for d in (torch.float64, torch.int64, torch.bool) if d in op.dtypes)
    for sample in samples_of(op, most, dtype):
        text = text_of(sample)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                names: set[str] = set()
                differences = list(_differences(op, sample, names, is_core))
            except gradir.GradirError as error:
                message = str(error).partition("error: ")[2] or str(error)
                outcome.refused.append(f"{text}: {' '.join(message.split())[:300]}")
                continue
        if differences:
            outcome.wrong.append(f"{text}: {'; '.join(differences)}")
        else:
            outcome.passed += 1
            seen |= names
    return outcome


def _differences(op: Any, sample: Any, names: set[str], is_core: bool) -> Iterator[str]:
    tensors, module = tensors_of(sample), Sample(op.op, sample)
    expected = module(*tensors)
    made = exported(module, tensors, {}, {})
    made = made.run_decompositions() if is_core else made
    program = read_program(made, "sample")
    names |= {
        str(n.target) for n in made.graph.nodes if isinstance(n.target, torch._ops.OpOverload)
    }
    if program.has_key:
        raise gradir.GradirError("it draws random numbers")
    names |= {node.op for node in program.graph.nodes}
    made = traced_program(program, module).module
    arrays = [array_of(x) for x in tensors]
    found = gradir.interpret(made, "sample", *arrays)
    if len(found) != len(expected):
        yield f"{len(found)} results, theirs {len(expected)}"
        return
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not close(one, array_of(other)):
            yield f"result {k} is {short_text(one)}, theirs {short_text(array_of(other))}"
            return
    yield from _gradients(made, tensors, arrays, expected)


def _gradients(
    made: Any, tensors: Sequence[Any], arrays: Sequence[Any], expected: Sequence[Any]
) -> Iterator[str]:
    places = [k for k, y in enumerate(expected) if y.requires_grad and y.is_floating_point()]
    active = [k for k, x in enumerate(tensors) if x.requires_grad]
    if not places or not active:
        return
    generator = torch.Generator().manual_seed(7)
    cts = [torch.rand(expected[k].shape, generator=generator, dtype=torch.float64) * 2 - 1
           for k in places]  # fmt: skip
    cts = [ct.to(expected[k].dtype) for ct, k in zip(cts, places, strict=True)]
    theirs = torch.autograd.grad(
        [expected[k] for k in places], [tensors[k] for k in active], cts, allow_unused=True
    )
    derived = made.gradient("sample", wrt=active, of=places, mode="vjp")
    found = gradir.interpret(derived, "sample_vjp", *arrays, *map(array_of, cts))
    yield from compared("gradient", found[len(expected) :], theirs)
