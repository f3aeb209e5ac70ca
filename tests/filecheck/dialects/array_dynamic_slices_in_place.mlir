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
// CHECK-NEXT:   loopnest.nest [1, 4] (%2 = %u[d0, d1] : memref<1x4xf32>, %3 = %i[] : memref<i64>, %4 = %j[] : memref<i64>) -> ([s0, d1] init to %result0 : memref<5x4xf32>) {
// CHECK-NEXT:     %5 = loopnest.index 0 : i64
// CHECK-NEXT:     %6 = arith.constant 4 : i64
// CHECK-NEXT:     %7 = arith.constant 0 : i64
// CHECK-NEXT:     %8 = arith.maxsi %3, %7 : i64
// CHECK-NEXT:     %9 = arith.minsi %8, %6 : i64
// CHECK-NEXT:     %10 = arith.addi %9, %5 : i64
// CHECK-NEXT:     %11 = loopnest.index 1 : i64
// CHECK-NEXT:     loopnest.yield %2, %10 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [1, 4] (%12 = %u[d0, d1] : memref<1x4xf32>, %13 = %j[] : memref<i64>, %14 = %i[] : memref<i64>) -> ([s0, d1] init to %result0 : memref<5x4xf32>) {
// CHECK-NEXT:     %15 = loopnest.index 0 : i64
// CHECK-NEXT:     %16 = arith.constant 4 : i64
// CHECK-NEXT:     %17 = arith.constant 0 : i64
// CHECK-NEXT:     %18 = arith.maxsi %13, %17 : i64
// CHECK-NEXT:     %19 = arith.minsi %18, %16 : i64
// CHECK-NEXT:     %20 = arith.addi %19, %15 : i64
// CHECK-NEXT:     %21 = loopnest.index 1 : i64
// CHECK-NEXT:     loopnest.yield %12, %20 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
