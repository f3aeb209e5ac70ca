"""Known faults of gradir.scipy: where a value or derivative is not right, and why.

The form is as in points_faults.py; a row that is mended fails the test.
"""

from __future__ import annotations

from points_faults import CANCELS, FAR, ROUNDED, Fault

LIMITS = (64.0, 128.0, 256.0)
"""An error beyond this is a fault: of a value, a first and a second derivative, in ulp."""
ONE_WAY = "the logarithm of the number of ways, which is 0, is rounded beside a smaller number"


def _low(s: float, x: float) -> bool:
    """The density is below the least normal number."""
    return s == 1 and x == 1e-17


FAULTS: tuple[Fault, ...] = (
    *(
        Fault(f"lognorm.{kind}", result, _low, FAR)
        for kind, result in (
            ("pdf", "first"),
            ("pdf", "second"),
            ("cdf", "second"),
            ("sf", "second"),
            ("logsf", "second"),
        )
    ),
    *(
        Fault(f"{name}.logcdf f32", "second", lambda shape, x: x == 1e-17 and shape == 1000, FAR)
        for name in ("gamma", "chi2")
    ),
    *(
        Fault(f"{line}{kind}", "second", where, CANCELS)
        for kind in ("", " f32")
        for line, where in (
            ("gamma.logsf", lambda a, x: a == 1 or (a == 0.5 and x == 2)),
            ("chi2.logsf", lambda df, x: df == 1 and x == 4),
            ("poisson.logcdf", lambda k, mu: k == 0),
        )
    ),
    Fault("binom.logpmf", "value", lambda k, n, p: k == 0 and p <= 1e-4, ONE_WAY),
    Fault("weibull_min.ppf", "first", lambda c, q: c == 3 and q == 1e-100, ROUNDED),
)
