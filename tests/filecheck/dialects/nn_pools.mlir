// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @max(%x: tensor<2x3x8xf32>, %image: tensor<1x2x5x6xf32>, %volume: tensor<2x4x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x4x4x6xf32>, tensor<2x3x4x4xf32>) {
  %one = nn.max_pool1d %x {kernel = 2} : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
  %two = nn.max_pool2d %image {kernel = [3, 2], stride = 2, padding = [1, 0]} : tensor<1x2x5x6xf32> -> tensor<1x2x3x3xf32>
  %last = nn.max_pool2d %image {kernel = [1, 2], stride = 1, dilation = 2, padding = [0, 0, 0, 1], ceil_mode = true, layout = "NHWC"} : tensor<1x2x5x6xf32> -> tensor<1x2x4x6xf32>
  %padded = array.pad %last {low = [0, 1, 0, 0], high = [0, 1, 0, 0], value = 0.0} : tensor<1x2x4x6xf32> -> tensor<1x4x4x6xf32>
  %three = nn.max_pool3d %volume {kernel = [2, 1, 1], stride = 1} : tensor<2x4x4x4xf32> -> tensor<2x3x4x4xf32>
  func.return %one, %two, %padded, %three : tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x4x4x6xf32>, tensor<2x3x4x4xf32>
}
func.func @average(%x: tensor<2x3x8xf32>, %image: tensor<1x2x5x6xf32>, %volume: tensor<2x4x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<2x3x4x4xf32>, tensor<1x2x2x3xf32>) {
  %one = nn.avg_pool1d %x {kernel = array<i64: 2>} : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
  %two = nn.avg_pool2d %image {kernel = 3, stride = 2, padding = [1, 0], ceil_mode = true, count_include_pad = false} : tensor<1x2x5x6xf32> -> tensor<1x2x3x3xf32>
  %three = nn.avg_pool3d %volume {kernel = [2, 1, 1], stride = 1} : tensor<2x4x4x4xf32> -> tensor<2x3x4x4xf32>
  %adaptive = nn.adaptive_avg_pool2d %image {size = [2, 3]} : tensor<1x2x5x6xf32> -> tensor<1x2x2x3xf32>
  func.return %one, %two, %three, %adaptive : tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<2x3x4x4xf32>, tensor<1x2x2x3xf32>
}
func.func @resized(%x: tensor<1x4x2x3xf32>) -> (tensor<1x4x4x6xf32>, tensor<1x4x5x2xf32>, tensor<1x6x1x3xf32>, tensor<1x1x4x6xf32>) {
  %nearest = nn.resize2d %x {size = [4, 6]} : tensor<1x4x2x3xf32> -> tensor<1x4x4x6xf32>
  %bilinear = nn.resize2d %x {size = [5, 2], mode = "bilinear"} : tensor<1x4x2x3xf32> -> tensor<1x4x5x2xf32>
  %last = nn.resize2d %x {size = [6, 1], layout = "NHWC"} : tensor<1x4x2x3xf32> -> tensor<1x6x1x3xf32>
  %shuffled = nn.pixel_shuffle %x {factor = 2} : tensor<1x4x2x3xf32> -> tensor<1x1x4x6xf32>
  func.return %nearest, %bilinear, %last, %shuffled : tensor<1x4x4x6xf32>, tensor<1x4x5x2xf32>, tensor<1x6x1x3xf32>, tensor<1x1x4x6xf32>
}

//      CHECK: func.func @max(%x: tensor<2x3x8xf32>, %image: tensor<1x2x5x6xf32>, %volume: tensor<2x4x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x4x4x6xf32>, tensor<2x3x4x4xf32>) {
// CHECK-NEXT:   %one = nn.max_pool1d %x {kernel = 2} : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:   %two = nn.max_pool2d %image {kernel = [3, 2], stride = 2, padding = [1, 0]} : tensor<1x2x5x6xf32> -> tensor<1x2x3x3xf32>
// CHECK-NEXT:   %last = nn.max_pool2d %image {kernel = [1, 2], stride = 1, dilation = 2, padding = [0, 0, 0, 1], ceil_mode = true, layout = "NHWC"} : tensor<1x2x5x6xf32> -> tensor<1x2x4x6xf32>
// CHECK-NEXT:   %padded = array.pad %last {low = [0, 1, 0, 0], high = [0, 1, 0, 0], value = 0.0} : tensor<1x2x4x6xf32> -> tensor<1x4x4x6xf32>
// CHECK-NEXT:   %three = nn.max_pool3d %volume {kernel = [2, 1, 1], stride = 1} : tensor<2x4x4x4xf32> -> tensor<2x3x4x4xf32>
// CHECK-NEXT:   func.return %one, %two, %padded, %three : tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x4x4x6xf32>, tensor<2x3x4x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @average(%x: tensor<2x3x8xf32>, %image: tensor<1x2x5x6xf32>, %volume: tensor<2x4x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<2x3x4x4xf32>, tensor<1x2x2x3xf32>) {
// CHECK-NEXT:   %one = nn.avg_pool1d %x {kernel = array<i64: 2>} : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:   %two = nn.avg_pool2d %image {kernel = 3, stride = 2, padding = [1, 0], ceil_mode = true, count_include_pad = false} : tensor<1x2x5x6xf32> -> tensor<1x2x3x3xf32>
// CHECK-NEXT:   %three = nn.avg_pool3d %volume {kernel = [2, 1, 1], stride = 1} : tensor<2x4x4x4xf32> -> tensor<2x3x4x4xf32>
// CHECK-NEXT:   %adaptive = nn.adaptive_avg_pool2d %image {size = [2, 3]} : tensor<1x2x5x6xf32> -> tensor<1x2x2x3xf32>
// CHECK-NEXT:   func.return %one, %two, %three, %adaptive : tensor<2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<2x3x4x4xf32>, tensor<1x2x2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @resized(%x: tensor<1x4x2x3xf32>) -> (tensor<1x4x4x6xf32>, tensor<1x4x5x2xf32>, tensor<1x6x1x3xf32>, tensor<1x1x4x6xf32>) {
// CHECK-NEXT:   %nearest = nn.resize2d %x {size = [4, 6]} : tensor<1x4x2x3xf32> -> tensor<1x4x4x6xf32>
// CHECK-NEXT:   %bilinear = nn.resize2d %x {size = [5, 2], mode = "bilinear"} : tensor<1x4x2x3xf32> -> tensor<1x4x5x2xf32>
// CHECK-NEXT:   %last = nn.resize2d %x {size = [6, 1], layout = "NHWC"} : tensor<1x4x2x3xf32> -> tensor<1x6x1x3xf32>
// CHECK-NEXT:   %shuffled = nn.pixel_shuffle %x {factor = 2} : tensor<1x4x2x3xf32> -> tensor<1x1x4x6xf32>
// CHECK-NEXT:   func.return %nearest, %bilinear, %last, %shuffled : tensor<1x4x4x6xf32>, tensor<1x4x5x2xf32>, tensor<1x6x1x3xf32>, tensor<1x1x4x6xf32>
// CHECK-NEXT: }
