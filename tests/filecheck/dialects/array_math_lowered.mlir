// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s
// RUN: gradir-opt %s -p "gradir-lower" | gradir-opt | filecheck %s

func.func @special(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %erfc = array.erfc %x : tensor<4xf32>
  %remainder = array.remainder %x, %y : tensor<4xf32>
  func.return %erfc, %remainder : tensor<4xf32>, tensor<4xf32>
}
func.func @truth(%x: tensor<2x3xf16>) -> tensor<2xi1> {
  %any = array.any %x {axis = 1} : tensor<2x3xf16> -> tensor<2xi1>
  func.return %any : tensor<2xi1>
}
func.func @product(%x: tensor<2x3xbf16>) -> tensor<2xbf16> {
  %prod = array.prod %x {axis = 1} : tensor<2x3xbf16> -> tensor<2xbf16>
  func.return %prod : tensor<2xbf16>
}

//      CHECK: func.func @special(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %erfc = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = loopnest.erfc %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %remainder = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>, %1 = %y[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %3 = loopnest.remainder %0, %1 : f32
// CHECK-NEXT:     %4 = arith.cmpf une, %3, %2 : f32
// CHECK-NEXT:     %5 = arith.cmpf olt, %3, %2 : f32
// CHECK-NEXT:     %6 = arith.cmpf olt, %1, %2 : f32
// CHECK-NEXT:     %7 = arith.xori %5, %6 : i1
// CHECK-NEXT:     %8 = arith.andi %4, %7 : i1
// CHECK-NEXT:     %9 = arith.cmpf oeq, %1, %2 : f32
// CHECK-NEXT:     %10 = math.copysign %2, %1 : f32
// CHECK-NEXT:     %11 = arith.select %9, %3, %10 : f32
// CHECK-NEXT:     %12 = arith.cmpf oeq, %3, %2 : f32
// CHECK-NEXT:     %13 = arith.addf %3, %1 : f32
// CHECK-NEXT:     %14 = arith.select %8, %13, %3 : f32
// CHECK-NEXT:     %15 = arith.select %12, %11, %14 : f32
// CHECK-NEXT:     loopnest.yield %15 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %erfc, %remainder : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @truth(%x: tensor<2x3xf16>) -> tensor<2xi1> {
// CHECK-NEXT:   %any = loopnest.nest [2, 3] (%0 = %x[d0, d1] : tensor<2x3xf16>) -> (or [d0] : tensor<2xi1>) {
// CHECK-NEXT:     %1 = arith.extf %0 : f16 to f32
// CHECK-NEXT:     %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %3 = arith.cmpf une, %1, %2 : f32
// CHECK-NEXT:     loopnest.yield %3 : i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %any : tensor<2xi1>
// CHECK-NEXT: }
//      CHECK: func.func @product(%x: tensor<2x3xbf16>) -> tensor<2xbf16> {
// CHECK-NEXT:   %prod = loopnest.nest [2, 3] (%0 = %x[d0, d1] : tensor<2x3xbf16>) -> (multiply [d0] : tensor<2xbf16>) {
// CHECK-NEXT:     %1 = arith.extf %0 : bf16 to f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %prod : tensor<2xbf16>
// CHECK-NEXT: }
