// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// Contributions stand in reverse program order of the uses, in one sum.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a = array.sin %x : tensor<4xf64>
  %b = array.exp %x : tensor<4xf64>
  %c = array.multiply %a, %x : tensor<4xf64>
  %y = array.add %b, %c : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %a = array.sin %x : tensor<4xf64>
// CHECK-NEXT:   %b = array.exp %x : tensor<4xf64>
// CHECK-NEXT:   %c = array.multiply %a, %x : tensor<4xf64>
// CHECK-NEXT:   %y = array.add %b, %c : tensor<4xf64>
// CHECK-NEXT:   %a_ct = array.multiply %y_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %a : tensor<4xf64>
// CHECK-NEXT:   %x_ct_1 = array.multiply %y_ct, %b : tensor<4xf64>
// CHECK-NEXT:   %0 = array.cos %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct_2 = array.multiply %a_ct, %0 : tensor<4xf64>
// CHECK-NEXT:   %x_ct_3 = grad.accumulate %x_ct, %x_ct_1, %x_ct_2 : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct_3 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// Both operands of one op: first operand first.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.multiply %x, %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y = array.multiply %x, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct_1 = array.multiply %y_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct_2 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
