"""Attributes of ops as Python's values."""

from __future__ import annotations

import numpy as np

import gradir.numpy as gnp
from gradir.dialects.base.attributes import attribute, number


def test_true_is_one():
    assert [number({"p": attribute(v)}, "p") for v in (True, False)] == [1, 0]
    x = np.array([-1.0, 2, -3, 4])
    assert gnp.var(x, correction=True) == np.var(x, ddof=1)
    np.testing.assert_array_equal(gnp.clip(x, -5, True), np.clip(x, -5, 1))
