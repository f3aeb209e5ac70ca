// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<3x3xf16>) {
  // expected-error @+1 {{array.cholesky: elements must be f32 or f64, got tensor<3x3xf16>; convert with array.astype}}
  %y = array.cholesky %a : tensor<3x3xf16>
  func.return
}

// -----

func.func @f(%a: tensor<3x3xi64>) {
  // expected-error @+1 {{array.det: elements must be f32 or f64, got tensor<3x3xi64>; convert with array.astype}}
  %y = array.det %a : tensor<3x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{array.inv: a must be square matrices, got tensor<3x4xf32>}}
  %y = array.inv %a : tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error @+1 {{array.slogdet: a must be square matrices, got tensor<3xf32>}}
  %s, %y = array.slogdet %a : tensor<3xf32> -> (tensor<f32>, tensor<f32>)
  func.return
}

// -----

func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+1 {{array.solve: b must be vectors or matrices like those of a, got tensor<2x3x3xf32> and tensor<3x2xf32>}}
  %y = array.solve %a, %b : tensor<2x3x3xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<3x3xf32>, %b: tensor<3xf64>) {
  // expected-error @+1 {{array.triangular_solve: b must be vectors or matrices like those of a, got tensor<3x3xf32> and tensor<3xf64>}}
  %y = array.triangular_solve %a, %b : tensor<3x3xf32>, tensor<3xf64> -> tensor<3xf64>
  func.return
}

// -----

func.func @f(%a: tensor<3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.triangular_solve: lower must be true or false, got}}
  %y = array.triangular_solve %a, %b {lower = "yes"} : tensor<3x3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error @+1 {{array.svd: a must be matrices, got tensor<3xf32>}}
  %u, %s, %vh = array.svd %a : tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{array.eigh: a must be square matrices, got tensor<3x4xf32>}}
  %w, %v = array.eigh %a : tensor<3x4xf32> -> (tensor<3xf32>, tensor<3x4xf32>)
  func.return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{array.pinv: rcond must not be negative}}
  %y = array.pinv %a {rcond = -1.0} : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return
}
