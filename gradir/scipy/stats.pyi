"""Written by `make docs`: the names of gradir.scipy.stats, for editors and type checkers."""

from typing import Any

__all__: list[str]
bernoulli: Any
beta: Any
binom: Any
cauchy: Any
chi2: Any
dirichlet: Any
expon: Any
gamma: Any
gennorm: Any
geom: Any
gumbel_l: Any
gumbel_r: Any
halfnorm: Any
invgamma: Any
laplace: Any
logistic: Any
lognorm: Any
multivariate_normal: Any
nbinom: Any
norm: Any
pareto: Any
poisson: Any
t: Any
uniform: Any
vonmises: Any
weibull_min: Any
