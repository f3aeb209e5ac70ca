// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// A recurrent layer: %w is captured and has an accumulator; its cotangent and that of the carried
// value read what is taped. The tape of a loop with constant bounds has a capacity.
func.func @f(%x: tensor<4xf64>, %w: tensor<4x4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%h = %x) -> (tensor<4xf64>) {
    %z = array.matmul %w, %h : tensor<4x4xf64>, tensor<4xf64> -> tensor<4xf64>
    %t = array.tanh %z : tensor<4xf64>
    scf.yield %t : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %w: tensor<4x4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c8 = arith.constant 8 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<4xf64>, capacity = 8>
// CHECK-NEXT:   %y, %tape_1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%h = %x, %tape_2 = %tape) -> (tensor<4xf64>, !grad.tape<tensor<4xf64>, capacity = 8>) {
// CHECK-NEXT:     %z = array.matmul %w, %h : tensor<4x4xf64>, tensor<4xf64> -> tensor<4xf64>
// CHECK-NEXT:     %t = array.tanh %z : tensor<4xf64>
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %h : !grad.tape<tensor<4xf64>, capacity = 8>
// CHECK-NEXT:     scf.yield %t, %tape_3 : tensor<4xf64>, !grad.tape<tensor<4xf64>, capacity = 8>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = grad.zero : tensor<4x4xf64>
// CHECK-NEXT:   %x_ct, %w_ct_1, %0, %tape_4 = scf.for %back = %c0 to %c8 step %c1 iter_args(%t_ct = %y_ct, %w_ct_2 = %w_ct, %t_1 = %y, %tape_5 = %tape_1) -> (tensor<4xf64>, tensor<4x4xf64>, tensor<4xf64>, !grad.tape<tensor<4xf64>, capacity = 8>) {
// CHECK-NEXT:     %tape_6, %h_1 = grad.tape_pop %tape_5 : !grad.tape<tensor<4xf64>, capacity = 8>
// CHECK-NEXT:     %1 = array.multiply %t_1, %t_1 : tensor<4xf64>
// CHECK-NEXT:     %2 = array.full {value = 1.0} : tensor<4xf64>
// CHECK-NEXT:     %3 = array.subtract %2, %1 : tensor<4xf64>
// CHECK-NEXT:     %z_ct = array.multiply %t_ct, %3 : tensor<4xf64>
// CHECK-NEXT:     %4 = array.reshape %h_1 : tensor<4xf64> -> tensor<4x1xf64>
// CHECK-NEXT:     %5 = array.reshape %z_ct : tensor<4xf64> -> tensor<4x1xf64>
// CHECK-NEXT:     %6 = array.permute_dims %4 {axes = [1, 0]} : tensor<4x1xf64> -> tensor<1x4xf64>
// CHECK-NEXT:     %w_ct_3 = array.matmul %5, %6 : tensor<4x1xf64>, tensor<1x4xf64> -> tensor<4x4xf64>
// CHECK-NEXT:     %7 = array.permute_dims %w {axes = [1, 0]} : tensor<4x4xf64> -> tensor<4x4xf64>
// CHECK-NEXT:     %8 = array.matmul %7, %5 : tensor<4x4xf64>, tensor<4x1xf64> -> tensor<4x1xf64>
// CHECK-NEXT:     %h_ct = array.reshape %8 : tensor<4x1xf64> -> tensor<4xf64>
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<4x4xf64>
// CHECK-NEXT:     scf.yield %h_ct, %w_ct_4, %h_1, %tape_6 : tensor<4xf64>, tensor<4x4xf64>, tensor<4xf64>, !grad.tape<tensor<4xf64>, capacity = 8>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_1 : tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>
// CHECK-NEXT: }

// -----

// Bounds that are known at run time. The index, and the arithmetic on it, is made again from the
// number of the iteration; what no iteration changes is computed outside and not taped.
func.func @f(%x: f64, %w: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %k = arith.index_cast %i : index to i64
    %t = arith.sitofp %k : i64 to f64
    %s = math.sin %w : f64
    %p = arith.mulf %s, %t : f64
    %b = arith.mulf %a, %p : f64
    scf.yield %b : f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_vjp(%x: f64, %w: f64, %n: index, %y_ct: f64) -> (f64, f64, f64) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %s = math.sin %w : f64
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %0 = arith.subi %n, %c1_1 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64>
// CHECK-NEXT:   %y, %tape_1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %tape_2 = %tape) -> (f64, !grad.tape<f64>) {
// CHECK-NEXT:     %k = arith.index_cast %i : index to i64
// CHECK-NEXT:     %t = arith.sitofp %k : i64 to f64
// CHECK-NEXT:     %p = arith.mulf %s, %t : f64
// CHECK-NEXT:     %b = arith.mulf %a, %p : f64
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %a : !grad.tape<f64>
// CHECK-NEXT:     scf.yield %b, %tape_3 : f64, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %x_ct, %w_ct_1, %tape_4 = scf.for %back = %c0 to %n step %c1 iter_args(%b_ct = %y_ct, %w_ct_2 = %w_ct, %tape_5 = %tape_1) -> (f64, f64, !grad.tape<f64>) {
// CHECK-NEXT:     %tape_6, %a_1 = grad.tape_pop %tape_5 : !grad.tape<f64>
// CHECK-NEXT:     %i_1 = arith.subi %0, %back : index
// CHECK-NEXT:     %k_1 = arith.index_cast %i_1 : index to i64
// CHECK-NEXT:     %t_1 = arith.sitofp %k_1 : i64 to f64
// CHECK-NEXT:     %p_1 = arith.mulf %s, %t_1 : f64
// CHECK-NEXT:     %a_ct = arith.mulf %b_ct, %p_1 : f64
// CHECK-NEXT:     %p_ct = arith.mulf %b_ct, %a_1 : f64
// CHECK-NEXT:     %s_ct = arith.mulf %p_ct, %t_1 : f64
// CHECK-NEXT:     %1 = math.cos %w : f64
// CHECK-NEXT:     %w_ct_3 = arith.mulf %s_ct, %1 : f64
// CHECK-NEXT:     %w_ct_4 = arith.addf %w_ct_2, %w_ct_3 : f64
// CHECK-NEXT:     scf.yield %a_ct, %w_ct_4, %tape_6 : f64, f64, !grad.tape<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_1 : f64, f64, f64
// CHECK-NEXT: }

// -----

// A loop in a loop: its tape is carried by the outer one, and the sum for %w goes on through both.
func.func @f(%x: tensor<f64>, %w: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %z = scf.for %j = %i to %n step %c1 iter_args(%b = %a) -> (tensor<f64>) {
      %p = array.multiply %b, %w : tensor<f64>
      scf.yield %p : tensor<f64>
    }
    %s = array.multiply %z, %w : tensor<f64>
    scf.yield %s : tensor<f64>
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %w: tensor<f64>, %n: index, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<f64>>
// CHECK-NEXT:   %tape_1 = grad.tape_new : !grad.tape<tensor<f64>, capacity = 3>
// CHECK-NEXT:   %y, %tape_2, %tape_3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %tape_4 = %tape, %tape_5 = %tape_1) -> (tensor<f64>, !grad.tape<tensor<f64>>, !grad.tape<tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %z, %tape_6 = scf.for %j = %i to %n step %c1 iter_args(%b = %a, %tape_7 = %tape_4) -> (tensor<f64>, !grad.tape<tensor<f64>>) {
// CHECK-NEXT:       %p = array.multiply %b, %w : tensor<f64>
// CHECK-NEXT:       %tape_8 = grad.tape_push %tape_7, %b : !grad.tape<tensor<f64>>
// CHECK-NEXT:       scf.yield %p, %tape_8 : tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:     }
// CHECK-NEXT:     %s = array.multiply %z, %w : tensor<f64>
// CHECK-NEXT:     %tape_9 = grad.tape_push %tape_5, %z : !grad.tape<tensor<f64>, capacity = 3>
// CHECK-NEXT:     scf.yield %s, %tape_6, %tape_9 : tensor<f64>, !grad.tape<tensor<f64>>, !grad.tape<tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = grad.zero : tensor<f64>
// CHECK-NEXT:   %x_ct, %w_ct_1, %tape_10, %tape_11 = scf.for %back = %c0 to %c3 step %c1 iter_args(%s_ct = %y_ct, %w_ct_2 = %w_ct, %tape_12 = %tape_2, %tape_13 = %tape_3) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>, !grad.tape<tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %tape_14, %z_1 = grad.tape_pop %tape_13 : !grad.tape<tensor<f64>, capacity = 3>
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %i_1 = arith.subi %c2, %back : index
// CHECK-NEXT:     %z_ct = array.multiply %s_ct, %w : tensor<f64>
// CHECK-NEXT:     %w_ct_3 = array.multiply %s_ct, %z_1 : tensor<f64>
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<f64>
// CHECK-NEXT:     %a_ct, %w_ct_5, %tape_15 = scf.for %back_1 = %i_1 to %n step %c1 iter_args(%p_ct = %z_ct, %w_ct_6 = %w_ct_4, %tape_16 = %tape_12) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>) {
// CHECK-NEXT:       %tape_17, %b_1 = grad.tape_pop %tape_16 : !grad.tape<tensor<f64>>
// CHECK-NEXT:       %b_ct = array.multiply %p_ct, %w : tensor<f64>
// CHECK-NEXT:       %w_ct_7 = array.multiply %p_ct, %b_1 : tensor<f64>
// CHECK-NEXT:       %w_ct_8 = grad.accumulate %w_ct_6, %w_ct_7 : tensor<f64>
// CHECK-NEXT:       scf.yield %b_ct, %w_ct_8, %tape_17 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %a_ct, %w_ct_5, %tape_15, %tape_14 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>, !grad.tape<tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_1 : tensor<f64>, tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// A loop whose values are linear in what is differentiated needs no tape; a carried value that
// never changes is not carried.
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %v = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %w) -> (tensor<4xf64>, tensor<4xf64>) {
    %s = array.add %a, %b : tensor<4xf64>
    scf.yield %s, %b : tensor<4xf64>, tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
// CHECK-NEXT:     %s = array.add %a, %w : tensor<4xf64>
// CHECK-NEXT:     scf.yield %s : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = grad.zero : tensor<4xf64>
// CHECK-NEXT:   %w_ct_1 = scf.for %back = %c0 to %n step %c1 iter_args(%w_ct_2 = %w_ct) -> (tensor<4xf64>) {
// CHECK-NEXT:     %w_ct_3 = grad.accumulate %w_ct_2, %y_ct : tensor<4xf64>
// CHECK-NEXT:     scf.yield %w_ct_3 : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %y_ct, %w_ct_1 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
