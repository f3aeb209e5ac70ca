"""Every transformation alone, natively, and every pair of them against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transform_pairs import ALL, Numeric, X, applied, is_refused

import gradir
import gradir.numpy as gnp
from gradir.errors import PassError


@pytest.mark.parametrize("transform", ALL)
def test_alone(transform: Any) -> None:
    found = gradir.jit(applied(gnp, gradir, transform))(X)
    np.testing.assert_allclose(found, applied(np, Numeric, transform)(X), 1e-8, 1e-8)


@pytest.mark.parametrize("inner", ALL)
@pytest.mark.parametrize("outer", ALL)
def test_pairs(outer: Any, inner: Any) -> None:
    f = applied(gnp, gradir, outer, inner)
    if is_refused([outer, inner]):
        with pytest.raises(PassError, match="has a vjp of its own and no jvp"):
            gradir.trace(f, X)
        return
    module = gradir.trace(f, X)
    (found,) = gradir.interpret(module, module.functions[-1], X)
    np.testing.assert_allclose(found, applied(np, Numeric, outer, inner)(X), 1e-5, 1e-5)
