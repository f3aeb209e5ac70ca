// RUN: gradir-opt %s -p "gradir-gradient{function=trace mode=grad},gradir-gradient{function=causal mode=vjp},gradir-gradient{function=trace_grad mode=vjp}" | filecheck %s

func.func @trace(%x: tensor<3x4xf32>) -> tensor<f32> {
  %s = array.square %x : tensor<3x4xf32>
  %y = array.trace %s {offset = 1} : tensor<3x4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @causal(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %y = array.tril %x : tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

//      CHECK: func.func @trace(%x: tensor<3x4xf32>) -> tensor<f32> {
// CHECK-NEXT:   %s = array.square %x : tensor<3x4xf32>
// CHECK-NEXT:   %y = array.trace %s {offset = 1} : tensor<3x4xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @trace_grad(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>) {
// CHECK-NEXT:   %s = array.square %x : tensor<3x4xf32>
// CHECK-NEXT:   %y = array.trace %s {offset = 1} : tensor<3x4xf32> -> tensor<f32>
// CHECK-NEXT:   %y_ct = array.full {value = 1.0} : tensor<f32>
// CHECK-NEXT:   %0 = array.reshape %y_ct : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %1 = array.broadcast_to %0 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %s_ct = grad.diagonal_backward %1 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %2 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %3 = array.multiply %2, %x : tensor<3x4xf32>
// CHECK-NEXT:   %4 = array.multiply %s_ct, %3 : tensor<3x4xf32>
// CHECK-NEXT:   %5 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %6 = grad.diagonal_backward %5 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %7 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = grad.gate %4, %6, %7 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f32>, tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @trace_grad_vjp(%x: tensor<3x4xf32>, %y_ct: tensor<f32>, %x_ct_ct: tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:   %s = array.square %x : tensor<3x4xf32>
// CHECK-NEXT:   %y = array.trace %s {offset = 1} : tensor<3x4xf32> -> tensor<f32>
// CHECK-NEXT:   %y_ct_1 = array.full {value = 1.0} : tensor<f32>
// CHECK-NEXT:   %0 = array.reshape %y_ct_1 : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %1 = array.broadcast_to %0 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %s_ct = grad.diagonal_backward %1 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %2 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %3 = array.multiply %2, %x : tensor<3x4xf32>
// CHECK-NEXT:   %4 = array.multiply %s_ct, %3 : tensor<3x4xf32>
// CHECK-NEXT:   %5 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %6 = grad.diagonal_backward %5 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %7 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = grad.gate %4, %6, %7 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %8 = array.multiply %x_ct_ct, %s_ct : tensor<3x4xf32>
// CHECK-NEXT:   %ct = grad.gate %8, %6, %7 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %x_ct_1 = array.multiply %ct, %2 : tensor<3x4xf32>
// CHECK-NEXT:   %9 = array.reshape %y_ct : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %10 = array.broadcast_to %9 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %s_ct_1 = grad.diagonal_backward %10 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %11 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %12 = array.multiply %11, %x : tensor<3x4xf32>
// CHECK-NEXT:   %13 = array.multiply %s_ct_1, %12 : tensor<3x4xf32>
// CHECK-NEXT:   %14 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %15 = grad.diagonal_backward %14 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %16 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct_2 = grad.gate %13, %15, %16 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %x_ct_3 = grad.accumulate %x_ct_1, %x_ct_2 : tensor<3x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %x_ct_3 : tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @causal(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT:   %y = array.tril %x : tensor<3x3xf32>
// CHECK-NEXT:   func.return %y : tensor<3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @causal_vjp(%x: tensor<3x3xf32>, %y_ct: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT:   %y = array.tril %x : tensor<3x3xf32>
// CHECK-NEXT:   %x_ct = array.tril %y_ct : tensor<3x3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: }
