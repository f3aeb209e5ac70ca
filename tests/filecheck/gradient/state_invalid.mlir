// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f wrt=0 of=0}"

// expected-error @+1 {{grad.state: must be the index of a result, got unit}}
func.func @f(%x: tensor<4xf64> {grad.state}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.state: must be one of 1 results, got index 1}}
func.func @f(%x: tensor<4xf64> {grad.state = 1 : i64}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.state: result 0 must be tensor<4xf64>, got tensor<5xf64>}}
func.func @f(%x: tensor<4xf64> {grad.state = 0 : i64}, %y: tensor<5xf64>) -> tensor<5xf64> {
  func.return %y : tensor<5xf64>
}

// -----

// expected-error @+1 {{grad.state: a result must be given once, got 0 again}}
func.func @f(%x: tensor<4xf64> {grad.state = 0 : i64}, %y: tensor<4xf64> {grad.state = 0 : i64}) -> tensor<4xf64> {
  func.return %y : tensor<4xf64>
}

// -----

// expected-error @+1 {{wrt: x is state of @f (grad.state), which has no derivative}}
func.func @f(%x: tensor<4xf64> {grad.state = 1 : i64}) -> (tensor<4xf64>, tensor<4xf64>) {
  %y = array.sin %x : tensor<4xf64>
  func.return %y, %x : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error @+1 {{of: y is state of @f (grad.state), which has no derivative}}
func.func @f(%x: tensor<4xf64>, %s: tensor<4xf64> {grad.state = 0 : i64}) -> tensor<4xf64> {
  %y = array.sin %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
