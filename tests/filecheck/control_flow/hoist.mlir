// RUN: gradir-opt %s -p "gradir-hoist" | filecheck %s

// What no iteration changes moves out, from inner loops too.
func.func @invariant(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
    %z = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<4xf64>) {
      %e = array.exp %w : tensor<4xf64>
      %f = array.multiply %e, %a : tensor<4xf64>
      %c = array.add %b, %f : tensor<4xf64>
      scf.yield %c : tensor<4xf64>
    }
    scf.yield %z : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
// Not what may fail, as the loop may not run at all; and not what is behind a barrier.
func.func @stays(%x: tensor<4xf64>, %i: tensor<2xi64>, %k: index, %n: index) -> (tensor<2xf64>, f64, tensor<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %zeros = array.full {value = 0.0} : tensor<2xf64>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zeros, %b = %zero, %c = %x) -> (tensor<2xf64>, f64, tensor<4xf64>) {
    %t = array.take %x, %i {axis = 0} : tensor<4xf64>, tensor<2xi64> -> tensor<2xf64>
    %e = tensor.extract %x[%k] : tensor<4xf64>
    %h = grad.barrier %x : tensor<4xf64>
    scf.yield %t, %e, %h : tensor<2xf64>, f64, tensor<4xf64>
  }
  func.return %r#0, %r#1, %r#2 : tensor<2xf64>, f64, tensor<4xf64>
}
// A stage reads values of the loop in its region.
func.func @stage(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
    %b = grad.checkpoint -> (tensor<4xf64>) {
      %c = array.exp %a : tensor<4xf64>
      grad.yield %c : tensor<4xf64>
    }
    scf.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @invariant(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index) -> tensor<4xf64> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %e = array.exp %w : tensor<4xf64>
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
// CHECK-NEXT:     %f = array.multiply %e, %a : tensor<4xf64>
// CHECK-NEXT:     %z = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<4xf64>) {
// CHECK-NEXT:       %c = array.add %b, %f : tensor<4xf64>
// CHECK-NEXT:       scf.yield %c : tensor<4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %z : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @stays(%x: tensor<4xf64>, %i: tensor<2xi64>, %k: index, %n: index) -> (tensor<2xf64>, f64, tensor<4xf64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %zero = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %zeros = array.full {value = 0.0} : tensor<2xf64>
// CHECK-NEXT:   %r, %r_1, %r_2 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zeros, %b = %zero, %c = %x) -> (tensor<2xf64>, f64, tensor<4xf64>) {
// CHECK-NEXT:     %t = array.take %x, %i {axis = 0} : tensor<4xf64>, tensor<2xi64> -> tensor<2xf64>
// CHECK-NEXT:     %e = tensor.extract %x[%k] : tensor<4xf64>
// CHECK-NEXT:     %h = grad.barrier %x : tensor<4xf64>
// CHECK-NEXT:     scf.yield %t, %e, %h : tensor<2xf64>, f64, tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r, %r_1, %r_2 : tensor<2xf64>, f64, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @stage(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
// CHECK-NEXT:     %b = grad.checkpoint -> (tensor<4xf64>) {
// CHECK-NEXT:       %c = array.exp %a : tensor<4xf64>
// CHECK-NEXT:       grad.yield %c : tensor<4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %b : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf64>
// CHECK-NEXT: }
