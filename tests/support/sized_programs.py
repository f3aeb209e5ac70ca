"""Random programs with named extents: code for many sizes has the bits of code for one size.

    PYTHONPATH=tests:tests/support python -m sized_programs --programs 500

compares programs, gradients and gradients of gradients at eight sizes each, on one and two threads,
and says for each how many codes the sizes took. It ends with the first difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any, TypeAlias

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.compiler.dynamic import SpecializingExecutable
from gradir.errors import ArgumentError, GradirError, PassError

Shape: TypeAlias = tuple[str | int, ...]
Array: TypeAlias = Any

MOST_ELEMENTS = 200_000
"""Of the arguments of a call."""
SIZES = (0, 1, 2, 3, 5, 6, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 130, 257, 1000, 1025)


@dataclass(frozen=True)
class SizedProgram:
    """A traced function `@f` of arrays of one dtype, and their shapes."""

    module: gradir.Module
    shapes: tuple[Shape, ...]
    dtype: str
    threads: int


def random_program(seed: int) -> SizedProgram | None:
    """A program, its gradient or the gradient's; None where a function cannot be traced."""
    random = Random(seed)
    dtype = random.choice(["float32", "float32", "float32", "float64", "float16"])
    names = ["n", "m"] if random.random() < 0.4 else ["n"]
    shapes = [_shape(random, names) for _ in range(random.choice([1, 2, 2, 3]))]
    shapes += [(name,) for name in names if not any(name in shape for shape in shapes)]
    function = _function(random.randrange(1 << 30), random.randrange(2, 7))
    for _ in range(random.choice([0, 1, 1, 2])):
        function = gradir.grad(_summed(function, dtype))

    def f(*args: Array) -> Array:
        return function(*args)

    try:
        module = gradir.trace(f, *(gradir.Spec(shape, dtype) for shape in shapes))
    except GradirError:
        return None
    return SizedProgram(module, tuple(shapes), dtype, random.choice([1, 2]))


def _shape(random: Random, names: Sequence[str]) -> Shape:
    extents: list[str | int] = [*names, random.choice([1, 3, 4, 7, 8, 16, 33])]
    return tuple(random.choice(extents) for _ in range(random.choice([1, 2, 2, 3])))


def _summed(function: Callable[..., Array], dtype: str) -> Callable[..., Array]:
    wide = "float64" if dtype == "float64" else "float32"

    def total(*args: Array) -> Array:
        results = function(*args)
        parts = results if isinstance(results, tuple) else (results,)
        return sum(gnp.sum(gnp.astype(part, wide) * 0.7) for part in parts)

    return total


def _function(seed: int, steps: int) -> Callable[..., Array]:
    """A function of some steps, each of values before it."""

    def function(*args: Array) -> Array:
        random, values = Random(seed), list(args)
        for _ in range(steps):
            made = random.choice(STEPS)(random, random.choice(values), values)
            if made is not None:
                values.append(made)
        return tuple(values[len(args) :][-2:]) or (args[0] * 2,)

    return function


# Steps: a new value of x and others, or None where x does not suit.


def _unary(random: Random, x: Array, values: list[Array]) -> Array:
    functions: list[Callable[[Array], Array]] = [
        gnp.tanh, gnp.sin, gnp.square, gnp.abs, nn.relu, lambda v: gnp.exp(-v * v),
        lambda v: v * 0.5 + 1, lambda v: gnp.where(v > 0, v, v * 0.1),
        lambda v: gnp.clip(v, -0.5, 0.7), lambda v: v / (1 + gnp.sqrt(gnp.sum(v * v))),
    ]  # fmt: skip
    return random.choice(functions)(x)


def _binary(random: Random, x: Array, values: list[Array]) -> Array:
    functions: list[Callable[[Array, Array], Array]] = [
        lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, gnp.maximum,
    ]  # fmt: skip
    return random.choice(functions)(x, random.choice(values))


def _reduced(random: Random, x: Array, values: list[Array]) -> Array | None:
    if not x.ndim:
        return None
    function = random.choice([gnp.sum, gnp.mean, gnp.max, gnp.var])
    return function(x, random.randrange(x.ndim), keepdims=random.random() < 0.4)


def _moved(random: Random, x: Array, values: list[Array]) -> Array | None:
    if not x.ndim:
        return None
    axis = random.randrange(x.ndim)
    functions: list[Callable[[Array], Array]] = [
        lambda v: v[1:], lambda v: v[::-1], lambda v: v[1:] - v[:-1],
        lambda v: gnp.roll(v, 1, axis),
        lambda v: gnp.moveaxis(v, axis, -1), lambda v: gnp.expand_dims(v, axis),
        lambda v: gnp.concatenate([v, gnp.sin(v)], axis), lambda v: gnp.stack([v, v * 2], axis),
        lambda v: gnp.pad(v, [(1, 2), *[(0, 0)] * (v.ndim - 1)]), lambda v: gnp.sort(v, -1),
        lambda v: gnp.take(v, np.array([0]), 0), lambda v: gnp.cumsum(v, axis),
        lambda v: nn.softmax(v, axis), lambda v: gnp.astype(gnp.argmax(v, -1), v.dtype),
    ]  # fmt: skip
    return random.choice(functions)(x)


def _product(random: Random, x: Array, values: list[Array]) -> Array | None:
    if x.ndim == 1:
        return x[:, None] * x[None, :]
    if x.ndim < 2:
        return None
    functions: list[Callable[[Array], Array]] = [
        lambda v: v @ random.choice(values), lambda v: gnp.swapaxes(v, -1, -2) @ v, gnp.tril,
        lambda v: v @ gnp.swapaxes(v, -1, -2),
    ]  # fmt: skip
    return random.choice(functions)(x)


def _control(random: Random, x: Array, values: list[Array]) -> Array:
    functions: list[Callable[[Array], Array]] = [
        lambda v: gradir.fori_loop(0, 3, lambda i, u: gnp.sin(u) + 0.1, v),
        lambda v: gradir.cond(gnp.sum(v) > 0, lambda u: u * 2, gnp.sin, v),
        gradir.checkpoint(lambda v: gnp.tanh(gnp.sin(v) * v)),
        _scanned,
    ]
    return random.choice(functions)(x)


def _scanned(x: Array) -> Array:
    if not x.ndim:
        return x

    def step(carry: Array, row: Array) -> tuple[Array, Array]:
        return gnp.tanh(carry + row), carry * 2 + row

    last, rows = gradir.scan(step, gnp.sum(x, 0) * 0, x)
    return rows + last


STEPS = (_unary, _unary, _binary, _reduced, _moved, _moved, _product, _control)


# Comparison.


def compare_program(program: SizedProgram, seed: int, calls: int = 8) -> int:
    """Compare calls at random sizes; gives how many codes for many sizes there were."""
    run, alone = (
        gradir.compile(program.module, "f", threads=program.threads, wait=True) for _ in range(2)
    )
    assert isinstance(run, SpecializingExecutable) and isinstance(alone, SpecializingExecutable)
    alone._make_sized = None
    random = Random(seed)
    for _ in range(calls):
        values = {"n": random.choice(SIZES), "m": random.choice(SIZES[:12])}
        shapes = [[n if isinstance(n, int) else values[n] for n in s] for s in program.shapes]
        if sum(map(prod, shapes)) > MOST_ELEMENTS:
            continue
        numbers = np.random.default_rng(seed)
        arrays = [numbers.standard_normal(shape).astype(program.dtype) for shape in shapes]
        expected, found = _outcome(alone, arrays), _outcome(run, arrays)
        assert expected == found, f"program {seed}, {values}: {expected!r:.300}, {found!r:.300}"
    return run.codes_for_many_sizes


def _outcome(run: Callable[..., Any], arrays: Sequence[Array]) -> Any:
    """The shapes and the bits of results, or the type of an error."""
    try:
        return [(result.shape, result.tobytes()) for result in run(*arrays)]
    except (ArgumentError, PassError) as error:  # for sizes that the program is not for
        return str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    codes: list[int] = []
    for seed in range(given.first, given.first + given.programs):
        program = random_program(seed)
        if program is not None:
            codes.append(compare_program(program, seed))
            print(seed, program.shapes, program.dtype, codes[-1], flush=True)
    print(f"{len(codes)} programs fine, {sum(codes)} codes for many sizes")


if __name__ == "__main__":
    main()
