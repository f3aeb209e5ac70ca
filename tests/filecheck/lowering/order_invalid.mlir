// RUN: gradir-opt %s --verify-diagnostics -p "gradir-lower"

func.func @f(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{array.logsumexp: no loop nest computes it; run gradir-decompose first}}
  %y = array.logsumexp %x {axis = [1]} : tensor<2x3xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
