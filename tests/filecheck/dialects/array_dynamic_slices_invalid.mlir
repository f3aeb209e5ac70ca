// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<5x4xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{array.dynamic_slice: expected a start for each of the 2 axes of tensor<5x4xf32>, got 1}}
  %0 = array.dynamic_slice %x, %i {sizes = [2, 2]} : tensor<5x4xf32>, tensor<i64> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<1xi64>) {
  // expected-error @+1 {{array.dynamic_slice: starts must have rank 0, got tensor<1xi64>}}
  %0 = array.dynamic_slice %x, %i {sizes = 2} : tensor<5xf32>, tensor<1xi64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{array.dynamic_slice: elements must be integer, got tensor<f32>}}
  %0 = array.dynamic_slice %x, %i {sizes = 2} : tensor<5xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{array.dynamic_slice: sizes must be in [0, 5] at axis 0 of tensor<5xf32>, got 6}}
  %0 = array.dynamic_slice %x, %i {sizes = 6} : tensor<5xf32>, tensor<i64> -> tensor<6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{array.dynamic_slice: sizes must have 1 entries, got nothing}}
  %0 = array.dynamic_slice %x, %i : tensor<5xf32>, tensor<i64> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %u: tensor<2xf64>, %i: tensor<i64>) {
  // expected-error @+1 {{array.dynamic_update_slice: update must have the rank and elements of x, got tensor<5xf32> and tensor<2xf64>}}
  %0 = array.dynamic_update_slice %x, %u, %i : tensor<5xf32>, tensor<2xf64>, tensor<i64> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %u: tensor<6xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{array.dynamic_update_slice: extents of update must be in [0, 5] at axis 0 of tensor<5xf32>, got 6}}
  %0 = array.dynamic_update_slice %x, %u, %i : tensor<5xf32>, tensor<6xf32>, tensor<i64> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{array.dynamic_update_slice: expected a start for each of the 1 axes of tensor<5xf32>, got 0}}
  %0 = array.dynamic_update_slice %x, %u : tensor<5xf32>, tensor<2xf32> -> tensor<5xf32>
  func.return
}
