// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.matmul: inner sizes must match, got 3 and 4}}
  %0 = array.matmul %x, %x : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf64>) {
  // expected-error @+1 {{array.matmul: elements must agree, got tensor<4x3xf32> and tensor<3x2xf64>}}
  %0 = array.matmul %x, %y : tensor<4x3xf32>, tensor<3x2xf64> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{array.matmul: operands must have rank >= 1, got tensor<4x3xf32> and tensor<f32>}}
  %0 = array.matmul %x, %s : tensor<4x3xf32>, tensor<f32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%b: tensor<2x4x3xf32>, %y: tensor<5x3x2xf32>) {
  // expected-error @+1 {{array.matmul: shapes must broadcast, got [2] and [5]}}
  %0 = array.matmul %b, %y : tensor<2x4x3xf32>, tensor<5x3x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{array.matmul: result type must be tensor<4x2xf32>, got tensor<4x3xf32>}}
  %0 = array.matmul %x, %y : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<3x3xi1>) {
  // expected-error @+1 {{array.matmul: elements must be floating or integer, got tensor<3x3xi1>}}
  %0 = array.matmul %c, %c : tensor<3x3xi1>, tensor<3x3xi1> -> tensor<3x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{array.matmul: unknown attribute transpose; known: none}}
  %0 = array.matmul %x, %y {transpose = true} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  func.return
}
