// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.take: elements must be integer, got tensor<4x3xf32>}}
  %0 = array.take %x, %x {axis = 0} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take: axis must be in [-2, 2), got 2}}
  %0 = array.take %x, %i {axis = 2} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take: result type must be tensor<4x2xf32>, got tensor<2x3xf32>}}
  %0 = array.take %x, %i {axis = 1} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take: unknown attribute dim; known: axis}}
  %0 = array.take %x, %i {dim = 1} : tensor<4x3xf32>, tensor<2xi64> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take: the indexed axis is empty, so that no index is valid}}
  %0 = array.take %x, %i {axis = 0} : tensor<0x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<f32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take: axis must be in [0, 0), got 0}}
  %0 = array.take %x, %i : tensor<f32>, tensor<2xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x2xf32>) {
  // expected-error @+1 {{array.scatter_add: updates must be tensor<2x3xf32>, got tensor<2x2xf32>}}
  %0 = array.scatter_add %x, %i, %u {axis = 0} : tensor<4x3xf32>, tensor<2xi64>, tensor<2x2xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf64>) {
  // expected-error @+1 {{array.scatter_add: updates must be tensor<2x3xf32>, got tensor<2x3xf64>}}
  %0 = array.scatter_add %x, %i, %u {axis = 0} : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>, %i: tensor<2xi64>, %u: tensor<2x3xi1>) {
  // expected-error @+1 {{array.scatter_add: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.scatter_add %c, %i, %u {axis = 0} : tensor<4x3xi1>, tensor<2xi64>, tensor<2x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // expected-error @+1 {{array.scatter_add: result type must be tensor<4x3xf32>, got tensor<2x3xf32>}}
  %0 = array.scatter_add %x, %i, %u {axis = 0} : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{array.take_along_axis: shapes must agree but for axis 0, got tensor<4x3xf32> and indices tensor<2xi64>}}
  %0 = array.take_along_axis %x, %i {axis = 0} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %j: tensor<2x2xi64>) {
  // expected-error @+1 {{array.take_along_axis: shapes must agree but for axis 0, got tensor<4x3xf32> and indices tensor<2x2xi64>}}
  %0 = array.take_along_axis %x, %j {axis = 0} : tensor<4x3xf32>, tensor<2x2xi64> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.take_along_axis: elements must be integer, got tensor<4x3xf32>}}
  %0 = array.take_along_axis %x, %x {axis = 0} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>, %j: tensor<2x3xi64>) {
  // expected-error @+1 {{array.take_along_axis: the indexed axis is empty, so that no index is valid}}
  %0 = array.take_along_axis %x, %j {axis = 0} : tensor<0x3xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  func.return
}
