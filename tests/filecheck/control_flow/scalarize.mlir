// RUN: gradir-opt %s -p "gradir-lower,gradir-scalarize" | filecheck %s

// In a loop, tensors of one element become numbers, and so do those that it carries.
func.func @numbers(%x: tensor<f64>, %h: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %d = array.multiply %a, %h : tensor<f64>
    %b = array.add %a, %d : tensor<f64>
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}
// Not a sum over a tensor, which a kernel makes, nor what is carried from it.
func.func @made_by_a_nest(%x: tensor<4xf64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = array.full {value = 0.0} : tensor<f64>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f64>) {
    %s = array.sum %x : tensor<4xf64> -> tensor<f64>
    %b = array.add %a, %s : tensor<f64>
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @numbers(%x: tensor<f64>, %h: tensor<f64>, %n: index) -> tensor<f64> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %0 = tensor.extract %x[] : tensor<f64>
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0) -> (f64) {
// CHECK-NEXT:     %1 = tensor.extract %h[] : tensor<f64>
// CHECK-NEXT:     %2 = arith.mulf %a, %1 : f64
// CHECK-NEXT:     %3 = arith.addf %a, %2 : f64
// CHECK-NEXT:     scf.yield %3 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %y_1 = tensor.from_elements %y : tensor<f64>
// CHECK-NEXT:   func.return %y_1 : tensor<f64>
// CHECK-NEXT: }
//      CHECK: func.func @made_by_a_nest(%x: tensor<4xf64>, %n: index) -> tensor<f64> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %zero = loopnest.nest [] () -> ([] : tensor<f64>) {
// CHECK-NEXT:     %0 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     loopnest.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f64>) {
// CHECK-NEXT:     %s = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf64>) -> (add [] : tensor<f64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %b = loopnest.nest [] (%0 = %a[] : tensor<f64>, %1 = %s[] : tensor<f64>) -> ([] : tensor<f64>) {
// CHECK-NEXT:       %2 = arith.addf %0, %1 : f64
// CHECK-NEXT:       loopnest.yield %2 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %b : tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<f64>
// CHECK-NEXT: }
