// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=sort mode=vjp},gradir-gradient{function=top of=0}" | filecheck %s --check-prefix=GRAD

func.func @sort(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = array.sort %x {axis = 0, descending = true} : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
func.func @argsort(%x: tensor<3x4xi8>) -> tensor<3x4xi64> {
  %y = array.argsort %x : tensor<3x4xi8> -> tensor<3x4xi64>
  func.return %y : tensor<3x4xi64>
}
func.func @top(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>) {
  %y, %i = array.top_k %x {k = 2} : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi64>)
  func.return %y, %i : tensor<3x2xf32>, tensor<3x2xi64>
}
func.func @search(%x: tensor<3x4xf32>, %v: tensor<3xf32>, %bins: tensor<?xf32, "n">) -> (tensor<3xi64>, tensor<3x4xi64>) {
  %y = array.searchsorted %x, %v : tensor<3x4xf32>, tensor<3xf32> -> tensor<3xi64>
  %z = array.searchsorted %bins, %x {side = "right"} : tensor<?xf32, "n">, tensor<3x4xf32> -> tensor<3x4xi64>
  func.return %y, %z : tensor<3xi64>, tensor<3x4xi64>
}

//      CHECK: func.func @sort(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = array.sort %x {axis = 0, descending = true} : tensor<3x4xf32>
//      CHECK: func.func @argsort
// CHECK-NEXT:   %y = array.argsort %x : tensor<3x4xi8> -> tensor<3x4xi64>
//      CHECK: func.func @top
// CHECK-NEXT:   %y, %i = array.top_k %x {k = 2} : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi64>)
//      CHECK: func.func @search
// CHECK-NEXT:   %y = array.searchsorted %x, %v : tensor<3x4xf32>, tensor<3xf32> -> tensor<3xi64>
// CHECK-NEXT:   %z = array.searchsorted %bins, %x {side = "right"} : tensor<?xf32, "n">, tensor<3x4xf32> -> tensor<3x4xi64>

//      GRAD: func.func @sort_vjp(%x: tensor<3x4xf32>, %y_ct: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
// GRAD-NEXT:   %y = array.sort %x {axis = 0, descending = true} : tensor<3x4xf32>
// GRAD-NEXT:   %0 = array.argsort %x {axis = 0, descending = true} : tensor<3x4xf32> -> tensor<3x4xi64>
// GRAD-NEXT:   %x_ct = grad.take_along_axis_backward %y_ct, %0 {axis = 0} : tensor<3x4xf32>, tensor<3x4xi64> -> tensor<3x4xf32>
// The permutation is a result, which the backward half reads.
//      GRAD: func.func @top_bwd(%i: tensor<3x2xi64>, %y_ct: tensor<3x2xf32>) -> tensor<3x4xf32> {
// GRAD-NEXT:   %x_ct = grad.take_along_axis_backward %y_ct, %i {axis = 1} : tensor<3x2xf32>, tensor<3x2xi64> -> tensor<3x4xf32>
