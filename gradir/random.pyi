"""Written by `make docs`: the names of gradir.random, for editors and type checkers."""

from typing import Any

__all__: list[str]
def PRNGKey(seed: Any, **kwargs: Any) -> Any:
    """The key of a seed: the same integer, as an int64 of rank 0."""
def ball(key: Any, d: Any, p: Any = 2, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Points [shape.., d], evenly spread over the unit ball of the p-norm, for p > 0; else nan."""
def bernoulli(key: Any, p: Any = ..., shape: Any = None, **kwargs: Any) -> Any:
    """True with probability p, as bool: 0 is never true, 1 always."""
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density proportional to x**(a - 1) * (1 - x)**(b - 1), for a, b > 0; else nan."""
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Counts of successes of probability p in n trials, for whole n >= 0 and p in [0, 1]."""
def bits(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Random bits as integers: each of the dtype is as likely as any other; int64 without one."""
def categorical(key: Any, logits: Any, axis: Any = -1, shape: Any = None, replace: Any = True, **kwargs: Any) -> Any:
    """Indices along an axis, with probabilities proportional to exp(logits), as int64."""
def cauchy(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density 1 / (pi (1 + x * x)); they have no mean."""
def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Sums of squares of df standard normal numbers, for df > 0; twice gamma of df / 2."""
def choice(key: Any, a: Any, shape: Any = ..., replace: Any = True, p: Any = None, axis: Any = 0, **kwargs: Any) -> Any:
    """Slices of a along an axis, of 0, ..., a - 1 for an integer a, at `shape` random places."""
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Points of positive numbers that sum to 1, [shape.., n] for alpha [.., n], all > 0."""
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """loc + scale * m, or loc - scale * m, of m as `maxwell` draws."""
def exponential(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density exp(-x) for x >= 0."""
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Ratios of chisquare(dfnum) / dfnum and chisquare(dfden) / dfden, for both > 0; else nan."""
def fold_in(key: Any, data: Any, **kwargs: Any) -> Any:
    """The key that is made of a key and an integer, such as the number of a step."""
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density x**(a - 1) * exp(-x) / gamma(a), for finite a >= 0, 0 for a = 0; else nan."""
def generalized_normal(key: Any, p: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density proportional to exp(-abs(x)**p), for p > 0; else nan."""
def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of trials up to the first success, for p in (0, 1]; int64 without a dtype."""
def gumbel(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of distribution function exp(-exp(-x)): the largest of many."""
def hypergeometric(key: Any, ngood: Any, nbad: Any, nsample: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Counts of good things among nsample that are drawn, without replacement, of ngood and nbad."""
def key(seed: Any, **kwargs: Any) -> Any:
    """The key of a seed: the same integer, as an int64 of rank 0."""
def laplace(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density exp(-abs(x)) / 2."""
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """The logarithm of what `gamma` draws, which is finite for shapes a near 0 too."""
def logistic(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of distribution function 1 / (1 + exp(-x))."""
def lognormal(key: Any, sigma: Any = ..., shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """exp(sigma * z) of standard normal z, for sigma >= 0; else nan."""
def maxwell(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Lengths of three standard normal numbers."""
def multinomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Counts of each of k kinds among n draws, [shape.., k] for probabilities p [.., k]."""
def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: Any = 'cholesky', **kwargs: Any) -> Any:
    """mean [.., n] + F z of standard normal z, with F F^T = cov [.., n, n]: [shape.., n]."""
def negative_binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Counts of failures before n successes of probability p, for n > 0 and p in (0, 1]."""
def normal(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Standard normal numbers; `mean + deviation * normal(key, shape)` for others."""
def orthogonal(key: Any, n: Any, shape: Any = ..., dtype: Any = None, m: Any = None, **kwargs: Any) -> Any:
    """Orthogonal matrices [shape.., n, n], each as likely as any other turned one."""
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density b / x**(b + 1) for x >= 1, for b > 0; else nan."""
def permutation(key: Any, x: Any, axis: Any = 0, independent: Any = False, **kwargs: Any) -> Any:
    """x with its slices along an axis in random order; 0, ..., x - 1 for an integer x."""
def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Counts of rare events: k with probability lam**k * exp(-lam) / k!, for finite lam >= 0."""
def power(key: Any, a: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers of density a * x**(a - 1) in [0, 1], for a > 0; else nan."""
def rademacher(key: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """-1 or 1, each with probability 1/2; int64 without a dtype, which may be a floating one."""
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Integers in [minval, maxval), minval where that is not below maxval; int64 without a dtype."""
def rayleigh(key: Any, scale: Any = ..., shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """scale * length of two standard normal numbers, for scale >= 0; else nan."""
def split(key: Any, num: Any = 2, **kwargs: Any) -> Any:
    """`num` keys that are made of a key, [num]; a tuple is the shape of an array of keys."""
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Student's t of df > 0 degrees of freedom: a standard normal number over the root of"""
def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers in [left, right] whose density rises to the mode and falls; left where all are equal."""
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Standard normal numbers in [lower, upper]; nan unless lower <= upper."""
def uniform(key: Any, shape: Any = ..., dtype: Any = None, minval: Any = ..., maxval: Any = ..., **kwargs: Any) -> Any:
    """Numbers in [minval, maxval), never maxval itself; minval where that is not below maxval."""
def vonmises(key: Any, mu: Any, kappa: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Angles in [-pi, pi] of density proportional to exp(kappa * cos(x - mu)), for kappa >= 0."""
def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, scale: Any = ..., **kwargs: Any) -> Any:
    """Numbers of density sqrt(scale / (2 pi x**3)) * exp(-scale * (x - mean)**2 / (2 mean**2 x))."""
def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """scale * e**(1 / concentration) of density exp(-e), for a concentration > 0; else nan."""
