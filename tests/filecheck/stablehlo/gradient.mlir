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
// CHECK-NEXT:   %0 = "stablehlo.abs"(%z) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %1 = "stablehlo.constant"() <{value = dense<44.3614082> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %3 = "stablehlo.minimum"(%0, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %4 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %6 = "stablehlo.multiply"(%3, %5) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %7 = "stablehlo.exponential_minus_one"(%6) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %8 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %10 = "stablehlo.multiply"(%7, %9) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %sum_ct = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %11 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %12 = "stablehlo.compare"(%10, %11) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %13 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %14 = "stablehlo.select"(%12, %10, %13) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %15 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %16 = "stablehlo.add"(%10, %15) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %17 = "stablehlo.divide"(%14, %16) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %18 = "stablehlo.abs"(%z) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %19 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %20 = "stablehlo.compare"(%18, %19) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %23 = "stablehlo.select"(%20, %22, %17) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %24 = "stablehlo.bitcast_convert"(%23) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %25 = "stablehlo.constant"() <{value = dense<1073741824> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %27 = "stablehlo.or"(%24, %26) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %28 = "stablehlo.bitcast_convert"(%27) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %29 = "stablehlo.select"(%12, %23, %28) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %30 = "stablehlo.bitcast_convert"(%29) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %31 = "stablehlo.bitcast_convert"(%z) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %32 = "stablehlo.constant"() <{value = dense<2147483647> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %34 = "stablehlo.and"(%30, %33) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %35 = "stablehlo.constant"() <{value = dense<2147483648> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %37 = "stablehlo.and"(%31, %36) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %38 = "stablehlo.or"(%34, %37) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %h_point = "stablehlo.bitcast_convert"(%38) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %39 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %40 = "stablehlo.constant"() <{value = dense<1073741823> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %42 = "stablehlo.and"(%39, %41) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %43 = "stablehlo.bitcast_convert"(%42) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %44 = "stablehlo.abs"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %45 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %46 = "stablehlo.compare"(%44, %45) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %47 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %48 = "stablehlo.subtract"(%47, %43) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %49 = "stablehlo.bitcast_convert"(%48) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %50 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %51 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %52 = "stablehlo.and"(%49, %51) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %53 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %54 = "stablehlo.and"(%50, %53) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %55 = "stablehlo.or"(%52, %54) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %56 = "stablehlo.bitcast_convert"(%55) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %h = "stablehlo.select"(%46, %56, %h_point) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %sum = "stablehlo.reduce"(%h, %21) <{dimensions = array<i64: 0, 1>}> ({
// CHECK-NEXT:   ^bb0(%57: tensor<f32>, %58: tensor<f32>):
// CHECK-NEXT:     %59 = "stablehlo.add"(%57, %58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     "stablehlo.return"(%59) : (tensor<f32>) -> ()
// CHECK-NEXT:   }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:   %h_ct = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %60 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %61 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %62 = "stablehlo.and"(%60, %61) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %63 = "stablehlo.bitcast_convert"(%62) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %64 = "stablehlo.abs"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %65 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %66 = "stablehlo.compare"(%64, %65) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %67 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %68 = "stablehlo.subtract"(%67, %63) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %69 = "stablehlo.multiply"(%63, %68) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %70 = "stablehlo.multiply"(%h_point, %h_point) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %71 = "stablehlo.broadcast_in_dim"(%sum_ct) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %72 = "stablehlo.subtract"(%71, %70) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %73 = "stablehlo.select"(%66, %69, %72) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %h_point_ct = "stablehlo.multiply"(%h_ct, %73) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %74 = "stablehlo.transpose"(%w) <{permutation = array<i64: 1, 0>}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:   %x_ct = "stablehlo.dot_general"(%h_point_ct, %74) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   %75 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:   %w_ct = "stablehlo.dot_general"(%75, %h_point_ct) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
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
