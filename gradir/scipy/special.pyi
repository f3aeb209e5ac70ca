"""Written by `make docs`: the names of gradir.scipy.special, for editors and type checkers."""

from typing import Any

__all__: list[str]
def beta(a: Any, b: Any, **kwargs: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b); of two infinite ones with 1 / 0 the limit in the one."""
def betainc(a: Any, b: Any, x: Any, **kwargs: Any) -> Any:
    """The regularized incomplete beta function, for a, b > 0 and x in [0, 1]; else nan."""
def betaincc(a: Any, b: Any, x: Any, **kwargs: Any) -> Any:
    """1 - betainc(a, b, x)."""
def betaincinv(a: Any, b: Any, y: Any, **kwargs: Any) -> Any:
    """x with betainc(a, b, x) = y, for a, b > 0 and y in [0, 1]; else nan."""
def betaln(a: Any, b: Any, **kwargs: Any) -> Any:
    """log |beta(a, b)|; of large arguments without cancellation; at poles as `beta`."""
def binom(n: Any, k: Any, **kwargs: Any) -> Any:
    """gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); nan for n = -1, -2, ..."""
def boxcox(x: Any, lmbda: Any, **kwargs: Any) -> Any:
    """(x**lmbda - 1) / lmbda, log(x) for lmbda = 0."""
def cbrt(x: Any, **kwargs: Any) -> Any:
    """The real cube root.   vjp: ct / (3 * y * y), so inf at 0"""
def comb(N: Any, k: Any, *, exact: Any = False, repetition: Any = False, **kwargs: Any) -> Any:
    """The number of ways to choose k of N things, as a float; 0 outside of 0 <= k <= N."""
def dawsn(x: Any, **kwargs: Any) -> Any:
    """Dawson's integral: exp(-x * x) times the integral of exp(t * t) from 0 to x."""
def digamma(x: Any, **kwargs: Any) -> Any:
    """The derivative of gammaln."""
def ellipe(m: Any, **kwargs: Any) -> Any:
    """The complete elliptic integral of the second kind, of a parameter m <= 1."""
def ellipk(m: Any, **kwargs: Any) -> Any:
    """The complete elliptic integral of the first kind, of a parameter m <= 1; inf at 1."""
def entr(x: Any, **kwargs: Any) -> Any:
    """-x * log(x); 0 at 0, -inf below."""
def erf(z: Any, **kwargs: Any) -> Any:
    """The error function."""
def erfc(x: Any, **kwargs: Any) -> Any:
    """1 - erf(x)."""
def erfcinv(y: Any, **kwargs: Any) -> Any:
    """x with erfc(x) = y."""
def erfcx(x: Any, **kwargs: Any) -> Any:
    """exp(x * x) * erfc(x), by an integral (DLMF 7.7.1) where x >= 0."""
def erfi(z: Any, **kwargs: Any) -> Any:
    """The imaginary error function, 2 / sqrt(pi) times the integral of exp(t * t) from 0 to z."""
def erfinv(y: Any, **kwargs: Any) -> Any:
    """x with erf(x) = y."""
def exp1(x: Any, **kwargs: Any) -> Any:
    """The integral of exp(-t) / t from x > 0 on; inf at 0, nan below."""
def exp10(x: Any, **kwargs: Any) -> Any:
    """10 ** x."""
def exp2(x: Any, **kwargs: Any) -> Any:
    """2 ** x.   vjp: ct * ln 2 * y"""
def expi(x: Any, **kwargs: Any) -> Any:
    """The exponential integral Ei, of exp(t) / t from -infinity to x, as a principal value."""
def expit(x: Any, **kwargs: Any) -> Any:
    """1 / (1 + exp(-x))."""
def expm1(x: Any, **kwargs: Any) -> Any:
    """e ** x - 1, exact near 0.   vjp: ct * exp(x)"""
def expn(n: Any, x: Any, **kwargs: Any) -> Any:
    """The integral of exp(-x t) / t**n from 1 on, for an integer n >= 0 and x >= 0; else nan."""
def factorial(n: Any, exact: Any = False, **kwargs: Any) -> Any:
    """gamma(n + 1), 0 below 0, as a float."""
def fresnel(z: Any, **kwargs: Any) -> Any:
    """The integrals S and C of sin(pi t * t / 2) and cos(pi t * t / 2) from 0 to z."""
def gamma(x: Any, **kwargs: Any) -> Any:
    """The gamma function; nan at -1, -2, ..., inf with the sign of x at 0."""
def gammainc(a: Any, x: Any, **kwargs: Any) -> Any:
    """The regularized lower incomplete gamma function, for a > 0 and x >= 0; else nan."""
def gammaincc(a: Any, x: Any, **kwargs: Any) -> Any:
    """1 - gammainc(a, x)."""
def gammainccinv(a: Any, y: Any, **kwargs: Any) -> Any:
    """x with gammaincc(a, x) = y, for a > 0 and y in [0, 1]; else nan."""
def gammaincinv(a: Any, y: Any, **kwargs: Any) -> Any:
    """x with gammainc(a, x) = y, for a > 0 and y in [0, 1]; else nan."""
def gammaln(x: Any, **kwargs: Any) -> Any:
    """log |gamma(x)|; inf at 0, -1, -2, ..."""
def gammasgn(x: Any, **kwargs: Any) -> Any:
    """The sign of gamma(x); 0 at -1, -2, ..., and the sign of x at 0.   vjp: zero"""
def huber(delta: Any, r: Any, **kwargs: Any) -> Any:
    """r * r / 2 where |r| <= delta, else delta * (|r| - delta / 2); inf for delta < 0."""
def i0(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
def i0e(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and order 0, times exp(-|x|)."""
def i1(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and order 1."""
def i1e(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and order 1, times exp(-|x|)."""
def inv_boxcox(y: Any, lmbda: Any, **kwargs: Any) -> Any:
    """x with boxcox(x, lmbda) = y."""
def iv(n: Any, x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and a real order >= 0 or an integer."""
def ive(n: Any, x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and a real order >= 0 or an integer, times exp(-|"""
def j0(x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the first kind and order 0."""
def j1(x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the first kind and order 1."""
def jn(n: Any, x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the first kind and integer order."""
def jv(n: Any, x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the first kind and integer order."""
def k0(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the second kind and order 0; inf at 0, nan below."""
def k0e(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the second kind and order 0, times exp(x); inf at 0, nan below."""
def k1(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the second kind and order 1; inf at 0, nan below."""
def k1e(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the second kind and order 1, times exp(x); inf at 0, nan below."""
def kl_div(x: Any, y: Any, **kwargs: Any) -> Any:
    """x * log(x / y) - x + y; y at x = 0 <= y, else inf outside."""
def kn(n: Any, x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the second kind and integer order; inf at 0, nan below."""
def lambertw(z: Any, k: Any = 0, **kwargs: Any) -> Any:
    """The real w with w * exp(w) = z: of branch 0, w >= -1, or of branch -1, w <= -1."""
def log1p(x: Any, **kwargs: Any) -> Any:
    """log(1 + x), exact near 0.   vjp: ct / (1 + x), nan below -1"""
def log_expit(x: Any, **kwargs: Any) -> Any:
    """log(expit(x))."""
def log_ndtr(x: Any, **kwargs: Any) -> Any:
    """log(ndtr(x)), exact in both tails."""
def log_softmax(x: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x - logsumexp(x)."""
def loggamma(z: Any, **kwargs: Any) -> Any:
    """log(gamma(z)) of z >= 0; nan below, where it is complex."""
def logit(x: Any, **kwargs: Any) -> Any:
    """log(x / (1 - x)); infinite at 0 and 1."""
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False, **kwargs: Any) -> Any:
    """log(sum(b * exp(a))) without overflow; nan of a negative sum, or its size and its sign."""
def multigammaln(a: Any, d: Any, **kwargs: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d."""
def ndtr(x: Any, **kwargs: Any) -> Any:
    """The probability that a standard normal variable is at most x."""
def ndtri(y: Any, **kwargs: Any) -> Any:
    """x with ndtr(x) = y; -inf at 0, inf at 1.   vjp: ct * sqrt(2 pi) * exp(x * x / 2)"""
def poch(z: Any, m: Any, **kwargs: Any) -> Any:
    """gamma(z + m) / gamma(z); where both are infinite the limit in z, as m jumps there."""
def polygamma(n: Any, x: Any, **kwargs: Any) -> Any:
    """The n-th derivative of digamma."""
def pseudo_huber(delta: Any, r: Any, **kwargs: Any) -> Any:
    """delta**2 * (sqrt(1 + (r / delta)**2) - 1); 0 for delta or r of 0."""
def psi(x: Any, **kwargs: Any) -> Any:
    """The derivative of gammaln."""
def rel_entr(x: Any, y: Any, **kwargs: Any) -> Any:
    """x * log(x / y); 0 at x = 0 <= y, else inf outside."""
def rgamma(z: Any, **kwargs: Any) -> Any:
    """1 / gamma(z), which is 0 at 0, -1, -2, ..., and smooth there; 0 at both infinities."""
def shichi(x: Any, **kwargs: Any) -> Any:
    """The integrals Shi of sinh(t) / t from 0 to x, and Chi = Ei + Shi of -|x|."""
def sici(x: Any, **kwargs: Any) -> Any:
    """The integrals Si of sin(t) / t from 0 to x, and Ci, of cos(t) / t from infinity to |x|."""
def sinc(x: Any, **kwargs: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, with all its derivatives."""
def softmax(x: Any, axis: Any = None, **kwargs: Any) -> Any:
    """exp(x) / sum(exp(x))."""
def spence(z: Any, **kwargs: Any) -> Any:
    """The dilogarithm of 1 - z, for z >= 0: the integral of log(t) / (1 - t) from 1 to z."""
def xlog1py(x: Any, y: Any, **kwargs: Any) -> Any:
    """x * log1p(y); 0 where x is 0 and y is not nan."""
def xlogy(x: Any, y: Any, **kwargs: Any) -> Any:
    """x * log(y); 0 where x is 0 and y is not nan."""
def y0(x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the second kind and order 0."""
def y1(x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the second kind and order 1."""
def yn(n: Any, x: Any, **kwargs: Any) -> Any:
    """The Bessel function of the second kind and integer order; -inf at 0, nan below."""
def zeta(x: Any, q: Any = ..., **kwargs: Any) -> Any:
    """Hurwitz's zeta function, the sum of (q + k) ** -x, for x >= 1 and q > 0; else nan."""
