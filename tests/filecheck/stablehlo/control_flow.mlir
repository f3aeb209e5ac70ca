// RUN: gradir-opt %s --split-input-file -p "gradir-to-stablehlo{function=f}" | filecheck %s

// A branch on numbers; both read a value around them.
func.func @f(%x: f32, %y: tensor<2xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf ogt, %x, %zero : f32
  %z = scf.if %c -> (tensor<2xf32>) {
    %r = tensor.splat %x : tensor<2xf32>
    scf.yield %r : tensor<2xf32>
  } else {
    scf.yield %y : tensor<2xf32>
  }
  func.return %z : tensor<2xf32>
}

//      CHECK: func.func public @main(%x: tensor<f32>, %y: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT:   %zero = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
// CHECK-NEXT:   %c = "stablehlo.compare"(%x, %zero) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT:   %z = "stablehlo.if"(%c) ({
// CHECK-NEXT:     %r = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT:     "stablehlo.return"(%r) : (tensor<2xf32>) -> ()
// CHECK-NEXT:   }, {
// CHECK-NEXT:     "stablehlo.return"(%y) : (tensor<2xf32>) -> ()
// CHECK-NEXT:   }) : (tensor<i1>) -> tensor<2xf32>
// CHECK-NEXT:   func.return %z : tensor<2xf32>
// CHECK-NEXT: }

// -----

// What the condition hands on is made before the loop and in each step.
func.func @f(%x: f64) -> i64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %half = arith.constant 0.5 : f64
  %n, %y = scf.while (%a = %x, %k = %c0) : (f64, i64) -> (i64, f64) {
    %more = arith.cmpf ogt, %a, %half : f64
    scf.condition(%more) %k, %a : i64, f64
  } do {
  ^bb0(%k: i64, %a: f64):
    %b = arith.mulf %a, %half : f64
    %next = arith.addi %k, %c1 : i64
    scf.yield %b, %next : f64, i64
  }
  func.return %n : i64
}

//      CHECK: func.func public @main(%x: tensor<f64>) -> tensor<i64> {
// CHECK-NEXT:   %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %c1 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
// CHECK-NEXT:   %half = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f64>}> : () -> tensor<f64>
// CHECK-NEXT:   %more = "stablehlo.compare"(%x, %half) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
// CHECK-NEXT:   %0, %n, %y = "stablehlo.while"(%more, %c0, %x) ({
// CHECK-NEXT:   ^bb0(%1: tensor<i1>, %2: tensor<i64>, %3: tensor<f64>):
// CHECK-NEXT:     "stablehlo.return"(%1) : (tensor<i1>) -> ()
// CHECK-NEXT:   }, {
// CHECK-NEXT:   ^bb0(%4: tensor<i1>, %5: tensor<i64>, %6: tensor<f64>):
// CHECK-NEXT:     %b = "stablehlo.multiply"(%6, %half) : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT:     %next = "stablehlo.add"(%5, %c1) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:     %more_1 = "stablehlo.compare"(%b, %half) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
// CHECK-NEXT:     "stablehlo.return"(%more_1, %next, %b) : (tensor<i1>, tensor<i64>, tensor<f64>) -> ()
// CHECK-NEXT:   }) : (tensor<i1>, tensor<i64>, tensor<f64>) -> (tensor<i1>, tensor<i64>, tensor<f64>)
// CHECK-NEXT:   func.return %n : tensor<i64>
// CHECK-NEXT: }
