"""gradir.interop.jax: gradir functions in JAX (`wrap`), and JAX's in gradir (`trace`).

`differentiable` is both: a function of JAX whose values and gradients are computed by gradir.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradir.frontends.tracing.trees import Tree
from gradir.interop.foreign import Foreign
from gradir.interop.jax_calls import run_program
from gradir.interop.jax_programs import differentiable, trace
from gradir.interop.programs import Differentiable, WrapOptions
from gradir.packages import package

jax: Any = package("jax", "jax")

__all__ = ["differentiable", "trace", "wrap"]


def wrap(
    function: Callable[..., Any],
    *,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    threads: int | None = None,
) -> Callable[..., Any]:
    """The function, of gradir.numpy and gradir.nn, on arrays of JAX, under its transformations.

    Arguments and results are arrays, and nested tuples, lists and dicts of them. Other leaves of
    the arguments, Python numbers too, are static: hashable, and a program is compiled for each of
    their values. Reverse mode is there to every order, forward mode is not. vmap calls the program
    for one member after the other. WrapOptions are options of gradir.grad and gradir.jit.
    """
    return JaxFunction(function, WrapOptions(policy, memory_limit, threads))


class JaxFunction(Foreign):
    """A gradir function on arrays of JAX; see `wrap`."""

    array, types, captured = "an array of JAX", jax.Array, jax.errors.ConcretizationTypeError

    def __init__(self, function: Callable[..., Any], options: WrapOptions):
        super().__init__(function, options, (JaxFunction, (function, options)))

    def flattened(self, arguments: Any) -> tuple[list[Any], Tree]:
        leaves, tree = super().flattened(arguments)
        kinds = np.ndarray | np.generic
        return [jax.numpy.asarray(x) if isinstance(x, kinds) else x for x in leaves], tree

    def run(self, program: Differentiable, arrays: Sequence[Any]) -> Sequence[Any]:
        return run_program(program, arrays)
