// RUN: gradir-opt %s -p "gradir-gradient{function=max mode=vjp},gradir-gradient{function=linear mode=vjp},gradir-dce" | filecheck %s

// A maximum chooses places, and its gradient goes there; the others are linear.
func.func @max(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %y = nn.max_pool2d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return %y : tensor<1x2x2x2xf32>
}
func.func @linear(%x: tensor<1x4x3x3xf32>) -> tensor<1x1x2x2xf32> {
  %mean = nn.avg_pool2d %x {kernel = 3, stride = 1, padding = 1} : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
  %small = nn.adaptive_avg_pool2d %mean {size = 2} : tensor<1x4x3x3xf32> -> tensor<1x4x2x2xf32>
  %one = nn.resize2d %small {size = 1, mode = "bilinear"} : tensor<1x4x2x2xf32> -> tensor<1x4x1x1xf32>
  %y = nn.pixel_shuffle %one {factor = 2} : tensor<1x4x1x1xf32> -> tensor<1x1x2x2xf32>
  func.return %y : tensor<1x1x2x2xf32>
}

//      CHECK: func.func @max(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
// CHECK-NEXT:   %y = nn.max_pool2d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   func.return %y : tensor<1x2x2x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @max_vjp(%x: tensor<1x2x4x4xf32>, %y_ct: tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
// CHECK-NEXT:   %y = nn.max_pool2d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   %0 = grad.max_pool2d_indices %x, %y {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32> -> tensor<1x2x2x2xi32>
// CHECK-NEXT:   %x_ct = grad.max_pool2d_backward %y_ct, %0 {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @linear(%x: tensor<1x4x3x3xf32>) -> tensor<1x1x2x2xf32> {
// CHECK-NEXT:   %mean = nn.avg_pool2d %x {kernel = 3, stride = 1, padding = 1} : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
// CHECK-NEXT:   %small = nn.adaptive_avg_pool2d %mean {size = 2} : tensor<1x4x3x3xf32> -> tensor<1x4x2x2xf32>
// CHECK-NEXT:   %one = nn.resize2d %small {size = 1, mode = "bilinear"} : tensor<1x4x2x2xf32> -> tensor<1x4x1x1xf32>
// CHECK-NEXT:   %y = nn.pixel_shuffle %one {factor = 2} : tensor<1x4x1x1xf32> -> tensor<1x1x2x2xf32>
// CHECK-NEXT:   func.return %y : tensor<1x1x2x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @linear_vjp(%x: tensor<1x4x3x3xf32>, %y_ct: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x4x3x3xf32>) {
// CHECK-NEXT:   %mean = nn.avg_pool2d %x {kernel = 3, stride = 1, padding = 1} : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
// CHECK-NEXT:   %small = nn.adaptive_avg_pool2d %mean {size = 2} : tensor<1x4x3x3xf32> -> tensor<1x4x2x2xf32>
// CHECK-NEXT:   %one = nn.resize2d %small {size = 1, mode = "bilinear"} : tensor<1x4x2x2xf32> -> tensor<1x4x1x1xf32>
// CHECK-NEXT:   %y = nn.pixel_shuffle %one {factor = 2} : tensor<1x4x1x1xf32> -> tensor<1x1x2x2xf32>
// CHECK-NEXT:   %0 = array.reshape %y_ct : tensor<1x1x2x2xf32> -> tensor<1x1x1x2x1x2xf32>
// CHECK-NEXT:   %1 = array.permute_dims %0 {axes = [0, 1, 3, 5, 2, 4]} : tensor<1x1x1x2x1x2xf32> -> tensor<1x1x2x2x1x1xf32>
// CHECK-NEXT:   %one_ct = array.reshape %1 : tensor<1x1x2x2x1x1xf32> -> tensor<1x4x1x1xf32>
// CHECK-NEXT:   %small_ct = grad.resize2d_backward %one_ct {size = 1, mode = "bilinear"} : tensor<1x4x1x1xf32> -> tensor<1x4x2x2xf32>
// CHECK-NEXT:   %mean_ct = grad.adaptive_avg_pool2d_backward %small_ct {size = 2} : tensor<1x4x2x2xf32> -> tensor<1x4x3x3xf32>
// CHECK-NEXT:   %x_ct = grad.avg_pool2d_backward %mean_ct {kernel = 3, stride = 1, padding = 1} : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<1x1x2x2xf32>, tensor<1x4x3x3xf32>
// CHECK-NEXT: }
