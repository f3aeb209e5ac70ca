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
  // expected-error @+1 {{array.matmul: unknown attribute transpose; known: precision}}
  %0 = array.matmul %x, %y {transpose = true} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf64>, %y: tensor<3x2xf64>) {
  // expected-error @+1 {{array.matmul: precision = "bf16" is for factors of f32, got tensor<4x3xf64>; convert them to f32, or leave precision out}}
  %0 = array.matmul %x, %y {precision = "bf16"} : tensor<4x3xf64>, tensor<3x2xf64> -> tensor<4x2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{array.matmul: precision must be one of bf16, got tf32}}
  %0 = array.matmul %x, %y {precision = "tf32"} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xcomplex<f32>>) {
  // expected-error @+1 {{array.dot_general: precision = "bf16" is for factors of f32, got tensor<4x3xcomplex<f32>>; convert them to f32, or leave precision out}}
  %0 = array.dot_general %x, %x {lhs_contract = [1], rhs_contract = [1], precision = "bf16"} : tensor<4x3xcomplex<f32>>, tensor<4x3xcomplex<f32>> -> tensor<4x4xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xi32>) {
  // expected-error @+1 {{array.einsum: precision = "bf16" is for factors of f32, got tensor<4x3xi32>; convert them to f32, or leave precision out}}
  %0 = array.einsum %x, %x {equation = "ij,kj->ik", precision = "bf16"} : tensor<4x3xi32>, tensor<4x3xi32> -> tensor<4x4xi32>
  func.return
}

// -----

func.func @f(%x: tensor<1x3x8x8xf16>, %w: tensor<4x3x3x3xf16>) {
  // expected-error @+1 {{nn.conv2d: precision = "bf16" is for factors of f32, got tensor<1x3x8x8xf16>; convert them to f32, or leave precision out}}
  %0 = nn.conv2d %x, %w {precision = "bf16"} : tensor<1x3x8x8xf16>, tensor<4x3x3x3xf16> -> tensor<1x4x6x6xf16>
  func.return
}

// -----

func.func @f(%q: tensor<4x3xf64>) {
  // expected-error @+1 {{nn.attention: precision = "bf16" is for factors of f32, got tensor<4x3xf64>; convert them to f32, or leave precision out}}
  %0 = nn.attention %q, %q, %q {precision = "bf16"} : tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64> -> tensor<4x3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{loopnest.contract: precision must be one of bf16, got half}}
  %0 = loopnest.contract [4, 2, 3] (%x[d0, d2] : tensor<4x3xf32>, %y[d2, d1] : tensor<3x2xf32>) acc %acc : f32 precision half -> ([d0, d1] : tensor<4x2xf32>) {
    loopnest.yield %acc : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{loopnest.contract: with a precision the accumulator must be f32, got f64}}
  %0 = loopnest.contract [4, 2, 3] (%x[d0, d2] : tensor<4x3xf32>, %y[d2, d1] : tensor<3x2xf32>) acc %acc : f64 precision bf16 -> ([d0, d1] : tensor<4x2xf64>) {
    loopnest.yield %acc : f64
  }
  func.return
}
