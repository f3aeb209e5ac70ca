"""gradir.scipy.special: SciPy's special functions on traced or NumPy arrays, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import i0, i0e, i1, i1e
from gradir.frontends.functions.elementwise import cbrt, sinc
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.functions.sugar import pow
from gradir.frontends.scipy import (
    bessel,
    dilogarithm,
    elliptic,
    entropies,
    error_functions,
    exponential_integrals,
    gammas,
    incomplete,
    incomplete_inverses,
    lambert,
    modified_bessel,
    sine_integrals,
)
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.tracer import Tracer


def exp10(x: Any) -> Tracer:
    """10 ** x."""
    return pow(10.0, floating(x))


def _of_op(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Tracer:
        return getattr(op, name)(floating(x))

    function.__name__, function.__doc__ = name, getattr(op, name).__doc__
    return function


_NOT_COMPLEX = "it is complex, and special functions are of real numbers"
ABSENT: dict[str, str] = {
    name: reason
    for reason, names in {
        "of the Bessel functions those of integer orders, iv and ive are there: jn, yn, kn": (
            "jve kv kve yv yve spherical_in spherical_jn spherical_kn spherical_yn"
        ),
        _NOT_COMPLEX: (
            "airy airye hankel1 hankel1e hankel2 hankel2e sph_harm sph_harm_y wofz wrightomega"
        ),
        "of the inverses gammaincinv, gammainccinv, betaincinv and lambertw are there; find the "
        "root with gradir.while_loop": "betainccinv stdtrit",
        "it is an integral that is not there": "hyp1f1 hyp2f1 owens_t",
    }.items()
    for name in names.split()
}
"""SciPy's names that are not here, and why."""

FUNCTIONS = (
    *gammas.FUNCTIONS, *error_functions.FUNCTIONS, *incomplete.FUNCTIONS, *entropies.FUNCTIONS,
    *exponential_integrals.FUNCTIONS, *elliptic.FUNCTIONS, *dilogarithm.FUNCTIONS,
    i0, i0e, i1, i1e, cbrt, sinc, exp10,
    *map(_of_op, ("exp2", "expm1", "log1p")),
)  # fmt: skip
COMPILED = {
    **bessel.COMPILED, **modified_bessel.COMPILED, **sine_integrals.COMPILED,
    **exponential_integrals.COMPILED, **error_functions.COMPILED, **incomplete_inverses.COMPILED,
    **lambert.COMPILED,
}  # fmt: skip
"""Functions with loops or custom derivatives, compiled where nothing is traced."""
BY_NAME = {
    **published(FUNCTIONS, "gradir.scipy.special"),
    **published([entropies.logsumexp], "gradir.scipy.special", takes_complex=True),
    **COMPILED,
}
BY_NAME["psi"] = BY_NAME["digamma"]
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.special", ABSENT)

__all__ = [*BY_NAME]
