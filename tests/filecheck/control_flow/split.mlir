// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f}" | filecheck %s

// Tapes and counts are residuals like others.
func.func @f(%x: f64, %w: f64, %limit: f64 {grad.inactive}) -> f64 {
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %more = arith.cmpf olt, %a, %limit : f64
    scf.condition(%more) %a : f64
  } do {
  ^bb0(%a: f64):
    %b = arith.mulf %a, %w : f64
    scf.yield %b : f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_fwd(%x: f64, %w: f64, %limit: f64 {grad.inactive}) -> (f64, f64, index, !grad.tape<f64>) {
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %y, %count, %tape_1 = scf.while (%a = %x, %count_1 = %c0, %tape_2 = %tape) : (f64, index, !grad.tape<f64>) -> (f64, index, !grad.tape<f64>) {
// CHECK-NEXT:     %more = arith.cmpf olt, %a, %limit : f64
// CHECK-NEXT:     scf.condition(%more) %a, %count_1, %tape_2 : f64, index, !grad.tape<f64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%a_1: f64, %count_2: index, %tape_3: !grad.tape<f64>):
// CHECK-NEXT:     %b = arith.mulf %a_1, %w : f64
// CHECK-NEXT:     %tape_4 = grad.tape_push %tape_3, %a_1 : !grad.tape<f64>
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %0 = arith.addi %count_2, %c1 : index
// CHECK-NEXT:     scf.yield %b, %0, %tape_4 : f64, index, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %w, %count, %tape_1 : f64, f64, index, !grad.tape<f64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%w: f64, %count: index, %tape: !grad.tape<f64>, %y_ct: f64) -> (f64, f64) {
// CHECK-NEXT:   %w_ct = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %x_ct, %w_ct_1, %tape_1 = scf.for %back = %c0 to %count step %c1 iter_args(%y_ct_1 = %y_ct, %w_ct_2 = %w_ct, %tape_2 = %tape) -> (f64, f64, !grad.tape<f64>) {
// CHECK-NEXT:     %tape_3, %a = grad.tape_pop %tape_2 : !grad.tape<f64>
// CHECK-NEXT:     %a_ct = arith.mulf %y_ct_1, %w : f64
// CHECK-NEXT:     %w_ct_3 = arith.mulf %y_ct_1, %a : f64
// CHECK-NEXT:     %w_ct_4 = arith.addf %w_ct_2, %w_ct_3 : f64
// CHECK-NEXT:     scf.yield %a_ct, %w_ct_4, %tape_3 : f64, f64, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x_ct, %w_ct_1 : f64, f64
// CHECK-NEXT: }
