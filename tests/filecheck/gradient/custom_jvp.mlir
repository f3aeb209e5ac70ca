// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=jvp},gradir-vmap{function=f_jvp size=2}" | filecheck %s

// Forward mode calls the declared jvp, with rows too. Nothing of @step is looked at.
grad.custom_vjp @step, @step_forward, @step_backward jvp @step_jvp
func.func @step(%x: tensor<4xf64>, %n: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>) {
  %y = array.ceil %x : tensor<4xf64>
  func.return %y, %n : tensor<4xf64>, tensor<4xi64>
}
func.func @step_forward(%x: tensor<4xf64>, %n: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>) {
  %y = array.floor %x : tensor<4xf64>
  func.return %y, %n : tensor<4xf64>, tensor<4xi64>
}
func.func @step_backward(%y_ct: tensor<4xf64>) -> tensor<4xf64> {
  func.return %y_ct : tensor<4xf64>
}
func.func @step_jvp(%x: tensor<4xf64>, %n: tensor<4xi64>, %x_tangent: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>) {
  %y = array.floor %x : tensor<4xf64>
  func.return %y, %n, %x_tangent : tensor<4xf64>, tensor<4xi64>, tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>) -> tensor<4xf64> {
  %y, %m = func.call @step(%x, %n) : (tensor<4xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>)
  %w = array.tanh %y : tensor<4xf64>
  func.return %w : tensor<4xf64>
}

//      CHECK: grad.custom_vjp @step, @step_forward, @step_backward jvp @step_jvp

//      CHECK: func.func @step_jvp_vmap2_111(%x: tensor<2x4xf64>, %n: tensor<2x4xi64>, %x_tangent: tensor<2x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) {
// CHECK-NEXT:   %y = array.floor %x : tensor<2x4xf64>
// CHECK-NEXT:   func.return %y, %n, %x_tangent : tensor<2x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>
// CHECK-NEXT: }

//      CHECK: func.func @f_jvp(%x: tensor<4xf64>, %n: tensor<4xi64>, %x_tangent: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %m, %y_tangent = func.call @step_jvp(%x, %n, %x_tangent) : (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>)
// CHECK-NEXT:   %w = array.tanh %y : tensor<4xf64>
// CHECK-NEXT:   %0 = array.multiply %w, %w : tensor<4xf64>
// CHECK-NEXT:   %1 = array.full {value = 1.0} : tensor<4xf64>
// CHECK-NEXT:   %2 = array.subtract %1, %0 : tensor<4xf64>
// CHECK-NEXT:   %w_tangent = array.multiply %y_tangent, %2 : tensor<4xf64>
// CHECK-NEXT:   func.return %w, %w_tangent : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

//      CHECK: func.func @f_jvp_vmap(%x: tensor<2x4xf64>, %n: tensor<2x4xi64>, %x_tangent: tensor<2x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>) {
// CHECK-NEXT:   %y, %m, %y_tangent = func.call @step_jvp_vmap2_111(%x, %n, %x_tangent) : (tensor<2x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xi64>, tensor<2x4xf64>)
// CHECK-NEXT:   %w = array.tanh %y : tensor<2x4xf64>
// CHECK-NEXT:   %0 = array.multiply %w, %w : tensor<2x4xf64>
// CHECK-NEXT:   %1 = array.full {value = 1.0} : tensor<4xf64>
// CHECK-NEXT:   %2 = array.broadcast_to %1 : tensor<4xf64> -> tensor<2x4xf64>
// CHECK-NEXT:   %3 = array.subtract %2, %0 : tensor<2x4xf64>
// CHECK-NEXT:   %w_tangent = array.multiply %y_tangent, %3 : tensor<2x4xf64>
// CHECK-NEXT:   func.return %w, %w_tangent : tensor<2x4xf64>, tensor<2x4xf64>
// CHECK-NEXT: }
