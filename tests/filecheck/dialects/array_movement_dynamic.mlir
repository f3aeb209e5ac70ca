// RUN: gradir-opt %s -p "gradir-simplify" | filecheck %s
// RUN: GRADIR_ROUNDTRIP

// Extents that are not known stay so, and nothing is taken for an identity because of them.
func.func @assembly(%x: tensor<?x3xf32>) -> (tensor<2x?x3xf32>, tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x6xf32>, tensor<?xf32>, tensor<?x5xf32>) {
  %stack = array.stack %x, %x : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<2x?x3xf32>
  %a, %b = array.split %x {axis = 1, sizes = [1, 2]} : tensor<?x3xf32> -> (tensor<?x1xf32>, tensor<?x2xf32>)
  %roll = array.roll %x {shift = 1, axis = 0} : tensor<?x3xf32>
  %tile = array.tile %roll {repeats = [2, 2]} : tensor<?x3xf32> -> tensor<?x6xf32>
  %repeat = array.repeat %x {count = 2} : tensor<?x3xf32> -> tensor<?xf32>
  %pad = array.pad %x {low = [1, 1], high = [2, 1], mode = "reflect"} : tensor<?x3xf32> -> tensor<?x5xf32>
  func.return %stack, %a, %b, %roll, %tile, %repeat, %pad : tensor<2x?x3xf32>, tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x6xf32>, tensor<?xf32>, tensor<?x5xf32>
}
func.func @places(%x: tensor<?x3xf32>, %i: tensor<?x1xi64>, %s: tensor<i64>) -> (tensor<?xf32>, tensor<f32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<2x1xf32>, tensor<?x1x4xf32>) {
  %diagonal = array.diagonal %x : tensor<?x3xf32> -> tensor<?xf32>
  %trace = array.trace %x : tensor<?x3xf32> -> tensor<f32>
  %tril = array.tril %x : tensor<?x3xf32>
  %gather = array.gather_nd %tril, %i : tensor<?x3xf32>, tensor<?x1xi64> -> tensor<?x3xf32>
  %scatter = array.scatter_nd_add %x, %i, %gather : tensor<?x3xf32>, tensor<?x1xi64>, tensor<?x3xf32> -> tensor<?x3xf32>
  %slice = array.dynamic_slice %x, %s, %s {sizes = [2, 1]} : tensor<?x3xf32>, tensor<i64>, tensor<i64> -> tensor<2x1xf32>
  %update = array.dynamic_update_slice %scatter, %slice, %s, %s : tensor<?x3xf32>, tensor<2x1xf32>, tensor<i64>, tensor<i64> -> tensor<?x3xf32>
  %hot = array.one_hot %i {depth = 4} : tensor<?x1xi64> -> tensor<?x1x4xf32>
  func.return %diagonal, %trace, %gather, %update, %slice, %hot : tensor<?xf32>, tensor<f32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<2x1xf32>, tensor<?x1x4xf32>
}

//      CHECK: func.func @assembly(%x: tensor<?x3xf32>) -> (tensor<2x?x3xf32>, tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x6xf32>, tensor<?xf32>, tensor<?x5xf32>) {
// CHECK-NEXT:   %stack = array.stack %x, %x : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<2x?x3xf32>
// CHECK-NEXT:   %a, %b = array.split %x {axis = 1, sizes = [1, 2]} : tensor<?x3xf32> -> (tensor<?x1xf32>, tensor<?x2xf32>)
// CHECK-NEXT:   %roll = array.roll %x {shift = 1, axis = 0} : tensor<?x3xf32>
// CHECK-NEXT:   %tile = array.tile %roll {repeats = [2, 2]} : tensor<?x3xf32> -> tensor<?x6xf32>
// CHECK-NEXT:   %repeat = array.repeat %x {count = 2} : tensor<?x3xf32> -> tensor<?xf32>
// CHECK-NEXT:   %pad = array.pad %x {low = [1, 1], high = [2, 1], mode = "reflect"} : tensor<?x3xf32> -> tensor<?x5xf32>
// CHECK-NEXT:   func.return %stack, %a, %b, %roll, %tile, %repeat, %pad : tensor<2x?x3xf32>, tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x6xf32>, tensor<?xf32>, tensor<?x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @places(%x: tensor<?x3xf32>, %i: tensor<?x1xi64>, %s: tensor<i64>) -> (tensor<?xf32>, tensor<f32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<2x1xf32>, tensor<?x1x4xf32>) {
// CHECK-NEXT:   %diagonal = array.diagonal %x : tensor<?x3xf32> -> tensor<?xf32>
// CHECK-NEXT:   %trace = array.trace %x : tensor<?x3xf32> -> tensor<f32>
// CHECK-NEXT:   %tril = array.tril %x : tensor<?x3xf32>
// CHECK-NEXT:   %gather = array.gather_nd %tril, %i : tensor<?x3xf32>, tensor<?x1xi64> -> tensor<?x3xf32>
// CHECK-NEXT:   %scatter = array.scatter_nd_add %x, %i, %gather : tensor<?x3xf32>, tensor<?x1xi64>, tensor<?x3xf32> -> tensor<?x3xf32>
// CHECK-NEXT:   %slice = array.dynamic_slice %x, %s, %s {sizes = [2, 1]} : tensor<?x3xf32>, tensor<i64>, tensor<i64> -> tensor<2x1xf32>
// CHECK-NEXT:   %update = array.dynamic_update_slice %scatter, %slice, %s, %s : tensor<?x3xf32>, tensor<2x1xf32>, tensor<i64>, tensor<i64> -> tensor<?x3xf32>
// CHECK-NEXT:   %hot = array.one_hot %i {depth = 4} : tensor<?x1xi64> -> tensor<?x1x4xf32>
// CHECK-NEXT:   func.return %diagonal, %trace, %gather, %update, %slice, %hot : tensor<?xf32>, tensor<f32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<2x1xf32>, tensor<?x1x4xf32>
// CHECK-NEXT: }
