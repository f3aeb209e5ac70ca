// RUN: gradir-opt %s -p "gradir-gradient{function=gather mode=vjp},gradir-gradient{function=scatter mode=vjp},gradir-gradient{function=update mode=vjp},gradir-gradient{function=update_one mode=vjp}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=gather mode=vjp},gradir-gradient{function=scatter mode=vjp},gradir-gradient{function=update mode=vjp},gradir-gradient{function=update_one mode=vjp}" --print-op-generic | gradir-opt | filecheck %s

func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<3x5x1xi64>) -> tensor<3x5x2xf32> {
  %y = array.gather_nd %x, %i {batch_dims = 1} : tensor<3x4x2xf32>, tensor<3x5x1xi64> -> tensor<3x5x2xf32>
  func.return %y : tensor<3x5x2xf32>
}
func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5xf32>) -> tensor<3x4xf32> {
  %y = array.scatter_nd_add %x, %i, %u : tensor<3x4xf32>, tensor<5x2xi32>, tensor<5xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
// Of equal indices the last one is kept, so the updates before it get no cotangent.
func.func @update(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %y = array.index_update %x, %i, %u {axis = 1} : tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
// A single index has no equal.
func.func @update_one(%x: tensor<3x4xf32>, %i: tensor<i64>, %u: tensor<4xf32>) -> tensor<3x4xf32> {
  %y = array.index_update %x, %i, %u : tensor<3x4xf32>, tensor<i64>, tensor<4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
func.func @one_hot(%i: tensor<5xi64>) -> (tensor<5x3xf32>, tensor<3x5xi1>) {
  %y = array.one_hot %i {depth = 3} : tensor<5xi64> -> tensor<5x3xf32>
  %z = array.one_hot %i {depth = 3, axis = 0} : tensor<5xi64> -> tensor<3x5xi1>
  func.return %y, %z : tensor<5x3xf32>, tensor<3x5xi1>
}

//      CHECK: func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<3x5x1xi64>) -> tensor<3x5x2xf32> {
// CHECK-NEXT:   %y = array.gather_nd %x, %i {batch_dims = 1} : tensor<3x4x2xf32>, tensor<3x5x1xi64> -> tensor<3x5x2xf32>
// CHECK-NEXT:   func.return %y : tensor<3x5x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @gather_vjp(%x: tensor<3x4x2xf32>, %i: tensor<3x5x1xi64>, %y_ct: tensor<3x5x2xf32>) -> (tensor<3x5x2xf32>, tensor<3x4x2xf32>) {
// CHECK-NEXT:   %y = array.gather_nd %x, %i {batch_dims = 1} : tensor<3x4x2xf32>, tensor<3x5x1xi64> -> tensor<3x5x2xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<3x4x2xf32>
// CHECK-NEXT:   %x_ct = array.scatter_nd_add %0, %i, %y_ct {batch_dims = 1} : tensor<3x4x2xf32>, tensor<3x5x1xi64>, tensor<3x5x2xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<3x5x2xf32>, tensor<3x4x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = array.scatter_nd_add %x, %i, %u : tensor<3x4xf32>, tensor<5x2xi32>, tensor<5xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @scatter_vjp(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5xf32>, %y_ct: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<5xf32>) {
// CHECK-NEXT:   %y = array.scatter_nd_add %x, %i, %u : tensor<3x4xf32>, tensor<5x2xi32>, tensor<5xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %u_ct = array.gather_nd %y_ct, %i : tensor<3x4xf32>, tensor<5x2xi32> -> tensor<5xf32>
// CHECK-NEXT:   func.return %y, %y_ct, %u_ct : tensor<3x4xf32>, tensor<3x4xf32>, tensor<5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @update(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = array.index_update %x, %i, %u {axis = 1} : tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @update_vjp(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>, %y_ct: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x2xf32>) {
// CHECK-NEXT:   %y = array.index_update %x, %i, %u {axis = 1} : tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<3x2xf32>
// CHECK-NEXT:   %x_ct = array.index_update %y_ct, %i, %0 {axis = 1} : tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %1 = array.take %y_ct, %i {axis = 1} : tensor<3x4xf32>, tensor<2xi64> -> tensor<3x2xf32>
// CHECK-NEXT:   %2 = array.iota {axis = 0} : tensor<2xi64>
// CHECK-NEXT:   %3 = array.full {value = 0} : tensor<4xi64>
// CHECK-NEXT:   %4 = array.index_update %3, %i, %2 : tensor<4xi64>, tensor<2xi64>, tensor<2xi64> -> tensor<4xi64>
// CHECK-NEXT:   %5 = array.take %4, %i : tensor<4xi64>, tensor<2xi64> -> tensor<2xi64>
// CHECK-NEXT:   %6 = array.equal %5, %2 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %7 = array.reshape %6 : tensor<2xi1> -> tensor<1x2xi1>
// CHECK-NEXT:   %8 = array.broadcast_to %7 : tensor<1x2xi1> -> tensor<3x2xi1>
// CHECK-NEXT:   %u_ct = array.where %8, %1, %0 : tensor<3x2xi1>, tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %u_ct : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @update_one(%x: tensor<3x4xf32>, %i: tensor<i64>, %u: tensor<4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = array.index_update %x, %i, %u : tensor<3x4xf32>, tensor<i64>, tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @update_one_vjp(%x: tensor<3x4xf32>, %i: tensor<i64>, %u: tensor<4xf32>, %y_ct: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %y = array.index_update %x, %i, %u : tensor<3x4xf32>, tensor<i64>, tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<4xf32>
// CHECK-NEXT:   %x_ct = array.index_update %y_ct, %i, %0 {axis = 0} : tensor<3x4xf32>, tensor<i64>, tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %u_ct = array.take %y_ct, %i {axis = 0} : tensor<3x4xf32>, tensor<i64> -> tensor<4xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %u_ct : tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @one_hot(%i: tensor<5xi64>) -> (tensor<5x3xf32>, tensor<3x5xi1>) {
// CHECK-NEXT:   %y = array.one_hot %i {depth = 3} : tensor<5xi64> -> tensor<5x3xf32>
// CHECK-NEXT:   %z = array.one_hot %i {depth = 3, axis = 0} : tensor<5xi64> -> tensor<3x5xi1>
// CHECK-NEXT:   func.return %y, %z : tensor<5x3xf32>, tensor<3x5xi1>
// CHECK-NEXT: }
