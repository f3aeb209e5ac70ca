// RUN: gradir-opt %s -p "gradir-gradient{function=read mode=vjp},gradir-gradient{function=write mode=vjp}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=read mode=vjp},gradir-gradient{function=write mode=vjp}" --print-op-generic | gradir-opt | filecheck %s

func.func @read(%x: tensor<5x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<2x4xf32> {
  %y = array.dynamic_slice %x, %i, %j {sizes = [2, 4]} : tensor<5x4xf32>, tensor<i64>, tensor<i32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
func.func @write(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<5x4xf32> {
  %y = array.dynamic_update_slice %x, %u, %i, %j : tensor<5x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

//      CHECK: func.func @read(%x: tensor<5x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<2x4xf32> {
// CHECK-NEXT:   %y = array.dynamic_slice %x, %i, %j {sizes = [2, 4]} : tensor<5x4xf32>, tensor<i64>, tensor<i32> -> tensor<2x4xf32>
// CHECK-NEXT:   func.return %y : tensor<2x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @read_vjp(%x: tensor<5x4xf32>, %i: tensor<i64>, %j: tensor<i32>, %y_ct: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<5x4xf32>) {
// CHECK-NEXT:   %y = array.dynamic_slice %x, %i, %j {sizes = [2, 4]} : tensor<5x4xf32>, tensor<i64>, tensor<i32> -> tensor<2x4xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<5x4xf32>
// CHECK-NEXT:   %x_ct = array.dynamic_update_slice %0, %y_ct, %i, %j : tensor<5x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<2x4xf32>, tensor<5x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @write(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<5x4xf32> {
// CHECK-NEXT:   %y = array.dynamic_update_slice %x, %u, %i, %j : tensor<5x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
// CHECK-NEXT:   func.return %y : tensor<5x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @write_vjp(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>, %i: tensor<i64>, %j: tensor<i32>, %y_ct: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %y = array.dynamic_update_slice %x, %u, %i, %j : tensor<5x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<2x4xf32>
// CHECK-NEXT:   %x_ct = array.dynamic_update_slice %y_ct, %0, %i, %j : tensor<5x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i32> -> tensor<5x4xf32>
// CHECK-NEXT:   %u_ct = array.dynamic_slice %y_ct, %i, %j {sizes = [2, 4]} : tensor<5x4xf32>, tensor<i64>, tensor<i32> -> tensor<2x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %u_ct : tensor<5x4xf32>, tensor<5x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
