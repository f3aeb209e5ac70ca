"""Known faults of gradir.scipy.special: where a value or derivative is not right, and why.

The form is as in points_faults.py; a row that is mended fails the test.
"""

from __future__ import annotations

from points_faults import CANCELS, Fault

LIMITS = (64.0, 128.0, 256.0)
"""An error beyond this is a fault: of a value, a first and a second derivative, in ulp."""

APPROXIMATED = "a polynomial or rational function that is as exact as its values only in these"

FAULTS: tuple[Fault, ...] = (
    Fault("erfinv", "second", lambda y: abs(y) < 0.9, APPROXIMATED),
    Fault("log_ndtr", "second", lambda x: x < -9, CANCELS),
    Fault("i0e", "second", lambda x: x > 5, APPROXIMATED),
    Fault("i1e", "second", lambda x: x > 5, APPROXIMATED),
    *(Fault(name, "first", lambda x: x >= 100, CANCELS) for name in ("k0e", "k1e")),
    *(Fault(name, "second", lambda x: x >= 25, CANCELS) for name in ("k0e", "k1e")),
    Fault("pseudo_huber", "second", lambda d, r: abs(r) > d, CANCELS),
)
