"""JAX's names and meanings by gradir (docs/compat.md): `from gradir.compat import jax, jnp, lax`.

Numbers are float64 as with JAX's jax_enable_x64, which `config.update` sets. Random numbers have
JAX's distributions, and other values. Arrays are NumPy's, with `at` and `block_until_ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gradir.compat.jax import (
    absent,
    checkpoint_policies,
    flatten_util,
    lax,
    nn,
    numpy,
    ops,
    random,
    scipy,
    tree,
    tree_util,
)
from gradir.compat.jax.arrays import Array, as_jax, giving_arrays
from gradir.compat.jax.config import config
from gradir.compat.jax.stages import CompatJitted, DecoratedJvp
from gradir.compat.jax.stages import jitted as _jitted
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.spec import Spec as ShapeDtypeStruct
from gradir.frontends.tracing.trace import trace as own_trace
from gradir.frontends.transforms import derivatives, implicit, jacobians, markers
from gradir.frontends.transforms.custom_derivatives import custom_vjp
from gradir.frontends.transforms.debug import print as own_print
from gradir.frontends.transforms.vmap import vmap as own_vmap

Function = Callable[..., Any]


@named_options
def jit(
    fun: Function | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    inline: bool = False,
) -> Any:
    """jax.jit: the function compiled for each kind of arguments; a decorator with options too."""
    del inline
    options: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if fun is None:
        return lambda function: _jitted(function, given)
    return _jitted(fun, given)


@named_options
def grad(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """jax.grad."""
    return giving_arrays(derivatives.grad(fun, argnums, has_aux))


@named_options
def value_and_grad(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function:
    """jax.value_and_grad."""
    return giving_arrays(derivatives.value_and_grad(fun, argnums, has_aux))


@named_options
def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
) -> Function:
    """jax.vmap; lax.psum and the like are between the rows of an `axis_name`."""
    return giving_arrays(own_vmap(fun, in_axes, out_axes, axis_name, axis_size))


@named_options
def jacfwd(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """jax.jacfwd."""
    return giving_arrays(jacobians.jacfwd(fun, argnums, has_aux))


@named_options
def jacrev(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """jax.jacrev."""
    return giving_arrays(jacobians.jacrev(fun, argnums, has_aux))


@named_options
def hessian(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """jax.hessian."""
    return giving_arrays(jacobians.hessian(fun, argnums, has_aux))


def vjp(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """jax.vjp: the results, and the function of their cotangents."""
    made = derivatives.vjp(fun, *primals, has_aux=has_aux)
    back = giving_arrays(made[1])
    return (as_jax(made[0]), back, *(as_jax(aux) for aux in made[2:]))


jacobian = jacrev
jvp = giving_arrays(derivatives.jvp)
linear_transpose = giving_arrays(jacobians.linear_transpose)
debug = SimpleNamespace(print=own_print)
closure_convert = implicit.closure_convert


def linearize(fun: Function, *primals: Any) -> Any:
    """jax.linearize: the results, and the function of tangents."""
    results, pushed = jacobians.linearize(fun, *primals)
    return as_jax(results), giving_arrays(pushed)


def checkpoint(fun: Function, *, policy: Any = None, prevent_cse: bool = True) -> Function:
    """jax.checkpoint; a policy is one of checkpoint_policies, or gradir's name of it."""
    del prevent_cse
    return markers.checkpoint(fun) if policy is None else markers.checkpoint(fun, policy)


remat = checkpoint


def custom_jvp(fun: Function, nondiff_argnums: int | Sequence[int] = ()) -> DecoratedJvp:
    """jax.custom_jvp; `defjvp` is a decorator."""
    return DecoratedJvp(fun, nondiff_argnums)


def make_jaxpr(fun: Function) -> Function:
    """The program of a function, as gradir's module: it prints itself."""
    return lambda *args: own_trace(fun, *args)


def eval_shape(fun: Function, *args: Any) -> Any:
    """The shapes and dtypes of the results: specs nested like them."""
    found: list[Any] = []

    def noting(*traced: Any) -> Any:
        result = fun(*traced)
        found.append(tree.map(lambda x: ShapeDtypeStruct(numpy.shape(x), x.dtype), result))
        return result

    own_trace(noting, *args)
    return found[0]


def block_until_ready(x: Any) -> Any:
    """The arrays, which are ready."""
    return x


def device_get(x: Any) -> Any:
    """The arrays, which are NumPy's."""
    return x


def device_put(x: Any, device: Any = None) -> Any:
    """The arrays, which are on the CPU."""
    del device
    return as_jax(x)


class Device(str):
    """The CPU, under its name."""

    platform, device_kind, id, process_index = "cpu", "cpu", 0, 0


def devices(backend: str | None = None) -> list[Device]:
    """The devices: the CPU."""
    del backend
    return [Device("cpu")]


local_devices = devices


def default_backend() -> str:
    """The system that arrays are on: the CPU."""
    return "cpu"


def device_count() -> int:
    """The number of devices, 1."""
    return 1


local_device_count = process_count = device_count


def process_index() -> int:
    """The number of this process, 0; gradir.comm has ranks."""
    return 0


@contextmanager
def named_scope(name: str) -> Generator[None]:
    """A context of a name, which changes nothing: ops have places in the source here."""
    del name
    yield


__all__ = [
    "Array",
    "CompatJitted",
    "Device",
    "ShapeDtypeStruct",
    "block_until_ready",
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "eval_shape",
    "flatten_util",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "make_jaxpr",
    "named_scope",
    "nn",
    "numpy",
    "ops",
    "process_count",
    "process_index",
    "random",
    "remat",
    "scipy",
    "tree",
    "tree_util",
    "value_and_grad",
    "vjp",
    "vmap",
]

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax", absent.JAX, lambda: __all__)
