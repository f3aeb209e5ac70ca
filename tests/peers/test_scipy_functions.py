"""Special functions, factors, banded matrices and odeint of gradir.scipy against SciPy's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.scipy import integrate, linalg, special, stats

theirs: Any = {
    name: import_module(f"scipy.{name}") for name in ("special", "linalg", "integrate", "stats")
}
RANDOM = np.random.default_rng(11)
POSITIVE, BOTH = RANDOM.uniform(0.01, 40, 32), RANDOM.uniform(-6, 6, 32)
SHARE, SHAPES, OTHERS = (
    RANDOM.uniform(0.01, 0.99, 32), RANDOM.uniform(0.2, 9, 32), RANDOM.uniform(0.2, 9, 32)
)  # fmt: skip
OF_ORDER = {"jn": (0, 3, 17, -2), "jv": (1,), "yn": (0, 3, 17), "kn": (0, 4), "iv": (0.3, 2, 55),
            "ive": (0.3, 2, 55), "expn": (1, 4)}  # fmt: skip
OF_POSITIVE = "j0 j1 y0 y1 k0 k1 k0e k1e exp1 expi sici shichi spence lambertw loggamma".split()
OF_BOTH = "erfi dawsn fresnel rgamma erfcx".split()
OF_SEVERAL = {
    "gammaincinv": (SHAPES, SHARE),
    "gammainccinv": (SHAPES, SHARE),
    "betaincinv": (SHAPES, OTHERS, SHARE),
}


def calls() -> list[tuple[str, tuple[Any, ...]]]:
    made: list[tuple[str, tuple[Any, ...]]] = [
        (name, (n, POSITIVE)) for name, orders in OF_ORDER.items() for n in orders
    ]
    made += [(name, (POSITIVE,)) for name in OF_POSITIVE]
    made += [(name, (BOTH,)) for name in OF_BOTH]
    made += [(name, (1 - POSITIVE,)) for name in ("ellipk", "ellipe")]
    return [*made, *OF_SEVERAL.items()]


def test_special_functions() -> None:
    """SciPy's own fresnel, yn and inverses are right to 1e-11 of the largest value."""
    ours = gradir.jit(lambda: [getattr(special, name)(*args) for name, args in calls()])()
    for (name, args), found in zip(calls(), ours, strict=True):
        wanted = np.real(getattr(theirs["special"], name)(*args))
        np.testing.assert_allclose(found, wanted, 1e-10, 1e-11, err_msg=f"{name} {args[0]}")


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (3, 5), (2, 4, 4)])
def test_lu(shape: tuple[int, ...]) -> None:
    a = RANDOM.normal(size=shape)
    for options in (dict[str, Any](), {"permute_l": True}, {"p_indices": True}):
        for one, other in zip(
            linalg.lu(a, **options), theirs["linalg"].lu(a, **options), strict=True
        ):
            np.testing.assert_allclose(one, other, 1e-11, 1e-13)
    if len(shape) == 2 and shape[0] == shape[1]:
        for one, other in zip(linalg.lu_factor(a), theirs["linalg"].lu_factor(a), strict=True):
            np.testing.assert_allclose(one, other, 1e-11, 1e-13)


def test_roots_and_bands() -> None:
    a = RANDOM.normal(size=(5, 5))
    a = a @ a.T + 0.2 * RANDOM.normal(size=(5, 5)) + np.eye(5)
    np.testing.assert_allclose(linalg.sqrtm(a), theirs["linalg"].sqrtm(a), 1e-11, 1e-12)
    bands, b = RANDOM.normal(size=(4, 6)), RANDOM.normal(size=6)
    found = linalg.solve_banded((1, 2), bands, b)
    np.testing.assert_allclose(found, theirs["linalg"].solve_banded((1, 2), bands, b), 1e-9)
    bands[-1] += 9
    found = linalg.solveh_banded(bands, b)
    np.testing.assert_allclose(found, theirs["linalg"].solveh_banded(bands, b), 1e-11)


def _complex(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


SQUARE, TALL, WIDE, COLUMNS = _complex(3, 3), _complex(5, 3), _complex(3, 5), _complex(3, 2)


def _columns(a: Any) -> Any:
    """Right sides of the type of a."""
    return COLUMNS.astype(a.dtype)


POSITIVE_DEFINITE = SQUARE @ SQUARE.conj().T + np.eye(3)
HERMITIAN_BANDS = np.array([[0, 0.3 + 1j, 0.1 - 0.2j], [3, 4, 5]])
OF_MATRICES: dict[str, tuple[Any, list[Any]]] = {
    **{
        name: (lambda m, a, name=name: getattr(m, name)(a), given)
        for name, given in {
            "inv det norm eigvals eig expm sqrtm lu_factor": [SQUARE],
            "pinv svdvals qr lu": [SQUARE, TALL, WIDE],
            "polar": [SQUARE, TALL, WIDE],
            "cholesky eigvalsh": [POSITIVE_DEFINITE],
            "cholesky_banded eigvals_banded": [HERMITIAN_BANDS],
            "toeplitz circulant hankel": [SQUARE[0]],
        }.items()
        for name in name.split()
    },
    "eigvals of real ones": (lambda m, a: m.eigvals(a), [SQUARE.real]),
    "qr mode": (lambda m, a: [*m.qr(a, mode="economic"), *m.qr(a, mode="r")], [TALL, WIDE]),
    "left": (lambda m, a: m.polar(a, side="left"), [SQUARE, TALL, WIDE]),
    "lower": (lambda m, a: m.cholesky(a, lower=True), [POSITIVE_DEFINITE]),
    "solve": (lambda m, a: m.solve(a, _columns(a)), [SQUARE]),
    "triangles": (
        lambda m, a: [
            m.solve_triangular(a, _columns(a), trans=t, lower=low, unit_diagonal=unit)
            for t in (0, 1, 2) for low in (False, True) for unit in (False, True)
        ],
        [SQUARE],
    ),
    "cho_solve": (
        lambda m, a: [m.cho_solve(m.cho_factor(a, lower=w), _columns(a)) for w in (False, True)],
        [POSITIVE_DEFINITE],
    ),
    "lu_solve": (
        lambda m, a: [m.lu_solve(m.lu_factor(a), _columns(a), t) for t in (0, 1, 2)], [SQUARE]
    ),
    "bands": (
        lambda m, a: [
            m.solveh_banded(a, _columns(a)),
            m.cho_solve_banded((m.cholesky_banded(a), False), _columns(a))
        ],
        [HERMITIAN_BANDS],
    ),
    "sylvester": (lambda m, a: m.solve_sylvester(a, a[:2, :2], _columns(a)), [SQUARE]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_complex_matrices(name: str, dtype: str) -> None:
    """SciPy's numbers: signs, phases and orders of rows and values too."""
    function, given = OF_MATRICES[name]
    close = 2e-3 if dtype == "complex64" else 1e-9
    for a in given:
        kind = np.dtype(dtype).type(0).real.dtype if a.dtype.kind == "f" else dtype
        found, wanted = (function(m, a.astype(kind)) for m in (linalg, theirs["linalg"]))
        if isinstance(wanted, np.ndarray | np.generic):
            found, wanted = [found], [wanted]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, close, close)
            # SciPy's det of 32 bits has 64
            assert one.dtype == (kind if name == "det" else other.dtype) or one.dtype.kind == "i"


def test_odeint() -> None:
    def slope(y: Any, t: Any, a: Any) -> Any:
        return np.sin(t) - y + a * y[::-1] ** 2

    y0, times = np.array([0.2, 0.5, -0.1]), np.linspace(0.5, 3, 6)
    found = integrate.odeint(slope, y0, times, (0.3,))
    wanted = theirs["integrate"].odeint(slope, y0, times, (0.3,))
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-7)


def test_multivariate_normal() -> None:
    ours, other = stats.multivariate_normal, theirs["stats"].multivariate_normal
    root = RANDOM.normal(size=(4, 2))
    cov, mean = root @ root.T, RANDOM.normal(size=4)
    x = mean + RANDOM.normal(size=(3, 2)) @ root.T
    x[2] += 1
    np.testing.assert_allclose(
        ours.logpdf(x, mean, cov, allow_singular=True),
        other.logpdf(x, mean, cov, allow_singular=True), 1e-9,
    )  # fmt: skip
    plain = [(None, cov), (None, np.eye(4)), (np.zeros(2), np.array([1.0, 2.0])), (None, 3.0)]
    for args in plain:
        np.testing.assert_allclose(ours.entropy(*args), other.entropy(*args), 1e-11)
