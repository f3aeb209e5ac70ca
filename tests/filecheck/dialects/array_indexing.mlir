// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @indexing(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>, %j: tensor<5x2xi32>) -> (tensor<5x4xf32>, tensor<5x2xf32>, tensor<5x2x3xf32>) {
  %rows = array.take %x, %i {axis = 0} : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  %columns = array.take %x, %i {axis = -1} : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<5x2x3xf32>
  %added = array.scatter_add %x, %i, %rows {axis = 0} : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32> -> tensor<5x4xf32>
  %along = array.take_along_axis %added, %j {axis = 1} : tensor<5x4xf32>, tensor<5x2xi32> -> tensor<5x2xf32>
  func.return %added, %along, %columns : tensor<5x4xf32>, tensor<5x2xf32>, tensor<5x2x3xf32>
}

//      CHECK: func.func @indexing(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>, %j: tensor<5x2xi32>) -> (tensor<5x4xf32>, tensor<5x2xf32>, tensor<5x2x3xf32>) {
// CHECK-NEXT:   %rows = array.take %x, %i {axis = 0} : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
// CHECK-NEXT:   %columns = array.take %x, %i {axis = -1} : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<5x2x3xf32>
// CHECK-NEXT:   %added = array.scatter_add %x, %i, %rows {axis = 0} : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32> -> tensor<5x4xf32>
// CHECK-NEXT:   %along = array.take_along_axis %added, %j {axis = 1} : tensor<5x4xf32>, tensor<5x2xi32> -> tensor<5x2xf32>
// CHECK-NEXT:   func.return %added, %along, %columns : tensor<5x4xf32>, tensor<5x2xf32>, tensor<5x2x3xf32>
// CHECK-NEXT: }
