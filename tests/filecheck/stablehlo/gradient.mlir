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
// CHECK-NEXT:   %11 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %13 = "stablehlo.compare"(%10, %12) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %14 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %15 = "stablehlo.select"(%13, %10, %14) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %16 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %17 = "stablehlo.add"(%10, %16) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %18 = "stablehlo.divide"(%15, %17) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %19 = "stablehlo.abs"(%z) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %20 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %21 = "stablehlo.compare"(%19, %20) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %22 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %24 = "stablehlo.select"(%21, %23, %18) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %25 = "stablehlo.bitcast_convert"(%24) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %26 = "stablehlo.constant"() <{value = dense<1073741824> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %28 = "stablehlo.or"(%25, %27) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %29 = "stablehlo.bitcast_convert"(%28) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %30 = "stablehlo.select"(%13, %24, %29) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %31 = "stablehlo.bitcast_convert"(%30) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %32 = "stablehlo.bitcast_convert"(%z) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %33 = "stablehlo.constant"() <{value = dense<2147483647> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %35 = "stablehlo.and"(%31, %34) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %36 = "stablehlo.constant"() <{value = dense<2147483648> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %38 = "stablehlo.and"(%32, %37) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %39 = "stablehlo.or"(%35, %38) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %h_point = "stablehlo.bitcast_convert"(%39) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %40 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %41 = "stablehlo.constant"() <{value = dense<1073741823> : tensor<ui32>}> : () -> tensor<ui32>
// CHECK-NEXT:   %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %43 = "stablehlo.and"(%40, %42) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %44 = "stablehlo.bitcast_convert"(%43) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %45 = "stablehlo.abs"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %46 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %47 = "stablehlo.compare"(%45, %46) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %48 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %49 = "stablehlo.subtract"(%48, %44) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %50 = "stablehlo.bitcast_convert"(%49) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %51 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %52 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %53 = "stablehlo.and"(%50, %52) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %54 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %55 = "stablehlo.and"(%51, %54) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %56 = "stablehlo.or"(%53, %55) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %57 = "stablehlo.bitcast_convert"(%56) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %h = "stablehlo.select"(%47, %57, %h_point) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %sum = "stablehlo.reduce"(%h, %22) <{dimensions = array<i64: 0, 1>}> ({
// CHECK-NEXT:   ^bb0(%58: tensor<f32>, %59: tensor<f32>):
// CHECK-NEXT:     %60 = "stablehlo.add"(%58, %59) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     "stablehlo.return"(%60) : (tensor<f32>) -> ()
// CHECK-NEXT:   }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:   %61 = "stablehlo.bitcast_convert"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %62 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %63 = "stablehlo.and"(%61, %62) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
// CHECK-NEXT:   %64 = "stablehlo.bitcast_convert"(%63) : (tensor<2x3xui32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %65 = "stablehlo.abs"(%h_point) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %66 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %67 = "stablehlo.compare"(%65, %66) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:   %68 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %69 = "stablehlo.subtract"(%68, %64) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %70 = "stablehlo.multiply"(%64, %69) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %71 = "stablehlo.multiply"(%h_point, %h_point) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %72 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %73 = "stablehlo.subtract"(%72, %71) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %h_point_ct = "stablehlo.select"(%67, %70, %73) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
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
// CHECK-NEXT:   %24 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
// CHECK-NEXT:   %y_ct = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
// CHECK-NEXT:   %25, %x_ct, %26, %27 = "stablehlo.while"(%c0, %y_ct, %3, %4) ({
// CHECK-NEXT:   ^bb0(%28: tensor<i64>, %29: tensor<3xf64>, %30: tensor<5x3xf64>, %31: tensor<i64>):
// CHECK-NEXT:     %32 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %33 = "stablehlo.compare"(%28, %32) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT:     "stablehlo.return"(%33) : (tensor<i1>) -> ()
// CHECK-NEXT:   }, {
// CHECK-NEXT:   ^bb0(%34: tensor<i64>, %35: tensor<3xf64>, %36: tensor<5x3xf64>, %37: tensor<i64>):
// CHECK-NEXT:     %38 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %39 = "stablehlo.add"(%34, %38) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %40 = "stablehlo.subtract"(%37, %38) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %41 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:     %42 = "stablehlo.dynamic_slice"(%36, %40, %41) <{slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
// CHECK-NEXT:     %y_1 = "stablehlo.reshape"(%42) : (tensor<1x3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     %43 = "stablehlo.cosine"(%y_1) : (tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     %y_ct_1 = "stablehlo.multiply"(%35, %43) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT:     "stablehlo.return"(%39, %y_ct_1, %36, %40) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> ()
// CHECK-NEXT:   }) : (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>) -> (tensor<i64>, tensor<3xf64>, tensor<5x3xf64>, tensor<i64>)
// CHECK-NEXT:   func.return %sum, %x_ct : tensor<f64>, tensor<3xf64>
// CHECK-NEXT: }
