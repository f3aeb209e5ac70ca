// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp},gradir-gradient{function=f_vjp of=1 wrt=0 mode=vjp}" | filecheck %s

// The derivative of a derivative: of the gradient of @f in %x.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.exp %x : tensor<4xf64>
  %z = array.multiply %y, %x : tensor<4xf64>
  func.return %z : tensor<4xf64>
}

//      CHECK: func.func @f_vjp_vjp(%x: tensor<4xf64>, %z_ct: tensor<4xf64>, %x_ct_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y = array.exp %x : tensor<4xf64>
// CHECK-NEXT:   %z = array.multiply %y, %x : tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.multiply %z_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %z_ct, %y : tensor<4xf64>
// CHECK-NEXT:   %x_ct_1 = array.multiply %y_ct, %y : tensor<4xf64>
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<4xf64>
// CHECK-NEXT:   %y_ct_ct = array.multiply %x_ct_ct, %y : tensor<4xf64>
// CHECK-NEXT:   %y_ct_1 = array.multiply %x_ct_ct, %y_ct : tensor<4xf64>
// CHECK-NEXT:   %y_ct_2 = array.multiply %x_ct_ct, %z_ct : tensor<4xf64>
// CHECK-NEXT:   %x_ct_3 = array.multiply %y_ct_ct, %z_ct : tensor<4xf64>
// CHECK-NEXT:   %y_ct_3 = grad.accumulate %y_ct_1, %y_ct_2 : tensor<4xf64>
// CHECK-NEXT:   %x_ct_4 = array.multiply %y_ct_3, %y : tensor<4xf64>
// CHECK-NEXT:   %x_ct_5 = grad.accumulate %x_ct_3, %x_ct_4 : tensor<4xf64>
// CHECK-NEXT:   func.return %z, %x_ct_2, %x_ct_5 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
