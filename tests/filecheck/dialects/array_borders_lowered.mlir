// RUN: gradir-opt %s -p "gradir-decompose,gradir-simplify,gradir-lower,gradir-fuse" | filecheck %s

// A nest for the last axis, which what reads the result joins, and one for all others.
func.func @edge(%x: tensor<3x4xf32>) -> tensor<4x7xf32> {
  %p = array.pad %x {low = [1, 1], high = [0, 2], mode = "edge"} : tensor<3x4xf32> -> tensor<4x7xf32>
  %y = array.negative %p : tensor<4x7xf32>
  func.return %y : tensor<4x7xf32>
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

//      CHECK: func.func @edge(%x: tensor<3x4xf32>) -> tensor<4x7xf32> {
// CHECK-NEXT:   %0 = loopnest.nest [4, 4] (%1 = %x : tensor<3x4xf32>) -> ([d0, d1] : tensor<4x4xf32>) {
// CHECK-NEXT:     %2 = loopnest.index 0 : i64
// CHECK-NEXT:     %3 = arith.constant 0 : i64
// CHECK-NEXT:     %4 = arith.constant 2 : i64
// CHECK-NEXT:     %5 = arith.constant 1 : i64
// CHECK-NEXT:     %6 = arith.subi %2, %5 : i64
// CHECK-NEXT:     %7 = arith.maxsi %6, %3 : i64
// CHECK-NEXT:     %8 = arith.minsi %7, %4 : i64
// CHECK-NEXT:     %9 = loopnest.index 1 : i64
// CHECK-NEXT:     %10 = loopnest.load %1[%8, %9] : tensor<3x4xf32> -> f32
// CHECK-NEXT:     loopnest.yield %10 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [4, 7] (%1 = %0[d0, 0] pad 0.000000e+00 : f32 : tensor<4x4xf32>, %2 = %0[d0, d1 + -1] pad 0.000000e+00 : f32 : tensor<4x4xf32>, %3 = %0[d0, 3] pad 0.000000e+00 : f32 : tensor<4x4xf32>) -> ([d0, d1] : tensor<4x7xf32>) {
// CHECK-NEXT:     %4 = loopnest.index 1 : i64
// CHECK-NEXT:     %5 = arith.constant 5 : i64
// CHECK-NEXT:     %6 = arith.cmpi slt, %4, %5 : i64
// CHECK-NEXT:     %7 = arith.select %6, %2, %3 : f32
// CHECK-NEXT:     %8 = arith.constant 1 : i64
// CHECK-NEXT:     %9 = arith.cmpi slt, %4, %8 : i64
// CHECK-NEXT:     %10 = arith.select %9, %1, %7 : f32
// CHECK-NEXT:     %11 = arith.negf %10 : f32
// CHECK-NEXT:     loopnest.yield %11 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x7xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reflect(%x: tensor<4xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = loopnest.nest [6] (%0 = %x[-1 * d0] pad 0.000000e+00 : f32 : tensor<4xf32>, %1 = %x[d0] pad 0.000000e+00 : f32 : tensor<4xf32>, %2 = %x[-1 * d0 + 6] pad 0.000000e+00 : f32 : tensor<4xf32>) -> ([d0] : tensor<6xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 4 : i64
// CHECK-NEXT:     %5 = arith.cmpi slt, %3, %4 : i64
// CHECK-NEXT:     %6 = arith.select %5, %1, %2 : f32
// CHECK-NEXT:     %7 = arith.constant 0 : i64
// CHECK-NEXT:     %8 = arith.cmpi slt, %3, %7 : i64
// CHECK-NEXT:     %9 = arith.select %8, %0, %6 : f32
// CHECK-NEXT:     loopnest.yield %9 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @constant(%x: tensor<4xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = loopnest.nest [6] (%0 = %x[d0] pad 1.500000e+00 : f32 : tensor<4xf32>) -> ([d0] : tensor<6xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
