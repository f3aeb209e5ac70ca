// RUN: gradir-opt %s -p "gradir-vmap{function=f size=8 rows=x}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-vmap{function=search size=8}" | filecheck %s --check-prefix=SEARCH
// RUN: not gradir-opt %s -p "gradir-vmap{function=f size=8 rows=z}" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not gradir-opt %s -p "gradir-vmap{function=f size=-1}" 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not gradir-opt %s -p "gradir-vmap{function=open size=2}" 2>&1 | filecheck %s --check-prefix=OPEN

// The rows of a vector make a product of matrices; axes count from the end. What has no rows, here
// %size, is computed once, and repeated where it is a result.
func.func @f(%x: tensor<3xf64> {grad.name = "x"}, %w: tensor<4x3xf64>) -> (tensor<f64>, tensor<f64>) {
  %y = array.matmul %w, %x : tensor<4x3xf64>, tensor<3xf64> -> tensor<4xf64>
  %total = array.sum %y : tensor<4xf64> -> tensor<f64>
  %size = array.norm %w : tensor<4x3xf64> -> tensor<f64>
  func.return %total, %size : tensor<f64>, tensor<f64>
}

//      CHECK: func.func @f_vmap(%x: tensor<8x3xf64>, %w: tensor<4x3xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
// CHECK-NEXT:   %[[X:.*]] = array.reshape %x : tensor<8x3xf64> -> tensor<8x3x1xf64>
// CHECK-NEXT:   %[[Y:.*]] = array.matmul %w, %[[X]] : tensor<4x3xf64>, tensor<8x3x1xf64> -> tensor<8x4x1xf64>
// CHECK-NEXT:   %y = array.reshape %[[Y]] : tensor<8x4x1xf64> -> tensor<8x4xf64>
// CHECK-NEXT:   %total = array.sum %y {axis = [-1]} : tensor<8x4xf64> -> tensor<8xf64>
// CHECK-NEXT:   %size = array.norm %w : tensor<4x3xf64> -> tensor<f64>
// CHECK-NEXT:   %[[SIZES:.*]] = array.broadcast_to %size : tensor<f64> -> tensor<8xf64>
// CHECK-NEXT:   func.return %total, %[[SIZES]] : tensor<8xf64>, tensor<8xf64>

// A loop that each row leaves at a time of its own runs on one row after the other.
func.func @search(%x: tensor<3xf64>) -> tensor<3xf64> {
  %limit = array.full {value = 1.0} : tensor<f64>
  %half = array.full {value = 0.5} : tensor<3xf64>
  %y = scf.while (%a = %x) : (tensor<3xf64>) -> tensor<3xf64> {
    %size = array.norm %a : tensor<3xf64> -> tensor<f64>
    %large = array.greater %size, %limit : tensor<f64>, tensor<f64> -> tensor<i1>
    %go = tensor.extract %large[] : tensor<i1>
    scf.condition(%go) %a : tensor<3xf64>
  } do {
  ^bb0(%a: tensor<3xf64>):
    %b = array.multiply %a, %half : tensor<3xf64>
    scf.yield %b : tensor<3xf64>
  }
  func.return %y : tensor<3xf64>
}

//      SEARCH: func.func @search_vmap(%x: tensor<8x3xf64>) -> tensor<8x3xf64> {
//      SEARCH:   scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ROWS:.*]] = %{{.*}}) -> (tensor<8x3xf64>)
//      SEARCH:     array.dynamic_slice %x
//      SEARCH:     scf.while
//      SEARCH:     array.dynamic_update_slice %[[ROWS]]

func.func @open(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.exp %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// NAME: vmap.mlir:{{[0-9]+}}:{{[0-9]+}}: error: rows: no value of @f is named 'z'; names: x
// SIZE: error: gradir-vmap: size must be a number >= 0, got -1
// OPEN: vmap.mlir:{{[0-9]+}}:{{[0-9]+}}: error: gradir-vmap: tensor<?xf64> has no rows
