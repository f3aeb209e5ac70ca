// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @markers(%x: tensor<3xf32> {grad.name = "x"}, %y: tensor<3xf32> {grad.inactive}) -> tensor<3xf32> {
  %no_grad = grad.no_grad %x : tensor<3xf32>
  %name = grad.name %no_grad {name = "h"} : tensor<3xf32>
  %keep = array.equal %name, %name : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
  %gate = grad.gate %name, %keep, %y : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
  %kink = grad.gate %name, %keep, %y {smooth = false} : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
  %negated = grad.negate_gradient %gate : tensor<3xf32>
  %sloped = grad.add_slope %negated, %x, %y : tensor<3xf32>
  %start = grad.start_checkpoint %sloped : tensor<3xf32>
  %end = grad.end_checkpoint %start : tensor<3xf32>
  %barrier = grad.barrier %end : tensor<3xf32>
  %zero = grad.zero : tensor<3xf32>
  %sum = grad.accumulate %barrier, %zero, %y : tensor<3xf32>
  %one = grad.accumulate %sum : tensor<3xf32>
  func.return %one : tensor<3xf32>
}
func.func @slopes(%one: tensor<3xf32>, %number: f64, %w: tensor<f32>) -> tensor<3xf32> {
  %s0 = grad.sigmoid_slope %one : tensor<3xf32>
  %s2 = grad.gaussian %one : tensor<3xf32>
  %s3 = grad.atan_slope %one : tensor<3xf32>
  %s4 = grad.square_complement %one : tensor<3xf32>
  %s5 = grad.sigmoid_slope %number : f64
  %s6 = grad.softplus_slope %one : tensor<3xf32>
  %density = grad.normal_density %one : tensor<3xf32>
  %cdf = grad.normal_cdf %one : tensor<3xf32>
  %gate = grad.tanh_softplus %one : tensor<3xf32>
  %centered = grad.centered %s0, %s2 : tensor<3xf32>
  %balanced = grad.balanced %s0, %s2 {axis = 0} : tensor<3xf32>
  %complement = grad.softmax_complement %s2 {axis = -1} : tensor<3xf32>
  %towards = grad.logsumexp_backward %w, %one {axis = 0} : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  func.return %complement : tensor<3xf32>
}
func.func @backward(%ct: tensor<2x3xf32>, %i: tensor<2x3xi64>, %l: tensor<f32>, %t: tensor<2xi64>, %w: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %taken = grad.take_along_axis_backward %ct, %i {axis = 1} : tensor<2x3xf32>, tensor<2x3xi64> -> tensor<2x4xf32>
  %nll = grad.nll_loss_backward %l, %t : tensor<f32>, tensor<2xi64> -> tensor<2x4xf32>
  %weighted = grad.nll_loss_backward %l, %t, %w {reduction = "sum", ignore_index = 0, label_smoothing = 0.5} : tensor<f32>, tensor<2xi64>, tensor<4xf32> -> tensor<2x4xf32>
  %classes = grad.class_index %t {classes = 4} : tensor<2xi64> -> tensor<2xi64>
  func.return %taken, %nll, %weighted : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

//      CHECK: func.func @markers(%x: tensor<3xf32> {grad.name = "x"}, %y: tensor<3xf32> {grad.inactive}) -> tensor<3xf32> {
// CHECK-NEXT:   %no_grad = grad.no_grad %x : tensor<3xf32>
// CHECK-NEXT:   %name = grad.name %no_grad {name = "h"} : tensor<3xf32>
// CHECK-NEXT:   %keep = array.equal %name, %name : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
// CHECK-NEXT:   %gate = grad.gate %name, %keep, %y : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   %kink = grad.gate %name, %keep, %y {smooth = false} : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   %negated = grad.negate_gradient %gate : tensor<3xf32>
// CHECK-NEXT:   %sloped = grad.add_slope %negated, %x, %y : tensor<3xf32>
// CHECK-NEXT:   %start = grad.start_checkpoint %sloped : tensor<3xf32>
// CHECK-NEXT:   %end = grad.end_checkpoint %start : tensor<3xf32>
// CHECK-NEXT:   %barrier = grad.barrier %end : tensor<3xf32>
// CHECK-NEXT:   %zero = grad.zero : tensor<3xf32>
// CHECK-NEXT:   %sum = grad.accumulate %barrier, %zero, %y : tensor<3xf32>
// CHECK-NEXT:   %one = grad.accumulate %sum : tensor<3xf32>
// CHECK-NEXT:   func.return %one : tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @slopes(%one: tensor<3xf32>, %number: f64, %w: tensor<f32>) -> tensor<3xf32> {
// CHECK-NEXT:   %s0 = grad.sigmoid_slope %one : tensor<3xf32>
// CHECK-NEXT:   %s2 = grad.gaussian %one : tensor<3xf32>
// CHECK-NEXT:   %s3 = grad.atan_slope %one : tensor<3xf32>
// CHECK-NEXT:   %s4 = grad.square_complement %one : tensor<3xf32>
// CHECK-NEXT:   %s5 = grad.sigmoid_slope %number : f64
// CHECK-NEXT:   %s6 = grad.softplus_slope %one : tensor<3xf32>
// CHECK-NEXT:   %density = grad.normal_density %one : tensor<3xf32>
// CHECK-NEXT:   %cdf = grad.normal_cdf %one : tensor<3xf32>
// CHECK-NEXT:   %gate = grad.tanh_softplus %one : tensor<3xf32>
// CHECK-NEXT:   %centered = grad.centered %s0, %s2 : tensor<3xf32>
// CHECK-NEXT:   %balanced = grad.balanced %s0, %s2 {axis = 0} : tensor<3xf32>
// CHECK-NEXT:   %complement = grad.softmax_complement %s2 {axis = -1} : tensor<3xf32>
// CHECK-NEXT:   %towards = grad.logsumexp_backward %w, %one {axis = 0} : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %complement : tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @backward(%ct: tensor<2x3xf32>, %i: tensor<2x3xi64>, %l: tensor<f32>, %t: tensor<2xi64>, %w: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %taken = grad.take_along_axis_backward %ct, %i {axis = 1} : tensor<2x3xf32>, tensor<2x3xi64> -> tensor<2x4xf32>
// CHECK-NEXT:   %nll = grad.nll_loss_backward %l, %t : tensor<f32>, tensor<2xi64> -> tensor<2x4xf32>
// CHECK-NEXT:   %weighted = grad.nll_loss_backward %l, %t, %w {reduction = "sum", ignore_index = 0, label_smoothing = 0.5} : tensor<f32>, tensor<2xi64>, tensor<4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %classes = grad.class_index %t {classes = 4} : tensor<2xi64> -> tensor<2xi64>
// CHECK-NEXT:   func.return %taken, %nll, %weighted : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
