// RUN: gradir-opt %s -p "gradir-gradient{function=edge mode=vjp},gradir-gradient{function=reflect mode=vjp}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=edge mode=vjp},gradir-gradient{function=reflect mode=vjp}" --print-op-generic | gradir-opt | filecheck %s

func.func @edge(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
  %y = array.pad %x {low = [0, 1], high = [0, 2], mode = "edge"} : tensor<3x4xf32> -> tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}
func.func @reflect(%x: tensor<4xf32>) -> tensor<6xf32> {
  %y = array.pad %x {low = [0], high = [2], mode = "reflect"} : tensor<4xf32> -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

//      CHECK: func.func @edge(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
// CHECK-NEXT:   %y = array.pad %x {low = [0, 1], high = [0, 2], mode = "edge"} : tensor<3x4xf32> -> tensor<3x7xf32>
// CHECK-NEXT:   func.return %y : tensor<3x7xf32>
// CHECK-NEXT: }
//      CHECK: func.func @edge_vjp(%x: tensor<3x4xf32>, %y_ct: tensor<3x7xf32>) -> (tensor<3x7xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:   %y = array.pad %x {low = [0, 1], high = [0, 2], mode = "edge"} : tensor<3x4xf32> -> tensor<3x7xf32>
// CHECK-NEXT:   %0 = array.slice %y_ct {start = [0, 0], stop = [3, 2]} : tensor<3x7xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %1 = array.sum %0 {axis = 1, keepdims = true} : tensor<3x2xf32> -> tensor<3x1xf32>
// CHECK-NEXT:   %2 = array.slice %y_ct {start = [0, 4], stop = [3, 7]} : tensor<3x7xf32> -> tensor<3x3xf32>
// CHECK-NEXT:   %3 = array.sum %2 {axis = 1, keepdims = true} : tensor<3x3xf32> -> tensor<3x1xf32>
// CHECK-NEXT:   %4 = array.slice %y_ct {start = [0, 2], stop = [3, 4]} : tensor<3x7xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %x_ct = array.concat %1, %4, %3 {axis = 1} : tensor<3x1xf32>, tensor<3x2xf32>, tensor<3x1xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<3x7xf32>, tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reflect(%x: tensor<4xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = array.pad %x {low = [0], high = [2], mode = "reflect"} : tensor<4xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reflect_vjp(%x: tensor<4xf32>, %y_ct: tensor<6xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %y = array.pad %x {low = [0], high = [2], mode = "reflect"} : tensor<4xf32> -> tensor<6xf32>
// CHECK-NEXT:   %0 = array.slice %y_ct {start = [0], stop = [4]} : tensor<6xf32> -> tensor<4xf32>
// CHECK-NEXT:   %1 = array.slice %y_ct {start = [4], stop = [6]} : tensor<6xf32> -> tensor<2xf32>
// CHECK-NEXT:   %2 = array.flip %1 {axis = 0} : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:   %3 = array.pad %2 {low = [1], high = [1], value = 0.0} : tensor<2xf32> -> tensor<4xf32>
// CHECK-NEXT:   %x_ct = array.add %0, %3 : tensor<4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<6xf32>, tensor<4xf32>
// CHECK-NEXT: }
