"""The names of NumPy's and JAX's random modules that are not here, and why."""

from __future__ import annotations

_REASONS = {
    "a key is an int64, and nothing is hidden in it": (
        "clone key_data key_impl wrap_key_data random_gamma_p threefry_2x32 threefry2x32_p"
    ),
    "there is no generator with a state: make keys with key(seed) and split(key)": (
        "default_rng Generator RandomState SeedSequence BitGenerator PCG64 PCG64DXSM MT19937 "
        "Philox SFC64 seed get_state set_state get_bit_generator set_bit_generator bytes"
    ),
    "uniform(key, shape)": "random random_sample ranf sample rand",
    "normal(key, shape)": "standard_normal randn",
    "exponential(key, shape)": "standard_exponential",
    "cauchy(key, shape)": "standard_cauchy",
    "gamma(key, a, shape)": "standard_gamma",
    "t(key, df, shape)": "standard_t",
    "randint(key, shape, minval, maxval)": "integers random_integers",
    "arrays are not changed in place; x = permutation(key, x)": "shuffle permuted",
    "exponential(key, shape) ** (1 / a), or weibull_min(key, scale, a)": "weibull",
    "f(key, dfnum, dfden); poisson(k1, nonc / 2) gives the degrees of freedom to add": (
        "noncentral_f noncentral_chisquare"
    ),
    "orthogonal and normal matrices are there; draw others from these": "rv",
    "no sampler is there; categorical(key, log_probabilities) draws from a table": (
        "logseries zipf multivariate_hypergeometric"
    ),
}
ABSENT = {name: reason for reason, names in _REASONS.items() for name in names.split()}
