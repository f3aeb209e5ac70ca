// RUN: gradir-opt %s -p "gradir-decompose,gradir-simplify,gradir-lower,gradir-fuse" | filecheck %s

// One nest, which what reads the result joins.
func.func @edge(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
  %p = array.pad %x {low = [0, 1], high = [0, 2], mode = "edge"} : tensor<3x4xf32> -> tensor<3x7xf32>
  %y = array.negative %p : tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}
func.func @reflect(%x: tensor<4xf32>) -> tensor<6xf32> {
  %y = array.pad %x {low = [0], high = [2], mode = "reflect"} : tensor<4xf32> -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}
// A constant mode is the default.
func.func @constant(%x: tensor<4xf32>) -> tensor<6xf32> {
  %y = array.pad %x {low = [0], high = [2], mode = "constant", value = 1.5} : tensor<4xf32> -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

//      CHECK: func.func @edge(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 7] (%0 = %x : tensor<3x4xf32>) -> ([d0, d1] : tensor<3x7xf32>) {
// CHECK-NEXT:     %1 = loopnest.index 0 : i64
// CHECK-NEXT:     %2 = loopnest.index 1 : i64
// CHECK-NEXT:     %3 = arith.constant 0 : i64
// CHECK-NEXT:     %4 = arith.constant 3 : i64
// CHECK-NEXT:     %5 = arith.constant 1 : i64
// CHECK-NEXT:     %6 = arith.subi %2, %5 : i64
// CHECK-NEXT:     %7 = arith.maxsi %6, %3 : i64
// CHECK-NEXT:     %8 = arith.minsi %7, %4 : i64
// CHECK-NEXT:     %9 = loopnest.load %0[%1, %8] : tensor<3x4xf32> -> f32
// CHECK-NEXT:     %10 = arith.negf %9 : f32
// CHECK-NEXT:     loopnest.yield %10 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x7xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reflect(%x: tensor<4xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = loopnest.nest [6] (%0 = %x : tensor<4xf32>) -> ([d0] : tensor<6xf32>) {
// CHECK-NEXT:     %1 = loopnest.index 0 : i64
// CHECK-NEXT:     %2 = arith.constant 0 : i64
// CHECK-NEXT:     %3 = arith.constant 3 : i64
// CHECK-NEXT:     %4 = arith.subi %1, %2 : i64
// CHECK-NEXT:     %5 = arith.subi %2, %4 : i64
// CHECK-NEXT:     %6 = arith.maxsi %4, %5 : i64
// CHECK-NEXT:     %7 = arith.subi %3, %6 : i64
// CHECK-NEXT:     %8 = arith.subi %2, %7 : i64
// CHECK-NEXT:     %9 = arith.maxsi %7, %8 : i64
// CHECK-NEXT:     %10 = arith.subi %3, %9 : i64
// CHECK-NEXT:     %11 = loopnest.load %0[%10] : tensor<4xf32> -> f32
// CHECK-NEXT:     loopnest.yield %11 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @constant(%x: tensor<4xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = loopnest.nest [6] (%0 = %x[d0] pad 1.500000e+00 : f32 : tensor<4xf32>) -> ([d0] : tensor<6xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
