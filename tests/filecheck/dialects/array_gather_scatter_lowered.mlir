// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s
// RUN: gradir-opt %s -p "gradir-lower" | gradir-opt | filecheck %s

func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<3x5x1xi64>) -> tensor<3x5x2xf32> {
  %y = array.gather_nd %x, %i {batch_dims = 1} : tensor<3x4x2xf32>, tensor<3x5x1xi64> -> tensor<3x5x2xf32>
  func.return %y : tensor<3x5x2xf32>
}
func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5xf32>) -> tensor<3x4xf32> {
  %y = array.scatter_nd_add %x, %i, %u : tensor<3x4xf32>, tensor<5x2xi32>, tensor<5xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
func.func @update(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %y = array.index_update %x, %i, %u {axis = 1} : tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
func.func @one_hot(%i: tensor<5xi64>) -> tensor<5x3xf32> {
  %y = array.one_hot %i {depth = 3} : tensor<5xi64> -> tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}

//      CHECK: func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<3x5x1xi64>) -> tensor<3x5x2xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 5, 2] (%0 = %x : tensor<3x4x2xf32>, %1 = %i[d0, d1, 0] : tensor<3x5x1xi64>) -> ([d0, d1, d2] : tensor<3x5x2xf32>) {
// CHECK-NEXT:     %2 = loopnest.index 0 : i64
// CHECK-NEXT:     %3 = loopnest.check_index %1 bound 4 : i64 message "{{.*}}array_gather_scatter_lowered.mlir:5:3: array.gather_nd"
// CHECK-NEXT:     %4 = loopnest.index 2 : i64
// CHECK-NEXT:     %5 = loopnest.load %0[%2, %3, %4] : tensor<3x4x2xf32> -> f32
// CHECK-NEXT:     loopnest.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x5x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [5] (%0 = %u[d0] : tensor<5xf32>, %1 = %i[d0, 0] : tensor<5x2xi32>, %2 = %i[d0, 1] : tensor<5x2xi32>) -> (add [s0, s1] init %x : tensor<3x4xf32>) {
// CHECK-NEXT:     %3 = arith.extsi %1 : i32 to i64
// CHECK-NEXT:     %4 = loopnest.check_index %3 bound 3 : i64 message "{{.*}}array_gather_scatter_lowered.mlir:9:3: array.scatter_nd_add"
// CHECK-NEXT:     %5 = arith.extsi %2 : i32 to i64
// CHECK-NEXT:     %6 = loopnest.check_index %5 bound 4 : i64 message "{{.*}}array_gather_scatter_lowered.mlir:9:3: array.scatter_nd_add"
// CHECK-NEXT:     loopnest.yield %0, %4, %6 : f32, i64, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @update(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 2] (%0 = %i[d1] : tensor<2xi64>, %1 = %u[d0, d1] : tensor<3x2xf32>) -> ([d0, s0] init %x : tensor<3x4xf32>) {
// CHECK-NEXT:     %2 = loopnest.check_index %0 bound 4 : i64 message "{{.*}}array_gather_scatter_lowered.mlir:13:3: array.index_update"
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @one_hot(%i: tensor<5xi64>) -> tensor<5x3xf32> {
// CHECK-NEXT:   %y = loopnest.nest [5, 3] (%0 = %i[d0] : tensor<5xi64>) -> ([d0, d1] : tensor<5x3xf32>) {
// CHECK-NEXT:     %1 = loopnest.check_index %0 bound 3 : i64 message "{{.*}}array_gather_scatter_lowered.mlir:17:3: array.one_hot"
// CHECK-NEXT:     %2 = loopnest.index 1 : i64
// CHECK-NEXT:     %3 = arith.cmpi eq, %1, %2 : i64
// CHECK-NEXT:     %4 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     %5 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %6 = arith.select %3, %4, %5 : f32
// CHECK-NEXT:     loopnest.yield %6 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<5x3xf32>
// CHECK-NEXT: }
