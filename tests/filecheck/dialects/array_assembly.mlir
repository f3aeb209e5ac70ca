// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @together(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x2x3xf32>, tensor<2x3x2xf32>) {
  %stack = array.stack %x, %y : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2x3xf32>
  %last = array.stack %x, %y {axis = -1} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x2xf32>
  func.return %stack, %last : tensor<2x2x3xf32>, tensor<2x3x2xf32>
}
func.func @apart(%x: tensor<5x4xf32>) -> (tensor<2x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>) {
  %a, %b = array.split %x {sizes = [2, 3]} : tensor<5x4xf32> -> (tensor<2x4xf32>, tensor<3x4xf32>)
  %c = array.split %x {axis = -1, sizes = [4]} : tensor<5x4xf32> -> tensor<5x4xf32>
  func.return %a, %b, %c : tensor<2x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>
}
func.func @again(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x6xf32>, tensor<12xf32>) {
  %roll = array.roll %x {shift = [1, -1], axis = [0, 1]} : tensor<2x3xf32>
  %flat = array.roll %x {shift = 1} : tensor<2x3xf32>
  %tile = array.tile %x {repeats = [2, 1]} : tensor<2x3xf32> -> tensor<4x3xf32>
  %repeat = array.repeat %x {count = 2, axis = 1} : tensor<2x3xf32> -> tensor<2x6xf32>
  %repeat_all = array.repeat %x {count = 2} : tensor<2x3xf32> -> tensor<12xf32>
  func.return %roll, %flat, %tile, %repeat, %repeat_all : tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x6xf32>, tensor<12xf32>
}

//      CHECK: func.func @together(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x2x3xf32>, tensor<2x3x2xf32>) {
// CHECK-NEXT:   %stack = array.stack %x, %y : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2x3xf32>
// CHECK-NEXT:   %last = array.stack %x, %y {axis = -1} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x2xf32>
// CHECK-NEXT:   func.return %stack, %last : tensor<2x2x3xf32>, tensor<2x3x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @apart(%x: tensor<5x4xf32>) -> (tensor<2x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>) {
// CHECK-NEXT:   %a, %b = array.split %x {sizes = [2, 3]} : tensor<5x4xf32> -> (tensor<2x4xf32>, tensor<3x4xf32>)
// CHECK-NEXT:   %c = array.split %x {axis = -1, sizes = [4]} : tensor<5x4xf32> -> tensor<5x4xf32>
// CHECK-NEXT:   func.return %a, %b, %c : tensor<2x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @again(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x6xf32>, tensor<12xf32>) {
// CHECK-NEXT:   %roll = array.roll %x {shift = [1, -1], axis = [0, 1]} : tensor<2x3xf32>
// CHECK-NEXT:   %flat = array.roll %x {shift = 1} : tensor<2x3xf32>
// CHECK-NEXT:   %tile = array.tile %x {repeats = [2, 1]} : tensor<2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %repeat = array.repeat %x {count = 2, axis = 1} : tensor<2x3xf32> -> tensor<2x6xf32>
// CHECK-NEXT:   %repeat_all = array.repeat %x {count = 2} : tensor<2x3xf32> -> tensor<12xf32>
// CHECK-NEXT:   func.return %roll, %flat, %tile, %repeat, %repeat_all : tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x6xf32>, tensor<12xf32>
// CHECK-NEXT: }
