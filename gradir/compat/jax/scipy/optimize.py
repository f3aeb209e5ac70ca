"""jax.scipy.optimize: `minimize` by BFGS as a traced loop, for jit, vmap and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gradir.numpy as gnp
from gradir.compat.jax import absent
from gradir.compat.jax.arrays import giving_arrays
from gradir.compat.jax.scipy.line_search import Point, line_search
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.transforms.derivatives import value_and_grad
from gradir.frontends.transforms.flow import while_loop
from gradir.frontends.transforms.jit import jit
from gradir.nearest import unknown_argument

_OPTIONS = ("gtol", "norm", "maxiter", "line_search_maxiter")


class OptimizeResults(NamedTuple):
    """The minimum, as SciPy says it; `status` 0 is success, 1 too many iterations, 3 no step."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    count: Any
    x: Any
    value: Any
    slope: Any
    inverse: Any
    """The approximate inverse of the Hessian."""
    before: Any
    """The value one iteration ago."""
    evaluations: Any
    converged: Any
    failed: Any


@giving_arrays
@public
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """The minimum of `fun(x, *args)` from the vector x0 on, by BFGS.

    Options are gtol (1e-5), norm (infinity), maxiter (200 for each number of x0) and
    line_search_maxiter (10). The step is found by another line search than JAX's, so that the
    counts of evaluations differ.
    """
    given = dict(options or {})
    if method.lower() != "bfgs":
        raise refusal(
            f"minimize: method {method!r} is not there, only 'BFGS'; gradir.interop.scipy.minimize "
            "has all of SciPy's, outside of jit",
            ArgumentError,
        )
    if not isinstance(args, tuple):
        raise refusal(f"minimize: args must be a tuple, got {args!r}", ArgumentTypeError)
    if wrong := unknown_argument("minimize: options", given, _OPTIONS):
        raise refusal(wrong, ArgumentError)
    if len(gnp.shape(x0)) != 1:
        raise refusal(
            f"minimize: x0 must be a vector, got the shape {gnp.shape(x0)}; "
            "flatten_util.ravel_pytree makes one of a tree",
            ArgumentError,
        )
    if tol is not None:
        given.setdefault("gtol", tol)
    work = _Bfgs(fun, given)
    return OptimizeResults(*jit(work.minimum)(x0, args))


class _Bfgs:
    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]):
        self._function = function
        self._tolerance = options.get("gtol", 1e-5)
        self._norm = options.get("norm", np.inf)
        self._most = options.get("maxiter")
        self._rounds = options.get("line_search_maxiter", 10)

    def minimum(self, x0: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The fields of the result."""
        x0 = gnp.asarray(x0)
        x0 = x0 if x0.dtype.kind == "f" else gnp.astype(x0, float)
        most = 200 * x0.shape[0] if self._most is None else self._most
        evaluate = value_and_grad(lambda x: self._function(x, *args))
        value, slope = evaluate(x0)
        start = _State(
            gnp.asarray(0), x0, value, slope, gnp.eye(x0.shape[0], dtype=x0.dtype),
            value + gnp.linalg.norm(slope) / 2, gnp.asarray(1),
            self._is_small(slope), gnp.asarray(False),
        )  # fmt: skip

        def goes_on(state: _State) -> Any:
            return ~state.converged & ~state.failed & (state.count < most)

        end = while_loop(goes_on, lambda state: self._step(state, evaluate), start)
        status = gnp.where(end.converged, 0, gnp.where(end.failed, 3, 1))
        counts = end.evaluations, end.evaluations, end.count
        return end.x, end.converged, status, end.value, end.slope, end.inverse, *counts

    def _is_small(self, slope: Any) -> Any:
        return gnp.linalg.norm(slope, ord=self._norm) < self._tolerance

    def _step(self, state: _State, evaluate: Callable[[Any], tuple[Any, Any]]) -> _State:
        """One iteration: a step by the quasi-Newton direction, and what it says of the Hessian."""
        way = -(state.inverse @ state.slope)

        def at(step: Any) -> Point:
            value, slope = evaluate(state.x + step * way)
            return Point(step, value, gnp.dot(slope, way))

        here = Point(gnp.zeros_like(state.value), state.value, gnp.dot(state.slope, way))
        guess = 1.01 * 2 * (state.value - state.before) / here.slope
        guess = gnp.where((guess > 0) & (guess < 1), guess, gnp.ones_like(guess))
        step, failed, rounds = line_search(at, here, guess, 2 * self._rounds)
        x = state.x + step * way
        value, slope = evaluate(x)
        inverse = _updated(state.inverse, x - state.x, slope - state.slope)
        return _State(
            state.count + 1, x, value, slope, inverse, state.value,
            state.evaluations + rounds + 1, self._is_small(slope), failed,
        )  # fmt: skip


def _updated(inverse: Any, moved: Any, change: Any) -> Any:
    """The inverse of the Hessian after a step; as it was where the slopes say nothing."""
    along = gnp.dot(change, moved)
    is_convex = along > 0
    factor = 1 / gnp.where(is_convex, along, 1.0)
    left = gnp.eye(inverse.shape[0], dtype=inverse.dtype) - factor * gnp.outer(moved, change)
    made = left @ inverse @ left.T + factor * gnp.outer(moved, moved)
    return gnp.where(is_convex, made, inverse)


__all__ = ["OptimizeResults", "minimize"]

if not TYPE_CHECKING:
    __getattr__ = absent.missing(
        "gradir.compat.jax.scipy.optimize",
        {"root": "lax.custom_root", "least_squares": "gradir.interop.scipy.minimize"},
        lambda: __all__,
    )
