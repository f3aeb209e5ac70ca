// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s
// RUN: gradir-opt %s -p "gradir-lower" | gradir-opt | filecheck %s

func.func @read(%x: tensor<5x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<2x4xf32> {
  %y = array.dynamic_slice %x, %i, %j {sizes = [2, 4]} : tensor<5x4xf32>, tensor<i64>, tensor<i32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
func.func @write(%x: tensor<5x4xf32>, %u: tensor<1x2xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<5x4xf32> {
  %y = array.dynamic_update_slice %x, %u, %i, %j : tensor<5x4xf32>, tensor<1x2xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}
// All of x, or nothing.
func.func @whole(%x: tensor<5xf32>, %u: tensor<5xf32>, %e: tensor<0xf32>, %i: tensor<i64>) -> (tensor<5xf32>, tensor<5xf32>) {
  %y = array.dynamic_update_slice %x, %u, %i : tensor<5xf32>, tensor<5xf32>, tensor<i64> -> tensor<5xf32>
  %z = array.dynamic_update_slice %x, %e, %i : tensor<5xf32>, tensor<0xf32>, tensor<i64> -> tensor<5xf32>
  func.return %y, %z : tensor<5xf32>, tensor<5xf32>
}

//      CHECK: func.func @read(%x: tensor<5x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<2x4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [2, 4] (%0 = %x : tensor<5x4xf32>, %1 = %i[] : tensor<i64>, %2 = %j[] : tensor<i32>) -> ([d0, d1] : tensor<2x4xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 3 : i64
// CHECK-NEXT:     %5 = arith.constant 0 : i64
// CHECK-NEXT:     %6 = arith.maxsi %1, %5 : i64
// CHECK-NEXT:     %7 = arith.minsi %6, %4 : i64
// CHECK-NEXT:     %8 = arith.addi %7, %3 : i64
// CHECK-NEXT:     %9 = loopnest.index 1 : i64
// CHECK-NEXT:     %10 = loopnest.load %0[%8, %9] : tensor<5x4xf32> -> f32
// CHECK-NEXT:     loopnest.yield %10 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @write(%x: tensor<5x4xf32>, %u: tensor<1x2xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<5x4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [1, 2] (%0 = %u[d0, d1] : tensor<1x2xf32>, %1 = %i[] : tensor<i64>, %2 = %j[] : tensor<i32>) -> ([s0, s1] init %x : tensor<5x4xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 4 : i64
// CHECK-NEXT:     %5 = arith.constant 0 : i64
// CHECK-NEXT:     %6 = arith.maxsi %1, %5 : i64
// CHECK-NEXT:     %7 = arith.minsi %6, %4 : i64
// CHECK-NEXT:     %8 = arith.addi %7, %3 : i64
// CHECK-NEXT:     %9 = loopnest.index 1 : i64
// CHECK-NEXT:     %10 = arith.extsi %2 : i32 to i64
// CHECK-NEXT:     %11 = arith.constant 2 : i64
// CHECK-NEXT:     %12 = arith.constant 0 : i64
// CHECK-NEXT:     %13 = arith.maxsi %10, %12 : i64
// CHECK-NEXT:     %14 = arith.minsi %13, %11 : i64
// CHECK-NEXT:     %15 = arith.addi %14, %9 : i64
// CHECK-NEXT:     loopnest.yield %0, %8, %15 : f32, i64, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<5x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @whole(%x: tensor<5xf32>, %u: tensor<5xf32>, %e: tensor<0xf32>, %i: tensor<i64>) -> (tensor<5xf32>, tensor<5xf32>) {
// CHECK-NEXT:   func.return %u, %x : tensor<5xf32>, tensor<5xf32>
// CHECK-NEXT: }
