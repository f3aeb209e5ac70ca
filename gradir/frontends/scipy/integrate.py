"""gradir.scipy.integrate: solutions of differential equations, with derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy.odeint import odeint

_SUMS = "sums at known places are plain NumPy: trapezoid is there"
ABSENT: dict[str, str] = {
    **dict.fromkeys(
        "quad dblquad tplquad nquad quad_vec cubature fixed_quad simpson trapezoid "
        "cumulative_trapezoid cumulative_simpson newton_cotes romb".split(),
        _SUMS,
    ),
    **dict.fromkeys(
        "solve_ivp solve_bvp ode complex_ode RK23 RK45 DOP853 Radau BDF LSODA".split(),
        "of the solvers odeint is there",
    ),
}
"""SciPy's names that are not here, and why."""

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.integrate", ABSENT)

__all__ = ["odeint"]
