// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=sum mode=vjp},gradir-gradient{function=prod mode=vjp}" | filecheck %s --check-prefix=GRAD

func.func @sum(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = array.cumulative_sum %x {axis = 1, exclusive = true} : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// With zeros: no division.
func.func @prod(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.cumulative_prod %x {axis = 0} : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

func.func @backward(%a: tensor<3x4xf32>, %u: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %y = grad.linear_recurrence %a, %u {axis = 0, reverse = true, lagged = true} : tensor<3x4xf32>
  %z = grad.shift %u {axis = 1, by = -2} : tensor<3x4xf32>
  func.return %y, %z : tensor<3x4xf32>, tensor<3x4xf32>
}

//      CHECK: func.func @sum(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = array.cumulative_sum %x {axis = 1, exclusive = true} : tensor<3x4xf32>
//      CHECK: func.func @prod(%x: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %y = array.cumulative_prod %x {axis = 0} : tensor<4xf64>
//      CHECK: func.func @backward
// CHECK-NEXT:   %y = grad.linear_recurrence %a, %u {axis = 0, reverse = true, lagged = true} : tensor<3x4xf32>
// CHECK-NEXT:   %z = grad.shift %u {axis = 1, by = -2} : tensor<3x4xf32>

//      GRAD: func.func @sum_vjp(%x: tensor<3x4xf32>, %y_ct: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
// GRAD-NEXT:   %y = array.cumulative_sum %x {axis = 1, exclusive = true} : tensor<3x4xf32>
// GRAD-NEXT:   %x_ct = array.cumulative_sum %y_ct {axis = 1, exclusive = true, reverse = true} : tensor<3x4xf32>
// GRAD-NEXT:   func.return %y, %x_ct : tensor<3x4xf32>, tensor<3x4xf32>
//      GRAD: func.func @prod_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// GRAD-NEXT:   %y = array.cumulative_prod %x {axis = 0} : tensor<4xf64>
// GRAD-NEXT:   %0 = array.cumulative_prod %x {axis = 0, exclusive = true, reverse = false} : tensor<4xf64>
// GRAD-NEXT:   %1 = grad.linear_recurrence %x, %y_ct {axis = 0, reverse = true, lagged = true} : tensor<4xf64>
// GRAD-NEXT:   %x_ct = array.multiply %0, %1 : tensor<4xf64>
