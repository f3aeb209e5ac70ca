// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2x3xf32>) {
  %all = array.sum %x : tensor<2x3x4xf32> -> tensor<f32>
  %mean = array.mean %x {axis = 1, keepdims = true} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
  %max = array.max %x {axis = [1, 2]} : tensor<2x3x4xf32> -> tensor<2xf32>
  %min = array.min %x {axis = [0, -2]} : tensor<2x3x4xf32> -> tensor<4xf32>
  %logsumexp = array.logsumexp %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return %all, %mean, %max, %min, %logsumexp : tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2x3xf32>
}
func.func @empty(%x: tensor<0x3xf32>) -> (tensor<3xf32>, tensor<0xf32>, tensor<3xf32>) {
  %zeros = array.sum %x {axis = 0} : tensor<0x3xf32> -> tensor<3xf32>
  %none = array.max %x {axis = 1} : tensor<0x3xf32> -> tensor<0xf32>
  %low = array.logsumexp %x {axis = 0} : tensor<0x3xf32> -> tensor<3xf32>
  func.return %zeros, %none, %low : tensor<3xf32>, tensor<0xf32>, tensor<3xf32>
}

//      CHECK: func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %all = array.sum %x : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:   %mean = array.mean %x {axis = 1, keepdims = true} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
// CHECK-NEXT:   %max = array.max %x {axis = [1, 2]} : tensor<2x3x4xf32> -> tensor<2xf32>
// CHECK-NEXT:   %min = array.min %x {axis = [0, -2]} : tensor<2x3x4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %logsumexp = array.logsumexp %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   func.return %all, %mean, %max, %min, %logsumexp : tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @empty(%x: tensor<0x3xf32>) -> (tensor<3xf32>, tensor<0xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %zeros = array.sum %x {axis = 0} : tensor<0x3xf32> -> tensor<3xf32>
// CHECK-NEXT:   %none = array.max %x {axis = 1} : tensor<0x3xf32> -> tensor<0xf32>
// CHECK-NEXT:   %low = array.logsumexp %x {axis = 0} : tensor<0x3xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %zeros, %none, %low : tensor<3xf32>, tensor<0xf32>, tensor<3xf32>
// CHECK-NEXT: }
