// RUN: gradir-opt %s -p gradir-to-stablehlo | filecheck %s
// Printed text is read back.
// RUN: gradir-opt %s -p gradir-to-stablehlo | gradir-opt - | filecheck %s

// Slices, pads and transposes of a strided read, and a convolution's transpose.
func.func @moves(%x: tensor<2x6xf32>) -> (tensor<3x2xf32>, tensor<2x6xf32>) {
  %s = array.slice %x {start = [0, 0], stop = [2, 6], step = [1, 2]} : tensor<2x6xf32> -> tensor<2x3xf32>
  %t = array.permute_dims %s {axes = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>
  %r = array.flip %x {axis = [1]} : tensor<2x6xf32> -> tensor<2x6xf32>
  func.return %t, %r : tensor<3x2xf32>, tensor<2x6xf32>
}
func.func @rows(%x: tensor<5x2xf32>, %i: tensor<3xi64>) -> tensor<3x2xf32> {
  %rows = array.take %x, %i {axis = 0} : tensor<5x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
  func.return %rows : tensor<3x2xf32>
}
func.func @convolved(%ct: tensor<1x1x2x2xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
  %x = grad.conv2d_input_backward %ct, %w {stride = 2} : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32> -> tensor<1x1x4x4xf32>
  func.return %x : tensor<1x1x4x4xf32>
}
func.func @sorted(%x: tensor<4xi32>) -> tensor<4xi64> {
  %order = array.argsort %x : tensor<4xi32> -> tensor<4xi64>
  func.return %order : tensor<4xi64>
}

//      CHECK: func.func public @moves(%x: tensor<2x6xf32>) -> (tensor<3x2xf32>, tensor<2x6xf32>) {
// CHECK-NEXT:   %s = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 2>}> : (tensor<2x6xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %t = "stablehlo.transpose"(%s) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:   %r = "stablehlo.reverse"(%x) <{dimensions = array<i64: 1>}> : (tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:   func.return %t, %r : tensor<3x2xf32>, tensor<2x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func public @rows(%x: tensor<5x2xf32>, %i: tensor<3xi64>) -> tensor<3x2xf32> {
// CHECK-NEXT:   %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT:   %2 = "stablehlo.compare"(%i, %1) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK-NEXT:   %3 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT:   %5 = "stablehlo.add"(%i, %4) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
// CHECK-NEXT:   %6 = "stablehlo.select"(%2, %5, %i) : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
// CHECK-NEXT:   %7 = "stablehlo.constant"() <{value = dense<4> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %8 = "stablehlo.clamp"(%0, %6, %7) : (tensor<i64>, tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT:   %rows = "stablehlo.gather"(%x, %8) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
// CHECK-NEXT:   func.return %rows : tensor<3x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func public @convolved(%ct: tensor<1x1x2x2xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
// CHECK-NEXT:   %0 = "stablehlo.reshape"(%w) : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x2x2xf32>
// CHECK-NEXT:   %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 0, 2, 1, 3, 4>}> : (tensor<1x1x1x2x2xf32>) -> tensor<1x1x1x2x2xf32>
// CHECK-NEXT:   %2 = "stablehlo.reshape"(%1) : (tensor<1x1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT:   %3 = "stablehlo.reverse"(%2) <{dimensions = array<i64: 2, 3>}> : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT:   %x = "stablehlo.convolution"(%ct, %3) <{window_strides = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>, lhs_dilation = array<i64: 2, 2>, rhs_dilation = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:   func.return %x : tensor<1x1x4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func public @sorted(%x: tensor<4xi32>) -> tensor<4xi64> {
// CHECK-NEXT:   %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi64>
// CHECK-NEXT:   %1, %order = "stablehlo.sort"(%x, %0) <{dimension = 0 : i64, is_stable = true}> ({
// CHECK-NEXT:   ^bb0(%2: tensor<i32>, %3: tensor<i32>, %4: tensor<i64>, %5: tensor<i64>):
// CHECK-NEXT:     %6 = "stablehlo.compare"(%2, %3) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:     "stablehlo.return"(%6) : (tensor<i1>) -> ()
// CHECK-NEXT:   }) : (tensor<4xi32>, tensor<4xi64>) -> (tensor<4xi32>, tensor<4xi64>)
// CHECK-NEXT:   func.return %order : tensor<4xi64>
// CHECK-NEXT: }
