// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f mode=vjp}"

// expected-error @+1 {{grad.name: a name must be a string, got 5 : i64}}
func.func @f(%x: tensor<4xf64> {grad.name = 5}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.name: a name must be a string, got unit}}
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64> {grad.name}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
