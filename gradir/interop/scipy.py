"""gradir.interop.scipy.minimize: scipy.optimize.minimize with gradir's derivatives.

SciPy's vector of float64 numbers is taken apart inside of the program: nothing but native code runs
between SciPy and the value, its gradient, or a product with its Hessian.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np

import gradir.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import Spec, spec_of, type_text
from gradir.frontends.tracing.trace import function_name
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.trees import flatten
from gradir.frontends.transforms.derivatives import hvp, value_and_grad
from gradir.frontends.transforms.jit import jit
from gradir.packages import package

_optimize: Any = package("scipy.optimize", "scipy")

Arguments = tuple[Any, ...]

_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_WITH_HESSIAN = ("dogleg", "trust-exact")
_LARGEST_HESSIAN = 4096
"""The most variables of a method that needs the matrix, of 128 MiB."""


@public
def minimize(
    function: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | Callable[..., Any] | None = None,
    **options: Any,
) -> Any:
    """scipy.optimize.minimize of `function(x, *args)`, with derivatives by gradir.

    x0 is a floating array or number, or nested tuples, lists and dicts of them; the function gets
    such an x and returns a floating number, and so is the `x` of the result, and what a callback
    gets. `args` are arrays, numbers, or nested. Value and gradient are one compiled function, and
    the methods that use products with the Hessian, or the matrix, get it compiled as well.

    SciPy computes in float64. For arrays of other dtypes the function is computed in these, and
    only its results are converted. `options` are the other arguments of SciPy's function, whose
    vectors have the leaves of x one after the other: bounds, constraints, tol, callback, options.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
    name = method.lower() if isinstance(method, str) else method
    for given in ("jac", "hess", "hessp"):
        if given in options:
            raise refusal(f"minimize: {given} is computed by gradir; leave it out", ArgumentError)
    problem = _Problem(function, x0, cast(Arguments, args) if isinstance(args, tuple) else (args,))
    if options.get("callback") is not None:
        options["callback"] = problem.callback(options["callback"])
    derivatives = problem.derivatives(name)
    result = _optimize.minimize(x0=problem.start, method=method, **derivatives, **options)
    result.x = problem.nested(result.x)
    return result


class _Problem:
    """A function of nested arrays as functions of a vector of float64 numbers."""

    def __init__(self, function: Callable[..., Any], x0: Any, args: Arguments):
        leaves, self._tree = flatten(x0)
        names = self._tree.paths("x0")
        self._specs = [_spec(leaf, name) for leaf, name in zip(leaves, names, strict=True)]
        flat = [np.asarray(leaf).astype(np.float64).reshape(-1) for leaf in leaves]
        self.start = np.concatenate([np.empty(0), *flat])
        if not self.start.size:
            raise refusal("minimize: x0 must have a number, got none", ArgumentError)
        self._function, self._args = function, args
        self._arguments = flatten(args)[0]

    def derivatives(self, method: object) -> dict[str, Any]:
        """The functions for a method of SciPy's: `fun`, `jac`, `hess`, `hessp`."""
        if method in _WITHOUT_GRADIENT:
            return {"fun": self._native(self._value)}
        found: dict[str, Any] = {"fun": self._native(value_and_grad(self._value)), "jac": True}
        if method in _WITH_HESSIAN:
            found["hess"] = self._hessian(str(method))
        elif method in _WITH_PRODUCTS or callable(method):
            found["hessp"] = self._product()
        return found

    def nested(self, vector: Any) -> Any:
        """The arrays of a vector, nested as x0 and with its dtypes."""
        leaves: list[Any] = []
        place = 0
        for spec in self._specs:
            part = vector[place : place + prod(spec.shape)]
            leaves.append(np.array(part).reshape(spec.shape).astype(spec.dtype))
            place += prod(spec.shape)
        return self._tree.build(leaves)

    def callback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A callback of SciPy's for one that takes nested arrays."""
        try:
            names = set(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            names = set[str]()
        if names == {"intermediate_result"}:

            def of_result(*, intermediate_result: Any) -> Any:
                given = _optimize.OptimizeResult(intermediate_result)
                given.x = self.nested(given.x)
                return function(intermediate_result=given)

            # SciPy asks for the name
            return of_result

        def of_vector(vector: Any, *rest: Any) -> Any:
            return function(self.nested(vector), *rest)

        return of_vector

    def _value(self, vector: Tracer, *args: Any) -> Tracer:
        """The function of the vector, traced."""
        leaves: list[Any] = []
        place = 0
        for spec in self._specs:
            part = vector[place : place + prod(spec.shape)]
            leaves.append(gnp.astype(gnp.reshape(part, spec.shape), spec.dtype))
            place += prod(spec.shape)
        name = function_name(self._function)
        value = call_user("minimize", self._function, self._tree.build(leaves), *args)
        parts, nesting = flatten(value)
        if nesting.kind is not None:
            raise refusal(
                f"minimize: @{name} must return a floating number, got {len(parts)} nested arrays"
            )
        made = lifted(value, what=f"minimize: result of @{name}: ")
        if made.shape or not is_float(element(made)):
            raise refusal(
                f"minimize: @{name} must return a floating number, got {type_text(made.type)}"
            )
        return gnp.astype(made, np.float64)

    def _native(self, function: Callable[..., Any], *more: Any) -> Callable[..., Any]:
        """A function of the vector, `more` vectors and the arguments, compiled."""
        compiled = jit(function).compiled(self.start, *more, *self._args)
        run, arguments = compiled.executable, self._arguments

        def call(*vectors: Any) -> Any:
            # some of SciPy's methods ask for products with vectors of integers
            given = [np.asarray(vector, np.float64) for vector in vectors]
            return compiled.traced.results.build(run(*given, *arguments))

        return call

    def _product(self) -> Callable[[Any, Any], Any]:
        """The Hessian at a vector times another one."""

        def product(x: Any, v: Any, *args: Any) -> Any:
            def value(each: Any) -> Any:
                return self._value(each, *args)

            return hvp(value, (x,), (v,))

        return self._native(product, self.start)

    def _hessian(self, method: str) -> Callable[[Any], Any]:
        """The matrix, one product per column."""
        count = len(self.start)
        if count > _LARGEST_HESSIAN:
            raise refusal(
                f"minimize: {method} needs the Hessian as a matrix, for at most "
                f"{_LARGEST_HESSIAN} variables, got {count}; use trust-krylov",
                ArgumentError,
            )
        product = self._product()
        return lambda x: np.stack([product(x, column) for column in np.eye(count)])


def _spec(leaf: Any, name: str) -> Spec:
    """The shape and the dtype of an array of x0."""
    found = spec_of(leaf)
    if found is None:
        kind = type(leaf).__name__
        raise refusal(f"minimize: {name}: expected an array, got {kind}", ArgumentTypeError)
    type_, _ = found
    if not is_float(type_.element_type):
        raise refusal(
            f"minimize: {name} must be floating, got {type_text(type_)}", ArgumentTypeError
        )
    return Spec(type_.get_shape(), np.asarray(leaf).dtype)
