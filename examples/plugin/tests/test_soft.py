"""The ops by gradir's own checks, from Python, and in programs of text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gradir_softthings as soft
import numpy as np
from gradir_softthings.dialect import CenterOp, SoftsignOp

import gradir
from gradir.testing import OpCase, check_op

HERE = Path(__file__).parent


def test_ops() -> None:
    shapes = [(3, 4), (), (0,), (17,)]
    check_op(SoftsignOp, [OpCase("soft.softsign", [s], kinks=[0]) for s in shapes])
    check_op(CenterOp, [[(3, 4)], [(5,)], [(2, 3, 4)]])


def test_functions() -> None:
    x = np.array([[0.5, -2.0], [1.0, 3.0]])

    def loss(x):
        return (soft.center(soft.softsign(x)) ** 2).sum()

    assert np.isfinite(gradir.jit(gradir.grad(loss))(x)).all()
    np.testing.assert_allclose(gradir.vmap(soft.center)(x), soft.center(x))


def test_text() -> None:
    lit = [sys.executable, "-c", "from lit.main import main; main()", "-v", str(HERE / "filecheck")]
    done = subprocess.run(lit, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
