"""jax.jit's functions, whose results are JAX's arrays, and custom_jvp as a decorator of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradir.compat.jax.arrays import as_jax
from gradir.frontends.transforms.custom_derivatives import CustomJvp
from gradir.frontends.transforms.jit import Jitted
from gradir.frontends.transforms.jit import jit as own_jit
from gradir.frontends.transforms.program import Program
from gradir.frontends.transforms.wrapped import look_like


class CompatJitted:
    """A function of jax.jit: gradir's, whose results are JAX's arrays."""

    def __init__(self, function: Jitted[..., Any]):
        look_like(self, function)
        self.jitted = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return as_jax(self.jitted(*args, **kwargs))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else lambda *args, **kwargs: self(instance, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Program:
        """The program for such arguments."""
        return self.jitted.lower(*args, **kwargs)

    trace = lower

    def __repr__(self) -> str:
        return repr(self.jitted)


def jitted(function: Callable[..., Any], options: dict[str, Any]) -> CompatJitted:
    """A function as jax.jit makes it."""
    return CompatJitted(own_jit(function, **options))


class DecoratedJvp(CustomJvp):
    """gradir.custom_jvp, whose `defjvp` gives the rule back."""

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:  # pyrefly: ignore
        """Set the rule; a decorator."""
        super().defjvp(jvp)
        return jvp
