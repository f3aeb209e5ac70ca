// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s

func.func @softmax(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = nn.softmax %x : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func @logsumexp(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %y = array.logsumexp %x {axis = 1} : tensor<4x3xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @linear(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %y = nn.linear %x, %w, %b : tensor<4x3xf32>, tensor<5x3xf32>, tensor<5xf32> -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}
// Half precision is computed in single precision, and rounded once.
func.func @mean(%x: tensor<4x3xf16>) -> tensor<f16> {
  %y = array.mean %x : tensor<4x3xf16> -> tensor<f16>
  func.return %y : tensor<f16>
}
func.func @nll_loss(%x: tensor<4x3xf32>, %t: tensor<4xi64>) -> tensor<f32> {
  %y = nn.nll_loss %x, %t {reduction = "sum", ignore_index = 2} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return %y : tensor<f32>
}

//      CHECK: func.func @softmax(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT:   %0 = array.max %x {axis = 1, keepdims = true} : tensor<4x3xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %1 = array.broadcast_to %0 : tensor<4x1xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %2 = array.subtract %x, %1 : tensor<4x3xf32>
// CHECK-NEXT:   %3 = array.exp %2 : tensor<4x3xf32>
// CHECK-NEXT:   %4 = array.sum %3 {axis = 1, keepdims = true} : tensor<4x3xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %5 = array.broadcast_to %4 : tensor<4x1xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %y = array.divide %3, %5 : tensor<4x3xf32>
// CHECK-NEXT:   func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @logsumexp(%x: tensor<4x3xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %0 = array.max %x {axis = [1], keepdims = false} : tensor<4x3xf32> -> tensor<4xf32>
// CHECK-NEXT:   %1 = array.abs %0 : tensor<4xf32>
// CHECK-NEXT:   %2 = array.full {value = 0x7ff0000000000000 : f64} : tensor<4xf32>
// CHECK-NEXT:   %3 = array.less %1, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %4 = array.full {value = 0.0} : tensor<4xf32>
// CHECK-NEXT:   %5 = array.where %3, %0, %4 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %6 = array.reshape %5 : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %7 = array.broadcast_to %6 : tensor<4x1xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %8 = array.subtract %x, %7 : tensor<4x3xf32>
// CHECK-NEXT:   %9 = array.exp %8 : tensor<4x3xf32>
// CHECK-NEXT:   %10 = array.sum %9 {axis = 1} : tensor<4x3xf32> -> tensor<4xf32>
// CHECK-NEXT:   %11 = array.log %10 : tensor<4xf32>
// CHECK-NEXT:   %y = array.add %11, %5 : tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @linear(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %0 = array.permute_dims %w {axes = [1, 0]} : tensor<5x3xf32> -> tensor<3x5xf32>
// CHECK-NEXT:   %1 = array.matmul %x, %0 : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %2 = array.broadcast_to %b : tensor<5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %y = array.add %1, %2 : tensor<4x5xf32>
// CHECK-NEXT:   func.return %y : tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @mean(%x: tensor<4x3xf16>) -> tensor<f16> {
// CHECK-NEXT:   %0 = array.astype %x : tensor<4x3xf16> -> tensor<4x3xf32>
// CHECK-NEXT:   %1 = array.sum %0 : tensor<4x3xf32> -> tensor<f32>
// CHECK-NEXT:   %2 = array.full {value = 12.0} : tensor<f32>
// CHECK-NEXT:   %3 = array.divide %1, %2 : tensor<f32>
// CHECK-NEXT:   %y = array.astype %3 : tensor<f32> -> tensor<f16>
// CHECK-NEXT:   func.return %y : tensor<f16>
// CHECK-NEXT: }
//      CHECK: func.func @nll_loss(%x: tensor<4x3xf32>, %t: tensor<4xi64>) -> tensor<f32> {
// CHECK-NEXT:   %0 = array.full {value = 2} : tensor<4xi64>
// CHECK-NEXT:   %1 = array.not_equal %t, %0 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// CHECK-NEXT:   %2 = array.full {value = 0} : tensor<4xi64>
// CHECK-NEXT:   %3 = array.where %1, %t, %2 : tensor<4xi1>, tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
// CHECK-NEXT:   %4 = grad.class_index %3 {classes = 3, gradir.source = "nn.nll_loss"} : tensor<4xi64> -> tensor<4xi64>
// CHECK-NEXT:   %5 = array.astype %1 : tensor<4xi1> -> tensor<4xf32>
// CHECK-NEXT:   %6 = array.reshape %4 : tensor<4xi64> -> tensor<4x1xi64>
// CHECK-NEXT:   %7 = array.take_along_axis %x, %6 {axis = 1, gradir.source = "nn.nll_loss"} : tensor<4x3xf32>, tensor<4x1xi64> -> tensor<4x1xf32>
// CHECK-NEXT:   %8 = array.reshape %7 : tensor<4x1xf32> -> tensor<4xf32>
// CHECK-NEXT:   %9 = array.multiply %8, %5 : tensor<4xf32>
// CHECK-NEXT:   %10 = array.full {value = -1.0} : tensor<4xf32>
// CHECK-NEXT:   %11 = array.multiply %9, %10 : tensor<4xf32>
// CHECK-NEXT:   %12 = array.full {value = 0.0} : tensor<4xf32>
// CHECK-NEXT:   %13 = array.where %1, %11, %12 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %y = array.sum %13 : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
