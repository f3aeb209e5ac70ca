// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s
// RUN: gradir-opt %s -p "gradir-lower" | gradir-opt | filecheck %s

// A contraction whose image is read where it lies, with zeros around it.
func.func @f(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x4x4xf32> {
  %y = nn.conv2d %x, %w, %b {stride = 2, padding = 1} : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<2x4x4x4xf32>
  func.return %y : tensor<2x4x4x4xf32>
}
func.func @grouped(%x: tensor<2x8x4xf16>, %w: tensor<3x2x6xf16>) -> tensor<2x6x6xf16> {
  %y = nn.conv1d %x, %w {groups = 2, layout = "NHWC"} : tensor<2x8x4xf16>, tensor<3x2x6xf16> -> tensor<2x6x6xf16>
  func.return %y : tensor<2x6x6xf16>
}
// Few products on single channels stand in the body of a nest.
func.func @depthwise(%x: tensor<2x3x8xf32>, %w: tensor<3x1x2xf32>) -> tensor<2x3x7xf32> {
  %y = nn.conv1d %x, %w {groups = 3} : tensor<2x3x8xf32>, tensor<3x1x2xf32> -> tensor<2x3x7xf32>
  func.return %y : tensor<2x3x7xf32>
}
// Places 2 q + r get the elements 2 t + r of the kernel.
func.func @input(%ct: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x3x8xf32> {
  %x = grad.conv1d_input_backward %ct, %w {stride = 2, padding = 1} : tensor<2x4x4xf32>, tensor<4x3x3xf32> -> tensor<2x3x8xf32>
  func.return %x : tensor<2x3x8xf32>
}
func.func @weight(%ct: tensor<2x4x8xf32>, %x: tensor<2x3x8xf32>) -> tensor<4x3x3xf32> {
  %w = grad.conv1d_weight_backward %ct, %x {padding = 1} : tensor<2x4x8xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
  func.return %w : tensor<4x3x3xf32>
}

//      CHECK: func.func @f(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x4x4xf32> {
// CHECK-NEXT:   %y = loopnest.contract [2, 4, 4, 4, 3, 3, 3] (%x[d0, d4, 2 * d2 + d5 + -1, 2 * d3 + d6 + -1] pad 0.000000e+00 : f32 : tensor<2x3x8x8xf32>, %w[d1, d4, d5, d6] : tensor<4x3x3x3xf32>, %0 = %b[d1] : tensor<4xf32>) acc %1: f32 roles mnmmkkk -> ([d0, d1, d2, d3] : tensor<2x4x4x4xf32>) {
// CHECK-NEXT:     %2 = arith.addf %1, %0 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x4x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @grouped(%x: tensor<2x8x4xf16>, %w: tensor<3x2x6xf16>) -> tensor<2x6x6xf16> {
// CHECK-NEXT:   %y = loopnest.contract [2, 6, 2, 3, 3, 2] (%x[d0, d1 + d4, 2 * d2 + d5] : tensor<2x8x4xf16>, %w[d4, d5, 3 * d2 + d3] : tensor<3x2x6xf16>) acc %0: f32 roles mmbnkk -> ([d0, d1, 3 * d2 + d3] : tensor<2x6x6xf16>) {
// CHECK-NEXT:     %1 = arith.truncf %0 : f32 to f16
// CHECK-NEXT:     loopnest.yield %1 : f16
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x6x6xf16>
// CHECK-NEXT: }
//      CHECK: func.func @depthwise(%x: tensor<2x3x8xf32>, %w: tensor<3x1x2xf32>) -> tensor<2x3x7xf32> {
// CHECK-NEXT:   %y = loopnest.nest [2, 3, 7] (%0 = %x[d0, d1, d2] : tensor<2x3x8xf32>, %1 = %x[d0, d1, d2 + 1] : tensor<2x3x8xf32>, %2 = %w[d1, 0, 0] : tensor<3x1x2xf32>, %3 = %w[d1, 0, 1] : tensor<3x1x2xf32>) -> ([d0, d1, d2] : tensor<2x3x7xf32>) {
// CHECK-NEXT:     %4 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %5 = math.fma %0, %2, %4 : f32
// CHECK-NEXT:     %6 = math.fma %1, %3, %5 : f32
// CHECK-NEXT:     loopnest.yield %6 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x3x7xf32>
// CHECK-NEXT: }
//      CHECK: func.func @input(%ct: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x3x8xf32> {
// CHECK-NEXT:   %0 = loopnest.contract [2, 3, 4, 4, 1] (%ct[d0, d3, d2 + -1 * d4] : tensor<2x4x4xf32>, %w[d3, d1, 2 * d4 + 1] : tensor<4x3x3xf32>) acc %1: f32 roles mnmkk -> ([d0, d1, 2 * d2] : tensor<2x3x8xf32>) {
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %x = loopnest.contract [2, 3, 4, 4, 2] (%ct[d0, d3, d2 + -1 * d4 + 1] pad 0.000000e+00 : f32 : tensor<2x4x4xf32>, %w[d3, d1, 2 * d4] : tensor<4x3x3xf32>) acc %1: f32 roles mnmkk -> ([d0, d1, 2 * d2 + 1] init %0 : tensor<2x3x8xf32>) {
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x : tensor<2x3x8xf32>
// CHECK-NEXT: }
//      CHECK: func.func @weight(%ct: tensor<2x4x8xf32>, %x: tensor<2x3x8xf32>) -> tensor<4x3x3xf32> {
// CHECK-NEXT:   %w = loopnest.contract [4, 3, 3, 2, 8] (%ct[d3, d0, d4] : tensor<2x4x8xf32>, %x[d3, d1, d2 + d4 + -1] pad 0.000000e+00 : f32 : tensor<2x3x8xf32>) acc %0: f32 roles mnnkk -> ([d0, d1, d2] : tensor<4x3x3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %w : tensor<4x3x3xf32>
// CHECK-NEXT: }
