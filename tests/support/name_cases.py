"""Names of NumPy with calls of them: `xp` is NumPy or gradir.numpy, x an array of shape (3, 4).

Names in SMOOTH have derivatives at the sample; those of VALUES have values alone.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any, Any], Any]
Calls = dict[str, Call | list[Call]]

RANDOM = np.random.default_rng(11)
X = RANDOM.permutation(np.sinh(np.linspace(-1.5, 1.3, 12))).reshape(3, 4)
P = np.linspace(0.3, 2.2, 4)
K = np.array([[3, -2, 7, 1], [0, 5, 2, 6], [4, 4, -9, 8]])
M = X[:, :3] + 3 * np.eye(3)
N = np.where(np.arange(12).reshape(3, 4) % 5 == 2, np.nan, X)
E = np.array([-2.0, -0.63, 0.11, 0.95, 2.0])


def nans(xp: Any, x: Any) -> Any:
    """x with some elements nan."""
    return xp.where(np.isnan(N), np.nan, x)


SMOOTH: Calls = {
    "sum": [
        lambda xp, x: xp.sum(x),
        lambda xp, x: xp.sum(x, 1, keepdims=True),
        lambda xp, x: xp.sum(x, axis=(0, -1), initial=2.0, where=X > 0),
    ],
    "prod": lambda xp, x: xp.prod(x, axis=-2, initial=3.0),
    "max": [
        lambda xp, x: xp.max(x, 0),
        lambda xp, x: xp.max(x, axis=1, initial=0.5, where=X < 1, keepdims=True),
    ],
    "min": lambda xp, x: xp.min(x, axis=(0, 1), initial=9.0, where=X > -1),
    "amax": lambda xp, x: xp.amax(x, 1),
    "amin": lambda xp, x: xp.amin(x),
    "mean": [
        lambda xp, x: xp.mean(x, 0, np.float64, None, True),
        lambda xp, x: xp.mean(x, axis=-1, where=X < 1.5),
    ],
    "var": [
        lambda xp, x: xp.var(x, 1, None, None, 1),
        lambda xp, x: xp.var(x, axis=0, ddof=0, where=X < 1.5),
        lambda xp, x: xp.var(x, axis=0, mean=xp.mean(x, axis=0, keepdims=True), correction=1),
    ],
    "std": [
        lambda xp, x: xp.std(x, ddof=1),
        lambda xp, x: xp.std(x, axis=0, where=X > -2, keepdims=True),
    ],
    "ptp": lambda xp, x: xp.ptp(x, axis=1),
    "average": [
        lambda xp, x: xp.average(x, 0),
        lambda xp, x: xp.average(x, axis=1, weights=P),
        lambda xp, x: xp.average(x, weights=x * x + 1, returned=True),
    ],
    "nansum": lambda xp, x: xp.nansum(nans(xp, x), axis=0),
    "nanprod": lambda xp, x: xp.nanprod(nans(xp, x), axis=1, keepdims=True),
    "nanmax": lambda xp, x: xp.nanmax(nans(xp, x), axis=0),
    "nanmin": lambda xp, x: xp.nanmin(nans(xp, x)),
    "nanmean": lambda xp, x: xp.nanmean(nans(xp, x), axis=1),
    "nanvar": lambda xp, x: xp.nanvar(nans(xp, x), axis=1, ddof=1),
    "nanstd": lambda xp, x: xp.nanstd(nans(xp, x)),
    "cumsum": [lambda xp, x: xp.cumsum(x), lambda xp, x: xp.cumsum(x, -1)],
    "cumprod": [lambda xp, x: xp.cumprod(x, axis=0), lambda xp, x: xp.cumprod(x)],
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=0, include_initial=True),
    "nancumsum": lambda xp, x: xp.nancumsum(nans(xp, x), axis=1),
    "nancumprod": lambda xp, x: xp.nancumprod(nans(xp, x)),
    "median": [
        lambda xp, x: xp.median(x),
        lambda xp, x: xp.median(x, axis=0, keepdims=True),
        lambda xp, x: xp.median(x, axis=(0, 1)),
    ],
    "quantile": [
        lambda xp, x: xp.quantile(x, 0.3),
        lambda xp, x: xp.quantile(x, np.array([[0.1, 0.8]]), axis=1),
        lambda xp, x: xp.quantile(x, [0.0, 0.37, 1.0], axis=0, method="hazen", keepdims=True),
        *(
            (lambda xp, x, m=m: xp.quantile(x, [0.0, 0.15, 0.4, 0.5, 0.93, 1.0], method=m))
            for m in (
                "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
                "closest_observation", "interpolated_inverted_cdf", "weibull", "median_unbiased",
                "normal_unbiased",
            )
        ),
    ],
    "percentile": lambda xp, x: xp.percentile(x, [12, 50], axis=0),
    "nanmedian": lambda xp, x: xp.nanmedian(nans(xp, x), axis=1),
    "nanquantile": lambda xp, x: xp.nanquantile(nans(xp, x), [0.2, 0.9], axis=1),
    "nanpercentile": lambda xp, x: xp.nanpercentile(nans(xp, x), 35, keepdims=True),
    "reshape": [
        lambda xp, x: xp.reshape(x, (2, -1)),
        lambda xp, x: xp.reshape(x, (2, 6), order="F"),
    ],
    "ravel": [lambda xp, x: xp.ravel(x), lambda xp, x: xp.ravel(x, order="F")],
    "squeeze": [lambda xp, x: xp.squeeze(x[None, :, None]), lambda xp, x: xp.squeeze(x[None], 0)],
    "expand_dims": lambda xp, x: xp.expand_dims(x, (0, -1)),
    "transpose": [lambda xp, x: xp.transpose(x), lambda xp, x: xp.transpose(x, (1, 0))],
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "moveaxis": lambda xp, x: xp.moveaxis(x[None], [0, 1], [-1, 0]),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1),
    "rollaxis": [
        lambda xp, x: xp.rollaxis(x[None], 2),
        lambda xp, x: xp.rollaxis(x[None], 0, 3),
        lambda xp, x: xp.rollaxis(x[None], -1, -2),
    ],
    "atleast_1d": lambda xp, x: xp.atleast_1d(x[0, 0], x),
    "atleast_2d": lambda xp, x: xp.atleast_2d(x[0]),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x[0], x),
    "concatenate": [
        lambda xp, x: xp.concatenate([x, X], axis=-1),
        lambda xp, x: xp.concatenate((x, x[0]), axis=None),
    ],
    "concat": lambda xp, x: xp.concat([x, x * 2]),
    "stack": lambda xp, x: xp.stack([x, X * x], axis=-1),
    "vstack": lambda xp, x: xp.vstack((x, x[1], P)),
    "hstack": [lambda xp, x: xp.hstack([x, x[:, :1]]), lambda xp, x: xp.hstack([x[0], x[1]])],
    "dstack": [lambda xp, x: xp.dstack([x, x]), lambda xp, x: xp.dstack([x[0], x[1]])],
    "column_stack": lambda xp, x: xp.column_stack([x[:, 0], x]),
    "append": [lambda xp, x: xp.append(x, P), lambda xp, x: xp.append(x, x[:1], axis=0)],
    "block": lambda xp, x: xp.block([[x, x], [x[:1], x[1:2]]]),
    "split": [
        lambda xp, x: xp.split(x, 2, axis=1),
        lambda xp, x: xp.split(x, [1, 3], -1),
        lambda xp, x: xp.split(x, 3),
    ],
    "array_split": lambda xp, x: xp.array_split(x, 3, axis=1),
    "hsplit": lambda xp, x: xp.hsplit(x, 2),
    "vsplit": lambda xp, x: xp.vsplit(x, [2]),
    "dsplit": lambda xp, x: xp.dsplit(x[None], 4),
    "unstack": lambda xp, x: xp.unstack(x, axis=1),
    "flip": [lambda xp, x: xp.flip(x), lambda xp, x: xp.flip(x, (0, -1)),
             lambda xp, x: xp.flip(x, 1)],
    "fliplr": lambda xp, x: xp.fliplr(x),
    "flipud": lambda xp, x: xp.flipud(x),
    "rot90": [(lambda xp, x, k=k: xp.rot90(x, k)) for k in range(-1, 3)],
    "roll": [
        lambda xp, x: xp.roll(x, 5),
        lambda xp, x: xp.roll(x, (1, -2), axis=(0, 1)),
        lambda xp, x: xp.roll(x, 2, axis=(0, 1)),
        lambda xp, x: xp.roll(x, (1, 1), axis=1),
    ],
    "repeat": [
        lambda xp, x: xp.repeat(x, 2),
        lambda xp, x: xp.repeat(x, [2, 0, 1], axis=0),
        lambda xp, x: xp.repeat(x, 3, axis=-1),
    ],
    "tile": [lambda xp, x: xp.tile(x, 2), lambda xp, x: xp.tile(x, (2, 1, 3))],
    "resize": lambda xp, x: xp.resize(x, (5, 3)),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1]),
    "pad": [
        lambda xp, x: xp.pad(x, 1),
        lambda xp, x: xp.pad(x, ((1, 0), (2, 3)), constant_values=((1, 2), (3, 4))),
        lambda xp, x: xp.pad(x, (2, 1), "linear_ramp", end_values=(5, -4)),
        lambda xp, x: xp.pad(x, 2, "mean"),
        lambda xp, x: xp.pad(x, ((0, 0), (2, 1)), mode="maximum", stat_length=2),
        lambda xp, x: xp.pad(x, ((5, 4), (0, 7)), "reflect"),
        lambda xp, x: xp.pad(x, 3, "symmetric", reflect_type="odd"),
        lambda xp, x: xp.pad(x, ((2, 3), (3, 2)), "reflect", reflect_type="odd"),
        *((lambda xp, x, m=m: xp.pad(x, ((1, 2), (5, 0)), m))
          for m in ("edge", "symmetric", "wrap", "minimum", "median")),
    ],
    "sort": [lambda xp, x: xp.sort(x), lambda xp, x: xp.sort(x, None),
             lambda xp, x: xp.sort(x, axis=0, kind="stable")],
    "delete": [lambda xp, x: xp.delete(x, [0, -2]), lambda xp, x: xp.delete(x, 1, axis=0),
               lambda xp, x: xp.delete(x, slice(0, 2), axis=1)],
    "insert": [
        lambda xp, x: xp.insert(x, 1, 5.0),
        lambda xp, x: xp.insert(x, [0, 2], x[0, :1] * 2, axis=1),
        lambda xp, x: xp.insert(x, 1, x[0], axis=0),
        lambda xp, x: xp.insert(x, 1, x[:, 0], axis=1),
        lambda xp, x: xp.insert(x, [3, 1, 1], [7.0, 8.0, 9.0]),
    ],
    "take": [
        lambda xp, x: xp.take(x, [3, -1, 11]),
        lambda xp, x: xp.take(x, np.array([[0, 1], [2, 0]]), axis=1),
        lambda xp, x: xp.take(x, [5, -7], axis=0, mode="wrap"),
        lambda xp, x: xp.take(x, [5, -7], axis=0, mode="clip"),
    ],
    "take_along_axis": [
        lambda xp, x: xp.take_along_axis(x, np.argsort(X, 1), 1),
        lambda xp, x: xp.take_along_axis(x, np.array([3, 1]), None),
    ],
    "compress": [lambda xp, x: xp.compress([True, False, True], x, axis=0),
                 lambda xp, x: xp.compress(X.ravel() > 0, x)],
    "extract": lambda xp, x: xp.extract(X > 0, x),
    "choose": lambda xp, x: xp.choose(np.array([0, 1, 2, 1]), [x, x * 2, P]),
    "where": lambda xp, x: xp.where(X > 0, x, P * x * x),
    "select": lambda xp, x: xp.select([X > 1, X > 0], [x, x * x], 7.0),
    "piecewise": [
        lambda xp, x: xp.piecewise(x, [X < 0, X >= 0], [lambda v: v * v, lambda v: np.sqrt(v)]),
        lambda xp, x: xp.piecewise(x, [X < -1], [3.0, lambda v, k: v * k], 2),
    ],
    "diag": [lambda xp, x: xp.diag(x), lambda xp, x: xp.diag(x[0], -1),
             lambda xp, x: xp.diag(x, 2)],
    "diagflat": lambda xp, x: xp.diagflat(x[:2, :2], 1),
    "diagonal": [lambda xp, x: xp.diagonal(x, 1),
                 lambda xp, x: xp.diagonal(x[None], 0, 2, 1)],
    "trace": [lambda xp, x: xp.trace(x), lambda xp, x: xp.trace(x[:, :, None] * P, 1, 0, 2)],
    "tril": [lambda xp, x: xp.tril(x, -1), lambda xp, x: xp.tril(x[0])],
    "triu": lambda xp, x: xp.triu(x, 1),
    "vander": [lambda xp, x: xp.vander(x[0]), lambda xp, x: xp.vander(x[0], 3, True)],
    "diff": [
        lambda xp, x: xp.diff(x),
        lambda xp, x: xp.diff(x, 2, axis=0),
        lambda xp, x: xp.diff(x, prepend=0.5, append=x[:, :1]),
    ],
    "ediff1d": lambda xp, x: xp.ediff1d(x, to_end=[1.0, 2.0], to_begin=0.0),
    "gradient": [
        lambda xp, x: xp.gradient(x),
        lambda xp, x: xp.gradient(x, 0.5, axis=1, edge_order=2),
        lambda xp, x: xp.gradient(x, np.array([0.0, 1.0, 3.0]), P, edge_order=2),
        lambda xp, x: xp.gradient(x, P**2, axis=1),
    ],
    "trapezoid": [
        lambda xp, x: xp.trapezoid(x, dx=0.5),
        lambda xp, x: xp.trapezoid(x, P**2),
        lambda xp, x: xp.trapezoid(x, [0.0, 1.0, 3.0], axis=0),
    ],
    "unwrap": [lambda xp, x: xp.unwrap(x * 3),
               lambda xp, x: xp.unwrap(x * 5, axis=0, period=4.0, discont=2.5)],
    "interp": [
        lambda xp, x: xp.interp(x, E, E**3),
        lambda xp, x: xp.interp(np.linspace(-3, 3, 7), E, x[0, 0] * E, left=1.0),
        lambda xp, x: xp.interp(x, [0.1, 0.93, 0.5], [1.0, 3.0, 2.0], period=1.5),
    ],
    "convolve": [
        *((lambda xp, x, m=m: xp.convolve(x[0], x[1, :3], m)) for m in ("full", "same", "valid")),
        lambda xp, x: xp.convolve(x[0, :2], x[1], "same"),
    ],
    "correlate": [
        *((lambda xp, x, m=m: xp.correlate(x[0], x[1, :2], m)) for m in ("full", "same", "valid")),
        lambda xp, x: xp.correlate(x[0, :2], x[1], "same"),
    ],
    "dot": [lambda xp, x: xp.dot(x, X.T), lambda xp, x: xp.dot(x, P), lambda xp, x: xp.dot(x, 2.0),
            lambda xp, x: xp.dot(x[0], x[None].swapaxes(1, 2))],
    "inner": lambda xp, x: xp.inner(x, P * x),
    "outer": lambda xp, x: xp.outer(x, x[0]),
    "vdot": lambda xp, x: xp.vdot(x, X),
    "vecdot": lambda xp, x: xp.vecdot(x, P),
    "matvec": lambda xp, x: xp.matvec(x, P),
    "vecmat": lambda xp, x: xp.vecmat(P, x.T),
    "matmul": lambda xp, x: xp.matmul(x, x.T),
    "tensordot": [lambda xp, x: xp.tensordot(x, X), lambda xp, x: xp.tensordot(x, P, 1),
                  lambda xp, x: xp.tensordot(x, X, axes=([1], [1]))],
    "kron": [lambda xp, x: xp.kron(x, X[:2]), lambda xp, x: xp.kron(P, x)],
    "cross": [
        lambda xp, x: xp.cross(x[:, :3], M),
        lambda xp, x: xp.cross(x, X, axis=0),
        lambda xp, x: xp.cross(x[:, :3].T, x.T[:3], axisc=0),
    ],
    "einsum": [
        lambda xp, x: xp.einsum("ij,kj->ik", x, X, optimize=True),
        lambda xp, x: xp.einsum(x, [0, 1], P, [1], [0]),
    ],
    "cov": [
        lambda xp, x: xp.cov(x),
        lambda xp, x: xp.cov(x, rowvar=False, bias=True),
        lambda xp, x: xp.cov(x, x[:1], fweights=[1, 2, 1, 3], aweights=P),
        lambda xp, x: xp.cov(x[0]),
    ],
    "corrcoef": lambda xp, x: xp.corrcoef(x),
    "meshgrid": [lambda xp, x: xp.meshgrid(x[0], P),
                 lambda xp, x: xp.meshgrid(x[0], P, P, indexing="ij", sparse=True)],
    "polyval": [lambda xp, x: xp.polyval(x[0], P), lambda xp, x: xp.polyval([1.0, 2.0, 3.0], x)],
    "polyadd": lambda xp, x: xp.polyadd(x[0], [1.0, 2.0]),
    "polysub": lambda xp, x: xp.polysub([1.0, 2.0], x[0]),
    "polymul": lambda xp, x: xp.polymul(x[0], P),
    "polyder": lambda xp, x: xp.polyder(x[0], 2),
    "polyint": lambda xp, x: xp.polyint(x[0], 2, k=[3.0, 4.0]),
    "poly": lambda xp, x: xp.poly(x[0]),
    "clip": [lambda xp, x: xp.clip(x, -1, 0.5), lambda xp, x: xp.clip(x, None, a_max=P),
             lambda xp, x: xp.clip(x, min=-x * x)],
    "modf": lambda xp, x: xp.modf(x),
    "fmod": [lambda xp, x: xp.fmod(x, 0.6), lambda xp, x: xp.fmod(K + 0.5, P + x * x)],
    "remainder": lambda xp, x: xp.remainder(x, 0.6),
    "mod": lambda xp, x: xp.mod(K + 0.5, P + x * x),
    "divmod": lambda xp, x: xp.divmod(x, -0.6)[1],
    "fabs": lambda xp, x: xp.fabs(x),
    "nan_to_num": lambda xp, x: xp.nan_to_num(nans(xp, x), nan=2.0, posinf=1.0),
    "heaviside": lambda xp, x: xp.heaviside(np.sign(K - 4.0), x),
    "cbrt": [lambda xp, x: xp.cbrt(x - 4), lambda xp, x: xp.cbrt(x + 4)],
    "float_power": lambda xp, x: xp.float_power(x * x, 1.5),
    "logaddexp2": lambda xp, x: xp.logaddexp2(x, P),
    "ldexp": lambda xp, x: xp.ldexp(x, K),
    "deg2rad": lambda xp, x: xp.deg2rad(x),
    "radians": lambda xp, x: xp.radians(x),
    "rad2deg": lambda xp, x: xp.rad2deg(x),
    "degrees": lambda xp, x: xp.degrees(x),
    "sinc": [lambda xp, x: xp.sinc(x), lambda xp, x: xp.sinc(x * 0)],
    "fmax": lambda xp, x: xp.fmax(nans(xp, x), x * x - 1),
    "fmin": lambda xp, x: xp.fmin(x, nans(xp, x * x - 1)),
    "real": lambda xp, x: xp.real(x),
    "conj": lambda xp, x: xp.conj(x),
    "conjugate": lambda xp, x: xp.conjugate(x),
    "copy": lambda xp, x: xp.copy(x),
    "full_like": lambda xp, x: xp.full_like(x, 2.5),
    "asarray": lambda xp, x: x,
    "linspace": lambda xp, x: xp.linspace(x[0], x[1], 5, axis=-1),
    "logspace": lambda xp, x: xp.logspace(x[0], 1.0, 4),
    "geomspace": lambda xp, x: xp.geomspace(x[0] ** 2 + 1, P, 5),
    "apply_along_axis": lambda xp, x: xp.apply_along_axis(lambda r: np.flip(r) * r.sum(), 0, x),
    "apply_over_axes": lambda xp, x: xp.apply_over_axes(np.sum, x, [0, 1]),
    "i0": lambda xp, x: xp.i0(x),
    "linalg.norm": [
        lambda xp, x: xp.linalg.norm(x),
        lambda xp, x: xp.linalg.norm(x, axis=1),
        *((lambda xp, x, o=o: xp.linalg.norm(x, o)) for o in (1, -1, np.inf, -np.inf, "fro")),
        *((lambda xp, x, o=o: xp.linalg.norm(x, o, axis=0, keepdims=True))
          for o in (1, 2, 3, 0.5, np.inf, -np.inf, 0)),
    ],
    "linalg.vector_norm": lambda xp, x: xp.linalg.vector_norm(x, axis=(0, 1), ord=3),
    "linalg.matrix_norm": lambda xp, x: xp.linalg.matrix_norm(x, ord=1, keepdims=True),
    "linalg.trace": lambda xp, x: xp.linalg.trace(x, offset=1),
    "linalg.diagonal": lambda xp, x: xp.linalg.diagonal(x),
    "linalg.cross": lambda xp, x: xp.linalg.cross(x[:, :3], M),
    "linalg.solve": lambda xp, x: xp.linalg.solve(x[:, :3] + 3 * np.eye(3), x[:, 3]),
    "linalg.inv": lambda xp, x: xp.linalg.inv(x[:, :3] + 3 * np.eye(3)),
    "linalg.det": lambda xp, x: xp.linalg.det(x[:, :3]),
    "linalg.slogdet": lambda xp, x: xp.linalg.slogdet(x[:, :3]),
    "linalg.cholesky": lambda xp, x: xp.linalg.cholesky(np.eye(3) + x @ x.T),
    "linalg.matrix_power": [
        *((lambda xp, x, n=n: xp.linalg.matrix_power(x[:, :3] + 3 * np.eye(3), n))
          for n in (0, 1, 5, -2)),
    ],
    "linalg.multi_dot": lambda xp, x: xp.linalg.multi_dot([x[0], x.T, x, P]),
    "linalg.cond": [
        *((lambda xp, x, p=p: xp.linalg.cond(x[:, :3] + 3 * np.eye(3), p)) for p in (1, None, -2))
    ],
    "linalg.svd": [
        lambda xp, x: xp.linalg.svd(x, full_matrices=False),
        lambda xp, x: xp.linalg.svd(x[:, :3]),
        lambda xp, x: xp.linalg.svd(x, compute_uv=False),
    ],
    "linalg.svdvals": lambda xp, x: xp.linalg.svdvals(x.T),
    "linalg.eigh": lambda xp, x: xp.linalg.eigh(x @ x.T),
    "linalg.eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x[:, :3], UPLO="L"),
    "linalg.qr": [
        *((lambda xp, x, m=m: xp.linalg.qr(x, mode=m)) for m in ("reduced", "complete", "r"))
    ],
    "linalg.pinv": lambda xp, x: xp.linalg.pinv(x),
    "linalg.matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "linalg.lstsq": [
        lambda xp, x: xp.linalg.lstsq(x.T, P)[:2], lambda xp, x: xp.linalg.lstsq(x, M)[0]
    ],
    "linalg.tensorinv": lambda xp, x: xp.linalg.tensorinv(
        xp.reshape(np.eye(6) * 3 + xp.resize(x, (6, 6)), (2, 3, 3, 2))
    ),
    "linalg.tensorsolve": lambda xp, x: xp.linalg.tensorsolve(
        xp.reshape(np.eye(6) * 3 + xp.resize(x, (6, 6)), (2, 3, 3, 2)), x[:2, :3]
    ),
    "linalg.outer": lambda xp, x: xp.linalg.outer(x[0], x[1]),
    "linalg.matmul": lambda xp, x: xp.linalg.matmul(x, x.T),
    "linalg.vecdot": lambda xp, x: xp.linalg.vecdot(x, P),
    "linalg.tensordot": lambda xp, x: xp.linalg.tensordot(x, X),
    "linalg.matrix_transpose": lambda xp, x: xp.linalg.matrix_transpose(x),
    "polydiv": [
        lambda xp, x: xp.polydiv(x[0], x[1][:2] ** 2 + 1),
        lambda xp, x: xp.polydiv(x[0][:1], x[1]),
        lambda xp, x: xp.polydiv(x[0], [2.0]),
    ],
    "polyfit": [
        lambda xp, x: xp.polyfit(x[0], x[1], 1),
        lambda xp, x: xp.polyfit(x[0], x.T, 2, w=x[1] ** 2 + 1),
        lambda xp, x: xp.polyfit(x[0], x[1], 1, cov=True),
        lambda xp, x: xp.polyfit(x[0], x.T, 1, cov="unscaled"),
    ],
}  # fmt: skip

VALUES: Calls = {
    "nextafter": lambda xp, x: xp.nextafter(x, [[0.2], [-np.inf], [9.0]]),
    "any": lambda xp, x: xp.any(x > 1, axis=1, where=X < 1.6),
    "all": lambda xp, x: xp.all(x > -2, axis=0, keepdims=True),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x > 0, axis=1, keepdims=True),
    "argmax": [lambda xp, x: xp.argmax(x), lambda xp, x: xp.argmax(x, 1, keepdims=True)],
    "argmin": lambda xp, x: xp.argmin(x, axis=0),
    "nanargmax": lambda xp, x: xp.nanargmax(nans(xp, x), axis=0),
    "nanargmin": lambda xp, x: xp.nanargmin(nans(xp, x)),
    "argsort": [lambda xp, x: xp.argsort(x, 0), lambda xp, x: xp.argsort(x, axis=None)],
    "partition": lambda xp, x: xp.sort(xp.partition(x, 2, axis=1), axis=1),
    "argpartition": lambda xp, x: xp.take_along_axis(x, xp.argpartition(x, 2), -1)[:, 2],
    "lexsort": [lambda xp, x: xp.lexsort((x[0], np.array([1, 0, 1, 0]))),
                lambda xp, x: xp.lexsort((np.round(x), np.round(x[::-1])), axis=0)],
    "searchsorted": [
        lambda xp, x: xp.searchsorted(E, x),
        lambda xp, x: xp.searchsorted(E, np.append(E, [np.nan, 9.0]) + x[0, 0] * 0, side="right"),
        lambda xp, x: xp.searchsorted(np.array([1, 2, 2, 3]), K + np.int64(0) * np.sign(x)),
        lambda xp, x: xp.searchsorted(E[::-1], x, sorter=np.arange(5)[::-1]),
        lambda xp, x: xp.searchsorted(np.zeros(0), x),
    ],
    "digitize": [lambda xp, x: xp.digitize(x, E), lambda xp, x: xp.digitize(x, E[::-1], True),
                 lambda xp, x: xp.digitize(np.append(E, x[0, 0] * 0), E[::-1]),
                 lambda xp, x: xp.digitize(np.append(E, x[0, 0] * 0), E[::-1], True),
                 lambda xp, x: xp.digitize(x, E[::-1])],
    "histogram": [
        lambda xp, x: xp.histogram(x),
        lambda xp, x: xp.histogram(x, E, density=True),
        lambda xp, x: xp.histogram(x, 3, range=(-1, 1.5), weights=X),
    ],
    "histogram_bin_edges": lambda xp, x: xp.histogram_bin_edges(x, 4),
    "histogram2d": lambda xp, x: xp.histogram2d(x[0], x[1], 3),
    "histogramdd": lambda xp, x: xp.histogramdd(x.T, (2, 3, 2), density=True),
    "isin": lambda xp, x: xp.isin(x, X[0], invert=True),
    "floor": [lambda xp, x: xp.floor(x), lambda xp, x: xp.floor(K) * (x > 0)],
    "ceil": lambda xp, x: xp.ceil(x),
    "trunc": lambda xp, x: xp.trunc(x),
    "fix": lambda xp, x: xp.fix(x),
    "rint": lambda xp, x: xp.rint(x * 3),
    "round": [lambda xp, x: xp.round(x), lambda xp, x: xp.round(x * 10, 1),
              lambda xp, x: xp.round(x * 100, -1)],
    "around": lambda xp, x: xp.around(x, 2),
    "signbit": lambda xp, x: xp.signbit(xp.where(X > 0, -0.0, x)),
    "isposinf": lambda xp, x: xp.isposinf(x / 0.0),
    "isneginf": lambda xp, x: xp.isneginf(x / 0.0),
    "isreal": lambda xp, x: xp.isreal(x),
    "iscomplex": lambda xp, x: xp.iscomplex(x),
    "imag": lambda xp, x: xp.imag(x),
    "angle": lambda xp, x: xp.angle(x, deg=True),
    "real_if_close": lambda xp, x: xp.real_if_close(x),
    "isclose": [lambda xp, x: xp.isclose(x, X + 1e-9),
                lambda xp, x: xp.isclose(x / 0, -X / 0 + np.nan, equal_nan=True)],
    "allclose": lambda xp, x: xp.allclose(x, X * (1 + 1e-4)),
    "array_equal": [lambda xp, x: xp.array_equal(x, X), lambda xp, x: xp.array_equal(x, P)],
    "array_equiv": lambda xp, x: xp.array_equiv(x, X[:1]),
    "floor_divide": lambda xp, x: xp.floor_divide(x, 0.3),
    "unravel_index": lambda xp, x: xp.unravel_index(xp.argmax(x), (3, 4)),
    "ravel_multi_index": lambda xp, x: xp.ravel_multi_index(
        (xp.argmax(x, 0) % 3, np.array([0, 5, 2, 9])), (3, 4), mode=("raise", "clip")
    ),
    "zeros_like": lambda xp, x: xp.zeros_like(x, dtype=np.float32),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "shape": lambda xp, x: np.array(xp.shape(x)),
    "ndim": lambda xp, x: np.array(xp.ndim(x)),
    "size": lambda xp, x: np.array(xp.size(x)),
    "diag_indices_from": lambda xp, x: xp.diag_indices_from(x[:, :3]),
    "tril_indices_from": lambda xp, x: xp.tril_indices_from(x, 1),
    "triu_indices_from": lambda xp, x: xp.triu_indices_from(x),
    "iscomplexobj": lambda xp, x: np.array(xp.iscomplexobj(x)),
    "isrealobj": lambda xp, x: np.array(xp.isrealobj(x)),
    "bincount": lambda xp, x: xp.bincount(np.array([0, 3, 1, 3]), P, 6),
}  # fmt: skip

# Calls that get no traced array, or not by NumPy's protocol: gradir.numpy's own alone.
OWN: Calls = {
    "abs": lambda xp, x: xp.abs(x),
    "row_stack": lambda xp, x: xp.row_stack([x, x[0]]),
    "array": lambda xp, x: xp.array([[1, 2], [3, 4]], dtype="float32"),
    "asanyarray": lambda xp, x: xp.asanyarray(x),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "asfortranarray": lambda xp, x: xp.asfortranarray(x),
    "arange": [lambda xp, x: xp.arange(1, 7, 2), lambda xp, x: xp.arange(0.5, 2, 0.25)],
    "empty": lambda xp, x: xp.empty((2, 0)),
    "empty_like": lambda xp, x: xp.empty_like(x)[:0],
    "eye": lambda xp, x: xp.eye(3, 4, 1),
    "identity": lambda xp, x: xp.identity(3, dtype="int32"),
    "full": [lambda xp, x: xp.full((2, 3), 7), lambda xp, x: xp.full((2, 4), P)],
    "zeros": lambda xp, x: xp.zeros((2, 3)),
    "ones": lambda xp, x: xp.ones(3, "float32"),
    "tri": lambda xp, x: xp.tri(3, 4, -1),
    "indices": lambda xp, x: xp.indices((2, 3)),
    "ix_": lambda xp, x: xp.ix_([0, 2], [1, 3, 0]),
    "tril_indices": lambda xp, x: xp.tril_indices(3, 1, 4),
    "triu_indices": lambda xp, x: xp.triu_indices(3),
    "diag_indices": lambda xp, x: xp.diag_indices(3),
    "mask_indices": lambda xp, x: xp.mask_indices(3, np.triu),
    "bartlett": lambda xp, x: xp.bartlett(5),
    "blackman": lambda xp, x: xp.blackman(5),
    "hamming": lambda xp, x: xp.hamming(5),
    "hanning": lambda xp, x: xp.hanning(5),
    "kaiser": lambda xp, x: xp.kaiser(5, 8.0),
    "fromfunction": lambda xp, x: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3)),
    "from_dlpack": lambda xp, x: xp.from_dlpack(X) + 0 * x,
    "vectorize": lambda xp, x: xp.vectorize(lambda a, b: a * b + 1)(x, P),
    "gcd": lambda xp, x: xp.gcd(K, 6),
    "lcm": lambda xp, x: xp.lcm(K, 6),
    "left_shift": lambda xp, x: xp.left_shift(K, 3),
    "right_shift": lambda xp, x: xp.right_shift(K, 1),
    "bitwise_left_shift": lambda xp, x: xp.bitwise_left_shift(K, np.arange(4)),
    "bitwise_right_shift": lambda xp, x: xp.bitwise_right_shift(K, 2),
    "bitwise_count": lambda xp, x: xp.bitwise_count(K) + xp.bitwise_count(K > 0),
    "bitwise_invert": lambda xp, x: xp.bitwise_invert(K),
    "bitwise_not": lambda xp, x: xp.bitwise_not(K > 0),
    "invert": lambda xp, x: xp.invert(K),
    "absolute": lambda xp, x: xp.absolute(x),
    "positive": lambda xp, x: xp.positive(x),
    "arccos": lambda xp, x: xp.arccos(x / 3),
    "arccosh": lambda xp, x: xp.arccosh(x + 4),
    "arcsin": lambda xp, x: xp.arcsin(x / 3),
    "arcsinh": lambda xp, x: xp.arcsinh(x),
    "arctan": lambda xp, x: xp.arctan(x),
    "arctan2": lambda xp, x: xp.arctan2(x, P),
    "arctanh": lambda xp, x: xp.arctanh(x / 3),
    "power": lambda xp, x: xp.power(x * x, 1.5),
    "true_divide": lambda xp, x: xp.true_divide(K, 2),
    "astype": lambda xp, x: xp.astype(x, np.float32),
    "einsum_path": lambda xp, x: np.array(len(xp.einsum_path("ij,kj->ik", x, x)[0])),
    "isscalar": lambda xp, x: np.array(xp.isscalar(2.0)),
    "iterable": lambda xp, x: np.array(xp.iterable(x)),
    "broadcast_shapes": lambda xp, x: np.array(xp.broadcast_shapes((3, 1), (4,))),
    "result_type": lambda xp, x: np.zeros(1, xp.result_type(np.float32, np.float64)),
    "promote_types": lambda xp, x: np.zeros(1, xp.promote_types("int32", "int64")),
    "can_cast": lambda xp, x: np.array(xp.can_cast(np.int32, np.int64)),
    "issubdtype": lambda xp, x: np.array(xp.issubdtype(x.dtype, np.floating)),
    "isdtype": lambda xp, x: np.array(xp.isdtype(x.dtype, "real floating")),
    "finfo": lambda xp, x: np.array(float(xp.finfo(x.dtype).eps)),
    "iinfo": lambda xp, x: np.array(xp.iinfo(np.int32).max),
}  # fmt: skip


def listed(calls: Calls) -> list[tuple[str, Call]]:
    """A name with each of its calls."""
    return [
        (name, call)
        for name, given in calls.items()
        for call in (given if isinstance(given, list) else [given])
        if call is not None
    ]
