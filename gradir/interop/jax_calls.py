"""Programs of gradir as a primitive of JAX, with a custom_vjp around it.

The backward function is the transposed program, called in the same way: so it is differentiable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.interop.foreign import refused
from gradir.interop.programs import Differentiable
from gradir.packages import package

jax: Any = package("jax", "jax")
_derivatives: Any = package("jax.custom_derivatives", "jax")
_extended: Any = package("jax.extend.core", "jax")
_mlir: Any = package("jax.interpreters.mlir", "jax")
_batching: Any = package("jax.interpreters.batching", "jax")


def run_program(program: Differentiable, arrays: Sequence[Any]) -> Sequence[Any]:
    """The results of a program, differentiable in JAX.

    Of arrays it is compiled once: JAX compiles callbacks too. What is differentiated is under no
    jit of ours: from JAX 0.11 on, one around a custom_vjp loses second derivatives in backward
    functions, where arguments without a derivative are told by symbolic zeros.
    """
    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        return program.find_or_make("jax", lambda: _of_jax(program))(*arrays)
    return program.find_or_make("jax jit", lambda: jax.jit(partial(_call, program)))(*arrays)


def _of_jax(program: Differentiable) -> Callable[..., Sequence[Any]]:
    """A program as a function of JAX with a derivative."""
    call = _derivatives.custom_vjp(partial(_call, program))
    call.defvjp(partial(_forward, program), _backward, symbolic_zeros=True)
    return call


def _call(program: Differentiable, *arrays: Any) -> Sequence[Any]:
    return _call_of.bind(*arrays, program=program)


# A primitive, and not jax.pure_callback: that makes arrays of JAX of the memory it is given, whose
# copies wait for a thread of JAX's pool. Where all of them run callbacks, they wait for ever.
_call_of = _extended.Primitive("gradir_call")
_call_of.multiple_results = True


def _on_host(executable: Any, *arrays: Any) -> tuple[Any, ...]:
    """The results of arrays of NumPy or JAX."""
    return executable(*(np.asarray(array) for array in arrays))


def _now(*arrays: Any, program: Differentiable) -> Sequence[Any]:
    """The call under disable_jit."""
    return [jax.numpy.asarray(result) for result in _on_host(program.executable, *arrays)]


def _shaped(*arrays: Any, program: Differentiable) -> list[Any]:
    specs = [_spec(program, k) for k in range(len(program.results))]
    return [jax.core.ShapedArray(spec.shape, spec.dtype) for spec in specs]


def _lowered(ctx: Any, *operands: Any, program: Differentiable) -> Sequence[Any]:
    """The call of native code, which is made here: errors of a callback have no place."""
    host, types = partial(_on_host, program.executable), (ctx.avals_in, ctx.avals_out)
    return _mlir.emit_python_callback(ctx, host, None, operands, *types, has_side_effect=False)[0]


def _mapped(arrays: Sequence[Any], axes: Sequence[int | None], *, program: Differentiable) -> Any:
    """One member after the other, compiled once."""
    run = program.find_or_make(
        f"jax map {tuple(axes)}", lambda: jax.jit(partial(_each, program, tuple(axes)))
    )
    return run(*arrays), [0] * len(program.results)


def _each(program: Differentiable, axes: tuple[int | None, ...], *arrays: Any) -> Sequence[Any]:
    """The results for each member."""
    moved = {
        k: jax.numpy.moveaxis(arrays[k], axis, 0) for k, axis in enumerate(axes) if axis is not None
    }

    def member(each: dict[int, Any]) -> Sequence[Any]:
        return _call(program, *(each.get(k, array) for k, array in enumerate(arrays)))

    return jax.lax.map(member, moved)


_call_of.def_impl(_now)
_call_of.def_abstract_eval(_shaped)
_mlir.register_lowering(_call_of, _lowered)
_batching.primitive_batchers[_call_of] = _mapped


def _spec(program: Differentiable, place: int) -> Any:
    """The shape and the dtype of a result; ArgumentTypeError where JAX would change the dtype."""
    shape, dtype = program.result_spec(place)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise refused(
            f"wrap: result {place} of @{program.name} is {dtype}, which JAX has only with "
            "jax_enable_x64; set it, or convert the result with astype",
            ArgumentTypeError,
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def _forward(program: Differentiable, *primals: Any) -> tuple[Any, Any]:
    """The results; and the gradient function of the arguments that are differentiated."""
    arrays = [primal.value for primal in primals]
    wrt = tuple(k for k in program.floating if primals[k].perturbed)
    gradients = jax.tree_util.Partial(partial(_gradients, program, wrt), *arrays)
    return run_program(program, arrays), gradients


def _backward(gradients: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
    return gradients(cotangents)


def _gradients(program: Differentiable, wrt: tuple[int, ...], *given: Any) -> tuple[Any, ...]:
    *arrays, cotangents = given
    grads: dict[int, Any] = {}
    if wrt and program.of:
        operands = [*arrays, *(_instantiated(cotangents[k]) for k in program.of)]
        grads = dict(zip(wrt, run_program(program.transposed(wrt), operands), strict=True))
    return tuple(grads.get(k) for k in range(len(arrays)))


def _instantiated(cotangent: Any) -> Any:
    if isinstance(cotangent, _derivatives.SymbolicZero):
        return jax.numpy.zeros(cotangent.shape, cotangent.dtype)
    return cotangent
