// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @shapes(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>) {
  %reshape = array.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %permute = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>
  %broadcast = array.broadcast_to %x : tensor<2x3xf32> -> tensor<4x2x3xf32>
  %expand = array.expand_dims %x {axis = [0, 2]} : tensor<2x3xf32> -> tensor<1x2x1x3xf32>
  %squeeze = array.squeeze %expand {axis = [0, 2]} : tensor<1x2x1x3xf32> -> tensor<2x3xf32>
  %squeeze_all = array.squeeze %expand : tensor<1x2x1x3xf32> -> tensor<2x3xf32>
  %sum = array.add %squeeze, %squeeze_all : tensor<2x3xf32>
  func.return %reshape, %permute, %broadcast, %sum : tensor<6xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>
}
func.func @places(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<5x7xf32>, tensor<4x15xf32>) {
  %flip = array.flip %x {axis = 1} : tensor<4x5xf32> -> tensor<4x5xf32>
  %flip_all = array.flip %x : tensor<4x5xf32> -> tensor<4x5xf32>
  %slice = array.slice %x {start = [0, 1], stop = [-1, 5], step = [2, 3]} : tensor<4x5xf32> -> tensor<2x2xf32>
  %pad = array.pad %x {low = [1, 0], high = [0, 2], value = -1.5} : tensor<4x5xf32> -> tensor<5x7xf32>
  %concat = array.concat %x, %flip, %x {axis = 1} : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x15xf32>
  func.return %flip, %flip_all, %slice, %pad, %concat : tensor<4x5xf32>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<5x7xf32>, tensor<4x15xf32>
}

//      CHECK: func.func @shapes(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %reshape = array.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT:   %permute = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %broadcast = array.broadcast_to %x : tensor<2x3xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:   %expand = array.expand_dims %x {axis = [0, 2]} : tensor<2x3xf32> -> tensor<1x2x1x3xf32>
// CHECK-NEXT:   %squeeze = array.squeeze %expand {axis = [0, 2]} : tensor<1x2x1x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %squeeze_all = array.squeeze %expand : tensor<1x2x1x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %sum = array.add %squeeze, %squeeze_all : tensor<2x3xf32>
// CHECK-NEXT:   func.return %reshape, %permute, %broadcast, %sum : tensor<6xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @places(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<5x7xf32>, tensor<4x15xf32>) {
// CHECK-NEXT:   %flip = array.flip %x {axis = 1} : tensor<4x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %flip_all = array.flip %x : tensor<4x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %slice = array.slice %x {start = [0, 1], stop = [-1, 5], step = [2, 3]} : tensor<4x5xf32> -> tensor<2x2xf32>
// CHECK-NEXT:   %pad = array.pad %x {low = [1, 0], high = [0, 2], value = -1.5} : tensor<4x5xf32> -> tensor<5x7xf32>
// CHECK-NEXT:   %concat = array.concat %x, %flip, %x {axis = 1} : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x15xf32>
// CHECK-NEXT:   func.return %flip, %flip_all, %slice, %pad, %concat : tensor<4x5xf32>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<5x7xf32>, tensor<4x15xf32>
// CHECK-NEXT: }
