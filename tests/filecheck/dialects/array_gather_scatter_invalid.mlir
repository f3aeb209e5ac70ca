// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xf32>) {
  // expected-error @+1 {{array.gather_nd: elements must be integer, got tensor<2x1xf32>}}
  %0 = array.gather_nd %x, %i : tensor<3x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{array.gather_nd: indices must have rank >= 1, got tensor<i64>}}
  %0 = array.gather_nd %x, %i : tensor<3x4xf32>, tensor<i64> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{array.gather_nd: the last extent of the indices must be in [1, 2], the axes of tensor<3x4xf32> that can be indexed, got 3}}
  %0 = array.gather_nd %x, %i : tensor<3x4xf32>, tensor<2x3xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{array.gather_nd: batch_dims must be in [0, 1], got 2}}
  %0 = array.gather_nd %x, %i {batch_dims = 2} : tensor<3x4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{array.gather_nd: the first 1 extents must agree, got tensor<3x4xf32> and tensor<2x1xi64>}}
  %0 = array.gather_nd %x, %i {batch_dims = 1} : tensor<3x4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<0x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{array.gather_nd: an indexed axis is empty, so that no index is valid}}
  %0 = array.gather_nd %x, %i : tensor<0x4xf32>, tensor<2x1xi64> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{array.gather_nd: result type must be tensor<2x4xf32>, got tensor<2xf32>}}
  %0 = array.gather_nd %x, %i : tensor<3x4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{array.scatter_nd_add: updates must be tensor<2x4xf32>, got tensor<2xf32>}}
  %0 = array.scatter_nd_add %x, %i, %u : tensor<3x4xf32>, tensor<2x1xi64>, tensor<2xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xi1>, %i: tensor<2x1xi64>, %u: tensor<2xi1>) {
  // expected-error @+1 {{array.scatter_nd_add: elements must be floating or integer, got tensor<3xi1>}}
  %0 = array.scatter_nd_add %x, %i, %u : tensor<3xi1>, tensor<2x1xi64>, tensor<2xi1> -> tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<2x4xf64>) {
  // expected-error @+1 {{array.index_update: updates must be tensor<2x4xf32>, got tensor<2x4xf64>}}
  %0 = array.index_update %x, %i, %u : tensor<3x4xf32>, tensor<2xi64>, tensor<2x4xf64> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<0x4xf32>, %i: tensor<2xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{array.index_update: the indexed axis is empty, so that no index is valid}}
  %0 = array.index_update %x, %i, %u : tensor<0x4xf32>, tensor<2xi64>, tensor<2x4xf32> -> tensor<0x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{array.index_update: axis must be in [-1, 1), got 1}}
  %0 = array.index_update %x, %i, %u {axis = 1} : tensor<3xf32>, tensor<2xi64>, tensor<2xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%i: tensor<2xi64>) {
  // expected-error @+1 {{array.one_hot: result type must be tensor<2x3xf32>, got tensor<3x2xf32>}}
  %0 = array.one_hot %i {depth = 3} : tensor<2xi64> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%i: tensor<2xi64>) {
  // expected-error @+1 {{array.one_hot: depth must be positive, got 0}}
  %0 = array.one_hot %i {depth = 0} : tensor<2xi64> -> tensor<2x0xf32>
  func.return
}

// -----

func.func @f(%i: tensor<2xi64>) {
  // expected-error @+1 {{array.one_hot: depth must be one integer, got nothing}}
  %0 = array.one_hot %i : tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%i: tensor<2xi64>) {
  // expected-error @+1 {{array.one_hot: axis must be in [-2, 2), got 2}}
  %0 = array.one_hot %i {depth = 3, axis = 2} : tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%i: tensor<2xf32>) {
  // expected-error @+1 {{array.one_hot: elements must be integer, got tensor<2xf32>}}
  %0 = array.one_hot %i {depth = 3} : tensor<2xf32> -> tensor<2x3xf32>
  func.return
}
