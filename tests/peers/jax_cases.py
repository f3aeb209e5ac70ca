"""A function of JAX for each of its primitives, with arguments: what test_jax_primitives compares.

Arguments are float64, integers or bools; floats are converted to each dtype that is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jax_ops import jax, jnp, special

lax: Any = jax.lax
RANDOM = np.random.default_rng(5)


class JaxCase(NamedTuple):
    """A function and its arguments. `orders` are those of the derivatives that are compared."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    orders: int = 2
    rtol: float = 1e-10
    single: float = 1e-5


def n(*shape: int, low: float = -1.5, high: float = 1.5) -> Any:
    """Floats."""
    return RANDOM.uniform(low, high, shape)


def p(*shape: int, low: float = 0.2, high: float = 2.0) -> Any:
    """Positive floats."""
    return RANDOM.uniform(low, high, shape)


EDGES = np.array([0.0, 5e-324, 1e-45, 1e-310, 1.1754944e-38, 2.2250738585072014e-308, 1.0, 1.5, 2.0,
                  3.4028234663852886e38, np.inf])  # fmt: skip
EDGES = np.concatenate([EDGES, -EDGES, [np.nan]])
"""Floats of both widths at the ends of their kinds; some become 0 in float32."""


def next_bits(x: Any, y: Any) -> Any:
    """The bits of the floats behind x towards y, where these are numbers.

    Two subnormal numbers are equal to XLA, which gives y for them; test_nextafter.py has these.
    """
    x, y = jnp.broadcast_arrays(x, y)
    found = lax.nextafter(x, y)
    kind = f"int{8 * found.dtype.itemsize}"
    least = lax.bitcast_convert_type(jnp.finfo(found.dtype).tiny, kind)
    x, y, bits = (lax.bitcast_convert_type(each, kind) for each in (x, y, found))
    size = jnp.iinfo(kind).max
    are_subnormal = ((x & size) < least) & ((y & size) < least) & (x != y)
    return jnp.where(are_subnormal | (found != found), 0, bits)


def k(*shape: int, low: int = -5, high: int = 6, dtype: str = "int32") -> Any:
    """Integers."""
    return RANDOM.integers(low, high, shape).astype(dtype)


def b(*shape: int) -> Any:
    """Bools."""
    return RANDOM.integers(0, 2, shape).astype(bool)


ENDS = np.array([0, 1, -1, 2, -7, 2**31 - 1, -(2**31)], np.int32)
UENDS = np.array([0, 1, 2, 7, 2**31, 2**32 - 1], np.uint32)
SHAPES = ((), (0, 3), (1,), (3, 4))
TIES = np.array([[1.0, 2.0, 2.0, 0.5], [0.0, 0.0, -1.0, 0.0], [3.0, 3.0, 3.0, 3.0]])


def _elementwise() -> list[JaxCase]:
    reals = [
        *(lax.neg, lax.exp, lax.exp2, lax.expm1, lax.sin, lax.cos, lax.tan, lax.sinh, lax.cosh),
        *(lax.tanh, lax.asinh, lax.atan, lax.logistic, lax.square, lax.erf, lax.erfc, lax.abs),
        *(lax.sign, lax.floor, lax.ceil, lax.bessel_i0e, lax.bessel_i1e, lax.cbrt),
        *(partial(lax.integer_pow, y=y) for y in (-3, -1, 0, 1, 2, 3, 7)),
        partial(lax.round, rounding_method=lax.RoundingMethod.AWAY_FROM_ZERO),
        partial(lax.round, rounding_method=lax.RoundingMethod.TO_NEAREST_EVEN),
    ]
    positive = [
        lax.log, lax.log1p, lax.sqrt, lax.rsqrt, lax.lgamma, lax.digamma, special.gammaln,
        partial(lax.polygamma, np.float64(1.0)),
    ]  # fmt: skip
    inside = [lax.asin, lax.acos, lax.atanh, lax.erf_inv]
    made: list[tuple[Any, Any]] = []
    for shape in SHAPES:
        made += [(f, (n(*shape),)) for f in reals]
        made += [(f, (p(*shape),)) for f in positive[:-1]]
        made += [(f, (n(*shape, low=-0.9, high=0.9),)) for f in inside]
    made += [(lax.acosh, (p(3, low=1.1, high=3.0),))]
    made += [(lambda x: lax.polygamma(jnp.full_like(x, 2), x), (p(4),))]
    found = [JaxCase(_label(f), f, args, 2, 1e-9, 3e-5) for f, args in made]
    at_kinks = np.array([-2.0, -0.5, 0.0, 0.5, 1.5, 2.5])
    kinks = [lax.abs, lax.sign, lax.floor, lax.square, jax.nn.relu, reals[-1], reals[-2]]
    found += [JaxCase(f"kink {_label(f)}", f, (at_kinks,)) for f in kinks]
    return found


def _label(function: Any) -> str:
    function = getattr(function, "func", function)
    return getattr(function, "__name__", str(function))


def _binary() -> list[JaxCase]:
    floats = [lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.atan2]
    made = [JaxCase(_label(f), f, (n(*s), n(*s))) for f in floats for s in SHAPES]
    made += [JaxCase(f"{_label(f)} repeated", lambda x, f=f: f(x, x), (n(3),)) for f in floats]
    made += [JaxCase(f"{_label(f)} ties", f, (TIES, TIES[::-1].copy())) for f in (lax.max, lax.min)]
    made += [
        JaxCase("div", lax.div, (n(3, 2), p(3, 2))),
        JaxCase("rem", lax.rem, (n(9, low=-9, high=9), n(9, low=-2, high=2))),
        JaxCase("pow", lax.pow, (p(3, 2), n(3, 2))),
        JaxCase("pow int", lambda x: lax.pow(x, np.array([2, 3, -2], np.int32)), (n(3),)),
        JaxCase("pow zero", lambda x: lax.pow(x, np.float64(3.0).astype(x.dtype)),
                (np.array([0.0, 1.0, -2.0]),)),
        JaxCase("nextafter", lax.nextafter, (n(4), n(4)), 0),
        JaxCase("nextafter bits", next_bits, (EDGES[:, None], EDGES[None]), 0),
        JaxCase("igamma", lax.igamma, (p(3), p(3)), 1, 1e-7, 1e-3),
        JaxCase("igammac", lambda x: lax.igammac(np.full(3, 1.5, x.dtype), x), (p(3),), 2, 1e-8,
                1e-4),
        JaxCase("betainc", lambda x: lax.betainc(np.full(3, 1.5, x.dtype),
                                                 np.full(3, 0.7, x.dtype), x),
                (p(3, low=0.2, high=0.8),), 1, 1e-8, 1e-4),
        JaxCase("zeta", lambda q: lax.zeta(np.full(3, 2.5, q.dtype), q), (p(3),), 0, 1e-9, 1e-4),
        JaxCase("igamma_grad_a", lax.igamma_grad_a, (p(3), p(3)), 0, 1e-7, 1e-3),
        JaxCase("random_gamma_grad", lax.random_gamma_grad, (p(3), p(3)), 0, 1e-6, 1e-3),
        JaxCase("xlogy", special.xlogy, (p(4), p(4))),
        JaxCase("xlogy zero", special.xlogy, (np.array([0.0, 1.0]), np.array([0.5, 0.0])), 0),
        JaxCase("logaddexp", jnp.logaddexp, (n(3), n(3))),
        JaxCase("logsumexp", special.logsumexp, (n(3, 4),)),
        JaxCase("is_finite", lax.is_finite, (np.array([0.0, np.inf, np.nan]),), 0),
        JaxCase("special values", lambda x: (lax.sign(x), lax.max(x, -x), lax.sqrt(x)),
                (np.array([np.nan, np.inf, -np.inf, -0.0]),), 0),
    ]  # fmt: skip
    compare = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
    made += [JaxCase(_label(f), f, (TIES, TIES[::-1].copy()), 0) for f in compare]
    made += [JaxCase(_label(f), f, (k(5), k(5)), 0) for f in compare]
    return made


def _integers() -> list[JaxCase]:
    ends = [(ENDS, ENDS[::-1].copy()), (UENDS, UENDS[::-1].copy())]
    both = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and,
            lax.bitwise_or, lax.bitwise_xor]  # fmt: skip
    made = [JaxCase(f"int {_label(f)}", f, args, 0) for f in both for args in ends]
    counts = np.array([0, 1, 5, 31, 32, 40, 3], np.int32)
    shifts = [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]
    made += [JaxCase(_label(f), f, (ENDS, counts), 0) for f in shifts]
    made += [JaxCase(_label(f), f, (UENDS, counts[:6].astype(np.uint32)), 0) for f in shifts]
    one = [lax.bitwise_not, lax.population_count, lax.clz, lax.sign]
    made += [JaxCase(_label(f), f, (x,), 0) for f in one for x in (ENDS, UENDS)]
    made += [JaxCase("neg", lax.neg, (x,), 0) for x in (ENDS, UENDS)]
    made += [JaxCase("clz", lax.clz, (np.array([0, 1, 127, -1], np.int8),), 0)]
    made += [JaxCase("not bool", lax.bitwise_not, (b(4),), 0)]
    made += [JaxCase(f"bool {_label(f)}", f, (b(6), b(6)), 0) for f in both[-3:]]
    return made


def _bits() -> list[JaxCase]:
    floats = np.array([0.0, -0.0, 1.0, -2.5, 1e-39, 3e38, np.inf, 6e-5, 65504.0, 1e-7])
    cast = lax.bitcast_convert_type
    halves = np.append(floats[:4], floats[-4:]).astype(np.float16)
    made = [
        JaxCase("bitcast f32", lambda x: cast(x, np.int32), (floats.astype(np.float32),), 0),
        JaxCase("bitcast u32", lambda x: cast(x, np.float32), (UENDS,), 0),
        JaxCase("bitcast f64", lambda x: cast(x.astype(np.float64), np.uint64), (floats,), 0),
        JaxCase("bitcast narrow", lambda x: cast(x, np.uint8), (ENDS,), 0),
        JaxCase("bitcast wide", lambda x: cast(x, np.float64), (k(3, 2, low=0, high=9),), 0),
        JaxCase("bitcast f16", lambda x: cast(x, np.uint16), (halves,), 0),
        JaxCase("bitcast u16", lambda x: cast(x, np.float16),
                (np.array([0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0xBC00], np.uint16),), 0),
        JaxCase("bitcast bf16", lambda x: cast(x.astype(jnp.bfloat16), np.int16), (floats,), 0),
        JaxCase("bitcast to bf16", lambda x: cast(x, jnp.bfloat16).astype(np.float32),
                (np.array([0, 1, 0x3F80, 0x7F80, 0xBF80], np.uint16),), 0),
        JaxCase("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), (n(4),), 1),
    ]  # fmt: skip
    kinds = ("float32", "float64", "int32", "uint8", "bool", "float16", "bfloat16")
    made += [
        JaxCase(f"convert {to}", partial(lax.convert_element_type, new_dtype=to), (floats[:5],), 0)
        for to in kinds
    ]
    made += [JaxCase("convert out of range", lambda x: x.astype(np.int32),
                     (np.array([3e10, -3e10, np.nan, 2.7, -2.7]),), 0),
             JaxCase("convert slope", lambda x: x.astype(np.float32) * 2, (n(3),), 1)]  # fmt: skip
    return made


def _choices() -> list[JaxCase]:
    def picked(which: Any, *cases: Any) -> Any:
        return lax.select_n(which, *cases)

    low, high = np.float64(-0.5), np.float64(0.5)
    x = np.array([-2.0, -0.5, 0.0, 0.5, 2.0, np.nan])
    return [
        JaxCase("select", picked, (b(3, 2), n(3, 2), n(3, 2))),
        JaxCase("select scalar", picked, (np.array(True), n(3), n(3))),
        JaxCase("select of 3", picked, (k(4, low=0, high=3), n(4), n(4), n(4))),
        JaxCase("clamp", lambda x: lax.clamp(low.astype(x.dtype), x, high.astype(x.dtype)), (x,)),
        JaxCase("clamp bounds", lax.clamp, (n(6) - 0.5, n(6), n(6) + 0.5)),
        JaxCase("clamp int", lax.clamp, (np.int32(-2), ENDS, np.int32(5)), 0),
        JaxCase("where", lambda c, x: jnp.where(c, x, 0), (b(4), n(4))),
        JaxCase("stop_gradient", lambda x: lax.stop_gradient(x) * x, (n(3),)),
        JaxCase("barrier", lambda x: lax.optimization_barrier((x, x * 2))[1], (n(3),), 1),
    ]


def _shapes() -> list[JaxCase]:
    def pad(*config: tuple[int, int, int]) -> Any:
        return lambda x, v: lax.pad(x, v, config)

    return [
        JaxCase("broadcast", lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)), (n(2, 1),)),
        JaxCase("broadcast scalar", lambda x: jnp.broadcast_to(x, (2, 0, 3)), (n(),)),
        JaxCase("reshape", lambda x: lax.reshape(x, (6, 2), (1, 0)), (n(3, 4),)),
        JaxCase("reshape", lambda x: jnp.reshape(x, (2, -1)), (n(3, 4),)),
        JaxCase("squeeze", lambda x: jnp.squeeze(x, -1), (n(3, 1),)),
        JaxCase("expand", lambda x: jnp.expand_dims(x, (0, -1)), (n(3),)),
        JaxCase("transpose", lambda x: lax.transpose(x, (2, 0, 1)), (n(2, 3, 4),)),
        JaxCase("transpose", lambda x: lax.transpose(x, ()), (n(),)),
        JaxCase("rev", lambda x: lax.rev(x, (0, 2)), (n(2, 3, 4),)),
        JaxCase("rev none", lambda x: lax.rev(x, ()), (n(2),)),
        JaxCase("slice", lambda x: lax.slice(x, (1, 0), (3, 4), (1, 3)), (n(3, 4),)),
        JaxCase("slice empty", lambda x: lax.slice(x, (1, 2), (1, 4)), (n(3, 4),)),
        JaxCase("slice back", lambda x: x[::-2, None], (n(5),)),
        JaxCase("split", lambda x: lax.split(x, (1, 0, 3), 1), (n(2, 4),)),
        JaxCase("concatenate", lambda x, y: jnp.concatenate([x, y, x], -1), (n(2, 1), n(2, 3))),
        JaxCase("stack", lambda x, y: jnp.stack([x, y], 1), (n(2, 3), n(2, 3))),
        JaxCase("tile", lambda x: jnp.tile(x, (2, 3)), (n(2, 1),)),
        JaxCase("pad", pad((1, 2, 0), (0, 1, 0)), (n(2, 3), n())),
        JaxCase("pad between", pad((1, 0, 2), (2, 1, 1)), (n(2, 3), n())),
        JaxCase("pad negative", pad((-1, 2, 0), (1, -2, 1)), (n(3, 4), n())),
        JaxCase("pad all away", pad((-2, -2, 0)), (n(4), n())),
        JaxCase("pad one", pad((0, 0, 3)), (n(1), n())),
        JaxCase("pad zero", lambda x: jnp.pad(x, ((1, 1), (0, 2))), (n(2, 3),)),
        JaxCase("pad edge", lambda x: jnp.pad(x, 2, mode="edge"), (n(3),)),
        JaxCase("iota", lambda x: x + lax.broadcasted_iota(x.dtype, (3, 2), 0), (n(3, 2),)),
        JaxCase("iota uint8", lambda: lax.iota("uint8", 5), (), 0),
        JaxCase("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
                (n(4, 5), np.int32(3), np.int32(-2))),
        JaxCase("dynamic_update_slice", lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)),
                (n(4, 5), n(2, 3), np.int32(3))),
        JaxCase("roll", lambda x: jnp.roll(x, 2), (n(5),)),
        JaxCase("repeat", lambda x: jnp.repeat(x, 3, axis=0), (n(2, 2),)),
    ]  # fmt: skip


def _reductions() -> list[JaxCase]:
    made = []
    for name in ("sum", "prod", "max", "min"):
        f = getattr(jnp, name)
        for axis in (None, 0, -1, (0, 1)):
            made.append(JaxCase(f"reduce_{name}", partial(f, axis=axis), (n(3, 4),)))
        made.append(JaxCase(f"reduce_{name} ties", partial(f, axis=1), (TIES,)))
        made.append(JaxCase(f"reduce_{name} int", partial(f, axis=1), (k(3, 4),), 0))
    made += [
        JaxCase("sum empty", lambda x: jnp.sum(x, 0), (n(0, 3),)),
        JaxCase("prod zeros", lambda x: jnp.prod(x), (np.array([0.0, 2.0, 3.0]),)),
        JaxCase("max empty", lambda x: lax.reduce_max_p.bind(x, axes=(0,), out_sharding=None),
                (n(0, 3),), 0),
        JaxCase("max nan", jnp.max, (np.array([1.0, np.nan]),), 0),
        JaxCase("any", lambda x: (jnp.any(x, 0), jnp.all(x, 1)), (b(3, 4),), 0),
        JaxCase("reduce bits", lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)),
                                          lax.reduce_xor(x, (0, 1))), (k(3, 5),), 0),
        JaxCase("reduce_xor bool", lambda x: lax.reduce_xor(x, (1,)), (b(3, 5),), 0),
        JaxCase("argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (TIES,), 0),
        JaxCase("argmax nan", jnp.argmax, (np.array([1.0, np.nan, 3.0]),), 0),
        JaxCase("argmax int", lambda x: lax.argmax(x, 0, np.int32), (k(4),), 0),
        JaxCase("reduce", lambda x: lax.reduce(x, np.array(0, x.dtype), lax.add, (0,)), (n(3, 2),)),
        JaxCase("reduce max", lambda x: lax.reduce(x, np.array(0.3, x.dtype), lax.max, (1,)),
                (n(3, 2),), 0),
        JaxCase("var", lambda x: jnp.var(x, axis=0), (n(4, 2),)),
        JaxCase("softmax", jax.nn.softmax, (n(3, 4),)),
        JaxCase("norm", lambda x: jnp.linalg.norm(x, axis=-1), (n(3, 4),)),
    ]  # fmt: skip
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        f = getattr(lax, name)
        for shape, axis in (((5,), 0), ((3, 4), 1), ((2, 0), 1), ((1,), 0), ((8, 2), 0)):
            for reverse in (False, True):
                made.append(JaxCase(name, partial(f, axis=axis, reverse=reverse), (n(*shape),)))
        made.append(JaxCase(f"{name} ties", partial(f, axis=1), (TIES,)))
    return made


def _orders() -> list[JaxCase]:
    keys = np.array([[3, 1, 3, 1, 2], [0, 0, 0, 5, 0]], np.int32)
    return [
        JaxCase("sort", lambda x: lax.sort(x, dimension=0), (n(4, 3),)),
        JaxCase("sort ties", lambda x: lax.sort(x, dimension=1), (TIES,)),
        JaxCase("sort nan", lax.sort, (np.array([2.0, np.nan, -np.inf, 0.5]),), 0),
        JaxCase("sort int", lax.sort, (k(7),), 0),
        JaxCase("sort bool", lax.sort, (b(7),), 0),
        JaxCase("sort pairs", lambda k_, x: lax.sort((k_, x), dimension=1, num_keys=1),
                (keys, n(2, 5))),
        JaxCase("sort two keys", lambda k_, x, y: lax.sort((k_, x, y), dimension=1, num_keys=2),
                (keys, n(2, 5), n(2, 5))),
        JaxCase("argsort", jnp.argsort, (TIES,), 0),
        JaxCase("top_k", lambda x: lax.top_k(x, 2), (n(3, 5),)),
        JaxCase("top_k ties", lambda x: lax.top_k(x, 3), (TIES,)),
        JaxCase("median", jnp.median, (n(5),)),
        JaxCase("searchsorted", jnp.searchsorted, (np.sort(n(5)), n(4)), 0),
    ]  # fmt: skip


def _products() -> list[JaxCase]:
    def dot(contract: Any, batch: Any, **more: Any) -> Any:
        return partial(lax.dot_general, dimension_numbers=(contract, batch), **more)

    wide = dot(((1,), (0,)), ((), ()), preferred_element_type=np.float64)
    return [
        JaxCase("dot", jnp.dot, (n(3), n(3))),
        JaxCase("dot_general", dot(((1,), (0,)), ((), ())), (n(2, 3), n(3, 4))),
        JaxCase("dot_general", dot(((2,), (1,)), ((0,), (0,))), (n(2, 3, 4), n(2, 4, 5))),
        JaxCase("dot_general", dot(((0, 2), (1, 0)), ((1,), (2,))), (n(2, 3, 4), n(4, 2, 3))),
        JaxCase("dot_general outer", dot(((), ()), ((), ())), (n(2), n(3))),
        JaxCase("dot_general empty", dot(((1,), (0,)), ((), ())), (n(2, 0), n(0, 4))),
        JaxCase("dot repeated", lambda x: x @ x, (n(3, 3),)),
        JaxCase("dot wide", wide, (n(2, 3), n(3, 2)), 1),
        JaxCase("dot int", dot(((1,), (0,)), ((), ()), preferred_element_type=np.int32),
                (k(2, 3, dtype="int8"), k(3, 2, dtype="int8")), 0),
        JaxCase("einsum", lambda x, y: jnp.einsum("bij,kj->bik", x, y), (n(2, 3, 4), n(5, 4))),
    ]  # fmt: skip


def _indexing() -> list[JaxCase]:
    rows, out = np.array([2, 0, 2, -1], np.int32), np.array([1, 7, -9, 0], np.int32)
    pairs = np.array([[0, 1], [2, 3], [2, 3], [5, 0]], np.int32)

    def gather(x: Any, i: Any, mode: str) -> Any:
        numbers = lax.GatherDimensionNumbers((1,), (0,), (0, 1))
        return lax.gather(x, i, numbers, (1, 2), mode=mode)

    def scatter(f: Any, mode: str, **more: Any) -> Any:
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0, 1))
        return lambda x, i, u: f(x, i, u, numbers, mode=mode, **more)

    made = [
        JaxCase("take rows", lambda x, i: x[i], (n(3, 4), rows)),
        JaxCase("take columns", lambda x, i: x[:, i], (n(3, 4), rows)),
        JaxCase("take one", lambda x, i: x[i], (n(3, 4), np.int32(-1))),
        JaxCase("take both", lambda x, i: x[i, i], (n(3, 4), rows)),
        JaxCase("take apart", lambda x, i: x[i, :, i], (n(3, 2, 4), rows)),
        JaxCase("take none", lambda x, i: x[i], (n(3, 4), rows[:0])),
        JaxCase("take of one", lambda x, i: x[i], (n(1), np.zeros(3, np.int32))),
        JaxCase("take fill", lambda x, i: jnp.take(x, i, 0), (n(3, 4), out)),
        JaxCase("take clip", lambda x, i: jnp.take(x, i, 0, mode="clip"), (n(3, 4), out)),
        JaxCase("take fill int", lambda x, i: jnp.take(x, i), (k(5), out), 0),
        JaxCase("take fill unsigned", lambda x, i: jnp.take(x, i), (UENDS, out), 0),
        JaxCase("take fill bool", lambda x, i: jnp.take(x, i), (b(5), out), 0),
        JaxCase("get fill", lambda x, i: x.at[i].get(mode="fill", fill_value=7.0), (n(3), out)),
        JaxCase("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1),
                (n(3, 4), k(3, 2, low=0, high=4))),
        JaxCase("constant places", lambda x: x[np.array([0, 2]), 1:3], (n(3, 4),)),
        JaxCase("vmapped take", jax.vmap(lambda x, i: x[i]), (n(4, 3), k(4, low=0, high=3))),
        JaxCase("vmapped slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
                (n(4, 5), k(4, low=-2, high=7))),
        JaxCase("vmapped update", jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))),
                (n(4, 5), n(4, 2), k(4, low=-2, high=7))),
        JaxCase("vmapped set", jax.vmap(lambda x, i, u: x.at[i].set(u)),
                (n(4, 3), k(4, low=0, high=5), n(4))),
        JaxCase("one place", lambda x, i, u: (x.at[i].set(u), x.at[i].add(u), x.at[i].mul(u)),
                (n(4), np.int32(2), n())),
        JaxCase("one place outside", lambda x, i, u: (x.at[i].set(u), x.at[i].add(u)),
                (n(4), np.int32(9), n())),
        JaxCase("one row", lambda x, i, u: x.at[i].set(u), (n(4, 3), np.int32(-1), n(3))),
        JaxCase("whole", lambda x, u: x.at[:].add(u), (n(3), n(3))),
        JaxCase("add rows", lambda x, i, u: x.at[i].add(u), (n(3, 4), rows, n(4, 4))),
        JaxCase("add columns", lambda x, i, u: x.at[:, i].add(u), (n(3, 4), rows, n(3, 4))),
        JaxCase("add outside", lambda x, i, u: x.at[i].add(u), (n(3, 4), out, n(4, 4))),
        JaxCase("sub rows", lambda x, i, u: x.at[i].subtract(u), (n(3, 4), rows, n(4, 4))),
        JaxCase("set rows", lambda x, i, u: x.at[i].set(u), (n(5, 2), np.array([1, 4]), n(2, 2))),
        JaxCase("set outside", lambda x, i, u: x.at[i].set(u), (n(3), out, n(4))),
        JaxCase("set pairs", lambda x, i, j, u: x.at[i, j].set(u),
                (n(3, 4), np.array([0, 2]), np.array([1, 3]), n(2))),
        JaxCase("mul", lambda x, i, u: x.at[i].mul(u, unique_indices=True),
                (n(5), np.array([1, 4]), n(2))),
        JaxCase("mul repeated", lambda x, i, u: x.at[i].mul(u), (n(3), rows, n(4)), 0),
        JaxCase("min max", lambda x, i, u: (x.at[i].min(u), x.at[i].max(u)), (n(3), rows, n(4)), 0),
        JaxCase("min max outside", lambda x, i, u: (x.at[i].min(u), x.at[i].max(u)),
                (n(3), out, n(4)), 0),
        JaxCase("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 3),
                (n(4, 2), np.array([0, 2, 2, 1]))),
    ]  # fmt: skip
    for mode in ("clip", "fill", "promise_in_bounds"):
        i = pairs if mode != "promise_in_bounds" else pairs[:3] % 2
        made += [JaxCase(f"gather {mode}", partial(gather, mode=mode), (n(4, 5), i))]
        u = n(len(i), 2)
        made += [JaxCase(f"scatter_add {mode}", scatter(lax.scatter_add, mode), (n(4, 5), i, u))]
    made += [JaxCase("scatter clip", scatter(lax.scatter, "clip"), (n(4, 5), pairs[:2], n(2, 2)))]
    made += [JaxCase("scatter drop", scatter(lax.scatter, "drop"), (n(4, 5), pairs[2:], n(2, 2)))]
    return made


def _windows() -> list[JaxCase]:
    def sums(window: Any, strides: Any, padding: Any, **more: Any) -> Any:
        return lambda x: lax.reduce_window(x, np.array(0, x.dtype), lax.add, window, strides,
                                           padding, **more)  # fmt: skip

    def most(window: Any, strides: Any, padding: Any, join: Any = lax.max, **more: Any) -> Any:
        start = -np.inf if join is lax.max else np.inf
        return lambda x: lax.reduce_window(x, np.array(start, x.dtype), join, window, strides,
                                           padding, **more)  # fmt: skip

    def conv(strides: Any, padding: Any, numbers: Any = None, **more: Any) -> Any:
        return lambda x, w: lax.conv_general_dilated(x, w, strides, padding,
                                                     dimension_numbers=numbers, **more)  # fmt: skip

    last = ("NHWC", "HWIO", "NHWC")
    return [
        JaxCase("window sums", sums((2, 3), (1, 2), "VALID"), (n(4, 7),)),
        JaxCase("window sums same", sums((3, 1), (1, 1), "SAME"), (n(4, 3),)),
        JaxCase("window sums dilated", sums((2,), (1,), ((1, 2),), window_dilation=(2,)), (n(6),)),
        JaxCase("window sums spread", sums((2,), (1,), ((0, 1),), base_dilation=(3,)), (n(4),)),
        JaxCase("window sums cumulative", sums((5, 1), (1, 1), ((4, 0), (0, 0))), (n(5, 2),)),
        JaxCase("window sums reverse", sums((5,), (1,), ((0, 4),)), (n(5),)),
        JaxCase("window max", most((2, 2), (2, 2), "VALID"), (n(4, 6),)),
        JaxCase("window max ties", most((1, 2), (1, 1), "SAME"), (TIES,)),
        JaxCase("window max images", most((1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (n(2, 5, 6, 3),)),
        JaxCase("window min", most((2,), (1,), ((1, 1),), lax.min), (n(5),)),
        JaxCase("window max dilated", most((2,), (1,), "VALID", window_dilation=(3,)), (n(6),), 0),
        JaxCase("window products", lambda x: lax.reduce_window(
            x, np.array(1, x.dtype), lax.mul, (2,), (1,), "VALID"), (n(5),), 0),
        JaxCase("window max int", lambda x: lax.reduce_window(
            x, np.int32(-9), lax.max, (2,), (1,), "SAME"), (k(5),), 0),
        JaxCase("pool in grad", jax.grad(lambda x: jnp.sum(most((2, 2), (1, 1), "SAME")(x) ** 2)),
                (n(3, 4),), 1),
        JaxCase("hessian of pool", lambda x: jax.jvp(jax.grad(lambda x: jnp.sum(
            most((2,), (1,), "VALID")(x) ** 3)), (x,), (x,))[1], (n(5),), 0),
        JaxCase("conv 1d", conv((1,), "VALID"), (n(2, 3, 8), n(4, 3, 3))),
        JaxCase("conv 2d", conv((2, 1), "SAME", last), (n(2, 5, 6, 3), n(3, 2, 3, 4))),
        JaxCase("conv 3d", conv((1, 1, 1), "VALID"), (n(1, 2, 3, 4, 3), n(2, 2, 2, 2, 2))),
        JaxCase("conv groups", conv((1, 1), "SAME", last, feature_group_count=2),
                (n(1, 4, 4, 4), n(3, 3, 2, 6))),
        JaxCase("conv batch groups", conv((1,), "VALID", batch_group_count=2),
                (n(4, 3, 6), n(4, 3, 2))),
        JaxCase("conv spread", conv((1,), ((2, 1),), lhs_dilation=(2,)), (n(1, 2, 4), n(3, 2, 3))),
        JaxCase("conv dilated", conv((1,), ((2, 2),), rhs_dilation=(2,)), (n(1, 2, 6), n(3, 2, 3))),
        JaxCase("conv negative", conv((1,), ((-1, 2),)), (n(1, 2, 6), n(3, 2, 3))),
        JaxCase("conv in grad", jax.grad(lambda x, w: jnp.sum(conv((2,), "SAME")(x, w) ** 2),
                                         (0, 1)), (n(2, 2, 7), n(3, 2, 3)), 1),
        JaxCase("conv transpose", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
                (n(1, 3, 3, 2), n(3, 3, 2, 2))),
        JaxCase("conv no axes", lambda x, w: lax.conv_general_dilated(
            x, w, (), (), dimension_numbers=lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1))),
            (n(3, 2), n(4, 2))),
    ]  # fmt: skip


def spd(*shape: int) -> Any:
    a = n(*shape)
    return a @ a.swapaxes(-1, -2) + 2 * np.eye(shape[-1])


def _linalg() -> list[JaxCase]:
    def triangular(left: bool, lower: bool, transpose: bool, unit: bool) -> Any:
        return lambda a, x: lax.linalg.triangular_solve(
            a, x, left_side=left, lower=lower, transpose_a=transpose, unit_diagonal=unit
        )

    tri = np.tril(n(3, 3)) + 2 * np.eye(3)
    flags = [(True, True, False, False), (False, True, False, False), (True, False, True, False),
             (True, True, True, True), (False, False, True, False)]  # fmt: skip
    made = [JaxCase(f"triangular_solve {f}", triangular(*f), (tri + tri.T * 0.1, n(3, 3)), 2, 1e-9)
            for f in flags]  # fmt: skip
    made += [
        JaxCase("cholesky", jnp.linalg.cholesky, (spd(3, 3),), 2, 1e-9),
        JaxCase("cholesky batch", jnp.linalg.cholesky, (spd(2, 3, 3),), 1, 1e-9),
        JaxCase("lu", lambda a: lax.linalg.lu(a)[0], (n(4, 4),), 2, 1e-7, 1e-3),
        JaxCase("lu order", lambda a: lax.linalg.lu(a)[1:], (n(2, 5, 5),), 0),
        JaxCase("lu tall", lambda a: lax.linalg.lu(a)[0], (n(4, 3),), 1, 1e-7, 1e-3),
        JaxCase("lu wide", lambda a: lax.linalg.lu(a), (n(3, 5),), 0),
        JaxCase("permutation", lambda i: lax.linalg.lu_pivots_to_permutation(i, 5),
                (np.array([[1, 3, 2], [4, 4, 2]], np.int32),), 0),
        JaxCase("solve", jnp.linalg.solve, (spd(3, 3), n(3, 2)), 2, 1e-8, 1e-3),
        JaxCase("solve vector", jnp.linalg.solve, (n(3, 3) + 3 * np.eye(3), n(3)), 2, 1e-8, 1e-3),
        JaxCase("inv", jnp.linalg.inv, (spd(3, 3),), 2, 1e-8, 1e-3),
        JaxCase("det", jnp.linalg.det, (n(3, 3),), 2, 1e-8, 1e-3),
        JaxCase("slogdet", jnp.linalg.slogdet, (n(4, 4),), 1, 1e-8, 1e-3),
        JaxCase("qr", lambda a: jnp.linalg.qr(a), (n(4, 3),), 2, 1e-7, 1e-3),
        JaxCase("qr complete", lambda a: jnp.linalg.qr(a, mode="complete"), (n(4, 3),), 0, 1e-7,
                1e-4),
        JaxCase("eigh", lambda a: (jnp.linalg.eigh(a)[0], jnp.abs(jnp.linalg.eigh(a)[1])),
                (spd(3, 3),), 1, 1e-7, 1e-3),
        JaxCase("svd", lambda a: tuple(map(jnp.abs, jnp.linalg.svd(a, full_matrices=False))),
                (n(4, 3),), 1, 1e-7, 1e-3),
        JaxCase("singular values", lambda a: jnp.linalg.svd(a, compute_uv=False), (n(3, 4),), 2,
                1e-7, 1e-3),
        JaxCase("tridiagonal", lax.linalg.tridiagonal_solve,
                (n(4) * np.array([0, 1, 1, 1]), 4 + n(4), n(4) * np.array([1, 1, 1, 0]),
                 n(4, 2)), 0),
        JaxCase("cho_solve", lambda a, x: jax.scipy.linalg.cho_solve(
            jax.scipy.linalg.cho_factor(a + a.T), x),
                (spd(3, 3), n(3)), 2, 1e-8, 1e-3),
    ]  # fmt: skip
    return made


def _random() -> list[JaxCase]:
    key = jax.random.key(7)
    made = [
        JaxCase("bits", lambda: jax.random.bits(key, (5,)), (), 0),
        JaxCase("bits 64", lambda: jax.random.bits(key, (3,), "uint64"), (), 0),
        JaxCase("bits 8", lambda: jax.random.bits(key, (5,), "uint8"), (), 0),
        JaxCase("split", lambda: jax.random.key_data(jax.random.split(key, (2, 3))), (), 0),
        JaxCase("fold_in", lambda i: jax.random.key_data(jax.random.fold_in(key, i)),
                (np.int32(5),), 0),
        JaxCase("seed", lambda i: jax.random.bits(jax.random.key(i), (3,)), (np.int32(11),), 0),
        JaxCase("old key", lambda i: jax.random.uniform(jax.random.PRNGKey(i), (3,)),
                (np.int32(3),), 0),
        JaxCase("vmapped keys", lambda: jax.vmap(lambda k_: jax.random.normal(k_, (2,)))(
            jax.random.split(key, 3)), (), 0, 1e-12),
        JaxCase("normal", lambda x: x * jax.random.normal(key, (4,), x.dtype), (n(4),), 1, 1e-12),
        JaxCase("uniform f32", lambda: jax.random.uniform(key, (9,), np.float32), (), 0),
        JaxCase("bernoulli", lambda x: jax.random.bernoulli(key, x), (p(6, high=0.9),), 0),
        JaxCase("randint", lambda: jax.random.randint(key, (7,), -3, 100), (), 0),
        JaxCase("permutation", lambda x: jax.random.permutation(key, x), (n(9),), 1),
        JaxCase("categorical", lambda x: jax.random.categorical(key, x), (n(3, 5),), 0),
        JaxCase("choice", lambda x: jax.random.choice(key, x, (4,), replace=False), (n(8),), 1),
        JaxCase("gamma", lambda a: jax.random.gamma(key, a), (p(4, low=0.6),), 1, 1e-6, 1e-3),
        JaxCase("gumbel", lambda: jax.random.gumbel(key, (5,)), (), 0, 1e-12),
        JaxCase("truncated", lambda: jax.random.truncated_normal(key, -1.0, 2.0, (5,)), (), 0,
                1e-9),
    ]  # fmt: skip
    return made


CASES: dict[str, list[JaxCase]] = {
    "elementwise": _elementwise(), "binary": _binary(), "integers": _integers(), "bits": _bits(),
    "choices": _choices(), "shapes": _shapes(), "reductions": _reductions(), "orders": _orders(),
    "products": _products(), "indexing": _indexing(), "windows": _windows(), "linalg": _linalg(),
    "random": _random(),
}  # fmt: skip
