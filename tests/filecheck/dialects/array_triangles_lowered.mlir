// RUN: gradir-opt %s -p "gradir-decompose,gradir-lower,gradir-fuse" | filecheck %s

// A triangle is part of its neighbours' nest, a diagonal is read where it lies.
func.func @causal(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %e = array.exp %x : tensor<3x3xf32>
  %t = array.tril %e {k = -1} : tensor<3x3xf32>
  %n = array.negative %t : tensor<3x3xf32>
  func.return %n : tensor<3x3xf32>
}
func.func @trace(%x: tensor<3x4xf32>) -> tensor<f32> {
  %y = array.trace %x {offset = 1} : tensor<3x4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @back(%ct: tensor<2xf32>) -> tensor<3x3xf32> {
  %x_ct = grad.diagonal_backward %ct {offset = -1} : tensor<2xf32> -> tensor<3x3xf32>
  func.return %x_ct : tensor<3x3xf32>
}
func.func @eye() -> tensor<2x3xf32> {
  %y = array.eye {k = 1} : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

//      CHECK: func.func @causal(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT:   %n = loopnest.nest [3, 3] (%0 = %x[d0, d1] : tensor<3x3xf32>) -> ([d0, d1] : tensor<3x3xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     %2 = loopnest.index 1 : i64
// CHECK-NEXT:     %3 = loopnest.index 0 : i64
// CHECK-NEXT:     %4 = arith.subi %2, %3 : i64
// CHECK-NEXT:     %5 = arith.constant -1 : i64
// CHECK-NEXT:     %6 = arith.cmpi sle, %4, %5 : i64
// CHECK-NEXT:     %7 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %8 = arith.select %6, %1, %7 : f32
// CHECK-NEXT:     %9 = arith.negf %8 : f32
// CHECK-NEXT:     loopnest.yield %9 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %n : tensor<3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @trace(%x: tensor<3x4xf32>) -> tensor<f32> {
// CHECK-NEXT:   %y = loopnest.nest [3] (%0 = %x[d0, d0 + 1] : tensor<3x4xf32>) -> (add [] : tensor<f32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @back(%ct: tensor<2xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT:   %x_ct = loopnest.nest [3, 3] (%0 = %ct[d0 + -1] pad 0.000000e+00 : f32 : tensor<2xf32>) -> ([d0, d1] : tensor<3x3xf32>) {
// CHECK-NEXT:     %1 = loopnest.index 1 : i64
// CHECK-NEXT:     %2 = loopnest.index 0 : i64
// CHECK-NEXT:     %3 = arith.subi %1, %2 : i64
// CHECK-NEXT:     %4 = arith.constant -1 : i64
// CHECK-NEXT:     %5 = arith.cmpi eq, %3, %4 : i64
// CHECK-NEXT:     %6 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %7 = arith.select %5, %0, %6 : f32
// CHECK-NEXT:     loopnest.yield %7 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x_ct : tensor<3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @eye() -> tensor<2x3xf32> {
// CHECK-NEXT:   %y = loopnest.nest [2, 3] () -> ([d0, d1] : tensor<2x3xf32>) {
// CHECK-NEXT:     %0 = loopnest.index 0 : i64
// CHECK-NEXT:     %1 = loopnest.index 1 : i64
// CHECK-NEXT:     %2 = arith.subi %1, %0 : i64
// CHECK-NEXT:     %3 = arith.constant 1 : i64
// CHECK-NEXT:     %4 = arith.cmpi eq, %2, %3 : i64
// CHECK-NEXT:     %5 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     %6 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %7 = arith.select %4, %5, %6 : f32
// CHECK-NEXT:     loopnest.yield %7 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
