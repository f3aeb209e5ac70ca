// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%0: tensor<1x2x4x4xf32>, %1: tensor<1x2x2x3xf32>) {
  // expected-error @+1 {{grad.max_pool2d_indices: y must be tensor<1x2x2x2xf32>, got tensor<1x2x2x3xf32>}}
  %r = grad.max_pool2d_indices %0, %1 {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x3xf32> -> tensor<1x2x2x2xi32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x4x4xf32>, %1: tensor<1x2x2x2xf64>) {
  // expected-error @+1 {{grad.max_pool2d_indices: y must be tensor<1x2x2x2xf32>, got tensor<1x2x2x2xf64>}}
  %r = grad.max_pool2d_indices %0, %1 {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf64> -> tensor<1x2x2x2xi32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
  // expected-error @+1 {{grad.max_pool1d_indices: y must be tensor<2x2xf32>, got tensor<2x4xf32>}}
  %r = grad.max_pool1d_indices %0, %1 {kernel = 2} : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x2xi32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>, %1: tensor<1x1x1x2xf32>) {
  // expected-error @+1 {{grad.max_pool3d_indices: y must be tensor<1x1x1x1xf32>, got tensor<1x1x1x2xf32>}}
  %r = grad.max_pool3d_indices %0, %1 {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32> -> tensor<1x1x1x1xi32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x4x4xf32>, %1: tensor<1x2x2x2xi64>) {
  // expected-error @+1 {{grad.max_pool2d_at: places must be tensor<1x2x2x2xi32>, got tensor<1x2x2x2xi64>}}
  %r = grad.max_pool2d_at %0, %1 {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xi64> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4xf32>, %1: tensor<2x3xi32>) {
  // expected-error @+1 {{grad.max_pool1d_at: places must be tensor<2x2xi32>, got tensor<2x3xi32>}}
  %r = grad.max_pool1d_at %0, %1 {kernel = 2} : tensor<2x4xf32>, tensor<2x3xi32> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>, %1: tensor<1x1xi32>) {
  // expected-error @+1 {{grad.max_pool3d_at: places must be tensor<1x1x1x1xi32>, got tensor<1x1xi32>}}
  %r = grad.max_pool3d_at %0, %1 {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x1xi32> -> tensor<1x1x1x1xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x4x4xf32>, %1: tensor<1x2x2x2xi32>) {
  // expected-error @+1 {{grad.max_pool2d_backward: ct must be tensor<1x2x2x2xf32>, got tensor<1x2x4x4xf32>}}
  %r = grad.max_pool2d_backward %0, %1 {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>, %1: tensor<1x2x2x2xi8>) {
  // expected-error @+1 {{grad.max_pool2d_backward: places must be tensor<1x2x2x2xi32>, got tensor<1x2x2x2xi8>}}
  %r = grad.max_pool2d_backward %0, %1 {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x2x2x2xi8> -> tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x2xf32>, %1: tensor<2x3xi32>) {
  // expected-error @+1 {{grad.max_pool1d_backward: places must be tensor<2x2xi32>, got tensor<2x3xi32>}}
  %r = grad.max_pool1d_backward %0, %1 {kernel = 2} : tensor<2x2xf32>, tensor<2x3xi32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x2xf32>, %1: tensor<2x3xi32>) {
  // expected-error @+1 {{grad.max_pool3d_backward: x must have 3 spatial axes, a channel axis and at most one batch axis, got tensor<2x4xf32>}}
  %r = grad.max_pool3d_backward %0, %1 {kernel = 2} : tensor<2x2xf32>, tensor<2x3xi32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>) {
  // expected-error @+1 {{grad.avg_pool1d_backward: ct must be tensor<2x2xf32>, got tensor<2x3xf32>}}
  %r = grad.avg_pool1d_backward %0 {kernel = 2} : tensor<2x3xf32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf64>) {
  // expected-error @+1 {{grad.avg_pool2d_backward: ct must be tensor<1x2x2x2xf32>, got tensor<1x2x2x2xf64>}}
  %r = grad.avg_pool2d_backward %0 {kernel = 2} : tensor<1x2x2x2xf64> -> tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>) {
  // expected-error @+1 {{grad.avg_pool3d_backward: ct must be tensor<1x1x1x1xf32>, got tensor<1x2x2x2xf32>}}
  %r = grad.avg_pool3d_backward %0 {kernel = 2} : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>) {
  // expected-error @+1 {{grad.adaptive_avg_pool2d_backward: ct must be tensor<1x2x3x3xf32>, got tensor<1x2x2x2xf32>}}
  %r = grad.adaptive_avg_pool2d_backward %0 {size = 3} : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>) {
  // expected-error @+1 {{grad.resize2d_backward: ct must be tensor<1x2x3x3xf32>, got tensor<1x2x2x2xf32>}}
  %r = grad.resize2d_backward %0 {size = 3} : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @f(%0: tensor<1x2x2x2xf32>) {
  // expected-error @+1 {{grad.resize2d_backward: mode must be one of nearest, bilinear, got area}}
  %r = grad.resize2d_backward %0 {size = 2, mode = "area"} : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
  func.return
}
