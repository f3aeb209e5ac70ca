// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s

func.func @statistics(%x: tensor<2x3xf16>) -> (tensor<2xf16>, tensor<2xf16>, tensor<i64>) {
  %std = array.std %x {axis = 1, correction = 1} : tensor<2x3xf16> -> tensor<2xf16>
  %norm = array.norm %x {axis = 1} : tensor<2x3xf16> -> tensor<2xf16>
  %argmax = array.argmax %x : tensor<2x3xf16> -> tensor<i64>
  func.return %std, %norm, %argmax : tensor<2xf16>, tensor<2xf16>, tensor<i64>
}

//      CHECK: func.func @statistics(%x: tensor<2x3xf16>) -> (tensor<2xf16>, tensor<2xf16>, tensor<i64>) {
// CHECK-NEXT:   %0 = array.astype %x : tensor<2x3xf16> -> tensor<2x3xf32>
// CHECK-NEXT:   %1 = array.slice %0 {stop = [2, 1]} : tensor<2x3xf32> -> tensor<2x1xf32>
// CHECK-NEXT:   %2 = array.broadcast_to %1 : tensor<2x1xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %3 = array.subtract %0, %2 : tensor<2x3xf32>
// CHECK-NEXT:   %4 = array.sum %3 {axis = [1], keepdims = false} : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT:   %5 = array.full {value = 3.0} : tensor<2xf32>
// CHECK-NEXT:   %6 = array.divide %4, %5 : tensor<2xf32>
// CHECK-NEXT:   %7 = array.reshape %6 : tensor<2xf32> -> tensor<2x1xf32>
// CHECK-NEXT:   %8 = array.broadcast_to %7 : tensor<2x1xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %9 = array.subtract %3, %8 : tensor<2x3xf32>
// CHECK-NEXT:   %10 = array.astype %9 : tensor<2x3xf32> -> tensor<2x3xf64>
// CHECK-NEXT:   %11 = array.multiply %10, %10 : tensor<2x3xf64>
// CHECK-NEXT:   %12 = array.sum %11 {axis = [1], keepdims = false} : tensor<2x3xf64> -> tensor<2xf64>
// CHECK-NEXT:   %13 = array.sqrt %12 : tensor<2xf64>
// CHECK-NEXT:   %14 = array.astype %13 : tensor<2xf64> -> tensor<2xf32>
// CHECK-NEXT:   %15 = array.full {value = 1.4142135623730951} : tensor<2xf32>
// CHECK-NEXT:   %16 = array.divide %14, %15 : tensor<2xf32>
// CHECK-NEXT:   %std = array.astype %16 : tensor<2xf32> -> tensor<2xf16>
// CHECK-NEXT:   %17 = array.astype %x : tensor<2x3xf16> -> tensor<2x3xf64>
// CHECK-NEXT:   %18 = array.multiply %17, %17 : tensor<2x3xf64>
// CHECK-NEXT:   %19 = array.sum %18 {axis = [1], keepdims = false} : tensor<2x3xf64> -> tensor<2xf64>
// CHECK-NEXT:   %20 = array.sqrt %19 : tensor<2xf64>
// CHECK-NEXT:   %norm = array.astype %20 : tensor<2xf64> -> tensor<2xf16>
// CHECK-NEXT:   %21 = array.reshape %x : tensor<2x3xf16> -> tensor<6xf16>
// CHECK-NEXT:   %22 = array.max %21 {axis = 0, keepdims = true} : tensor<6xf16> -> tensor<1xf16>
// CHECK-NEXT:   %23 = array.broadcast_to %22 : tensor<1xf16> -> tensor<6xf16>
// CHECK-NEXT:   %24 = array.equal %21, %23 : tensor<6xf16>, tensor<6xf16> -> tensor<6xi1>
// CHECK-NEXT:   %25 = array.isnan %21 : tensor<6xf16> -> tensor<6xi1>
// CHECK-NEXT:   %26 = array.logical_or %24, %25 : tensor<6xi1>
// CHECK-NEXT:   %27 = array.iota {axis = 0} : tensor<6xi64>
// CHECK-NEXT:   %28 = array.full {value = 6} : tensor<6xi64>
// CHECK-NEXT:   %29 = array.where %26, %27, %28 : tensor<6xi1>, tensor<6xi64>, tensor<6xi64> -> tensor<6xi64>
// CHECK-NEXT:   %argmax = array.min %29 {axis = 0} : tensor<6xi64> -> tensor<i64>
// CHECK-NEXT:   func.return %std, %norm, %argmax : tensor<2xf16>, tensor<2xf16>, tensor<i64>
// CHECK-NEXT: }
