// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// A loop in a function that is called in a loop: the tape of the callee is an argument and a result
// of its halves.
func.func @g(%a: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %a) -> (tensor<f64>) {
    %p = array.multiply %b, %w : tensor<f64>
    scf.yield %p : tensor<f64>
  }
  func.return %r : tensor<f64>
}
func.func @f(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %b = func.call @g(%a, %w) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @g_fwd(%a: tensor<f64>, %w: tensor<f64>, %tape: !grad.tape<tensor<f64>, capacity = 6>) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %r, %tape_1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %a, %tape_2 = %tape) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:     %p = array.multiply %b, %w : tensor<f64>
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %b : !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:     scf.yield %p, %tape_3 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r, %w, %tape_1 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT: }
//      CHECK: func.func @g_bwd(%w: tensor<f64>, %r_ct: tensor<f64>, %tape: !grad.tape<tensor<f64>, capacity = 6>) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:   %w_ct = grad.zero : tensor<f64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %a_ct, %w_ct_1, %tape_1 = scf.for %back = %c0 to %c3 step %c1 iter_args(%p_ct = %r_ct, %w_ct_2 = %w_ct, %tape_2 = %tape) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:     %tape_3, %b = grad.tape_pop %tape_2 : !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:     %b_ct = array.multiply %p_ct, %w : tensor<f64>
// CHECK-NEXT:     %w_ct_3 = array.multiply %p_ct, %b : tensor<f64>
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<f64>
// CHECK-NEXT:     scf.yield %b_ct, %w_ct_4, %tape_3 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %a_ct, %w_ct_1, %tape_1 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<f64>, %w: tensor<f64>, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:   %y, %tape_1 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x, %tape_2 = %tape) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:     %b, %w_1, %tape_3 = func.call @g_fwd(%a, %w, %tape_2) : (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>)
// CHECK-NEXT:     scf.yield %b, %tape_3 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = grad.zero : tensor<f64>
// CHECK-NEXT:   %x_ct, %w_ct_1, %tape_4 = scf.for %back = %c0 to %c2 step %c1 iter_args(%b_ct = %y_ct, %w_ct_2 = %w_ct, %tape_5 = %tape_1) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) {
// CHECK-NEXT:     %a_ct, %w_ct_3, %0 = func.call @g_bwd(%w, %b_ct, %tape_5) : (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>)
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<f64>
// CHECK-NEXT:     scf.yield %a_ct, %w_ct_4, %0 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>, capacity = 6>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_1 : tensor<f64>, tensor<f64>, tensor<f64>
// CHECK-NEXT: }
