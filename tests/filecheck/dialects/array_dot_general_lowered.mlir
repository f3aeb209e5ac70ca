// RUN: gradir-opt %s -p "gradir-decompose,gradir-lower" | filecheck %s
// RUN: gradir-opt %s -p "gradir-decompose,gradir-lower" | gradir-opt | filecheck %s

// Several axes of a kind, in the order of the result.
func.func @dot(%a: tensor<2x3x4x6xf32>, %b: tensor<4x6x2x5xf32>) -> tensor<2x3x5xf32> {
  %y = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [2], lhs_contract = [2, 3], rhs_contract = [0, 1]} : tensor<2x3x4x6xf32>, tensor<4x6x2x5xf32> -> tensor<2x3x5xf32>
  func.return %y : tensor<2x3x5xf32>
}
func.func @rows(%a: tensor<2x40xf16>, %b: tensor<2x40xf16>) -> tensor<2xf16> {
  %y = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : tensor<2x40xf16>, tensor<2x40xf16> -> tensor<2xf16>
  func.return %y : tensor<2xf16>
}
func.func @outer(%u: tensor<3xf32>, %v: tensor<4xf32>) -> tensor<3x4xf32> {
  %y = array.outer %u, %v : tensor<3xf32>, tensor<4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

//      CHECK: func.func @dot(%a: tensor<2x3x4x6xf32>, %b: tensor<4x6x2x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT:   %y = loopnest.contract [2, 3, 5, 4, 6] (%a[d0, d1, d3, d4] : tensor<2x3x4x6xf32>, %b[d3, d4, d0, d2] : tensor<4x6x2x5xf32>) acc %0: f32 roles bmnkk -> ([d0, d1, d2] : tensor<2x3x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x3x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @rows(%a: tensor<2x40xf16>, %b: tensor<2x40xf16>) -> tensor<2xf16> {
// CHECK-NEXT:   %y = loopnest.nest [2, 40] (%0 = %a[d0, d1] : tensor<2x40xf16>, %1 = %b[d0, d1] : tensor<2x40xf16>) -> (add [d0] : tensor<2xf16>) {
// CHECK-NEXT:     %2 = arith.extf %0 : f16 to f32
// CHECK-NEXT:     %3 = arith.extf %1 : f16 to f32
// CHECK-NEXT:     %4 = arith.mulf %2, %3 : f32
// CHECK-NEXT:     loopnest.yield %4 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2xf16>
// CHECK-NEXT: }
//      CHECK: func.func @outer(%u: tensor<3xf32>, %v: tensor<4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 4] (%0 = %u[d0] : tensor<3xf32>, %1 = %v[d1] : tensor<4xf32>) -> ([d0, d1] : tensor<3x4xf32>) {
// CHECK-NEXT:     %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
