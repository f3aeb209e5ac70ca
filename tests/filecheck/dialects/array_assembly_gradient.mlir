// RUN: gradir-opt %s -p "gradir-gradient{function=stack mode=vjp},gradir-gradient{function=half mode=vjp},gradir-gradient{function=ends mode=vjp},gradir-gradient{function=roll mode=vjp},gradir-gradient{function=tile mode=vjp}" | filecheck %s

func.func @stack(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2x2xf32> {
  %s = array.stack %x, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  func.return %s : tensor<2x2xf32>
}
// One of the parts is used: zeros around its cotangent.
func.func @half(%x: tensor<6xf32>) -> tensor<2xf32> {
  %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
  func.return %b : tensor<2xf32>
}
func.func @ends(%x: tensor<6xf32>) -> (tensor<1xf32>, tensor<3xf32>) {
  %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
  func.return %a, %c : tensor<1xf32>, tensor<3xf32>
}
func.func @roll(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = array.roll %x {shift = 2, axis = 0} : tensor<6xf32>
  func.return %y : tensor<6xf32>
}
func.func @tile(%x: tensor<3xf32>) -> tensor<6xf32> {
  %y = array.tile %x {repeats = 2} : tensor<3xf32> -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

//      CHECK: func.func @stack(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:   %s = array.stack %x, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2x2xf32>
// CHECK-NEXT:   func.return %s : tensor<2x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @stack_vjp(%x: tensor<2xf32>, %y: tensor<2xf32>, %s_ct: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:   %s = array.stack %x, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2x2xf32>
// CHECK-NEXT:   %0 = array.slice %s_ct {start = [0, 0], stop = [1, 2]} : tensor<2x2xf32> -> tensor<1x2xf32>
// CHECK-NEXT:   %x_ct = array.reshape %0 : tensor<1x2xf32> -> tensor<2xf32>
// CHECK-NEXT:   %1 = array.slice %s_ct {start = [1, 0], stop = [2, 2]} : tensor<2x2xf32> -> tensor<1x2xf32>
// CHECK-NEXT:   %y_ct = array.reshape %1 : tensor<1x2xf32> -> tensor<2xf32>
// CHECK-NEXT:   func.return %s, %x_ct, %y_ct : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @half(%x: tensor<6xf32>) -> tensor<2xf32> {
// CHECK-NEXT:   %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
// CHECK-NEXT:   func.return %b : tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @half_vjp(%x: tensor<6xf32>, %b_ct: tensor<2xf32>) -> (tensor<2xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
// CHECK-NEXT:   %x_ct = array.pad %b_ct {low = [1], high = [3], value = 0.0} : tensor<2xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %b, %x_ct : tensor<2xf32>, tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @ends(%x: tensor<6xf32>) -> (tensor<1xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
// CHECK-NEXT:   func.return %a, %c : tensor<1xf32>, tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @ends_vjp(%x: tensor<6xf32>, %a_ct: tensor<1xf32>, %c_ct: tensor<3xf32>) -> (tensor<1xf32>, tensor<3xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %a, %b, %c = array.split %x {sizes = [1, 2, 3]} : tensor<6xf32> -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<2xf32>
// CHECK-NEXT:   %x_ct = array.concat %a_ct, %0, %c_ct {axis = 0} : tensor<1xf32>, tensor<2xf32>, tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %a, %c, %x_ct : tensor<1xf32>, tensor<3xf32>, tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @roll(%x: tensor<6xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = array.roll %x {shift = 2, axis = 0} : tensor<6xf32>
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @roll_vjp(%x: tensor<6xf32>, %y_ct: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %y = array.roll %x {shift = 2, axis = 0} : tensor<6xf32>
// CHECK-NEXT:   %x_ct = array.roll %y_ct {shift = [-2], axis = 0} : tensor<6xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<6xf32>, tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @tile(%x: tensor<3xf32>) -> tensor<6xf32> {
// CHECK-NEXT:   %y = array.tile %x {repeats = 2} : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %y : tensor<6xf32>
// CHECK-NEXT: }
//      CHECK: func.func @tile_vjp(%x: tensor<3xf32>, %y_ct: tensor<6xf32>) -> (tensor<6xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %y = array.tile %x {repeats = 2} : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   %0 = array.reshape %y_ct : tensor<6xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %x_ct = array.sum %0 {axis = [0]} : tensor<2x3xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<6xf32>, tensor<3xf32>
// CHECK-NEXT: }
