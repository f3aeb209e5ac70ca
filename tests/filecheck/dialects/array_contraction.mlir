// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @matmul(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>, %v: tensor<4xf32>, %b: tensor<2x1x4x3xf32>) -> (tensor<3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<f32>, tensor<2x7x4x4xf32>) {
  %matrix = array.matmul %x, %y : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  %column = array.matmul %x, %v : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  %row = array.matmul %v, %y : tensor<4xf32>, tensor<4x5xf32> -> tensor<5xf32>
  %dot = array.matmul %v, %v : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %seven = array.broadcast_to %x : tensor<3x4xf32> -> tensor<7x3x4xf32>
  %batched = array.matmul %b, %seven : tensor<2x1x4x3xf32>, tensor<7x3x4xf32> -> tensor<2x7x4x4xf32>
  func.return %matrix, %column, %row, %dot, %batched : tensor<3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<f32>, tensor<2x7x4x4xf32>
}

//      CHECK: func.func @matmul(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>, %v: tensor<4xf32>, %b: tensor<2x1x4x3xf32>) -> (tensor<3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<f32>, tensor<2x7x4x4xf32>) {
// CHECK-NEXT:   %matrix = array.matmul %x, %y : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:   %column = array.matmul %x, %v : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
// CHECK-NEXT:   %row = array.matmul %v, %y : tensor<4xf32>, tensor<4x5xf32> -> tensor<5xf32>
// CHECK-NEXT:   %dot = array.matmul %v, %v : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:   %seven = array.broadcast_to %x : tensor<3x4xf32> -> tensor<7x3x4xf32>
// CHECK-NEXT:   %batched = array.matmul %b, %seven : tensor<2x1x4x3xf32>, tensor<7x3x4xf32> -> tensor<2x7x4x4xf32>
// CHECK-NEXT:   func.return %matrix, %column, %row, %dot, %batched : tensor<3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<f32>, tensor<2x7x4x4xf32>
// CHECK-NEXT: }
