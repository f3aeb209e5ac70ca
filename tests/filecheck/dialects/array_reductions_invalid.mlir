// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: axis must be in [-2, 2), got 2}}
  %0 = array.sum %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.sum %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.mean: axis must be in [-2, 2), got 2}}
  %0 = array.mean %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.mean: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.mean %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.max: axis must be in [-2, 2), got 2}}
  %0 = array.max %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.max: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.max %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.min: axis must be in [-2, 2), got 2}}
  %0 = array.min %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.min: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.min %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logsumexp: axis must be in [-2, 2), got 2}}
  %0 = array.logsumexp %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logsumexp: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.logsumexp %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: axis must name each axis once, got [0, -2]}}
  %0 = array.sum %x {axis = [0, -2]} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: axis must be integers, got 1.000000e+00 : f64}}
  %0 = array.sum %x {axis = 1.0} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: keepdims must be true or false, got 1 : i64}}
  %0 = array.sum %x {keepdims = 1} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: unknown attribute axes; known: axis, keepdims}}
  %0 = array.sum %x {axes = 1} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: result type must be tensor<4x1xf32>, got tensor<4xf32>}}
  %0 = array.sum %x {axis = 1, keepdims = true} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.sum: expected `-> type` after the operand types}}
  %0 = array.sum %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.sum: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.sum %c : tensor<4x3xi1> -> tensor<i1>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.mean: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.mean %n : tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.logsumexp: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.logsumexp %n : tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error @+1 {{array.max: there must be elements to reduce, got tensor<0x3xf32>}}
  %0 = array.max %x {axis = 0} : tensor<0x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error @+1 {{array.min: there must be elements to reduce, got tensor<0x3xf32>}}
  %0 = array.min %x : tensor<0x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.max: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.max %c : tensor<4x3xi1> -> tensor<i1>
  func.return
}
