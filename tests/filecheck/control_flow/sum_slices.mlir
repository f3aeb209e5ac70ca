// RUN: gradir-opt %s -p "gradir-sum-slices,gradir-dce" | filecheck %s

// A row in zeros is added to that row of the sum, an element to that element.
func.func @rows(%x: tensor<3xf64>, %v: f64, %n: index) -> tensor<8x3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = grad.zero : tensor<8x3xf64>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %sum) -> (tensor<8x3xf64>) {
    %z = grad.zero : tensor<8x3xf64>
    %p = tensor.insert_slice %x into %z[%i, 0] [1, 3] [1, 1] : tensor<3xf64> into tensor<8x3xf64>
    %b = grad.accumulate %a, %p : tensor<8x3xf64>
    %q = tensor.insert %v into %z[%i, %c1] : tensor<8x3xf64>
    %c = grad.accumulate %b, %q : tensor<8x3xf64>
    scf.yield %c : tensor<8x3xf64>
  }
  func.return %y : tensor<8x3xf64>
}
// Not to a sum that may hold -0, which the zeros would change.
func.func @minus_zero(%a: tensor<8xf64>, %v: f64, %i: index) -> tensor<8xf64> {
  %z = grad.zero : tensor<8xf64>
  %p = tensor.insert %v into %z[%i] : tensor<8xf64>
  %y = grad.accumulate %a, %p : tensor<8xf64>
  func.return %y : tensor<8xf64>
}

//      CHECK: func.func @rows(%x: tensor<3xf64>, %v: f64, %n: index) -> tensor<8x3xf64> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %sum = grad.zero : tensor<8x3xf64>
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %sum) -> (tensor<8x3xf64>) {
// CHECK-NEXT:     %0 = tensor.extract_slice %a[%i, 0] [1, 3] [1, 1] : tensor<8x3xf64> to tensor<3xf64>
// CHECK-NEXT:     %1 = grad.accumulate %0, %x : tensor<3xf64>
// CHECK-NEXT:     %b = tensor.insert_slice %1 into %a[%i, 0] [1, 3] [1, 1] : tensor<3xf64> into tensor<8x3xf64>
// CHECK-NEXT:     %2 = tensor.extract %b[%i, %c1] : tensor<8x3xf64>
// CHECK-NEXT:     %3 = arith.addf %2, %v : f64
// CHECK-NEXT:     %c = tensor.insert %3 into %b[%i, %c1] : tensor<8x3xf64>
// CHECK-NEXT:     scf.yield %c : tensor<8x3xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<8x3xf64>
// CHECK-NEXT: }
//      CHECK: func.func @minus_zero(%a: tensor<8xf64>, %v: f64, %i: index) -> tensor<8xf64> {
// CHECK-NEXT:   %z = grad.zero : tensor<8xf64>
// CHECK-NEXT:   %p = tensor.insert %v into %z[%i] : tensor<8xf64>
// CHECK-NEXT:   %y = grad.accumulate %a, %p : tensor<8xf64>
// CHECK-NEXT:   func.return %y : tensor<8xf64>
// CHECK-NEXT: }
