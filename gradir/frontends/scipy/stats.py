"""gradir.scipy.stats: densities and distribution functions, with SciPy's names and parameters.

`norm.logpdf(x, loc=0, scale=1)`: the parameters of the shape stand between x and loc. Outside of
the support a density is 0, its logarithm -inf, with derivatives 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy import continuous, discrete, multivariate

DISTRIBUTIONS = {
    **continuous.DISTRIBUTIONS,
    **discrete.DISTRIBUTIONS,
    **multivariate.DISTRIBUTIONS,
}
"""The distributions by name."""
ABSENT: dict[str, str] = dict.fromkeys(
    "gaussian_kde ks_2samp kstest linregress mannwhitneyu pearsonr rankdata spearmanr ttest_ind "
    "zscore".split(),
    "tests and estimates are not there",
)
globals().update(DISTRIBUTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.stats", ABSENT)

__all__ = [*DISTRIBUTIONS]
