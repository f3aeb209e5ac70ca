// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p gradir-decompose,gradir-lower | filecheck %s --check-prefix=LOWER
// RUN: gradir-run %s --function bits | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s --function bits --interpret | filecheck %s --check-prefix=VALUES

// Shifts of all bits and more, and unsigned numbers of which i64 has the bits alone.
func.func @bits() -> (tensor<4xi16>, tensor<4xi16>, tensor<4xui16>, tensor<4xui8>) {
  %n = array.constant {value = dense<[-3, 5, -3, 5]> : tensor<4xi16>} : tensor<4xi16>
  %by = array.constant {value = dense<[1, 15, 16, -1]> : tensor<4xi16>} : tensor<4xi16>
  %left = array.bitwise_left_shift %n, %by : tensor<4xi16>
  %right = array.bitwise_right_shift %n, %by : tensor<4xi16>
  %m = array.astype %n : tensor<4xi16> -> tensor<4xui16>
  %places = array.astype %by : tensor<4xi16> -> tensor<4xui16>
  %moved = array.bitwise_right_shift %m, %places : tensor<4xui16>
  %count = array.bitwise_count %m : tensor<4xui16> -> tensor<4xui8>
  func.return %left, %right, %moved, %count : tensor<4xi16>, tensor<4xi16>, tensor<4xui16>, tensor<4xui8>
}
func.func @same_bits(%x: tensor<3xf32>) -> (tensor<3xui32>, tensor<3xf32>) {
  %bits = array.bitcast %x : tensor<3xf32> -> tensor<3xui32>
  %back = array.bitcast %bits : tensor<3xui32> -> tensor<3xf32>
  func.return %bits, %back : tensor<3xui32>, tensor<3xf32>
}
func.func @unsigned(%x: tensor<3xui64>) -> (tensor<3xui64>, tensor<ui64>) {
  %top = array.full {value = 18446744073709551615 : ui64} : tensor<3xui64>
  %quotient = array.floor_divide %top, %x : tensor<3xui64>
  %most = array.max %quotient : tensor<3xui64> -> tensor<ui64>
  func.return %quotient, %most : tensor<3xui64>, tensor<ui64>
}

//      CHECK: func.func @bits() -> (tensor<4xi16>, tensor<4xi16>, tensor<4xui16>, tensor<4xui8>) {
// CHECK-NEXT:   %n = array.constant {value = dense<[-3, 5, -3, 5]> : tensor<4xi16>} : tensor<4xi16>
// CHECK-NEXT:   %by = array.constant {value = dense<[1, 15, 16, -1]> : tensor<4xi16>} : tensor<4xi16>
// CHECK-NEXT:   %left = array.bitwise_left_shift %n, %by : tensor<4xi16>
// CHECK-NEXT:   %right = array.bitwise_right_shift %n, %by : tensor<4xi16>
// CHECK-NEXT:   %m = array.astype %n : tensor<4xi16> -> tensor<4xui16>
// CHECK-NEXT:   %places = array.astype %by : tensor<4xi16> -> tensor<4xui16>
// CHECK-NEXT:   %moved = array.bitwise_right_shift %m, %places : tensor<4xui16>
// CHECK-NEXT:   %count = array.bitwise_count %m : tensor<4xui16> -> tensor<4xui8>
// CHECK-NEXT:   func.return %left, %right, %moved, %count : tensor<4xi16>, tensor<4xi16>, tensor<4xui16>, tensor<4xui8>
// CHECK-NEXT: }
//      CHECK: func.func @same_bits(%x: tensor<3xf32>) -> (tensor<3xui32>, tensor<3xf32>) {
// CHECK-NEXT:   %bits = array.bitcast %x : tensor<3xf32> -> tensor<3xui32>
// CHECK-NEXT:   %back = array.bitcast %bits : tensor<3xui32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %bits, %back : tensor<3xui32>, tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @unsigned(%x: tensor<3xui64>) -> (tensor<3xui64>, tensor<ui64>) {
// CHECK-NEXT:   %top = array.full {value = 18446744073709551615 : ui64} : tensor<3xui64>
// CHECK-NEXT:   %quotient = array.floor_divide %top, %x : tensor<3xui64>
// CHECK-NEXT:   %most = array.max %quotient : tensor<3xui64> -> tensor<ui64>
// CHECK-NEXT:   func.return %quotient, %most : tensor<3xui64>, tensor<ui64>
// CHECK-NEXT: }

//      LOWER: func.func @unsigned(%x: tensor<3xui64>) -> (tensor<3xui64>, tensor<ui64>) {
// LOWER-NEXT:   %top = loopnest.nest [3] () -> ([d0] : tensor<3xui64>) {
// LOWER-NEXT:     %0 = loopnest.index 0 : i64
// LOWER-NEXT:     %1 = arith.constant -1 : i64
// LOWER-NEXT:     loopnest.yield %1 : i64
// LOWER-NEXT:   }
// LOWER-NEXT:   %quotient = loopnest.nest [3] (%0 = %top[d0] : tensor<3xui64>, %1 = %x[d0] : tensor<3xui64>) -> ([d0] : tensor<3xui64>) {
// LOWER-NEXT:     %2 = arith.divui %0, %1 : i64
// LOWER-NEXT:     loopnest.yield %2 : i64
// LOWER-NEXT:   }
// LOWER-NEXT:   %most = loopnest.nest [3] (%0 = %quotient[d0] : tensor<3xui64>) -> (maximum [] : tensor<ui64>) {
// LOWER-NEXT:     loopnest.yield %0 : i64
// LOWER-NEXT:   }
// LOWER-NEXT:   func.return %quotient, %most : tensor<3xui64>, tensor<ui64>
// LOWER-NEXT: }

//      VALUES: result0: int16[4]  // %left
// VALUES-NEXT: [    -6 -32768      0      0]
// VALUES-NEXT: result1: int16[4]  // %right
// VALUES-NEXT: [-2  0 -1  0]
// VALUES-NEXT: result2: uint16[4]  // %moved
// VALUES-NEXT: [32766     0     0     0]
// VALUES-NEXT: result3: uint8[4]  // %count
// VALUES-NEXT: [15  2 15  2]
