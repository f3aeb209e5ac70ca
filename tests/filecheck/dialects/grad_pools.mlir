// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @max(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  %places = grad.max_pool2d_indices %x, %y {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32> -> tensor<1x2x2x2xi32>
  %picked = grad.max_pool2d_at %x, %places {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x2x2xf32>
  %spread = grad.max_pool2d_backward %y, %places {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x4x4xf32>
  func.return %picked, %spread : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
}
func.func @other_ranks(%x: tensor<2x4xf32>, %volume: tensor<2x2x2x4xf32>, %at: tensor<2x2xi32>, %deep: tensor<2x1x1x2xi32>) -> (tensor<2x4xf32>, tensor<2x2x2x4xf32>) {
  %one = grad.max_pool1d_at %x, %at {kernel = 2} : tensor<2x4xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
  %first = grad.max_pool1d_backward %one, %at {kernel = 2} : tensor<2x2xf32>, tensor<2x2xi32> -> tensor<2x4xf32>
  %same = grad.max_pool1d_indices %x, %one {kernel = 2} : tensor<2x4xf32>, tensor<2x2xf32> -> tensor<2x2xi32>
  %again = grad.max_pool1d_backward %one, %same {kernel = 2} : tensor<2x2xf32>, tensor<2x2xi32> -> tensor<2x4xf32>
  %three = grad.max_pool3d_at %volume, %deep {kernel = 2} : tensor<2x2x2x4xf32>, tensor<2x1x1x2xi32> -> tensor<2x1x1x2xf32>
  %places = grad.max_pool3d_indices %volume, %three {kernel = 2} : tensor<2x2x2x4xf32>, tensor<2x1x1x2xf32> -> tensor<2x1x1x2xi32>
  %second = grad.max_pool3d_backward %three, %places {kernel = 2} : tensor<2x1x1x2xf32>, tensor<2x1x1x2xi32> -> tensor<2x2x2x4xf32>
  %sum = array.add %first, %again : tensor<2x4xf32>
  func.return %sum, %second : tensor<2x4xf32>, tensor<2x2x2x4xf32>
}
func.func @linear(%line: tensor<2x3xf32>, %image: tensor<2x3x3xf32>, %volume: tensor<1x1x1x3xf32>) -> (tensor<2x6xf32>, tensor<2x6x6xf32>, tensor<1x2x2x6xf32>, tensor<2x4x5xf32>, tensor<2x2x2xf32>) {
  %one = grad.avg_pool1d_backward %line {kernel = 2} : tensor<2x3xf32> -> tensor<2x6xf32>
  %two = grad.avg_pool2d_backward %image {kernel = 2} : tensor<2x3x3xf32> -> tensor<2x6x6xf32>
  %three = grad.avg_pool3d_backward %volume {kernel = 2} : tensor<1x1x1x3xf32> -> tensor<1x2x2x6xf32>
  %adaptive = grad.adaptive_avg_pool2d_backward %image {size = 3} : tensor<2x3x3xf32> -> tensor<2x4x5xf32>
  %resized = grad.resize2d_backward %image {size = 3, mode = "bilinear"} : tensor<2x3x3xf32> -> tensor<2x2x2xf32>
  func.return %one, %two, %three, %adaptive, %resized : tensor<2x6xf32>, tensor<2x6x6xf32>, tensor<1x2x2x6xf32>, tensor<2x4x5xf32>, tensor<2x2x2xf32>
}

//      CHECK: func.func @max(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
// CHECK-NEXT:   %places = grad.max_pool2d_indices %x, %y {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32> -> tensor<1x2x2x2xi32>
// CHECK-NEXT:   %picked = grad.max_pool2d_at %x, %places {kernel = 2} : tensor<1x2x4x4xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   %spread = grad.max_pool2d_backward %y, %places {kernel = 2} : tensor<1x2x2x2xf32>, tensor<1x2x2x2xi32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT:   func.return %picked, %spread : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @other_ranks(%x: tensor<2x4xf32>, %volume: tensor<2x2x2x4xf32>, %at: tensor<2x2xi32>, %deep: tensor<2x1x1x2xi32>) -> (tensor<2x4xf32>, tensor<2x2x2x4xf32>) {
// CHECK-NEXT:   %one = grad.max_pool1d_at %x, %at {kernel = 2} : tensor<2x4xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
// CHECK-NEXT:   %first = grad.max_pool1d_backward %one, %at {kernel = 2} : tensor<2x2xf32>, tensor<2x2xi32> -> tensor<2x4xf32>
// CHECK-NEXT:   %same = grad.max_pool1d_indices %x, %one {kernel = 2} : tensor<2x4xf32>, tensor<2x2xf32> -> tensor<2x2xi32>
// CHECK-NEXT:   %again = grad.max_pool1d_backward %one, %same {kernel = 2} : tensor<2x2xf32>, tensor<2x2xi32> -> tensor<2x4xf32>
// CHECK-NEXT:   %three = grad.max_pool3d_at %volume, %deep {kernel = 2} : tensor<2x2x2x4xf32>, tensor<2x1x1x2xi32> -> tensor<2x1x1x2xf32>
// CHECK-NEXT:   %places = grad.max_pool3d_indices %volume, %three {kernel = 2} : tensor<2x2x2x4xf32>, tensor<2x1x1x2xf32> -> tensor<2x1x1x2xi32>
// CHECK-NEXT:   %second = grad.max_pool3d_backward %three, %places {kernel = 2} : tensor<2x1x1x2xf32>, tensor<2x1x1x2xi32> -> tensor<2x2x2x4xf32>
// CHECK-NEXT:   %sum = array.add %first, %again : tensor<2x4xf32>
// CHECK-NEXT:   func.return %sum, %second : tensor<2x4xf32>, tensor<2x2x2x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @linear(%line: tensor<2x3xf32>, %image: tensor<2x3x3xf32>, %volume: tensor<1x1x1x3xf32>) -> (tensor<2x6xf32>, tensor<2x6x6xf32>, tensor<1x2x2x6xf32>, tensor<2x4x5xf32>, tensor<2x2x2xf32>) {
// CHECK-NEXT:   %one = grad.avg_pool1d_backward %line {kernel = 2} : tensor<2x3xf32> -> tensor<2x6xf32>
// CHECK-NEXT:   %two = grad.avg_pool2d_backward %image {kernel = 2} : tensor<2x3x3xf32> -> tensor<2x6x6xf32>
// CHECK-NEXT:   %three = grad.avg_pool3d_backward %volume {kernel = 2} : tensor<1x1x1x3xf32> -> tensor<1x2x2x6xf32>
// CHECK-NEXT:   %adaptive = grad.adaptive_avg_pool2d_backward %image {size = 3} : tensor<2x3x3xf32> -> tensor<2x4x5xf32>
// CHECK-NEXT:   %resized = grad.resize2d_backward %image {size = 3, mode = "bilinear"} : tensor<2x3x3xf32> -> tensor<2x2x2xf32>
// CHECK-NEXT:   func.return %one, %two, %three, %adaptive, %resized : tensor<2x6xf32>, tensor<2x6x6xf32>, tensor<1x2x2x6xf32>, tensor<2x4x5xf32>, tensor<2x2x2xf32>
// CHECK-NEXT: }
