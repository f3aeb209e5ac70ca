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
// CHECK-NEXT:   %0 = array.full {value = 1.0} : tensor<3xf32>
// CHECK-NEXT:   %s_ct = grad.diagonal_backward %0 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %1 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %2 = array.multiply %1, %x : tensor<3x4xf32>
// CHECK-NEXT:   %3 = array.multiply %s_ct, %2 : tensor<3x4xf32>
// CHECK-NEXT:   %4 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %5 = grad.diagonal_backward %4 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %6 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = grad.gate %3, %5, %6 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f32>, tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @trace_grad_vjp(%x: tensor<3x4xf32>, %y_ct: tensor<f32>, %x_ct_ct: tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:   %s = array.square %x : tensor<3x4xf32>
// CHECK-NEXT:   %y = array.trace %s {offset = 1} : tensor<3x4xf32> -> tensor<f32>
// CHECK-NEXT:   %0 = array.full {value = 1.0} : tensor<3xf32>
// CHECK-NEXT:   %s_ct = grad.diagonal_backward %0 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %1 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %2 = array.multiply %1, %x : tensor<3x4xf32>
// CHECK-NEXT:   %3 = array.multiply %s_ct, %2 : tensor<3x4xf32>
// CHECK-NEXT:   %4 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %5 = grad.diagonal_backward %4 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %6 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = grad.gate %3, %5, %6 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %7 = array.multiply %x_ct_ct, %s_ct : tensor<3x4xf32>
// CHECK-NEXT:   %ct = grad.gate %7, %5, %6 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %x_ct_1 = array.multiply %ct, %1 : tensor<3x4xf32>
// CHECK-NEXT:   %8 = array.reshape %y_ct : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %9 = array.broadcast_to %8 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %s_ct_1 = grad.diagonal_backward %9 {offset = 1} : tensor<3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %10 = array.full {value = 2.0} : tensor<3x4xf32>
// CHECK-NEXT:   %11 = array.multiply %10, %x : tensor<3x4xf32>
// CHECK-NEXT:   %12 = array.multiply %s_ct_1, %11 : tensor<3x4xf32>
// CHECK-NEXT:   %13 = array.full {value = 1} : tensor<3xi1>
// CHECK-NEXT:   %14 = grad.diagonal_backward %13 {offset = 1} : tensor<3xi1> -> tensor<3x4xi1>
// CHECK-NEXT:   %15 = array.full {value = 0.0} : tensor<3x4xf32>
// CHECK-NEXT:   %x_ct_2 = grad.gate %12, %14, %15 : tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32> -> tensor<3x4xf32>
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
