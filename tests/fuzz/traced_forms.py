"""The expressions of level 1: templates of Python, with the types of their operands and result."""

from __future__ import annotations

from dataclasses import dataclass

# Types: floats of rank 0, of N, of N x N; integers of rank 0 and of N, below N; a bool.
P, V, A, INTEGER, PLACES, BOOL = "float", "floats", "matrix", "integer", "integers", "bool"
FLOATS = (P, V, A)


@dataclass(frozen=True)
class Form:
    """`{0}` is the first operand, `$N` the number of elements."""

    text: str
    operands: tuple[str, ...]
    result: str


UNARY = (
    "gnp.sin({0})",
    "gnp.cos({0})",
    "gnp.tanh({0})",
    "-{0}",
    "gnp.square({0})",
    "{0} * 0.5",
    "1.0 - {0}",
    "{0} ** 2",
    "gnp.exp(gnp.tanh({0}))",
    "gnp.log(1.5 + gnp.sin({0}))",
    "gnp.sqrt(1.0 + gnp.square({0}))",
    "gnp.reciprocal(2.0 + gnp.sin({0}))",
    "gnp.atan({0})",
    "gnp.erf({0})",
    "gnp.expm1(gnp.tanh({0}))",
    "gnp.log1p(gnp.square({0}))",
    "nn.sigmoid({0})",
    "nn.silu({0})",
    "nn.gelu({0})",
    "nn.softplus({0})",
    "gnp.rsqrt(1.0 + gnp.square({0}))",
    "gnp.sinh(gnp.tanh({0}))",
    "gnp.asinh({0})",
    "gnp.lgamma(2.5 + gnp.sin({0}))",
    "scipy.special.jn(2, 3.0 * gnp.tanh({0}))",
    "scipy.special.dawsn({0})",
    "scipy.special.lambertw(gnp.square({0}))",
    "scipy.special.erfcx(gnp.tanh({0}))",
    "nn.mish({0})",
    "nn.softsign({0})",
    "2.0 / (1.5 + gnp.cos({0}))",
    "nn.logsigmoid({0})",
    "gnp.pow(1.5 + gnp.sin({0}), 1.3)",
    "gnp.multiply({0}, {0})",
    "gnp.acos(0.5 * gnp.tanh({0}))",
    "gnp.sin({0}.astype(gnp.float64)).astype({0}.dtype)",
)
KINKED = (
    "gnp.abs({0})",
    "gnp.round({0}) + {0}",
    "nn.relu({0})",
    "gnp.clip({0}, -0.7, 0.7)",
    "nn.elu({0})",
    "nn.hardtanh({0})",
    "gnp.sign({0}) * {0}",
    "gnp.floor({0}) + {0}",
    "nn.leaky_relu({0})",
    "nn.selu({0})",
    "gnp.where({0} > 0.1, {0}, gnp.sin({0}))",
    "nn.hardswish({0})",
)
BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} * {1}",
    "{0} / (2.0 + gnp.sin({1}))",
    "gnp.maximum({0}, {1})",
    "gnp.minimum({0}, {1})",
    "gnp.atan2({0}, 2.0 + gnp.tanh({1}))",
    "gnp.hypot({0}, 1.0 + gnp.square({1}))",
    "gnp.logaddexp({0}, {1})",
    "gnp.pow(1.5 + gnp.sin({0}), {1})",
    "gnp.where({0} < {1}, {1}, gnp.sin({0}))",
    "gnp.where({0} == {1}, {0}, {1} * 2.0)",
    "gnp.remainder({0}, 2.5 + gnp.sin({1}))",
)


def _elementwise() -> list[Form]:
    found = [Form(text, (t,), t) for t in FLOATS for text in (*UNARY, *KINKED)]
    found += [Form(text, (t, t), t) for t in FLOATS for text in BINARY for _ in range(2)]
    found += [
        Form(f"{{0}} {op} {{1}}", (big, little), big)
        for op in "+*-"
        for big, little in ((V, P), (A, P), (A, V))
    ]
    return found


REDUCED = (
    "gnp.sum({0})",
    "gnp.mean({0})",
    "gnp.max({0})",
    "gnp.min({0})",
    "gnp.prod(gnp.cos({0}))",
    "gnp.logsumexp({0})",
    "gnp.var({0})",
    "gnp.norm(1.5 + gnp.square({0}))",
    "{0}.sum() * 0.5",
)
ALONG = (
    "gnp.sum({0}, axis=0)",
    "gnp.sum({0}, axis=-1)",
    "gnp.mean({0}, axis=1)",
    "gnp.max({0}, axis=0)",
    "gnp.logsumexp({0}, axis=1)",
    "gnp.std({0} + gnp.exp(gnp.sin({0})), axis=0)",
    "{0}[0]",
    "{0}[-1]",
    "{0}[:, 0]",
    "gnp.diagonal({0})",
    "gnp.min({0}, axis=1)",
    "gnp.prod(gnp.sin({0}), axis=0)",
    "gnp.squeeze(gnp.sum({0}, axis=0, keepdims=True), axis=0)",
    "gnp.reshape({0}, (-1,))[:$N]",
    "gnp.unstack({0})[0]",
    "gnp.reshape({0}, (-1,))[::$N]",
    "gradir.kernel(lambda i, k, x: x[i, k] * x[k, i], shape=$N, over=$N)({0})",
    "gradir.kernel(lambda i, k, x: x[k - 1, i + k], shape=$N, over=2, pad=0.5)({0})",
)
VECTORS = (
    "{0}[::-1]",
    "gnp.flip({0}, axis=0)",
    "gnp.roll({0}, 1, axis=0)",
    "gnp.sort({0}, axis=0)",
    "gnp.cumulative_sum({0}, axis=0)",
    "gnp.cumulative_prod(gnp.sin({0}), axis=0)",
    "nn.softmax({0}, axis=0)",
    "nn.log_softmax({0}, axis=0)",
    "gnp.concat([{0}, {0}])[1:$N + 1]",
    "gnp.pad({0}, (1, 0))[:$N]",
    "gnp.tile({0}, (2,))[::2]",
    "gnp.repeat({0}, 2, axis=0)[1::2]",
    "gnp.reshape({0}, (1, $N))[0]",
    "{0}[None, :][0]",
    "gnp.stack([{0}, gnp.sin({0})])[1]",
    "gnp.broadcast_to({0}, (3, $N))[1]",
    "gnp.concat([{0}[1:], {0}[:1]])",
    "gnp.affine_gather({0}, lambda i: (i * 2 - 1,), ($N,), pad=0.5)",
    "gnp.affine_scatter_add({0}, lambda i: (i * -2 + $N,), ($N,), drop=True)",
    "gradir.kernel(lambda i, x: x[i - 1] * x[i + 1] - x[i], pad=0.5)({0})",
    "gradir.associative_scan(lambda a, b: a * 0.5 + b, {0}, reverse=True)",
    "gradir.map(lambda x: gnp.sin(x) * x, {0}, batch_size=2)",
)
# its eigenvalues and singular values are far from each other
_SPREAD = "gnp.sin({0}) * 0.1 + gnp.diag(gnp.arange(1.0, $N + 1.0, dtype={0}.dtype))"
MATRICES = (
    f"gnp.linalg.svdvals({_SPREAD}) * {{0}}",
    f"gnp.linalg.svd({_SPREAD}).U ** 2",
    f"gnp.linalg.eigh({_SPREAD}).eigenvectors ** 2",
    f"gnp.linalg.qr({_SPREAD}).R",
    f"gnp.linalg.qr(({_SPREAD})[:, :-1], 'complete').Q",
    f"gnp.linalg.svd(({_SPREAD})[1:]).Vh[-1] * {{0}}",
    f"scipy.linalg.lu({_SPREAD})[2]",
    f"scipy.linalg.sqrtm({_SPREAD})",
    f"gnp.linalg.pinv({_SPREAD})",
    "{0}.T",
    "gnp.permute_dims({0}, (1, 0))",
    "{0}[::-1]",
    "{0}[:, ::-1]",
    "gnp.tril({0})",
    "gnp.triu({0})",
    "nn.softmax({0}, axis=1)",
    "nn.log_softmax({0}, axis=0)",
    "{0} @ {0}",
    "gnp.cumulative_sum({0}, axis=1)",
    "gnp.inv({0} * 0.1 + 2.0 * gnp.eye($N, dtype={0}.dtype))",
    "gnp.cholesky({0} @ {0}.T * 0.1 + gnp.eye($N, dtype={0}.dtype))",
    "gnp.roll({0}, 1, axis=1)",
    "gnp.matrix_transpose({0})",
    "gnp.concat([{0}, {0}], axis=1)[:, 1:$N + 1]",
    "gnp.sort({0}, axis=1)",
    "nn.layer_norm({0}, axes=(1,))",
    "gnp.reshape(gnp.reshape({0}, (-1,)), ($N, $N))",
    "gnp.stack([{0}, {0} * 2.0])[1]",
    "gnp.moveaxis({0}, 0, 1)",
    "gradir.kernel(lambda i, j, x: x[i - 1, j] * x[j, i] + 0.5 * x[i, j + 1], pad=0.5)({0})",
)
JOINED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("{0} @ {1}", (A, V), V),
    ("{0} @ {1}", (V, A), V),
    ("{0} @ {1}", (A, A), A),
    ("{0} @ {1}", (V, V), P),
    ("gnp.outer({0}, {1})", (V, V), A),
    ("{0}[:, None] * {1}", (V, V), A),
    ("gnp.einsum('ij,kj->ik', {0}, {1})", (A, A), A),
    ("gnp.einsum('i,ij->j', {0}, {1})", (V, A), V),
    ("gnp.tensordot({0}, {1}, axes=1)", (A, V), V),
    ("gnp.vecdot({0}, {1})", (V, V), P),
    ("gnp.where({0}[:, None] > {1}, {1}, 0.5)", (V, A), A),
    ("nn.linear({0}, {1})", (V, A), V),
    ("gnp.solve({0} * 0.1 + 2.0 * gnp.eye($N, dtype={0}.dtype), {1})", (A, V), V),
    ("nn.mse_loss({0}, {1})", (V, V), P),
    ("gnp.stack([{0}, {1}])[0]", (V, V), V),
    ("gnp.broadcast_to({0}, ($N,))", (P,), V),
    ("gnp.broadcast_to({0}, ($N, $N))", (V,), A),
    ("gnp.concat([{0}[:1], {1}[1:]])", (A, A), A),
    ("{0}[{1}]", (V, PLACES), V),
    ("gnp.take({0}, {1}, axis=0)", (A, PLACES), A),
    ("gnp.take({0}, {1}.astype('uint64'), axis=0)", (V, PLACES), V),
    ("gnp.take({0}, {1}, axis=1)", (A, PLACES), A),
    ("{0}[{1} % $N]", (V, INTEGER), P),
    ("{0}[{1} % $N]", (A, INTEGER), V),
    ("{0}[{1}]", (A, PLACES), A),
    ("gnp.take_along_axis({0}, {1}, axis=0)", (V, PLACES), V),
    ("nn.embedding({0}, {1})", (A, PLACES), A),
    ("gnp.scatter_add({0}, {1}, {2}, axis=0)", (V, PLACES, V), V),
    ("gnp.index_update({0}, {1}, {2}, axis=0)", (V, PLACES, V), V),
    ("gnp.scatter_add({0}, {1}, {2}, axis=0)", (A, PLACES, A), A),
    ("{0}.at[{1}].multiply(gnp.sin({2}))", (V, PLACES, V), V),
    ("nn.conv_transpose1d({0}[None], gnp.stack([{1}] * 2, axis=2))[0, :, :$N]", (A, A), A),
    ("gnp.linalg.vector_norm({0}, ord=3.5, axis=1)", (A,), V),
    ("gnp.dynamic_update_slice({0}, {1}[None, :], ({2} % $N, gnp.asarray(0)))", (A, V, INTEGER), A),
    ("gnp.dynamic_slice({0}, ({1} % $N,), sizes=(1,))[0]", (V, INTEGER), P),
    ("gnp.where({0}, {1}, {2})", (BOOL, P, P), P),
    ("gnp.where({0}, {1}, {2})", (BOOL, V, V), V),
    ("gnp.astype({0}, {1}.dtype) * {1}", (INTEGER, P), P),
    ("gnp.astype({0}, {1}.dtype) + {1}", (PLACES, V), V),
    ("gnp.det({0} * 0.3 + gnp.eye($N, dtype={0}.dtype))", (A,), P),
    ("gnp.trace({0})", (A,), P),
    ("gnp.one_hot({0}, $N, dtype={1}.dtype) * {1}", (PLACES, A), A),
    ("{0}.reshape(())", (P,), P),
    ("gnp.stack([{0}] * $N)", (P,), V),
    ("nn.cross_entropy({0}, {1})", (A, PLACES), P),
)
# Numbers that wrap in other types than int64, and then places again.
NARROW: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("(({0}.astype('uint64') * 12345678901234567891 >> 3) % $N).astype('int64')",
     (PLACES,), PLACES),
    ("(({0}.astype('int16') * 9999 - 3 ^ {1}.astype('int16')) % $N).astype('int64')",
     (PLACES, PLACES), PLACES),
    ("(gnp.maximum({0}.astype('uint32') - 5, {1}.astype('uint32') * 77) % $N).astype('int64')",
     (PLACES, PLACES), PLACES),
    ("gnp.max((~{0}.astype('uint16') << {1}.astype('uint16')) // 3).astype('int64') % $N",
     (PLACES, INTEGER), INTEGER),
    ("(gnp.cumulative_sum({0}.astype('uint8') - 200) // 7 % $N).astype('int64')",
     (PLACES,), PLACES),
    ("gnp.argsort({0}.astype('uint64') - 2, axis=0)", (PLACES,), PLACES),
    ("({0} * 3).astype('uint16').astype('int64') % $N", (V,), PLACES),
    ("gnp.bitwise_count({0}.astype('int16') - 3).astype('int64') % $N", (PLACES,), PLACES),
    ("gnp.min({0}.astype('uint64') - 1) < 9", (PLACES,), BOOL),
)  # fmt: skip
WHOLE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("({0} + 1) % $N", (INTEGER,), INTEGER),
    ("({0} * 3 + {1}) % $N", (INTEGER, INTEGER), INTEGER),
    ("gnp.argmax({0}, axis=0)", (V,), INTEGER),
    ("{0}[0]", (PLACES,), INTEGER),
    ("gnp.argsort({0}, axis=0)", (V,), PLACES),
    ("gnp.searchsorted(gnp.sort({0}, axis=0), {1}) % $N", (V, V), PLACES),
    ("({0} + {1}) % $N", (PLACES, PLACES), PLACES),
    ("{0}[::-1]", (PLACES,), PLACES),
    ("gnp.sort({0}, axis=0)", (PLACES,), PLACES),
    ("gnp.sum({0}) % $N", (PLACES,), INTEGER),
    ("gnp.arange($N) * 0 + {0} % $N", (INTEGER,), PLACES),
    ("{0} < {1}", (P, P), BOOL),
    ("gnp.any({0} > 0.2)", (V,), BOOL),
    ("gnp.all({0} < 0.9)", (V,), BOOL),
    ("gnp.logical_not({0})", (BOOL,), BOOL),
    ("{0} == {1}", (INTEGER, INTEGER), BOOL),
    *NARROW,
    ("{0} & {1}", (BOOL, BOOL), BOOL),
    ("gnp.logical_or({0}, {1})", (BOOL, BOOL), BOOL),
)


# Draws by a fixed key, or by one that is made of an integer.
DRAWN = (
    "{0} + 0.3 * random.normal({1}, {0}.shape, {0}.dtype)",
    "random.uniform(random.fold_in(3, {1}), {0}.shape, {0}.dtype, {0}, {0} + 1.0)",
    "random.weibull_min({1}, {0}, 2.0 + gnp.tanh({0}), dtype={0}.dtype)",
    "{0} * random.gamma(random.key({1}), 1.5, {0}.shape, {0}.dtype)",
    "{0} * random.poisson(random.split({1})[1], 2.0, {0}.shape)",
    "gnp.where(random.bernoulli({1}, 0.6, {0}.shape), {0}, 0.5)",
    "random.truncated_normal({1}, gnp.tanh({0}), 2.0, dtype={0}.dtype)",
)
CHOSEN = (
    ("random.permutation({1}, {0})", (V, INTEGER), V),
    ("random.permutation({1}, {0}, axis=1, independent=True)", (A, INTEGER), A),
    ("random.choice({1}, {0}, ($N,))", (A, INTEGER), A),
    ("random.categorical({0}, {1})", (INTEGER, V), INTEGER),
    ("random.randint({0}, ($N,), 0, $N)", (INTEGER,), PLACES),
    ("random.binomial({0}, $N - 1, 0.4)", (INTEGER,), INTEGER),
)


def _forms() -> tuple[Form, ...]:
    found = _elementwise()
    found += [Form(text, (t,), P) for text in REDUCED for t in (V, A)]
    found += [Form(text, (A,), V) for text in ALONG]
    found += [Form(text, (V,), V) for text in VECTORS]
    found += [Form(text, (A,), A) for text in MATRICES]
    found += [Form(*each) for each in (*JOINED, *JOINED, *WHOLE)]
    found += [Form(text, (t, INTEGER), t) for text in DRAWN for t in (V, A, P)]
    found += [Form(*each) for each in CHOSEN]
    return tuple(found)


FORMS = _forms()
# What has another derivative than its values have.
FREE = tuple(
    Form(text, (t,), t)
    for t in FLOATS
    for text in (
        "gradir.no_grad({0})",
        "random.gamma(5, 0.4 + gnp.square({0}), dtype={0}.dtype)",
    )
)


def by_result(forms: tuple[Form, ...]) -> dict[str, tuple[Form, ...]]:
    """Forms by the type that they give."""
    types = dict.fromkeys(f.result for f in forms)
    return {t: tuple(f for f in forms if f.result == t) for t in types}
