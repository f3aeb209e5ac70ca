// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=grad},gradir-to-stablehlo{function=f_grad}" | filecheck %s

// A layer: products, a reduction and its broadcast.
func.func @f(%w: tensor<4x3xf32>, %x: tensor<2x4xf32>) -> tensor<f32> {
  %z = array.matmul %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %h = array.tanh %z : tensor<2x3xf32>
  %sum = array.sum %h : tensor<2x3xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}

//      CHECK: func.func public @main(%w: tensor<4x3xf32>, %x: tensor<2x4xf32>) -> (tensor<f32>, tensor<4x3xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %z = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %h = "stablehlo.tanh"(%z) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %sum = "stablehlo.reduce"(%h, %0) <{dimensions = array<i64: 0, 1>}> ({
// CHECK-NEXT:   ^bb0(%1: tensor<f32>, %2: tensor<f32>):
// CHECK-NEXT:     %3 = "stablehlo.add"(%1, %2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     "stablehlo.return"(%3) : (tensor<f32>) -> ()
// CHECK-NEXT:   }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:   %sum_ct = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %h_ct = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %4 = "stablehlo.multiply"(%h, %h) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %5 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %6 = "stablehlo.subtract"(%5, %4) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %z_ct = "stablehlo.multiply"(%h_ct, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %7 = "stablehlo.transpose"(%w) <{permutation = array<i64: 1, 0>}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = "stablehlo.dot_general"(%z_ct, %7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   %8 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:   %w_ct = "stablehlo.dot_general"(%8, %z_ct) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:   func.return %sum, %w_ct, %x_ct : tensor<f32>, tensor<4x3xf32>, tensor<2x4xf32>
// CHECK-NEXT: }

// -----

// A loop of five steps: its tape is a tensor of five rows and a count.
func.func @f(%x: tensor<3xf64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%y = %x) -> (tensor<3xf64>) {
    %s = array.sin %y : tensor<3xf64>
    scf.yield %s : tensor<3xf64>
  }
  %sum = array.sum %y : tensor<3xf64> -> tensor<f64>
  func.return %sum : tensor<f64>
}

//      CHECK: func.func public @main(%x: tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>) {
// CHECK-NEXT:   %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
// CHECK-NEXT:   %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x3xf64>
// CHECK-NEXT:   %2, %y, %3, %4 = "stablehlo.while"(%c0, %x, %1, %c0) ({
// CHECK-NEXT:   ^bb0(%5: tensor<i64>, %6: tensor<3xf64>, %7: tensor<5x3xf64>, %8: tensor<i64>):
// CHECK-NEXT:     %9 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %10 = "stablehlo.compare"(%5, %9) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT:     "stablehlo.return"(%10) : (tensor<i1>) -> ()
// CHECK-NEXT:   }, {
// CHECK-NEXT:   ^bb0(%11: tensor<i64>, %12: tensor<3xf64>, %13: tensor<5x3xf64>, %14: tensor<i64>):
// CHECK-NEXT:     %15 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %16 = "stablehlo.add"(%11, %15) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %s = "stablehlo.sine"(%12) : (tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     %17 = "stablehlo.reshape"(%12) : (tensor<3xf64>) -> tensor<1x3xf64>
// CHECK-NEXT:     %18 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %19 = "stablehlo.dynamic_update_slice"(%13, %17, %14, %18) : (tensor<5x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<5x3xf64>
// CHECK-NEXT:     %20 = "stablehlo.add"(%14, %15) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     "stablehlo.return"(%16, %s, %19, %20) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> ()
// CHECK-NEXT:   }) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>)
// CHECK-NEXT:   %sum = "stablehlo.reduce"(%y, %0) <{dimensions = array<i64: 0>}> ({
// CHECK-NEXT:   ^bb0(%21: tensor<f64>, %22: tensor<f64>):
// CHECK-NEXT:     %23 = "stablehlo.add"(%21, %22) : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT:     "stablehlo.return"(%23) : (tensor<f64>) -> ()
// CHECK-NEXT:   }) : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT:   %sum_ct = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
// CHECK-NEXT:   %y_ct = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
// CHECK-NEXT:   %24, %x_ct, %25, %26 = "stablehlo.while"(%c0, %y_ct, %3, %4) ({
// CHECK-NEXT:   ^bb0(%27: tensor<i64>, %28: tensor<3xf64>, %29: tensor<5x3xf64>, %30: tensor<i64>):
// CHECK-NEXT:     %31 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %32 = "stablehlo.compare"(%27, %31) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT:     "stablehlo.return"(%32) : (tensor<i1>) -> ()
// CHECK-NEXT:   }, {
// CHECK-NEXT:   ^bb0(%33: tensor<i64>, %34: tensor<3xf64>, %35: tensor<5x3xf64>, %36: tensor<i64>):
// CHECK-NEXT:     %37 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %38 = "stablehlo.add"(%33, %37) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %39 = "stablehlo.subtract"(%36, %37) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %40 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %41 = "stablehlo.dynamic_slice"(%35, %39, %40) <{slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
// CHECK-NEXT:     %y_1 = "stablehlo.reshape"(%41) : (tensor<1x3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     %42 = "stablehlo.cosine"(%y_1) : (tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     %y_ct_1 = "stablehlo.multiply"(%34, %42) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     "stablehlo.return"(%38, %y_ct_1, %35, %39) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> ()
// CHECK-NEXT:   }) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>)
// CHECK-NEXT:   func.return %sum, %x_ct : tensor<f64>, tensor<3xf64>
// CHECK-NEXT: }
