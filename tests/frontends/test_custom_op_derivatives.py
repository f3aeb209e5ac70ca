"""Derivatives of custom ops that are refused, and derivatives of transfers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, PassError


def squared(inputs: Any, outputs: Any, req: Any) -> None:
    outputs[0][...] = inputs[0] ** 2


def slope(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
    grads[0][...] = 2 * inputs[0] * cotangents[0]


def like(x: Any) -> Any:
    return x


@pytest.mark.parametrize("pure", [False, True])
def test_a_refused_second_derivative_says_the_way_out(pure: bool):
    op = gradir.custom_op(squared, like, slope, name="once", pure=pure)
    advice = (
        "for its derivative, make the backward function of @once a gradir.custom_op that has a "
        "backward function"
    )
    with pytest.raises(PassError, match=advice) as caught:
        gradir.grad(gradir.grad(op))(2.0)
    assert "no_grad" not in str(caught.value)


@pytest.mark.parametrize("pure", [False, True])
def test_a_refused_first_derivative_says_the_way_out(pure: bool):
    op = gradir.custom_op(squared, like, pure=pure)
    with pytest.raises(PassError, match=r"give it a backward function, or hand it .*no_grad"):
        gradir.grad(op)(2.0)


def test_a_transfer_needs_cotangents_alone_by_default():
    seen: list[Any] = []

    def copy(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0]

    def back(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        seen.append((inputs, outputs))
        grads[0][...] = cotangents[0]

    op = gradir.custom_op(copy, like, back, exec="cross_device")

    def loss(x: Any) -> Any:
        return gnp.sum(op(x) ** 2)

    slopes = gradir.grad(loss)(np.array([1.0, 2.0]))
    assert slopes.tolist() == [2, 4] and seen == [(None, None)]


@pytest.mark.parametrize(
    "options", [{"needs": ("cotangents", "inputs")}, {"needs": ()}, {"state": 1}]
)
def test_a_transfer_that_reads_more_is_refused(options: Any):
    with pytest.raises(ArgumentError, match='exec="cross_device": expected needs='):
        gradir.custom_op(squared, like, slope, exec="cross_device", **options)
