// RUN: gradir-opt %s -p "gradir-lower,gradir-fuse,gradir-bufferize" | filecheck %s

// The nest of the pieces writes to their places in the stack: there is no second pass over them.
func.func @stacked(%x: tensor<40xf64>, %y: tensor<40xf64>) -> tensor<40x2xf64> {
  %a = array.multiply %x, %y : tensor<40xf64>
  %b = array.add %x, %y : tensor<40xf64>
  %s = array.stack %a, %b {axis = 1} : tensor<40xf64>, tensor<40xf64> -> tensor<40x2xf64>
  func.return %s : tensor<40x2xf64>
}

// CHECK: func.func @stacked
// CHECK-NEXT: loopnest.nest [40] (%0 = %x[d0] : memref<40xf64>, %1 = %y[d0] : memref<40xf64>) -> ([d0, 0] to %result0 : memref<40x2xf64>, [d0, 1] to %result0 : memref<40x2xf64>) {
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f64
// CHECK-NEXT: %3 = arith.addf %0, %1 : f64
// CHECK-NEXT: loopnest.yield %2, %3 : f64, f64
// CHECK-NEXT: }
// CHECK-NEXT: func.return
