// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=grad},gradir-gradient{function=f_grad of=1 mode=grad}" | filecheck %s

// The tape of the first derivative has a tape of cotangents in the second: what one loop pops,
// the reverse of it pushes, and the other way.
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_grad_grad(%x: f64, %n: index) -> (f64, f64, f64) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %tape_1 = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %y, %tape_2, %tape_3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %tape_4 = %tape, %tape_5 = %tape_1) -> (f64, !grad.tape<f64>, !grad.tape<f64>) {
// CHECK-NEXT:     %s = math.sin %a : f64
// CHECK-NEXT:     %tape_6 = grad.tape_push %tape_4, %a : !grad.tape<f64>
// CHECK-NEXT:     %tape_7 = grad.tape_push %tape_5, %a : !grad.tape<f64>
// CHECK-NEXT:     scf.yield %s, %tape_6, %tape_7 : f64, !grad.tape<f64>, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y_ct = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:   %tape_8 = grad.tape_new : !grad.tape<f64, f64, f64>
// CHECK-NEXT:   %x_ct, %tape_9, %tape_10 = scf.for %back = %c0 to %n step %c1 iter_args(%s_ct = %y_ct, %tape_11 = %tape_2, %tape_12 = %tape_8) -> (f64, !grad.tape<f64>, !grad.tape<f64, f64, f64>) {
// CHECK-NEXT:     %tape_13, %a_1 = grad.tape_pop %tape_11 : !grad.tape<f64>
// CHECK-NEXT:     %0 = math.cos %a_1 : f64
// CHECK-NEXT:     %a_ct = arith.mulf %s_ct, %0 : f64
// CHECK-NEXT:     %tape_14 = grad.tape_push %tape_12, %s_ct, %a_1, %0 : !grad.tape<f64, f64, f64>
// CHECK-NEXT:     scf.yield %a_ct, %tape_13, %tape_14 : f64, !grad.tape<f64>, !grad.tape<f64, f64, f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct_ct = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:   %tape_ct = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %1, %tape_ct_1, %tape_15 = scf.for %back_1 = %c0 to %n step %c1 iter_args(%a_ct_ct = %x_ct_ct, %tape_ct_2 = %tape_ct, %tape_16 = %tape_10) -> (f64, !grad.tape<f64>, !grad.tape<f64, f64, f64>) {
// CHECK-NEXT:     %tape_17, %s_ct_1, %a_2, %2 = grad.tape_pop %tape_16 : !grad.tape<f64, f64, f64>
// CHECK-NEXT:     %s_ct_ct = arith.mulf %a_ct_ct, %2 : f64
// CHECK-NEXT:     %ct = arith.mulf %a_ct_ct, %s_ct_1 : f64
// CHECK-NEXT:     %3 = arith.negf %ct : f64
// CHECK-NEXT:     %4 = math.sin %a_2 : f64
// CHECK-NEXT:     %a_ct_1 = arith.mulf %3, %4 : f64
// CHECK-NEXT:     %tape_ct_3 = grad.tape_push %tape_ct_2, %a_ct_1 : !grad.tape<f64>
// CHECK-NEXT:     scf.yield %s_ct_ct, %tape_ct_3, %tape_17 : f64, !grad.tape<f64>, !grad.tape<f64, f64, f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y_ct_1 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %x_ct_1, %5, %tape_18 = scf.for %back_2 = %c0 to %n step %c1 iter_args(%s_ct_2 = %y_ct_1, %tape_ct_4 = %tape_ct_1, %tape_19 = %tape_3) -> (f64, !grad.tape<f64>, !grad.tape<f64>) {
// CHECK-NEXT:     %tape_20, %a_3 = grad.tape_pop %tape_19 : !grad.tape<f64>
// CHECK-NEXT:     %tape_ct_5, %a_ct_2 = grad.tape_pop %tape_ct_4 : !grad.tape<f64>
// CHECK-NEXT:     %6 = math.cos %a_3 : f64
// CHECK-NEXT:     %a_ct_3 = arith.mulf %s_ct_2, %6 : f64
// CHECK-NEXT:     %a_ct_4 = arith.addf %a_ct_2, %a_ct_3 : f64
// CHECK-NEXT:     scf.yield %a_ct_4, %tape_ct_5, %tape_20 : f64, !grad.tape<f64>, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %x_ct_1 : f64, f64, f64
// CHECK-NEXT: }
