// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=vjp},gradir-vmap{function=f size=8}' | filecheck %s

// A part of one axis: its cotangent lies in its place. Rows are one more axis in front.
func.func @f(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %y = comm.part %x {axis = 1, ranks = 2, group = "rows"} : tensor<4x6xf32> -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

//      CHECK: func.func @f(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT:   %y = comm.part %x {axis = 1, ranks = 2, group = "rows"} : tensor<4x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @f_vmap(%x: tensor<8x4x6xf32>) -> tensor<8x4x3xf32> {
// CHECK-NEXT:   %y = comm.part %x {axis = 2, ranks = 2, group = "rows"} : tensor<8x4x6xf32> -> tensor<8x4x3xf32>
// CHECK-NEXT:   func.return %y : tensor<8x4x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @f_vjp(%x: tensor<4x6xf32>, %y_ct: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x6xf32>) {
// CHECK-NEXT:   %y = comm.part %x {axis = 1, ranks = 2, group = "rows"} : tensor<4x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<4x6xf32>
// CHECK-NEXT:   %1 = comm.rank {group = "rows", ranks = 2} : tensor<i64>
// CHECK-NEXT:   %2 = array.full {value = 3} : tensor<i64>
// CHECK-NEXT:   %3 = array.multiply %1, %2 : tensor<i64>
// CHECK-NEXT:   %4 = array.full {value = 0} : tensor<i64>
// CHECK-NEXT:   %x_ct = array.dynamic_update_slice %0, %y_ct, %4, %3 : tensor<4x6xf32>, tensor<4x3xf32>, tensor<i64>, tensor<i64> -> tensor<4x6xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4x3xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
