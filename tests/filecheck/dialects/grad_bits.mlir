// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p gradir-decompose,gradir-lower | filecheck %s --check-prefix=LOWER
// RUN: gradir-run %s --function bits | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s --function bits --interpret | filecheck %s --check-prefix=VALUES

// 11 elements are 2 bytes: bits 0 to 5 of byte 0 are elements 0, 2, 4, 6, 8 and 10, as M is 2.
func.func @bits() -> (tensor<2xi8>, tensor<11xi1>) {
  %n = array.iota {axis = 0} : tensor<11xi64>
  %five = array.full {value = 5} : tensor<11xi64>
  %mask = array.less %n, %five : tensor<11xi64>, tensor<11xi64> -> tensor<11xi1>
  %bits = grad.pack_bits %mask : tensor<11xi1> -> tensor<2xi8>
  %again = grad.unpack_bits %bits : tensor<2xi8> -> tensor<11xi1>
  func.return %bits, %again : tensor<2xi8>, tensor<11xi1>
}

func.func @dropped(%x: tensor<4xf32>, %key: tensor<i64>, %counter: tensor<i64>) -> tensor<4xf32> {
  %mask = grad.dropout_mask %key, %counter {p = 0.2} : tensor<i64>, tensor<i64> -> tensor<4xi1>
  %y = grad.drop %x, %mask {p = 0.2} : tensor<4xf32>, tensor<4xi1> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

//      CHECK: func.func @bits() -> (tensor<2xi8>, tensor<11xi1>) {
// CHECK-NEXT:   %n = array.iota {axis = 0} : tensor<11xi64>
// CHECK-NEXT:   %five = array.full {value = 5} : tensor<11xi64>
// CHECK-NEXT:   %mask = array.less %n, %five : tensor<11xi64>, tensor<11xi64> -> tensor<11xi1>
// CHECK-NEXT:   %bits = grad.pack_bits %mask : tensor<11xi1> -> tensor<2xi8>
// CHECK-NEXT:   %again = grad.unpack_bits %bits : tensor<2xi8> -> tensor<11xi1>
// CHECK-NEXT:   func.return %bits, %again : tensor<2xi8>, tensor<11xi1>
// CHECK-NEXT: }
//      CHECK: func.func @dropped(%x: tensor<4xf32>, %key: tensor<i64>, %counter: tensor<i64>) -> tensor<4xf32> {
// CHECK-NEXT:   %mask = grad.dropout_mask %key, %counter {p = 0.2} : tensor<i64>, tensor<i64> -> tensor<4xi1>
// CHECK-NEXT:   %y = grad.drop %x, %mask {p = 0.2} : tensor<4xf32>, tensor<4xi1> -> tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }

//      LOWER: func.func @bits() -> (tensor<2xi8>, tensor<11xi1>) {
//      LOWER:   %bits = loopnest.nest [2] (%0 = %mask[d0] : tensor<11xi1>, %1 = %mask[d0 + 2] : tensor<11xi1>, %2 = %mask[d0 + 4] : tensor<11xi1>, %3 = %mask[d0 + 6] : tensor<11xi1>, %4 = %mask[d0 + 8] : tensor<11xi1>, %5 = %mask[d0 + 10] pad false : tensor<11xi1>) -> ([d0] : tensor<2xi8>) {
// LOWER-NEXT:     %6 = arith.extui %0 : i1 to i8
// LOWER-NEXT:     %7 = arith.extui %1 : i1 to i8
// LOWER-NEXT:     %8 = arith.constant 2 : i8
// LOWER-NEXT:     %9 = arith.muli %7, %8 : i8
// LOWER-NEXT:     %10 = arith.addi %6, %9 : i8
// LOWER-NEXT:     %11 = arith.extui %2 : i1 to i8
// LOWER-NEXT:     %12 = arith.constant 4 : i8
// LOWER-NEXT:     %13 = arith.muli %11, %12 : i8
// LOWER-NEXT:     %14 = arith.addi %10, %13 : i8
// LOWER-NEXT:     %15 = arith.extui %3 : i1 to i8
// LOWER-NEXT:     %16 = arith.constant 8 : i8
// LOWER-NEXT:     %17 = arith.muli %15, %16 : i8
// LOWER-NEXT:     %18 = arith.addi %14, %17 : i8
// LOWER-NEXT:     %19 = arith.extui %4 : i1 to i8
// LOWER-NEXT:     %20 = arith.constant 16 : i8
// LOWER-NEXT:     %21 = arith.muli %19, %20 : i8
// LOWER-NEXT:     %22 = arith.addi %18, %21 : i8
// LOWER-NEXT:     %23 = arith.extui %5 : i1 to i8
// LOWER-NEXT:     %24 = arith.constant 32 : i8
// LOWER-NEXT:     %25 = arith.muli %23, %24 : i8
// LOWER-NEXT:     %26 = arith.addi %22, %25 : i8
// LOWER-NEXT:     loopnest.yield %26 : i8
// LOWER-NEXT:   }
// LOWER-NEXT:   %0 = loopnest.nest [5, 2] (%1 = %bits[d1] : tensor<2xi8>) -> ([2 * d0 + d1] : tensor<11xi1>) {
// LOWER-NEXT:     %2 = loopnest.index 0 : i64
// LOWER-NEXT:     %3 = arith.trunci %2 : i64 to i8
// LOWER-NEXT:     %4 = arith.shrui %1, %3 : i8
// LOWER-NEXT:     %5 = arith.constant 1 : i8
// LOWER-NEXT:     %6 = arith.andi %4, %5 : i8
// LOWER-NEXT:     %7 = arith.constant 0 : i8
// LOWER-NEXT:     %8 = arith.cmpi ne, %6, %7 : i8
// LOWER-NEXT:     loopnest.yield %8 : i1
// LOWER-NEXT:   }
// LOWER-NEXT:   %again = loopnest.nest [1, 1] (%1 = %bits[d1] : tensor<2xi8>) -> ([2 * d0 + d1 + 10] init %0 : tensor<11xi1>) {
// LOWER-NEXT:     %2 = loopnest.index 0 : i64
// LOWER-NEXT:     %3 = arith.constant 5 : i64
// LOWER-NEXT:     %4 = arith.addi %2, %3 : i64
// LOWER-NEXT:     %5 = arith.trunci %4 : i64 to i8
// LOWER-NEXT:     %6 = arith.shrui %1, %5 : i8
// LOWER-NEXT:     %7 = arith.constant 1 : i8
// LOWER-NEXT:     %8 = arith.andi %6, %7 : i8
// LOWER-NEXT:     %9 = arith.constant 0 : i8
// LOWER-NEXT:     %10 = arith.cmpi ne, %8, %9 : i8
// LOWER-NEXT:     loopnest.yield %10 : i1
// LOWER-NEXT:   }
// LOWER-NEXT:   func.return %bits, %again : tensor<2xi8>, tensor<11xi1>
// LOWER-NEXT: }

//      VALUES: result0: int8[2]  // %bits
// VALUES-NEXT: [7 3]
// VALUES-NEXT: result1: bool[11]  // %again
// VALUES-NEXT: [ True  True  True  True  True False False False False False False]
