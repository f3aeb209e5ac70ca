// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp},gradir-gradient{function=up mode=vjp},gradir-gradient{function=back mode=vjp}" | filecheck %s

// Each is linear in either operand, and the derivatives are the two others with the same attributes.
func.func @f(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x3x3xf32> {
  %y = nn.conv2d %x, %w, %b {stride = 2, padding = 1} : tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<2x4x3x3xf32>
  func.return %y : tensor<2x4x3x3xf32>
}
func.func @up(%x: tensor<2x4x3x3xf32>, %w: tensor<4x2x2x2xf32>, %b: tensor<2xf32>) -> tensor<2x2x6x6xf32> {
  %y = nn.conv_transpose2d %x, %w, %b {stride = 2} : tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32> -> tensor<2x2x6x6xf32>
  func.return %y : tensor<2x2x6x6xf32>
}
func.func @back(%ct: tensor<2x4x6xf32>, %x: tensor<2x3x8xf32>) -> tensor<4x3x3xf32> {
  %w = grad.conv1d_weight_backward %ct, %x : tensor<2x4x6xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
  func.return %w : tensor<4x3x3xf32>
}

//      CHECK: func.func @f(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x3x3xf32> {
// CHECK-NEXT:   %y = nn.conv2d %x, %w, %b {stride = 2, padding = 1} : tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<2x4x3x3xf32>
// CHECK-NEXT:   func.return %y : tensor<2x4x3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %y_ct: tensor<2x4x3x3xf32>) -> (tensor<2x4x3x3xf32>, tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %y = nn.conv2d %x, %w, %b {stride = 2, padding = 1} : tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<2x4x3x3xf32>
// CHECK-NEXT:   %x_ct = grad.conv2d_input_backward %y_ct, %w {stride = 2, padding = 1} : tensor<2x4x3x3xf32>, tensor<4x3x3x3xf32> -> tensor<2x3x6x6xf32>
// CHECK-NEXT:   %w_ct = grad.conv2d_weight_backward %y_ct, %x {stride = 2, padding = 1} : tensor<2x4x3x3xf32>, tensor<2x3x6x6xf32> -> tensor<4x3x3x3xf32>
// CHECK-NEXT:   %b_ct = array.sum %y_ct {axis = [0, 2, 3]} : tensor<2x4x3x3xf32> -> tensor<4xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct, %b_ct : tensor<2x4x3x3xf32>, tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @up(%x: tensor<2x4x3x3xf32>, %w: tensor<4x2x2x2xf32>, %b: tensor<2xf32>) -> tensor<2x2x6x6xf32> {
// CHECK-NEXT:   %y = nn.conv_transpose2d %x, %w, %b {stride = 2} : tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32> -> tensor<2x2x6x6xf32>
// CHECK-NEXT:   func.return %y : tensor<2x2x6x6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @up_vjp(%x: tensor<2x4x3x3xf32>, %w: tensor<4x2x2x2xf32>, %b: tensor<2xf32>, %y_ct: tensor<2x2x6x6xf32>) -> (tensor<2x2x6x6xf32>, tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32>) {
// CHECK-NEXT:   %y = nn.conv_transpose2d %x, %w, %b {stride = 2} : tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32> -> tensor<2x2x6x6xf32>
// CHECK-NEXT:   %w_ct = grad.conv2d_weight_backward %x, %y_ct {stride = 2} : tensor<2x4x3x3xf32>, tensor<2x2x6x6xf32> -> tensor<4x2x2x2xf32>
// CHECK-NEXT:   %x_ct = nn.conv2d %y_ct, %w {stride = 2} : tensor<2x2x6x6xf32>, tensor<4x2x2x2xf32> -> tensor<2x4x3x3xf32>
// CHECK-NEXT:   %b_ct = array.sum %y_ct {axis = [0, 2, 3]} : tensor<2x2x6x6xf32> -> tensor<2xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct, %b_ct : tensor<2x2x6x6xf32>, tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @back(%ct: tensor<2x4x6xf32>, %x: tensor<2x3x8xf32>) -> tensor<4x3x3xf32> {
// CHECK-NEXT:   %w = grad.conv1d_weight_backward %ct, %x : tensor<2x4x6xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
// CHECK-NEXT:   func.return %w : tensor<4x3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @back_vjp(%ct: tensor<2x4x6xf32>, %x: tensor<2x3x8xf32>, %w_ct: tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<2x4x6xf32>, tensor<2x3x8xf32>) {
// CHECK-NEXT:   %w = grad.conv1d_weight_backward %ct, %x : tensor<2x4x6xf32>, tensor<2x3x8xf32> -> tensor<4x3x3xf32>
// CHECK-NEXT:   %ct_ct = nn.conv1d %x, %w_ct : tensor<2x3x8xf32>, tensor<4x3x3xf32> -> tensor<2x4x6xf32>
// CHECK-NEXT:   %x_ct = grad.conv1d_input_backward %ct, %w_ct : tensor<2x4x6xf32>, tensor<4x3x3xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:   func.return %w, %ct_ct, %x_ct : tensor<4x3x3xf32>, tensor<2x4x6xf32>, tensor<2x3x8xf32>
// CHECK-NEXT: }
