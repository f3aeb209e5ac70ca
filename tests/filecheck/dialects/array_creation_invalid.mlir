// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{array.full: value must be a number, got nothing}}
  %0 = array.full : tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: value must be a number, got "1"}}
  %0 = array.full {value = "1"} : tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: value must be an integer in [-2147483648, 2147483648) for tensor<4xi32>, got 1.5}}
  %0 = array.full {value = 1.5} : tensor<4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: expected ranked tensors, got f32}}
  %0 = array.full {value = 1.5} : f32
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: unknown attribute number; known: value}}
  %0 = array.full {value = 1.5, number = 2} : tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.constant: value must be dense<...> : tensor<...>, got nothing}}
  %0 = array.constant : tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.constant: value must be dense<...> : tensor<...>, got 1.000000e+00 : f64}}
  %0 = array.constant {value = 1.0} : tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.constant: the value's type must be the result's, got tensor<2xf32> and tensor<2xf64>}}
  %0 = array.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf64>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.iota: axis must be one integer, got nothing}}
  %0 = array.iota : tensor<4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.iota: axis must be in [-1, 1), got 1}}
  %0 = array.iota {axis = 1} : tensor<4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.iota: axis must be integers, got "0"}}
  %0 = array.iota {axis = "0"} : tensor<4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.iota: elements must be floating or integer, got tensor<4xi1>}}
  %0 = array.iota {axis = 0} : tensor<4xi1>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.iota: axis must be in [0, 0), got 0}}
  %0 = array.iota {axis = 0} : tensor<i64>
  func.return
}
