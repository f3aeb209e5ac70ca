"""The names of HIPS/autograd for gradir's functions, so that its tests run as they are.

Loaded as a plugin of pytest, ahead of the tests: modules called `autograd`, `autograd.numpy` and so
on hand on to gradir.numpy, gradir.scipy and the transformations below.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import tree
from gradir.frontends.tracing.tracer import Tracer

Function = Callable[..., Any]


def _number(x: Any) -> Any:
    """autograd differentiates at integers too, and at Python's complex numbers."""
    if isinstance(x, complex) and not isinstance(x, np.generic):
        return np.complex128(x)
    return float(x) if isinstance(x, int) and not isinstance(x, bool) else x


def _of_arguments(operator: Function) -> Function:
    """An operator of functions of one argument, for functions of several, where `argnum` says
    the one or, as a list, those that count."""

    @wraps(operator)
    def of(function: Function, argnum: Any = 0, *more: Any, **named: Any) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            several = isinstance(argnum, (tuple, list))
            places = list(argnum) if several else [argnum]

            def chosen(x: Any) -> Any:
                every = list(args)
                for place, value in zip(places, x if several else (x,), strict=True):
                    every[place] = value
                return function(*every, **kwargs)

            point = tuple(_number(args[p]) for p in places)
            return operator(chosen, point if several else point[0], *more, **named)

        call.__name__ = f"{operator.__name__}_of_{getattr(function, '__name__', 'f')}"
        return call

    return of


def _one(f: Function) -> Function:
    """autograd takes the gradient of one number of any rank; gradir, as JAX, of rank 0 alone."""

    def number(x: Any) -> Any:
        y = f(x)
        return gnp.reshape(y, ()) if gnp.ndim(y) and gnp.size(y) == 1 else y

    return number


@_of_arguments
def grad(f: Function, x: Any) -> Any:
    return gradir.grad(_one(f))(x)


@_of_arguments
def holomorphic_grad(f: Function, x: Any) -> Any:
    return gradir.grad(_one(f), holomorphic=True)(x)


@_of_arguments
def value_and_grad(f: Function, x: Any) -> Any:
    return gradir.value_and_grad(_one(f))(x)


@_of_arguments
def elementwise_grad(f: Function, x: Any) -> Any:
    return gradir.grad(lambda x: gnp.sum(f(x)))(x)


@_of_arguments
def jacobian(f: Function, x: Any) -> Any:
    return gradir.jacrev(f)(x)


@_of_arguments
def hessian(f: Function, x: Any) -> Any:
    return gradir.jacrev(gradir.jacrev(f))(x)


@_of_arguments
def make_vjp(f: Function, x: Any) -> Any:
    y, back = gradir.vjp(f, x)
    return lambda ct: back(ct)[0], y


@_of_arguments
def make_jvp(f: Function, x: Any) -> Any:
    return lambda tangent: gradir.jvp(f, (x,), (tangent,))


@_of_arguments
def make_hvp(f: Function, x: Any) -> Any:
    return lambda tangent: gradir.hvp(f, (x,), (tangent,)), None


@_of_arguments
def grad_and_aux(f: Function, x: Any) -> Any:
    return gradir.grad(f, has_aux=True)(x)


@_of_arguments
def checkpoint(f: Function, x: Any) -> Any:
    return gradir.checkpoint(f)(x)


def _contracted(derivative: Function, function: Function, argnum: Any) -> Function:
    """`derivative` of the product of the function's result with the last argument."""

    def product_with(*args: Any, **kwargs: Any) -> Any:
        *rest, v = args
        return gnp.tensordot(v, function(*rest, **kwargs), gnp.ndim(v))

    return derivative(product_with, argnum)


def hessian_tensor_product(function: Function, argnum: Any = 0) -> Function:
    return _contracted(grad, grad(function, argnum), argnum)


def tensor_jacobian_product(function: Function, argnum: Any = 0) -> Function:
    return _contracted(jacobian, function, argnum)


def make_ggnvp(
    f: Function, g: Function = lambda y: gnp.sum(y**2) / 2, f_argnum: Any = 0
) -> Function:
    """Products with J^T H J: the Jacobian of f, the Hessian of g."""

    @_of_arguments
    def wrapper(f: Function, x: Any) -> Any:
        def times(v: Any) -> Any:
            y, tangent = gradir.jvp(f, (x,), (v,))
            return gradir.vjp(f, x)[1](gradir.hvp(g, (y,), (tangent,)))[0]

        return times

    return wrapper(f, f_argnum)


def grad_named(function: Function, name: str) -> Function:
    return grad(function, list(inspect.signature(function).parameters).index(name))


def _not_there(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("gradir has no such thing")


OPERATORS: dict[str, Any] = {
    f.__name__: f
    for f in (
        grad, holomorphic_grad, value_and_grad, elementwise_grad, jacobian, hessian, make_vjp,
        make_jvp, make_hvp, grad_and_aux, checkpoint, hessian_tensor_product,
        tensor_jacobian_product, make_ggnvp, grad_named,
    )
} | {
    "deriv": elementwise_grad,
    "hessian_vector_product": hessian_tensor_product,
    "vector_jacobian_product": tensor_jacobian_product,
    "multigrad_dict": _not_there,
    "primitive": _not_there,
}  # fmt: skip


# autograd.test_util: derivatives against central differences.

STEP = TOLERANCE = 1e-6


def _like(x: Any) -> Any:
    """Random numbers in the form of x, complex ones for complex leaves."""

    def like(leaf: Any) -> Any:
        real, imag = (np.asarray(np.random.randn(*np.shape(leaf))) for _ in range(2))
        return (real + 1j * imag if np.iscomplexobj(leaf) else real)[()]

    return tree.map(like, x)


def _dot(one: Any, other: Any) -> float:
    """The real part of the sum of products, as a cotangent meets a tangent."""
    parts = tree.leaves(tree.map(lambda a, b: np.sum(np.asarray(a) * np.asarray(b)), one, other))
    return float(np.real(sum(parts)))


def _close(a: float, b: float) -> bool:
    return abs(a - b) < TOLERANCE or abs(a - b) / abs(a + b) < TOLERANCE


def _checked(f: Function, x: Any, modes: Any, order: int) -> None:
    """Derivatives along random ways, and the derivatives' own derivatives."""
    modes = modes or ("fwd", "rev")
    x = tree.map(_number, x)
    way, y = _like(x), f(x)
    weights = _like(y)
    ahead, behind = (f(tree.map(lambda a, d: a + s * d, x, way)) for s in (STEP / 2, -STEP / 2))  # noqa: B023
    slope = tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / STEP, ahead, behind)
    if "fwd" in modes:
        tangent = gradir.jvp(f, (x,), (way,))[1]
        assert _close(_dot(tangent, weights), _dot(slope, weights)), "the jvp is another"
    if "rev" in modes:
        cotangent = gradir.vjp(f, x)[1](weights)[0]
        assert _close(_dot(weights, slope), _dot(way, cotangent)), "the vjp is another"
    if order > 1 and "fwd" in modes:
        pushed: Function = lambda p: gradir.jvp(f, (p[0],), (p[1],))[1]  # noqa: E731
        _checked(pushed, (x, way), modes, order - 1)
    if order > 1 and "rev" in modes:
        pulled: Function = lambda p: gradir.vjp(f, p[0])[1](p[1])[0]  # noqa: E731
        _checked(pulled, (x, weights), modes, order - 1)


def check_grads(f: Function, argnum: Any = 0, modes: Any = None, order: int = 2) -> Function:
    @_of_arguments
    def check(f: Function, x: Any) -> None:
        _checked(f, x, modes, order)

    return check(f, argnum)


def combo_check(f: Function, *settings: Any, **named: Any) -> Function:
    def check(*args: Any, **kwargs: Any) -> None:
        options = [[(name, value) for value in values] for name, values in kwargs.items()]
        for given in product(*args):
            for chosen in product(*options):
                check_grads(f, *settings, **named)(*given, **dict(chosen))

    return check


def check_equivalent(one: Any, other: Any) -> None:
    for a, b in zip(tree.leaves(one), tree.leaves(other), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, TOLERANCE, TOLERANCE)


# The modules.


def _module(name: str, found: Function | None = None, **members: Any) -> ModuleType:
    made: Any = ModuleType(f"autograd.{name}" if name else "autograd")
    made.__path__ = list[str]()
    made.__dict__.update(members)
    if found is not None:
        made.__getattr__ = found
    sys.modules[made.__name__] = made
    parent, _, last = made.__name__.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


class _Int64(np.int64):
    """NumPy's type, which converts traced arrays too, as autograd's does."""

    def __new__(cls, x: Any) -> Any:
        return gnp.astype(x, "int64") if isinstance(x, Tracer) else np.int64(x)


def _make_diagonal(d: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """autograd's own: arrays that have d on a diagonal of their last two axes."""
    assert not offset and sorted((axis1, axis2)) == [-2, -1]
    return gnp.expand_dims(d, -1) * np.eye(gnp.shape(d)[-1])


def _numpy_name(name: str) -> Any:
    """gradir's; NumPy's own classes and constants."""
    if name == "make_diagonal":
        return _make_diagonal
    if not name.startswith("__"):
        found = getattr(np, name, None)
        if isinstance(found, type) or (found is not None and not callable(found)):
            return _Int64 if found is np.int64 else found
        return getattr(gnp, name)
    raise AttributeError(name)


def _core_vjp(f: Function, x: Any) -> Any:
    """autograd.core.make_vjp; the compared result is a bool, whose cotangents are zeros."""
    y, back = gradir.vjp(lambda x: gnp.multiply(f(x), 1.0), float(x))
    return lambda ct: back(np.asarray(ct, float))[0], y


def _convolve(
    a: Any, b: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full"
) -> Any:
    """autograd.scipy.signal.convolve: SciPy's along `axes`, summed over `dot_axes`; results have
    the other axes of a, then of b, in front."""
    signal: Any = import_module("gradir.scipy.signal")
    axes = (list(range(gnp.ndim(a))), list(range(gnp.ndim(b)))) if axes is None else axes

    def split(x: Any, along: Any, summed: Any) -> Any:
        along, summed = [k % gnp.ndim(x) for k in along], [k % gnp.ndim(x) for k in summed]
        rest = [k for k in range(gnp.ndim(x)) if k not in along and k not in summed]
        shape = gnp.shape(x)
        moved = gnp.transpose(x, [*rest, *summed, *along])
        sizes = [int(np.prod([shape[k] for k in ks])) for ks in (rest, summed)]
        return gnp.reshape(moved, [*sizes, *(shape[k] for k in along)]), [shape[k] for k in rest]

    first, one = split(a, axes[0], dot_axes[0])
    second, other = split(b, axes[1], dot_axes[1])
    made: Function = lambda x, y: gnp.sum(  # noqa: E731
        gradir.vmap(lambda p, q: signal.convolve(p, q, mode))(x, y), 0
    )
    rows = gradir.vmap(gradir.vmap(made, in_axes=(None, 0)), in_axes=(0, None))(first, second)
    return gnp.reshape(rows, [*one, *other, *gnp.shape(rows)[2:]])


def _odeint(func: Function, y0: Any, t: Any, func_args: Any = (), **options: Any) -> Any:
    return import_module("gradir.scipy.integrate").odeint(func, y0, t, func_args, **options)


def _handed_on(module: str) -> Function:
    def found(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(module), name)

    return found


def _flat(x: Any) -> Any:
    leaves, structure = tree.flatten(x)
    whole = gnp.concatenate([gnp.ravel(a) for a in leaves]) if leaves else np.zeros(0)

    def back(vector: Any) -> Any:
        parts, at = list[Any](), 0
        for leaf in leaves:
            parts.append(gnp.reshape(vector[at : at + gnp.size(leaf)], gnp.shape(leaf)))
            at += gnp.size(leaf)
        return structure.build(parts)

    return whole, back


def _distribution(name: str) -> Function:
    """gradir's densities, and SciPy's random numbers."""
    ours, theirs = (import_module(f"{of}scipy.stats") for of in ("gradir.", ""))

    def found(member: str) -> Any:
        if member.startswith("__"):
            raise AttributeError(member)
        return getattr(getattr(theirs if member == "rvs" else ours, name), member)

    return found


def _isinstance(x: Any, types: Any) -> bool:
    """A traced array is one of NumPy's."""
    return isinstance(np.zeros(x.shape) if isinstance(x, Tracer) else x, types)


_BUILT_IN: dict[str, Any] = {
    "dict": dict, "isinstance": _isinstance, "list": list, "tuple": tuple
}  # fmt: skip
_module("", **OPERATORS, **_BUILT_IN)
_module("builtins", **_BUILT_IN, type=type)
_module("core", make_vjp=_core_vjp, primitive_vjps={}, vspace=_not_there)
_module("wrap_util", unary_to_nary=_of_arguments)
_INTERNAL = ("primitive", "notrace_primitive", "defvjp", "defjvp", "vspace", "VSpace")
_module("extend", **dict.fromkeys(_INTERNAL, _not_there))
_module(
    "tracer",
    isbox=lambda x: isinstance(x, Tracer),
    getval=lambda x: x,
    primitive=_not_there,
)
_module(
    "test_util",
    check_grads=check_grads,
    combo_check=combo_check,
    check_equivalent=check_equivalent,
    check_vjp=lambda f, x: _checked(f, x, ("rev",), 1),
    check_jvp=lambda f, x: _checked(f, x, ("fwd",), 1),
    scalar_close=_close,
)
_misc: Any = _module("misc", const_graph=_not_there)
_module("misc.flatten", flatten=_flat)
_misc.flatten = _flat
_module("numpy", _numpy_name, __version__=np.__version__)
_module("numpy.random", _handed_on("numpy.random"), RandomState=np.random.RandomState)
_module(
    "numpy.linalg",
    _handed_on("gradir.numpy.linalg"),
    LinAlgError=np.linalg.LinAlgError,
    T=gnp.matrix_transpose,
    _dot=gnp.matmul,
)
_module("numpy.fft", _handed_on("gradir.numpy.fft"))
_module("scipy")
for _name in ("special", "linalg"):
    _module(f"scipy.{_name}", _handed_on(f"gradir.scipy.{_name}"))
_module("scipy.signal", convolve=_convolve)
_module("scipy.integrate", odeint=_odeint)
_module("scipy.stats")
for _name in "norm t beta gamma chi2 poisson bernoulli multivariate_normal dirichlet".split():
    _module(f"scipy.stats.{_name}", _distribution(_name))
