// RUN: gradir-opt %s -p "gradir-gradient{function=prod mode=grad},gradir-gradient{function=pow mode=grad wrt=0},gradir-gradient{function=norm mode=grad}" | filecheck %s

// The product of the others: of pairs the partner, times that of the other pairs.
func.func @prod(%x: tensor<3xf32>) -> tensor<f32> {
  %y = array.prod %x : tensor<3xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @pow(%x: tensor<f32>, %n: tensor<f32>) -> tensor<f32> {
  %y = array.pow %x, %n : tensor<f32>
  func.return %y : tensor<f32>
}
func.func @norm(%x: tensor<3xf32>) -> tensor<f32> {
  %y = array.norm %x : tensor<3xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}

//      CHECK: func.func @prod(%x: tensor<3xf32>) -> tensor<f32> {
// CHECK-NEXT:   %y = array.prod %x : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @prod_grad(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT:   %y = array.prod %x : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   %0 = array.reshape %x : tensor<3xf32> -> tensor<1x3x1xf32>
// CHECK-NEXT:   %1 = array.pad %0 {low = [0, 0, 0], high = [0, 1, 0], value = 1.0} : tensor<1x3x1xf32> -> tensor<1x4x1xf32>
// CHECK-NEXT:   %2 = array.reshape %1 : tensor<1x4x1xf32> -> tensor<1x2x2x1xf32>
// CHECK-NEXT:   %3 = array.flip %2 {axis = 1} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
// CHECK-NEXT:   %4 = array.prod %2 {axis = 1} : tensor<1x2x2x1xf32> -> tensor<1x2x1xf32>
// CHECK-NEXT:   %5 = array.reshape %4 : tensor<1x2x1xf32> -> tensor<1x2x1x1xf32>
// CHECK-NEXT:   %6 = array.flip %5 {axis = 1} : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
// CHECK-NEXT:   %7 = array.reshape %6 : tensor<1x2x1x1xf32> -> tensor<1x1x2x1xf32>
// CHECK-NEXT:   %8 = array.broadcast_to %7 : tensor<1x1x2x1xf32> -> tensor<1x2x2x1xf32>
// CHECK-NEXT:   %9 = array.multiply %3, %8 : tensor<1x2x2x1xf32>
// CHECK-NEXT:   %10 = array.reshape %9 : tensor<1x2x2x1xf32> -> tensor<1x4x1xf32>
// CHECK-NEXT:   %11 = array.slice %10 {stop = [1, 3, 1]} : tensor<1x4x1xf32> -> tensor<1x3x1xf32>
// CHECK-NEXT:   %x_ct = array.reshape %11 : tensor<1x3x1xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @pow(%x: tensor<f32>, %n: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:   %y = array.pow %x, %n : tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @pow_grad(%x: tensor<f32>, %n: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   %y = array.pow %x, %n : tensor<f32>
// CHECK-NEXT:   %y_ct = array.full {value = 1.0} : tensor<f32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<f32>
// CHECK-NEXT:   %1 = array.equal %n, %0 : tensor<f32>, tensor<f32> -> tensor<i1>
// CHECK-NEXT:   %2 = array.abs %x : tensor<f32>
// CHECK-NEXT:   %3 = array.full {value = 1.1754943508222875e-38} : tensor<f32>
// CHECK-NEXT:   %4 = array.less %2, %3 : tensor<f32>, tensor<f32> -> tensor<i1>
// CHECK-NEXT:   %5 = array.logical_and %1, %4 : tensor<i1>
// CHECK-NEXT:   %6 = array.subtract %n, %y_ct : tensor<f32>
// CHECK-NEXT:   %7 = array.where %5, %y_ct, %6 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK-NEXT:   %8 = array.pow %x, %7 : tensor<f32>
// CHECK-NEXT:   %x_ct = array.multiply %n, %8 : tensor<f32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f32>, tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @norm(%x: tensor<3xf32>) -> tensor<f32> {
// CHECK-NEXT:   %y = array.norm %x : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @norm_grad(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT:   %y = array.norm %x : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   %0 = array.reshape %y : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %1 = array.broadcast_to %0 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %2 = array.divide %x, %1 : tensor<3xf32>
// CHECK-NEXT:   %3 = array.full {value = 0.0} : tensor<3xf32>
// CHECK-NEXT:   %4 = array.not_equal %1, %3 : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
// CHECK-NEXT:   %x_ct = grad.gate %2, %4, %3 {smooth = false} : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
