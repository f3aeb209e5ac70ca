// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p gradir-lower | filecheck %s --check-prefix=LOWER
// RUN: gradir-opt %s -p "gradir-gradient{function=windows mode=vjp}" | filecheck %s --check-prefix=VJP

func.func @windows(%x: tensor<8xf32>) -> tensor<4x3xf32> {
  %y = array.affine_gather %x {map = affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>, pad = 0.5} : tensor<8xf32> -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func @sums(%x: tensor<4x3xf32>, %y: tensor<3x4xf16>) -> (tensor<8xf32>, tensor<4x3xf16>, tensor<4xf32>) {
  %dropped = array.affine_scatter_add %x {map = affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>, drop = true} : tensor<4x3xf32> -> tensor<8xf32>
  %turned = array.affine_scatter_add %y {map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<3x4xf16> -> tensor<4x3xf16>
  %rows = array.affine_scatter_add %x {map = affine_map<(d0, d1) -> (d0)>} : tensor<4x3xf32> -> tensor<4xf32>
  func.return %dropped, %turned, %rows : tensor<8xf32>, tensor<4x3xf16>, tensor<4xf32>
}

//      CHECK: func.func @windows(
// CHECK-NEXT:   %y = array.affine_gather %x {map = affine_map<(d0, d1) -> ((((d0 * 2) + d1) + -1))>, pad = 0.5} : tensor<8xf32> -> tensor<4x3xf32>
//      CHECK: func.func @sums(
// CHECK-NEXT:   %dropped = array.affine_scatter_add %x {map = affine_map<(d0, d1) -> ((((d0 * 2) + d1) + -1))>, drop = true} : tensor<4x3xf32> -> tensor<8xf32>
// CHECK-NEXT:   %turned = array.affine_scatter_add %y {map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<3x4xf16> -> tensor<4x3xf16>
// CHECK-NEXT:   %rows = array.affine_scatter_add %x {map = affine_map<(d0, d1) -> (d0)>} : tensor<4x3xf32> -> tensor<4xf32>

//      LOWER: func.func @windows(
// LOWER-NEXT:   %y = loopnest.nest [4, 3] (%0 = %x[2 * d0 + d1 + -1] pad 5.000000e-01 : f32 : tensor<8xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// LOWER-NEXT:     loopnest.yield %0 : f32
// LOWER-NEXT:   }

// Sums that may miss a place start from zeros, those that are a permutation are a read.
//      LOWER: func.func @sums(
// LOWER-NEXT:   %0 = loopnest.nest [9] () -> ([d0] : tensor<9xf32>) {
//      LOWER:   %1 = loopnest.nest [4, 3] (%2 = %x[d0, d1] : tensor<4x3xf32>) -> (add [2 * d0 + d1] init %0 : tensor<9xf32>) {
//      LOWER:   %dropped = loopnest.nest [8] (%2 = %1[d0 + 1] pad 0.000000e+00 : f32 : tensor<9xf32>) -> ([d0] : tensor<8xf32>) {
//      LOWER:   %turned = loopnest.nest [4, 3] (%2 = %y[d1, d0] : tensor<3x4xf16>) -> ([d0, d1] : tensor<4x3xf16>) {
//      LOWER:   %rows = loopnest.nest [4, 3] (%2 = %x[d0, d1] : tensor<4x3xf32>) -> (add [d0] : tensor<4xf32>) {

//      VJP: func.func @windows_vjp(%x: tensor<8xf32>, %y_ct: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<8xf32>) {
//      VJP:   %x_ct = array.affine_scatter_add %y_ct {map = affine_map<(d0, d1) -> ((((d0 * 2) + d1) + -1))>, drop = true} : tensor<4x3xf32> -> tensor<8xf32>
