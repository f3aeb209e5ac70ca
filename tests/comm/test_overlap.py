"""Where native code starts collectives and waits for them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import comm, optim


def steps(executable: Any) -> list[str]:
    """What the driver does: kernels, and `start K` and `wait K` of the K-th call."""
    text = executable.llvm_ir.partition("define internal void @gradir_driver")[2]
    found: list[str] = []
    for name, number in re.findall(
        r'call (?:void|i64) @"?([a-z]+)[\w.]*"?\((?:ptr @gradir_host_calls, i64 (\d+))?', text
    ):
        if number:
            found.append(f"{('start', 'wait')[int(number) % 2]} {int(number) // 2}")
        elif name in ("nest", "contract"):
            found.append(name)
    return found


def loss(params: Any, x: Any) -> Any:
    for name in sorted(params):
        x = gnp.tanh(x @ params[name])
    return gnp.mean(x * x)


def test_gradients_travel_while_the_backward_code_goes_on() -> None:
    params = {f"w{k}": np.full((32, 32), 0.01, np.float32) for k in range(3)}
    optimizer = optim.sgd(0.1)
    step = comm.data_parallel(optim.train_step(loss, optimizer), bucket_bytes=1, threads=1)
    compiled = step.compiled(params, optimizer.init(params), np.ones((8, 32), np.float32))
    found = steps(compiled.executable)
    starts = [found.index(f"start {k}") for k in range(4)]
    waits = [found.index(f"wait {k}") for k in range(4)]
    assert starts == sorted(starts) and max(starts) < min(waits)
    # a product of matrices, of the layer before, between each two starts
    assert all("contract" in found[a:b] for a, b in pairwise(starts))


LENT = """
func.func @f(%x: tensor<32x32xf64>, %y: tensor<32x32xf64>) -> tensor<32x32xf64> {
  %s = array.sin %x : tensor<32x32xf64>
  %a = comm.KIND : tensor<32x32xf64>
  %m = array.matmul %y, %y : tensor<32x32xf64>, tensor<32x32xf64> -> tensor<32x32xf64>
  %t = array.exp %s : tensor<32x32xf64>
  %n = array.matmul %t, %m : tensor<32x32xf64>, tensor<32x32xf64> -> tensor<32x32xf64>
  %z = array.add %a, %n : tensor<32x32xf64>
  func.return %z : tensor<32x32xf64>
}
"""


def test_what_is_being_sent_is_not_written() -> None:
    """exp works in place, so that a call that still reads its operand is waited for before."""
    x = np.linspace(0, 1, 1024).reshape(32, 32)
    for kind, reads in (("all_reduce %s {ranks = 1}", True), ("reduce %s {ranks = 1}", False)):
        module = gradir.parse(LENT.replace("KIND", kind))
        compiled = gradir.compile(module, "f", threads=1)
        found = steps(compiled)
        assert ("nest" in found[found.index("start 0") : found.index("wait 0")]) is reads
        want = np.sin(x) + np.exp(np.sin(x)) @ (x @ x)
        np.testing.assert_allclose(compiled(x, x)[0], want, rtol=1e-12)
