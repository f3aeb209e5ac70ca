// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.name: name must be a string, got nothing}}
  %0 = grad.name %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %keep: tensor<3xi1>) {
  // expected-error @+1 {{grad.gate: operand types must be equal, got tensor<3xi1> and tensor<4xi1>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "grad.gate"(%x, %keep, %x) : (tensor<4xf32>, tensor<3xi1>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: f32, %y: f64, %keep: i1) {
  // expected-error @+1 {{grad.gate: operands must be a float, i1 and that float, got f32, i1 and f64}}
  %0 = "grad.gate"(%x, %keep, %y) : (f32, i1, f64) -> f32
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.name: name must be a string, got 1 : i64}}
  %0 = grad.name %x {name = 1} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.no_grad: unknown attribute name; known: none}}
  %0 = grad.no_grad %x {name = "x"} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.barrier: result type must be tensor<4x3xf32>, got tensor<3x4xf32>}}
  %0 = "grad.barrier"(%x) : (tensor<4x3xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.start_checkpoint: result type must be tensor<4x3xf32>, got tensor<4x3xf64>}}
  %0 = "grad.start_checkpoint"(%x) : (tensor<4x3xf32>) -> tensor<4x3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.end_checkpoint: Expected 1 operand, but got 2}}
  %0 = "grad.end_checkpoint"(%x, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.negate_gradient: Expected 1 operand, but got 0}}
  %0 = "grad.negate_gradient"() : () -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{grad.add_slope: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "grad.add_slope"(%x, %v, %x) : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{grad.accumulate: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "grad.accumulate"(%x, %v) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{grad.accumulate: at least one operand expected, got none}}
  %0 = "grad.accumulate"() : () -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{grad.take_along_axis_backward: axis must be in [-2, 2), got 2}}
  %0 = grad.take_along_axis_backward %x, %i {axis = 2} : tensor<4x3xf32>, tensor<4x3xi64> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{grad.take_along_axis_backward: the result must be like tensor<4x3xf32> but for axis 1, got tensor<5x5xf32>}}
  %0 = grad.take_along_axis_backward %x, %i {axis = 1} : tensor<4x3xf32>, tensor<4x3xi64> -> tensor<5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<4x2xi64>) {
  // expected-error @+1 {{grad.take_along_axis_backward: indices must have the shape of tensor<4x3xf32>, got tensor<4x2xi64>}}
  %0 = grad.take_along_axis_backward %x, %i {axis = 1} : tensor<4x3xf32>, tensor<4x2xi64> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.take_along_axis_backward: elements must be integer, got tensor<4x3xf32>}}
  %0 = grad.take_along_axis_backward %x, %x {axis = 1} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%l: tensor<4xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{grad.nll_loss_backward: the cotangent must be tensor<f32>, got tensor<4xf32>}}
  %0 = grad.nll_loss_backward %l, %t : tensor<4xf32>, tensor<4xi64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%l: tensor<f64>, %t: tensor<4xi64>) {
  // expected-error @+1 {{grad.nll_loss_backward: the cotangent must be tensor<f32>, got tensor<f64>}}
  %0 = grad.nll_loss_backward %l, %t : tensor<f64>, tensor<4xi64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%l: tensor<f32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{grad.nll_loss_backward: targets must have shape [5] for the result tensor<5x3xf32>, got tensor<4xi64>}}
  %0 = grad.nll_loss_backward %l, %t : tensor<f32>, tensor<4xi64> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @f(%l: tensor<f32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{grad.nll_loss_backward: label_smoothing must be in [0, 1], got 2.0}}
  %0 = grad.nll_loss_backward %l, %t {label_smoothing = 2.0} : tensor<f32>, tensor<4xi64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @classes(%t: tensor<4xf32>) -> tensor<4xi64> {
  // expected-error @+1 {{grad.class_index: elements must be integer, got tensor<4xf32>}}
  %0 = grad.class_index %t {classes = 3} : tensor<4xf32> -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}

// -----

func.func @no_class(%t: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error @+1 {{grad.class_index: classes must not be negative, got -1}}
  %0 = grad.class_index %t {classes = -1} : tensor<4xi64> -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
