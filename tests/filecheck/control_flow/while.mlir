// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// The carried %i counts the iterations, so that nothing else has to.
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y, %n = scf.while (%a = %x, %i = %c0) : (tensor<f64>, index) -> (tensor<f64>, index) {
    %more = arith.cmpi slt, %i, %c3 : index
    scf.condition(%more) %a, %i : tensor<f64>, index
  } do {
  ^bb0(%a: tensor<f64>, %i: index):
    %s = array.sin %a : tensor<f64>
    %b = array.multiply %s, %a : tensor<f64>
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : tensor<f64>, index
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:   %y, %n, %tape_1 = scf.while (%a = %x, %i = %c0, %tape_2 = %tape) : (tensor<f64>, index, !grad.tape<tensor<f64>, tensor<f64>>) -> (tensor<f64>, index, !grad.tape<tensor<f64>, tensor<f64>>) {
// CHECK-NEXT:     %more = arith.cmpi slt, %i, %c3 : index
// CHECK-NEXT:     scf.condition(%more) %a, %i, %tape_2 : tensor<f64>, index, !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%a_1: tensor<f64>, %i_1: index, %tape_3: !grad.tape<tensor<f64>, tensor<f64>>):
// CHECK-NEXT:     %s = array.sin %a_1 : tensor<f64>
// CHECK-NEXT:     %b = array.multiply %s, %a_1 : tensor<f64>
// CHECK-NEXT:     %j = arith.addi %i_1, %c1 : index
// CHECK-NEXT:     %tape_4 = grad.tape_push %tape_3, %a_1, %s : !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:     scf.yield %b, %j, %tape_4 : tensor<f64>, index, !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   %c0_1 = arith.constant 0 : index
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %x_ct, %tape_5 = scf.for %back = %c0_1 to %n step %c1_1 iter_args(%y_ct_1 = %y_ct, %tape_6 = %tape_1) -> (tensor<f64>, !grad.tape<tensor<f64>, tensor<f64>>) {
// CHECK-NEXT:     %tape_7, %a_2, %s_1 = grad.tape_pop %tape_6 : !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:     %s_ct = array.multiply %y_ct_1, %a_2 : tensor<f64>
// CHECK-NEXT:     %a_ct = array.multiply %y_ct_1, %s_1 : tensor<f64>
// CHECK-NEXT:     %0 = array.cos %a_2 : tensor<f64>
// CHECK-NEXT:     %a_ct_1 = array.multiply %s_ct, %0 : tensor<f64>
// CHECK-NEXT:     %a_ct_2 = grad.accumulate %a_ct, %a_ct_1 : tensor<f64>
// CHECK-NEXT:     scf.yield %a_ct_2, %tape_7 : tensor<f64>, !grad.tape<tensor<f64>, tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// Newton's iteration. Its iterations are counted.
func.func @f(%a: f64, %start: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %small = arith.constant 1.0e-9 : f64
  %far = arith.constant 1.0 : f64
  %y, %d = scf.while (%x = %start, %change = %far) : (f64, f64) -> (f64, f64) {
    %size = math.absf %change : f64
    %more = arith.cmpf ogt, %size, %small : f64
    scf.condition(%more) %x, %change : f64, f64
  } do {
  ^bb0(%x: f64, %change: f64):
    %q = arith.divf %a, %x : f64
    %s = arith.addf %x, %q : f64
    %next = arith.mulf %s, %half : f64
    %moved = arith.subf %next, %x : f64
    scf.yield %next, %moved : f64, f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_vjp(%a: f64, %start: f64, %y_ct: f64) -> (f64, f64, f64) {
// CHECK-NEXT:   %half = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:   %small = arith.constant 1.000000e-09 : f64
// CHECK-NEXT:   %far = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64, f64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %y, %count, %tape_1 = scf.while (%x = %start, %change = %far, %count_1 = %c0, %tape_2 = %tape) : (f64, f64, index, !grad.tape<f64, f64>) -> (f64, index, !grad.tape<f64, f64>) {
// CHECK-NEXT:     %size = math.absf %change : f64
// CHECK-NEXT:     %more = arith.cmpf ogt, %size, %small : f64
// CHECK-NEXT:     scf.condition(%more) %x, %count_1, %tape_2 : f64, index, !grad.tape<f64, f64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%x_1: f64, %count_2: index, %tape_3: !grad.tape<f64, f64>):
// CHECK-NEXT:     %q = arith.divf %a, %x_1 : f64
// CHECK-NEXT:     %s = arith.addf %x_1, %q : f64
// CHECK-NEXT:     %next = arith.mulf %s, %half : f64
// CHECK-NEXT:     %moved = arith.subf %next, %x_1 : f64
// CHECK-NEXT:     %tape_4 = grad.tape_push %tape_3, %x_1, %q : !grad.tape<f64, f64>
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %0 = arith.addi %count_2, %c1 : index
// CHECK-NEXT:     scf.yield %next, %moved, %0, %tape_4 : f64, f64, index, !grad.tape<f64, f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %a_ct = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %c0_1 = arith.constant 0 : index
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %start_ct, %a_ct_1, %tape_5 = scf.for %back = %c0_1 to %count step %c1_1 iter_args(%y_ct_1 = %y_ct, %a_ct_2 = %a_ct, %tape_6 = %tape_1) -> (f64, f64, !grad.tape<f64, f64>) {
// CHECK-NEXT:     %tape_7, %x_2, %q_1 = grad.tape_pop %tape_6 : !grad.tape<f64, f64>
// CHECK-NEXT:     %s_ct = arith.mulf %y_ct_1, %half : f64
// CHECK-NEXT:     %a_ct_3 = arith.divf %s_ct, %x_2 : f64
// CHECK-NEXT:     %1 = arith.negf %a_ct_3 : f64
// CHECK-NEXT:     %x_ct = arith.mulf %1, %q_1 : f64
// CHECK-NEXT:     %x_ct_1 = arith.addf %s_ct, %x_ct : f64
// CHECK-NEXT:     %a_ct_4 = arith.addf %a_ct_2, %a_ct_3 : f64
// CHECK-NEXT:     scf.yield %x_ct_1, %a_ct_4, %tape_7 : f64, f64, !grad.tape<f64, f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %a_ct_1, %start_ct : f64, f64, f64
// CHECK-NEXT: }

// -----

// A condition that computes what it passes on: its backward code stands before the loop too, for
// the last test.
func.func @f(%x: f64, %w: f64, %limit: f64 {grad.inactive}) -> f64 {
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %b = arith.mulf %a, %w : f64
    %more = arith.cmpf olt, %b, %limit : f64
    scf.condition(%more) %b : f64
  } do {
  ^bb0(%b: f64):
    %e = math.exp %b : f64
    scf.yield %e : f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_vjp(%x: f64, %w: f64, %limit: f64 {grad.inactive}, %y_ct: f64) -> (f64, f64, f64) {
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %tape_1 = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %y, %count, %tape_2, %tape_3 = scf.while (%a = %x, %count_1 = %c0, %tape_4 = %tape, %tape_5 = %tape_1) : (f64, index, !grad.tape<f64>, !grad.tape<f64>) -> (f64, index, !grad.tape<f64>, !grad.tape<f64>) {
// CHECK-NEXT:     %b = arith.mulf %a, %w : f64
// CHECK-NEXT:     %more = arith.cmpf olt, %b, %limit : f64
// CHECK-NEXT:     %tape_6 = grad.tape_push %tape_4, %a : !grad.tape<f64>
// CHECK-NEXT:     scf.condition(%more) %b, %count_1, %tape_6, %tape_5 : f64, index, !grad.tape<f64>, !grad.tape<f64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%b_1: f64, %count_2: index, %tape_7: !grad.tape<f64>, %tape_8: !grad.tape<f64>):
// CHECK-NEXT:     %e = math.exp %b_1 : f64
// CHECK-NEXT:     %tape_9 = grad.tape_push %tape_8, %e : !grad.tape<f64>
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %0 = arith.addi %count_2, %c1 : index
// CHECK-NEXT:     scf.yield %e, %0, %tape_7, %tape_9 : f64, index, !grad.tape<f64>, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %tape_10, %a_1 = grad.tape_pop %tape_2 : !grad.tape<f64>
// CHECK-NEXT:   %a_ct = arith.mulf %y_ct, %w : f64
// CHECK-NEXT:   %w_ct_1 = arith.mulf %y_ct, %a_1 : f64
// CHECK-NEXT:   %w_ct_2 = arith.addf %w_ct, %w_ct_1 : f64
// CHECK-NEXT:   %c0_1 = arith.constant 0 : index
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %x_ct, %w_ct_3, %tape_11, %tape_12 = scf.for %back = %c0_1 to %count step %c1_1 iter_args(%a_ct_1 = %a_ct, %w_ct_4 = %w_ct_2, %tape_13 = %tape_10, %tape_14 = %tape_3) -> (f64, f64, !grad.tape<f64>, !grad.tape<f64>) {
// CHECK-NEXT:     %tape_15, %e_1 = grad.tape_pop %tape_14 : !grad.tape<f64>
// CHECK-NEXT:     %b_ct = arith.mulf %a_ct_1, %e_1 : f64
// CHECK-NEXT:     %tape_16, %a_2 = grad.tape_pop %tape_13 : !grad.tape<f64>
// CHECK-NEXT:     %a_ct_2 = arith.mulf %b_ct, %w : f64
// CHECK-NEXT:     %w_ct_5 = arith.mulf %b_ct, %a_2 : f64
// CHECK-NEXT:     %w_ct_6 = arith.addf %w_ct_4, %w_ct_5 : f64
// CHECK-NEXT:     scf.yield %a_ct_2, %w_ct_6, %tape_16, %tape_15 : f64, f64, !grad.tape<f64>, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_3 : f64, f64, f64
// CHECK-NEXT: }
