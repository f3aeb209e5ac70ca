"""gradir.sparse_jacobian, sparse_hessian: the entries of a derivative that is zero elsewhere.

The columns, or the rows, are colored once (`sparsity.py`); a call computes one product for each
color, all of them at once by vmap, and picks the entries out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np

from gradir.dialects.base.shapes import element_of, is_float
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions.creation import arange, astype
from gradir.frontends.functions.sugar import take
from gradir.frontends.tracing.source_locations import named_options, public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import function_name
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted, tracing
from gradir.frontends.tracing.trees import flatten
from gradir.frontends.transforms.derivatives import grad, jvp, vjp
from gradir.frontends.transforms.jit import Jitted
from gradir.frontends.transforms.sparsity import compression_of, pattern_of
from gradir.frontends.transforms.vmap import vmap
from gradir.frontends.transforms.wrapped import Parts, Wrapped


@named_options
def sparse_jacobian(
    function: Callable[..., Any],
    pattern: Any,
    argnums: int = 0,
    mode: str | None = None,
    check: bool = False,
) -> SparseJacobian:
    """The Jacobian of a function from a vector to a vector, at the entries of a pattern.

    `pattern` has the Jacobian's shape [results, elements]: a sparse matrix of SciPy, where the
    stored entries count whatever their values; an array of bools; or (indices, indptr, shape) of
    compressed rows. The function returned gives, for a SciPy pattern, such a matrix, else the
    values in the pattern's order, row by row; in traced code always the values.

    Columns without a common row are computed together, by one jvp for each color, or rows without a
    common column by one vjp for each, whichever are fewer; `mode` "jvp" or "vjp" decides. Where the
    Jacobian has entries outside of the pattern, the result is wrong, and nothing says so but
    `check`: each call then compares the product with a random tangent, and raises ArgumentError.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
    return SparseJacobian(function, pattern, argnums, mode, check)


@named_options
def sparse_hessian(
    function: Callable[..., Any], pattern: Any, argnums: int = 0, check: bool = False
) -> SparseJacobian:
    """The second derivatives of a function from a vector to a number, at the entries of a pattern.

    It is sparse_jacobian of grad, by tangents. The pattern has both halves of the matrix, and
    columns are colored as for any matrix: that it is symmetric saves nothing.
    """
    return SparseJacobian(grad(function, argnums), pattern, argnums, "jvp", check)


class SparseJacobian(Wrapped):
    """The function of sparse_jacobian.

    Its `indices`, `indptr` and `shape` are the pattern's rows, `colors` the number of products.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pattern: Any,
        argnums: int,
        mode: str | None,
        check: bool,
    ):
        parts: Parts = (sparse_jacobian, (function, pattern, argnums, mode, check))
        super().__init__(function, parts)
        self._function, self._argnum, self._check = function, argnums, check
        self._pattern = pattern_of(pattern)
        self._compression = compression_of(self._pattern, mode)
        self.indices, self.indptr = self._pattern.indices, self._pattern.indptr
        self.shape, self.colors = self._pattern.shape, self._compression.count
        self._values = Jitted(_named(self._entries, function), parts=parts, knows_values=True)
        self._product = Jitted(_named(self._along, function), parts=parts, knows_values=True)

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._compression
        values = self._values(found.colors, found.places, *args, **kwargs)
        if tracing() is None:
            if self._check:
                self._compare(values, args, kwargs)
            return self._pattern.build(values)
        if self._check:
            raise refusal("sparse_jacobian: check=True needs values, which a traced function lacks")
        return values

    # Traced.

    def _entries(self, colors: Any, places: Any, *args: Any, **kwargs: Any) -> Tracer:
        """The values of the pattern's entries."""
        function, x = self._of_vector(args, kwargs)
        colors = lifted(colors)
        numbers = arange(self._compression.count)
        if self._compression.is_forward:

            def product(number: Any) -> Any:
                return jvp(function, (x,), (astype(colors == number, x.dtype),))[1]

        else:
            y, back = vjp(function, x)

            def product(number: Any) -> Any:
                return back(astype(colors == number, y.dtype))[0]

        products: Any = vmap(product, out_axes=-1)(numbers)
        return take(products.reshape((-1,)), lifted(places))

    def _along(self, tangent: Any, *args: Any, **kwargs: Any) -> Tracer:
        function, x = self._of_vector(args, kwargs)
        return jvp(function, (x,), (astype(lifted(tangent), x.dtype),))[1]

    def _of_vector(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[[Any], Tracer], Tracer]:
        """The function of the one vector, which is checked, as its result will be."""
        number = self._argnum
        if not -len(args) <= number < len(args):
            raise refusal(f"sparse_jacobian: no argument {number} among {len(args)}")
        number %= len(args)
        rows, columns = self.shape

        def of_vector(x: Any) -> Tracer:
            result = self._function(*args[:number], x, *args[number + 1 :], **kwargs)
            return _vector(result, rows, f"the result of {function_name(self._function)}", "rows")

        return of_vector, _vector(args[number], columns, f"argument {number}", "columns")

    # With values.

    def _compare(self, values: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """ArgumentError if the product with a random tangent differs from the entries' product."""
        rows, columns = self.shape
        values = np.asarray(values)
        tangent = np.random.default_rng(0).normal(size=columns).astype(values.dtype)
        expected = np.asarray(self._product(tangent, *args, **kwargs), np.float64)
        terms = values.astype(np.float64) * tangent.astype(np.float64)[self.indices]
        owners = self._pattern.rows
        found = np.bincount(owners, terms, rows)
        size = np.abs(expected) + np.bincount(owners, np.abs(terms), rows)
        tolerance = float(cast(Any, ml_dtypes.finfo)(values.dtype).eps) ** 0.5
        wrong = np.flatnonzero(np.abs(found - expected) > tolerance * size)
        if len(wrong):
            row = int(wrong[0])
            raise ArgumentError(
                f"sparse_jacobian: the Jacobian of {function_name(self._function)} has entries "
                f"outside of the pattern: {len(wrong)} of {rows} rows, the first of them {row}, "
                f"give {found[row]:.6g} for {expected[row]:.6g} along a random tangent"
            )


def _named(method: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def named(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    named.__name__ = named.__qualname__ = f"sparse_jacobian_{function_name(function)}"
    return named


def _vector(value: Any, size: int, what: str, of: str) -> Tracer:
    """A traced vector of floats with as many elements as the pattern has lines."""
    leaves, tree = flatten(value)
    made = lifted(leaves[0]) if len(leaves) == 1 and tree.kind is None else None
    if made is None or made.shape != (size,) or not is_float(element_of(made.type)):
        got = f"{len(leaves)} nested arrays" if made is None else type_text(made.type)
        raise refusal(
            f"sparse_jacobian: {what} must be a floating vector of {size} elements, as the pattern "
            f"has {size} {of}, got {got}"
        )
    return made
