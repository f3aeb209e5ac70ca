"""JAX's typed random keys: threefry's, whose functions are programs of JAX on pairs of words."""

from __future__ import annotations

from typing import Any

from gradir.packages import package

jax: Any = package("jax", "jax")
_random: Any = package("jax.extend.random", "jax")

THREEFRY = "key<fry>"
"""The dtype of keys of JAX's default generator."""


def is_key(aval: Any) -> bool:
    """Whether a value is an array of keys of JAX's default generator."""
    return str(getattr(aval, "dtype", "")) == THREEFRY


def key_program(equation: Any) -> Any:
    """What a primitive on keys computes from their words, as a closed jaxpr; None for others.

    The bits are JAX's own, because the program is JAX's own.
    """
    make = _PROGRAMS.get(equation.primitive.name)
    avals = [v.aval for v in equation.invars]
    keys = [a for a in (*avals, *(v.aval for v in equation.outvars)) if _is_any_key(a)]
    if make is None or not all(map(is_key, keys)):
        return None
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    return jax.make_jaxpr(make(equation.params))(*specs)


def _is_any_key(aval: Any) -> bool:
    return str(getattr(aval, "dtype", "")).startswith("key<")


def _wrap(words: Any) -> Any:
    return jax.random.wrap_key_data(words, impl="threefry2x32")


def _each(function: Any, *arrays: Any) -> Any:
    """A function of single keys on arrays of them."""
    for _ in range(arrays[0].ndim):
        function = jax.vmap(function)
    return function


def _bits(params: Any) -> Any:
    def bits(keys: Any) -> Any:
        def one(words: Any) -> Any:
            made = _random.threefry_prng_impl
            return made.random_bits(words, params["bit_width"], params["shape"])

        return _each(one, keys)(jax.random.key_data(keys))

    return bits


def _split(params: Any) -> Any:
    def split(keys: Any) -> Any:
        def one(words: Any) -> Any:
            return _random.threefry_prng_impl.split(words, tuple(params["shape"]))

        return _wrap(_each(one, keys)(jax.random.key_data(keys)))

    return split


def _fold_in(params: Any) -> Any:
    del params

    def fold_in(keys: Any, data: Any) -> Any:
        shape = jax.numpy.broadcast_shapes(keys.shape, data.shape)
        words = jax.numpy.broadcast_to(jax.random.key_data(keys), (*shape, 2))
        data = jax.numpy.broadcast_to(data, shape).astype("uint32")
        return _wrap(_each(_random.threefry_prng_impl.fold_in, data)(words, data))

    return fold_in


def _seed(params: Any) -> Any:
    del params

    def seed(seeds: Any) -> Any:
        return _wrap(_each(_random.threefry_prng_impl.seed, seeds)(seeds))

    return seed


def _clone(params: Any) -> Any:
    del params
    return lambda keys: keys


_PROGRAMS = {
    "random_bits": _bits, "random_split": _split, "random_fold_in": _fold_in,
    "random_seed": _seed, "random_clone": _clone,
}  # fmt: skip
