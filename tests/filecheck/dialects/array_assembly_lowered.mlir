// RUN: gradir-opt %s -p "gradir-decompose,gradir-simplify,gradir-lower,gradir-fuse" | filecheck %s

// What these ops become is read where it lies: a nest each, or nothing.
func.func @stack(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4x2xf32> {
  %s = array.stack %x, %y {axis = 1} : tensor<4xf32>, tensor<4xf32> -> tensor<4x2xf32>
  %e = array.exp %s : tensor<4x2xf32>
  func.return %e : tensor<4x2xf32>
}
func.func @gate(%x: tensor<2x6xf32>) -> tensor<2x3xf32> {
  %a, %b = array.split %x {axis = 1, sizes = [3, 3]} : tensor<2x6xf32> -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %y = array.multiply %a, %b : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
func.func @difference(%x: tensor<5xf32>) -> tensor<5xf32> {
  %r = array.roll %x {shift = 1, axis = 0} : tensor<5xf32>
  %y = array.subtract %x, %r : tensor<5xf32>
  func.return %y : tensor<5xf32>
}
func.func @tile(%x: tensor<3xf32>) -> tensor<6xf32> {
  %e = array.exp %x : tensor<3xf32>
  %t = array.tile %e {repeats = 2} : tensor<3xf32> -> tensor<6xf32>
  func.return %t : tensor<6xf32>
}

//      CHECK: func.func @stack(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4x2xf32> {
// CHECK-NEXT:   %e = loopnest.nest [4, 2] (%0 = %x[d0] : tensor<4xf32>, %1 = %y[d0] : tensor<4xf32>) -> ([d0, d1] : tensor<4x2xf32>) {
// CHECK-NEXT:     %2 = loopnest.index 1 : i64
// CHECK-NEXT:     %3 = arith.constant 1 : i64
// CHECK-NEXT:     %4 = arith.cmpi sge, %2, %3 : i64
// CHECK-NEXT:     %5 = arith.select %4, %1, %0 : f32
// CHECK-NEXT:     %6 = math.exp %5 : f32
// CHECK-NEXT:     loopnest.yield %6 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %e : tensor<4x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @gate(%x: tensor<2x6xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %y = loopnest.nest [2, 3] (%0 = %x[d0, d1] : tensor<2x6xf32>, %1 = %x[d0, d1 + 3] : tensor<2x6xf32>) -> ([d0, d1] : tensor<2x3xf32>) {
// CHECK-NEXT:     %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @difference(%x: tensor<5xf32>) -> tensor<5xf32> {
// CHECK-NEXT:   %y = loopnest.nest [5] (%0 = %x[d0 + -1] pad 0.000000e+00 : f32 : tensor<5xf32>, %1 = %x[d0 + 4] pad 0.000000e+00 : f32 : tensor<5xf32>, %2 = %x[d0] : tensor<5xf32>) -> ([d0] : tensor<5xf32>) {
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.constant 1 : i64
// CHECK-NEXT:     %5 = arith.cmpi slt, %3, %4 : i64
// CHECK-NEXT:     %6 = arith.select %5, %1, %0 : f32
// CHECK-NEXT:     %7 = arith.subf %2, %6 : f32
// CHECK-NEXT:     loopnest.yield %7 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @tile(%x: tensor<3xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %0 = loopnest.nest [1, 3] (%1 = %x[d1] : tensor<3xf32>) -> ([d0, d1] : tensor<1x3xf32>) {
// CHECK-NEXT:     %2 = math.exp %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %1 = loopnest.nest [2, 3] (%2 = %0[0, d1] : tensor<1x3xf32>) -> ([d0, d1] : tensor<2x3xf32>) {
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %t = loopnest.reshape %1 : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %t : tensor<6xf32>
// CHECK-NEXT: }
