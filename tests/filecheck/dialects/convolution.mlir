// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @line(%x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<4xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x4xf32>) {
  %plain = nn.conv1d %x, %w, %b : tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32> -> tensor<2x4x6xf32>
  %strided = nn.conv1d %x, %w {stride = 2, padding = [1, 0]} : tensor<2x3x8xf32>, tensor<4x3x3xf32> -> tensor<2x4x4xf32>
  func.return %plain, %strided : tensor<2x4x6xf32>, tensor<2x4x4xf32>
}
func.func @image(%x: tensor<2x4x8x6xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>) -> (tensor<2x4x8x6xf32>, tensor<2x4x3x3xf32>) {
  %grouped = nn.conv2d %x, %w, %b {padding = 1, groups = 2} : tensor<2x4x8x6xf32>, tensor<4x2x3x3xf32>, tensor<4xf32> -> tensor<2x4x8x6xf32>
  %sides = nn.conv2d %x, %w {stride = [2, 2], padding = [1, 0, 0, 1], dilation = [2, 1], groups = 2} : tensor<2x4x8x6xf32>, tensor<4x2x3x3xf32> -> tensor<2x4x3x3xf32>
  func.return %grouped, %sides : tensor<2x4x8x6xf32>, tensor<2x4x3x3xf32>
}
func.func @channels_last(%x: tensor<2x8x6x3xf32>, %w: tensor<3x3x3x4xf32>, %b: tensor<4xf32>) -> tensor<2x6x4x4xf32> {
  %y = nn.conv2d %x, %w, %b {layout = "NHWC"} : tensor<2x8x6x3xf32>, tensor<3x3x3x4xf32>, tensor<4xf32> -> tensor<2x6x4x4xf32>
  func.return %y : tensor<2x6x4x4xf32>
}
func.func @volume(%x: tensor<1x2x4x4x4xf32>, %w: tensor<3x2x2x2x2xf32>) -> tensor<1x3x2x2x2xf32> {
  %y = nn.conv3d %x, %w {stride = 2} : tensor<1x2x4x4x4xf32>, tensor<3x2x2x2x2xf32> -> tensor<1x3x2x2x2xf32>
  func.return %y : tensor<1x3x2x2x2xf32>
}
func.func @transposed(%x: tensor<2x4x3x3xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<2xf32>) -> tensor<2x2x6x6xf32> {
  %y = nn.conv_transpose2d %x, %w, %b {stride = 2, padding = 1, output_padding = 1, groups = 2} : tensor<2x4x3x3xf32>, tensor<4x1x3x3xf32>, tensor<2xf32> -> tensor<2x2x6x6xf32>
  func.return %y : tensor<2x2x6x6xf32>
}
func.func @transposed_others(%x: tensor<1x2x4xf32>, %w: tensor<2x1x3xf32>, %v: tensor<1x2x2x2x2xf32>, %u: tensor<2x3x2x2x2xf32>) -> (tensor<1x2x9xf32>, tensor<1x3x3x3x3xf32>) {
  %y = nn.conv_transpose1d %x, %w {stride = 2, groups = 2} : tensor<1x2x4xf32>, tensor<2x1x3xf32> -> tensor<1x2x9xf32>
  %z = nn.conv_transpose3d %v, %u : tensor<1x2x2x2x2xf32>, tensor<2x3x2x2x2xf32> -> tensor<1x3x3x3x3xf32>
  func.return %y, %z : tensor<1x2x9xf32>, tensor<1x3x3x3x3xf32>
}
func.func @backward(%ct: tensor<2x4x4xf32>, %x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>) -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>) {
  %x_ct = grad.conv1d_input_backward %ct, %w {stride = 2, padding = [1, 0]} : tensor<2x4x4xf32>, tensor<4x3x3xf32> -> tensor<2x3x8xf32>
  %w_ct = grad.conv1d_weight_backward %ct, %x {stride = 2, padding = [1, 0]} : tensor<2x4x4xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
  func.return %x_ct, %w_ct : tensor<2x3x8xf32>, tensor<4x3x3xf32>
}
func.func @dynamic(%x: tensor<?x3x?x6xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x?x4xf32> {
  %y = nn.conv2d %x, %w : tensor<?x3x?x6xf32>, tensor<4x3x3x3xf32> -> tensor<?x4x?x4xf32>
  func.return %y : tensor<?x4x?x4xf32>
}

//      CHECK: func.func @line(%x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<4xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x4xf32>) {
// CHECK-NEXT:   %plain = nn.conv1d %x, %w, %b : tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32> -> tensor<2x4x6xf32>
// CHECK-NEXT:   %strided = nn.conv1d %x, %w {stride = 2, padding = [1, 0]} : tensor<2x3x8xf32>, tensor<4x3x3xf32> -> tensor<2x4x4xf32>
// CHECK-NEXT:   func.return %plain, %strided : tensor<2x4x6xf32>, tensor<2x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @image(%x: tensor<2x4x8x6xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>) -> (tensor<2x4x8x6xf32>, tensor<2x4x3x3xf32>) {
// CHECK-NEXT:   %grouped = nn.conv2d %x, %w, %b {padding = 1, groups = 2} : tensor<2x4x8x6xf32>, tensor<4x2x3x3xf32>, tensor<4xf32> -> tensor<2x4x8x6xf32>
// CHECK-NEXT:   %sides = nn.conv2d %x, %w {stride = [2, 2], padding = [1, 0, 0, 1], dilation = [2, 1], groups = 2} : tensor<2x4x8x6xf32>, tensor<4x2x3x3xf32> -> tensor<2x4x3x3xf32>
// CHECK-NEXT:   func.return %grouped, %sides : tensor<2x4x8x6xf32>, tensor<2x4x3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @channels_last(%x: tensor<2x8x6x3xf32>, %w: tensor<3x3x3x4xf32>, %b: tensor<4xf32>) -> tensor<2x6x4x4xf32> {
// CHECK-NEXT:   %y = nn.conv2d %x, %w, %b {layout = "NHWC"} : tensor<2x8x6x3xf32>, tensor<3x3x3x4xf32>, tensor<4xf32> -> tensor<2x6x4x4xf32>
// CHECK-NEXT:   func.return %y : tensor<2x6x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @volume(%x: tensor<1x2x4x4x4xf32>, %w: tensor<3x2x2x2x2xf32>) -> tensor<1x3x2x2x2xf32> {
// CHECK-NEXT:   %y = nn.conv3d %x, %w {stride = 2} : tensor<1x2x4x4x4xf32>, tensor<3x2x2x2x2xf32> -> tensor<1x3x2x2x2xf32>
// CHECK-NEXT:   func.return %y : tensor<1x3x2x2x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @transposed(%x: tensor<2x4x3x3xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<2xf32>) -> tensor<2x2x6x6xf32> {
// CHECK-NEXT:   %y = nn.conv_transpose2d %x, %w, %b {stride = 2, padding = 1, output_padding = 1, groups = 2} : tensor<2x4x3x3xf32>, tensor<4x1x3x3xf32>, tensor<2xf32> -> tensor<2x2x6x6xf32>
// CHECK-NEXT:   func.return %y : tensor<2x2x6x6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @transposed_others(%x: tensor<1x2x4xf32>, %w: tensor<2x1x3xf32>, %v: tensor<1x2x2x2x2xf32>, %u: tensor<2x3x2x2x2xf32>) -> (tensor<1x2x9xf32>, tensor<1x3x3x3x3xf32>) {
// CHECK-NEXT:   %y = nn.conv_transpose1d %x, %w {stride = 2, groups = 2} : tensor<1x2x4xf32>, tensor<2x1x3xf32> -> tensor<1x2x9xf32>
// CHECK-NEXT:   %z = nn.conv_transpose3d %v, %u : tensor<1x2x2x2x2xf32>, tensor<2x3x2x2x2xf32> -> tensor<1x3x3x3x3xf32>
// CHECK-NEXT:   func.return %y, %z : tensor<1x2x9xf32>, tensor<1x3x3x3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @backward(%ct: tensor<2x4x4xf32>, %x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>) -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>) {
// CHECK-NEXT:   %x_ct = grad.conv1d_input_backward %ct, %w {stride = 2, padding = [1, 0]} : tensor<2x4x4xf32>, tensor<4x3x3xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:   %w_ct = grad.conv1d_weight_backward %ct, %x {stride = 2, padding = [1, 0]} : tensor<2x4x4xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
// CHECK-NEXT:   func.return %x_ct, %w_ct : tensor<2x3x8xf32>, tensor<4x3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @dynamic(%x: tensor<?x3x?x6xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x?x4xf32> {
// CHECK-NEXT:   %y = nn.conv2d %x, %w : tensor<?x3x?x6xf32>, tensor<4x3x3x3xf32> -> tensor<?x4x?x4xf32>
// CHECK-NEXT:   func.return %y : tensor<?x4x?x4xf32>
// CHECK-NEXT: }
