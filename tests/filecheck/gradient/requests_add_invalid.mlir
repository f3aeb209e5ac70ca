// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-bufferize"

// expected-error @+1 {{grad.in_out: must be the index of a result, got "x"}}
func.func @f(%x: tensor<4xf64> {grad.in_out = "x"}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.in_out: must be one of 1 results, got index 1}}
func.func @f(%x: tensor<4xf64> {grad.in_out = 1 : i64}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.in_out: result 0 must be tensor<4xf64>, got tensor<5xf64>}}
func.func @f(%x: tensor<4xf64> {grad.in_out = 0 : i64}, %y: tensor<5xf64>) -> tensor<5xf64> {
  func.return %y : tensor<5xf64>
}

// -----

// expected-error @+1 {{grad.in_out: a result must be given once, got 0 again}}
func.func @f(%x: tensor<4xf64> {grad.in_out = 0 : i64}, %y: tensor<4xf64> {grad.in_out = 0 : i64}) -> tensor<4xf64> {
  func.return %y : tensor<4xf64>
}
