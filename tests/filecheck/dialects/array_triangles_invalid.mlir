// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{array.eye: the result must have rank 2, got tensor<2x3x3xf32>}}
  %0 = array.eye : tensor<2x3x3xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.eye: k must be integers, got 1.500000e+00 : f64}}
  %0 = array.eye {k = 1.5} : tensor<3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.tril: x must have rank >= 2, got tensor<3xf32>}}
  %0 = array.tril %x : tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{array.triu: k must be one integer, got [1 : i64, 2 : i64]}}
  %0 = array.triu %x {k = [1, 2]} : tensor<3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.diagonal: x must have rank >= 2, got tensor<3xf32>}}
  %0 = array.diagonal %x : tensor<3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.diagonal: result type must be tensor<2xf32>, got tensor<3xf32>}}
  %0 = array.diagonal %x {offset = 2} : tensor<3x4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.trace: x must have rank >= 2, got tensor<3xf32>}}
  %0 = array.trace %x : tensor<3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<3x3xi1>) {
  // expected-error @+1 {{array.trace: elements must be floating or integer, got tensor<3x3xi1>}}
  %0 = array.trace %x : tensor<3x3xi1> -> tensor<i1>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{grad.diagonal_backward: the cotangent must be tensor<2xf32>, got tensor<3xf32>}}
  %0 = grad.diagonal_backward %x {offset = 1} : tensor<3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{grad.diagonal_backward: the result must have rank >= 2, got tensor<3xf32>}}
  %0 = grad.diagonal_backward %x : tensor<3xf32> -> tensor<3xf32>
  func.return
}
