// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.sort: axis must be in [-2, 2), got 2}}
  %y = array.sort %x {axis = 2} : tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xi1>) {
  // expected-error @+1 {{array.sort: elements must be floating or integer, got tensor<3xi1>}}
  %y = array.sort %x : tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.argsort: descending must be true or false, got 1}}
  %y = array.argsort %x {descending = 1} : tensor<3xf32> -> tensor<3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.argsort: result type must be tensor<3xi64>, got tensor<3xi32>}}
  %y = array.argsort %x : tensor<3xf32> -> tensor<3xi32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.top_k: k must be in [0, 3], got 4}}
  %y, %i = array.top_k %x {k = 4} : tensor<3xf32> -> (tensor<4xf32>, tensor<4xi64>)
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.top_k: k must be one integer, got nothing}}
  %y, %i = array.top_k %x : tensor<3xf32> -> (tensor<3xf32>, tensor<3xi64>)
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{array.sort: axis must be in [0, 0), got -1}}
  %y = array.sort %x : tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %v: tensor<2xf64>) {
  // expected-error @+1 {{array.searchsorted: elements must be of one type, got tensor<3xf32> and tensor<2xf64>}}
  %y = array.searchsorted %x, %v : tensor<3xf32>, tensor<2xf64> -> tensor<2xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{array.searchsorted: x must be a vector, or lines whose other axes v begins with, got tensor<4x3xf32> and tensor<2xf32>}}
  %y = array.searchsorted %x, %v : tensor<4x3xf32>, tensor<2xf32> -> tensor<2xi64>
  func.return
}

// -----

func.func @f(%x: tensor<f32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{array.searchsorted: x must be a vector, or lines whose other axes v begins with, got tensor<f32> and tensor<2xf32>}}
  %y = array.searchsorted %x, %v : tensor<f32>, tensor<2xf32> -> tensor<2xi64>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{array.searchsorted: side must be one of left, right, got middle}}
  %y = array.searchsorted %x, %v {side = "middle"} : tensor<3xf32>, tensor<2xf32> -> tensor<2xi64>
  func.return
}
