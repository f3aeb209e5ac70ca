// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s

func.func @statistics(%x: tensor<2x3xf16>) -> (tensor<2xf16>, tensor<2xf16>, tensor<i64>) {
  %std = array.std %x {axis = 1, correction = 1} : tensor<2x3xf16> -> tensor<2xf16>
  %norm = array.norm %x {axis = 1} : tensor<2x3xf16> -> tensor<2xf16>
  %argmax = array.argmax %x : tensor<2x3xf16> -> tensor<i64>
  func.return %std, %norm, %argmax : tensor<2xf16>, tensor<2xf16>, tensor<i64>
}

//      CHECK: func.func @statistics(%x: tensor<2x3xf16>) -> (tensor<2xf16>, tensor<2xf16>, tensor<i64>) {
// CHECK-NEXT:   %0 = array.astype %x : tensor<2x3xf16> -> tensor<2x3xf32>
// CHECK-NEXT:   %1 = array.sum %0 {axis = [1], keepdims = false} : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT:   %2 = array.full {value = 3.0} : tensor<2xf32>
// CHECK-NEXT:   %3 = array.divide %1, %2 : tensor<2xf32>
// CHECK-NEXT:   %4 = array.reshape %3 : tensor<2xf32> -> tensor<2x1xf32>
// CHECK-NEXT:   %5 = array.broadcast_to %4 : tensor<2x1xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %6 = array.subtract %0, %5 : tensor<2x3xf32>
// CHECK-NEXT:   %7 = array.multiply %6, %6 : tensor<2x3xf32>
// CHECK-NEXT:   %8 = array.sum %7 {axis = [1], keepdims = false} : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT:   %9 = array.full {value = 2.0} : tensor<2xf32>
// CHECK-NEXT:   %10 = array.divide %8, %9 : tensor<2xf32>
// CHECK-NEXT:   %11 = array.sqrt %10 : tensor<2xf32>
// CHECK-NEXT:   %std = array.astype %11 : tensor<2xf32> -> tensor<2xf16>
// CHECK-NEXT:   %12 = array.astype %x : tensor<2x3xf16> -> tensor<2x3xf64>
// CHECK-NEXT:   %13 = array.multiply %12, %12 : tensor<2x3xf64>
// CHECK-NEXT:   %14 = array.sum %13 {axis = [1], keepdims = false} : tensor<2x3xf64> -> tensor<2xf64>
// CHECK-NEXT:   %15 = array.sqrt %14 : tensor<2xf64>
// CHECK-NEXT:   %norm = array.astype %15 : tensor<2xf64> -> tensor<2xf16>
// CHECK-NEXT:   %16 = array.reshape %x : tensor<2x3xf16> -> tensor<6xf16>
// CHECK-NEXT:   %17 = array.max %16 {axis = 0, keepdims = true} : tensor<6xf16> -> tensor<1xf16>
// CHECK-NEXT:   %18 = array.broadcast_to %17 : tensor<1xf16> -> tensor<6xf16>
// CHECK-NEXT:   %19 = array.equal %16, %18 : tensor<6xf16>, tensor<6xf16> -> tensor<6xi1>
// CHECK-NEXT:   %20 = array.isnan %16 : tensor<6xf16> -> tensor<6xi1>
// CHECK-NEXT:   %21 = array.logical_or %19, %20 : tensor<6xi1>
// CHECK-NEXT:   %22 = array.iota {axis = 0} : tensor<6xi64>
// CHECK-NEXT:   %23 = array.full {value = 6} : tensor<6xi64>
// CHECK-NEXT:   %24 = array.where %21, %22, %23 : tensor<6xi1>, tensor<6xi64>, tensor<6xi64> -> tensor<6xi64>
// CHECK-NEXT:   %argmax = array.min %24 {axis = 0} : tensor<6xi64> -> tensor<i64>
// CHECK-NEXT:   func.return %std, %norm, %argmax : tensor<2xf16>, tensor<2xf16>, tensor<i64>
// CHECK-NEXT: }
