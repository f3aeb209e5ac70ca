// RUN: gradir-opt %s -p "gradir-gradient{function=tanh mode=jvp}" | filecheck %s --check-prefix=TANH
// RUN: gradir-opt %s -p "gradir-gradient{function=matmul mode=jvp}" | filecheck %s --check-prefix=MATMUL
// RUN: gradir-opt %s -p "gradir-gradient{function=matmul mode=jvp wrt=1}" | filecheck %s --check-prefix=ONE
// RUN: gradir-opt %s -p "gradir-gradient{function=loop mode=jvp}" | filecheck %s --check-prefix=LOOP
// RUN: gradir-opt %s -p "gradir-gradient{function=caller mode=jvp}" | filecheck %s --check-prefix=CALL
// RUN: gradir-run %s -p "gradir-gradient{function=tanh mode=jvp}" --function tanh_jvp --random-inputs 0 | filecheck %s --check-prefix=VALUES

// Forward mode: one multiplication more than the slope, which is read off a point.
func.func @tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = array.tanh %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// No transpose is left of the two in the vjp; a factor without a tangent costs nothing.
func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %y = array.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Tangents are carried along; what does not depend on wrt has none.
func.func @loop(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f64
  %y, %k = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %half) -> (f64, f64) {
    %s = arith.mulf %p, %q : f64
    %r = math.sqrt %q : f64
    scf.yield %s, %r : f64, f64
  }
  func.return %y : f64
}

func.func @callee(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %z = array.divide %x, %y : tensor<2xf32>
  func.return %z : tensor<2xf32>
}
func.func @caller(%x: tensor<2xf32>, %y: tensor<2xf32> {grad.inactive}) -> tensor<2xf32> {
  %z = func.call @callee(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %z : tensor<2xf32>
}

//      TANH: func.func @tanh_jvp(%x: tensor<4xf32>, %x_tangent: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// TANH-NEXT:   %y_point = grad.tanh_point %x : tensor<4xf32>
// TANH-NEXT:   %y = grad.tanh_at %y_point : tensor<4xf32>
// TANH-NEXT:   %0 = grad.tanh_slope_at %y_point : tensor<4xf32>
// TANH-NEXT:   %y_tangent = array.multiply %x_tangent, %0 : tensor<4xf32>
// TANH-NEXT:   func.return %y, %y_tangent : tensor<4xf32>, tensor<4xf32>
// TANH-NEXT: }

//      MATMUL: func.func @matmul_jvp(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %a_tangent: tensor<2x3xf32>, %b_tangent: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
// MATMUL-NEXT:   %y = array.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// MATMUL-NEXT:   %0 = array.matmul %a, %b_tangent : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// MATMUL-NEXT:   %1 = array.matmul %a_tangent, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// MATMUL-NEXT:   %y_tangent = grad.accumulate %0, %1 : tensor<2x4xf32>
// MATMUL-NEXT:   func.return %y, %y_tangent : tensor<2x4xf32>, tensor<2x4xf32>
// MATMUL-NEXT: }

//      ONE: func.func @matmul_jvp(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %b_tangent: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
// ONE-NEXT:   %y = array.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// ONE-NEXT:   %y_tangent = array.matmul %a, %b_tangent : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// ONE-NEXT:   func.return %y, %y_tangent : tensor<2x4xf32>, tensor<2x4xf32>
// ONE-NEXT: }

//      LOOP: func.func @loop_jvp(%x: f64, %n: index, %x_tangent: f64) -> (f64, f64) {
// LOOP-NEXT:   %c0 = arith.constant 0 : index
// LOOP-NEXT:   %c1 = arith.constant 1 : index
// LOOP-NEXT:   %half = arith.constant 5.000000e-01 : f64
// LOOP-NEXT:   %y, %k, %y_tangent = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %half, %p_tangent = %x_tangent) -> (f64, f64, f64) {
// LOOP-NEXT:     %s = arith.mulf %p, %q : f64
// LOOP-NEXT:     %s_tangent = arith.mulf %p_tangent, %q : f64
// LOOP-NEXT:     %r = math.sqrt %q : f64
// LOOP-NEXT:     scf.yield %s, %r, %s_tangent : f64, f64, f64
// LOOP-NEXT:   }
// LOOP-NEXT:   func.return %y, %y_tangent : f64, f64
// LOOP-NEXT: }

//      CALL: func.func @callee_jvp_wrt_0_of_0(%x: tensor<2xf32>, %y: tensor<2xf32>, %x_tangent: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CALL-NEXT:   %z = array.divide %x, %y : tensor<2xf32>
// CALL-NEXT:   %z_tangent = array.divide %x_tangent, %y : tensor<2xf32>
// CALL-NEXT:   func.return %z, %z_tangent : tensor<2xf32>, tensor<2xf32>
// CALL-NEXT: }
//      CALL: func.func @caller_jvp(%x: tensor<2xf32>, %y: tensor<2xf32> {grad.inactive}, %x_tangent: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CALL-NEXT:   %z, %z_tangent = func.call @callee_jvp_wrt_0_of_0(%x, %y, %x_tangent) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CALL-NEXT:   func.return %z, %z_tangent : tensor<2xf32>, tensor<2xf32>
// CALL-NEXT: }

//      VALUES: result0: float32[4]  // %y
// VALUES-NEXT: [-0.347494 -0.393534  0.741978 -0.728490]
// VALUES-NEXT: result1: float32[4]  // %y_tangent
// VALUES-NEXT: [-0.176721 -0.800017  0.017989 -0.081257]
