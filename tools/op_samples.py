"""Sample programs of ops without a row in the op table, for docs/ops.md.

Each has a function @f; the reference shows the result of `gradir-gradient{mode=vjp}`.
"""

from __future__ import annotations

SAMPLES: dict[str, str] = {
    "grad.checkpoint": """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = grad.checkpoint -> (tensor<4xf32>) {
    %a = array.sin %x : tensor<4xf32>
    %b = array.tanh %a : tensor<4xf32>
    grad.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}""",
    "grad.custom_vjp": """
grad.custom_vjp @round, @round_forward, @round_backward
func.func @round(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = array.round %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @round_forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @round(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @round_backward(%ct: tensor<4xf32>) -> tensor<4xf32> {
  func.return %ct : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @round(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}""",
    "grad.slices": """
func.func @f(%indices: tensor<3xi64>, %values: tensor<3x2xf32>)
    -> !grad.slices<9x2xf32, count = 3> {
  %y = grad.slices %indices, %values
    : tensor<3xi64>, tensor<3x2xf32> -> !grad.slices<9x2xf32, count = 3>
  func.return %y : !grad.slices<9x2xf32, count = 3>
}""",
    "grad.densify": """
func.func @f(%slices: !grad.slices<9x2xf32, count = 3>) -> tensor<9x2xf32> {
  %y = grad.densify %slices : !grad.slices<9x2xf32, count = 3> -> tensor<9x2xf32>
  func.return %y : tensor<9x2xf32>
}""",
    "grad.coalesce": """
func.func @f(%slices: !grad.slices<9x2xf32, count = 3>) -> !grad.slices<9x2xf32, count = 3> {
  %y = grad.coalesce %slices {mode = "mean"} : !grad.slices<9x2xf32, count = 3>
  func.return %y : !grad.slices<9x2xf32, count = 3>
}""",
    "comm.send": """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = comm.send %x {target = 1, ranks = 2} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}""",
    "comm.recv": """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = comm.recv %x {source = 0, ranks = 2} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}""",
    "comm.barrier": """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  comm.barrier
  func.return %x : tensor<4xf32>
}""",
    "grad.host_call": """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = grad.host_call %x {callee = "fft", backward = "fft_backward", deps = ["out_grad0"]}
    : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}""",
}
