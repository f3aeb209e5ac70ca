// RUN: gradir-opt %s -p "gradir-simplify" | filecheck %s

// x * 1, 1 * x, x / 1 are x; x + 0 stays, since it turns -0 into 0; x * 0 stays, since it may be nan.
func.func @identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = array.full {value = 1.0} : tensor<4xf32>
  %zero = array.full {value = 0.0} : tensor<4xf32>
  %scalar = array.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %ones = array.broadcast_to %scalar : tensor<f32> -> tensor<4xf32>
  %a = array.multiply %x, %one : tensor<4xf32>
  %b = array.multiply %ones, %x : tensor<4xf32>
  %c = array.divide %x, %one : tensor<4xf32>
  %d = array.add %x, %zero : tensor<4xf32>
  %e = array.multiply %x, %zero : tensor<4xf32>
  func.return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// Movements combine, and vanish where they move nothing.
func.func @movements(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %t = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>
  %a = array.permute_dims %t {axes = [1, 0]} : tensor<3x2xf32> -> tensor<2x3xf32>
  %r = array.reshape %x : tensor<2x3xf32> -> tensor<1x6xf32>
  %b = array.reshape %r : tensor<1x6xf32> -> tensor<3x2xf32>
  %c = array.reshape %b : tensor<3x2xf32> -> tensor<6xf32>
  %d = array.slice %x {start = [0, 0], stop = [2, 3]} : tensor<2x3xf32> -> tensor<2x3xf32>
  %e = array.pad %x {low = [0, 0], high = [0, 0], value = 2.0} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %a, %b, %c, %d, %e : tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// A constant is made in its last shape; sums over no axes and conversions to the same type vanish.
func.func @constants(%x: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = array.full {value = 3.0} : tensor<1x4xf32>
  %b = array.broadcast_to %c : tensor<1x4xf32> -> tensor<2x4xf32>
  %s = array.sum %x {axis = []} : tensor<4xf32> -> tensor<4xf32>
  %t = array.astype %s : tensor<4xf32> -> tensor<4xf32>
  %n = array.negative %x : tensor<4xf32>
  %m = array.negative %n : tensor<4xf32>
  %e = array.expand_dims %x {axis = 0} : tensor<4xf32> -> tensor<1x4xf32>
  %f = array.squeeze %e {axis = 0} : tensor<1x4xf32> -> tensor<4xf32>
  func.return %b, %t, %m, %f : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// Sums of zeros alone are a zero; next to anything else a zero stays, as -0 + 0 is 0.
func.func @zeros(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = grad.zero : tensor<4xf32>
  %a = grad.accumulate %x, %zero, %y : tensor<4xf32>
  %b = grad.accumulate %zero, %x : tensor<4xf32>
  %c = grad.accumulate %zero, %zero : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// A choice of new rows or old ones is one of rows, where one value decides, and the new version has no other reader.
func.func @rows(%x: tensor<9x2xf32>, %i: tensor<3xi64>, %v: tensor<3x2xf32>, %c: tensor<i1>, %d: tensor<9x2xi1>) -> (tensor<9x2xf32>, tensor<9x2xf32>) {
  %y = array.index_update %x, %i, %v : tensor<9x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<9x2xf32>
  %all = array.broadcast_to %c : tensor<i1> -> tensor<9x2xi1>
  %a = array.where %all, %y, %x : tensor<9x2xi1>, tensor<9x2xf32>, tensor<9x2xf32> -> tensor<9x2xf32>
  %z = array.index_update %a, %i, %v : tensor<9x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<9x2xf32>
  %b = array.where %d, %z, %a : tensor<9x2xi1>, tensor<9x2xf32>, tensor<9x2xf32> -> tensor<9x2xf32>
  func.return %a, %b : tensor<9x2xf32>, tensor<9x2xf32>
}
// A choice by a condition is not made again of what it chose; a gate is not put before itself.
func.func @choices(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = array.full {value = 0.0} : tensor<4xf32>
  %a = array.where %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = array.where %c, %a, %z : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = array.where %c, %z, %a : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %g = grad.gate %x, %c, %zero : tensor<4xf32>, tensor<4xi1>, tensor<4xf32> -> tensor<4xf32>
  %h = grad.gate %g, %c, %zero : tensor<4xf32>, tensor<4xi1>, tensor<4xf32> -> tensor<4xf32>
  %k = grad.gate %g, %c, %zero {smooth = false} : tensor<4xf32>, tensor<4xi1>, tensor<4xf32> -> tensor<4xf32>
  func.return %b, %d, %h, %k : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//      CHECK: func.func @identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %zero = array.full {value = 0.0} : tensor<4xf32>
// CHECK-NEXT:   %d = array.add %x, %zero : tensor<4xf32>
// CHECK-NEXT:   %e = array.multiply %x, %zero : tensor<4xf32>
// CHECK-NEXT:   func.return %x, %x, %x, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @movements(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %b = array.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %c = array.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %x, %b, %c, %x, %x : tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @constants(%x: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %b = array.full {value = 3.0} : tensor<2x4xf32>
// CHECK-NEXT:   %e = array.expand_dims %x {axis = 0} : tensor<4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:   %f = array.squeeze %e {axis = 0} : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:   func.return %b, %x, %x, %f : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @zeros(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %zero = grad.zero : tensor<4xf32>
// CHECK-NEXT:   %a = grad.accumulate %x, %zero, %y : tensor<4xf32>
// CHECK-NEXT:   %b = grad.accumulate %zero, %x : tensor<4xf32>
// CHECK-NEXT:   func.return %a, %b, %zero : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @rows(%x: tensor<9x2xf32>, %i: tensor<3xi64>, %v: tensor<3x2xf32>, %c: tensor<i1>, %d: tensor<9x2xi1>) -> (tensor<9x2xf32>, tensor<9x2xf32>) {
// CHECK-NEXT:   %0 = array.broadcast_to %c : tensor<i1> -> tensor<3x2xi1>
// CHECK-NEXT:   %1 = array.take %x, %i {axis = 0, gradir.source = "array.index_update"} : tensor<9x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
// CHECK-NEXT:   %2 = array.where %0, %v, %1 : tensor<3x2xi1>, tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %a = array.index_update %x, %i, %2 {axis = 0, gradir.source = "array.index_update"} : tensor<9x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<9x2xf32>
// CHECK-NEXT:   %z = array.index_update %a, %i, %v : tensor<9x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<9x2xf32>
// CHECK-NEXT:   %b = array.where %d, %z, %a : tensor<9x2xi1>, tensor<9x2xf32>, tensor<9x2xf32> -> tensor<9x2xf32>
// CHECK-NEXT:   func.return %a, %b : tensor<9x2xf32>, tensor<9x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @choices(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %zero = array.full {value = 0.0} : tensor<4xf32>
// CHECK-NEXT:   %b = array.where %c, %x, %z : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %d = array.where %c, %z, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %g = grad.gate %x, %c, %zero : tensor<4xf32>, tensor<4xi1>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %k = grad.gate %g, %c, %zero {smooth = false} : tensor<4xf32>, tensor<4xi1>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   func.return %b, %d, %g, %k : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
