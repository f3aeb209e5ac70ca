// RUN: gradir-opt %s -p "gradir-lower,gradir-bufferize" | filecheck %s

// Two rows of a temporary are written where it lies: nothing is copied.
func.func @rows(%x: tensor<5x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i64>, %j: tensor<i64>) -> tensor<5x4xf32> {
  %t = array.exp %x : tensor<5x4xf32>
  %a = array.dynamic_update_slice %t, %u, %i, %j : tensor<5x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64> -> tensor<5x4xf32>
  %b = array.dynamic_update_slice %a, %u, %j, %i : tensor<5x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64> -> tensor<5x4xf32>
  func.return %b : tensor<5x4xf32>
}

//      CHECK: func.func @rows(%x: memref<5x4xf32>, %u: memref<1x4xf32>, %i: memref<i64>, %j: memref<i64>, %result0: memref<5x4xf32>) attributes {gradir.inputs = 4 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   loopnest.nest [5, 4] (%0 = %x[d0, d1] : memref<5x4xf32>) -> ([d0, d1] to %result0 : memref<5x4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [1, 4] (%0 = %u[d0, d1] : memref<1x4xf32>, %1 = %i[] : memref<i64>, %2 = %j[] : memref<i64>) -> ([s0, d1] init to %result0 : memref<5x4xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 4 : i64
// CHECK-NEXT:     %5 = arith.constant 0 : i64
// CHECK-NEXT:     %6 = arith.maxsi %1, %5 : i64
// CHECK-NEXT:     %7 = arith.minsi %6, %4 : i64
// CHECK-NEXT:     %8 = arith.addi %7, %3 : i64
// CHECK-NEXT:     %9 = loopnest.index 1 : i64
// CHECK-NEXT:     loopnest.yield %0, %8 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [1, 4] (%0 = %u[d0, d1] : memref<1x4xf32>, %1 = %j[] : memref<i64>, %2 = %i[] : memref<i64>) -> ([s0, d1] init to %result0 : memref<5x4xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 4 : i64
// CHECK-NEXT:     %5 = arith.constant 0 : i64
// CHECK-NEXT:     %6 = arith.maxsi %1, %5 : i64
// CHECK-NEXT:     %7 = arith.minsi %6, %4 : i64
// CHECK-NEXT:     %8 = arith.addi %7, %3 : i64
// CHECK-NEXT:     %9 = loopnest.index 1 : i64
// CHECK-NEXT:     loopnest.yield %0, %8 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
