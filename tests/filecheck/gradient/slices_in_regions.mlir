// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=grad wrt=0 req="0=slices"}' | filecheck %s

// Row slices leave a branch as two tensors, of the larger count of the branches. A loop of constant
// length has room for those of all iterations.
func.func @f(%w: tensor<40x2xf64>, %i: tensor<4xi64>, %y: tensor<f64>, %c: i1) -> tensor<f64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %r = scf.for %k = %zero to %three step %one iter_args(%u = %y) -> (tensor<f64>) {
    %v = scf.if %c -> (tensor<f64>) {
      %a = array.take %w, %i {axis = 0} : tensor<40x2xf64>, tensor<4xi64> -> tensor<4x2xf64>
      %s = array.sum %a : tensor<4x2xf64> -> tensor<f64>
      %t = array.multiply %s, %u : tensor<f64>
      scf.yield %t : tensor<f64>
    } else {
      scf.yield %u : tensor<f64>
    }
    scf.yield %v : tensor<f64>
  }
  func.return %r : tensor<f64>
}

//      CHECK: func.func @f_grad(%w: tensor<40x2xf64>, %i: tensor<4xi64>, %y: tensor<f64>, %c: i1) -> (tensor<f64>, !grad.slices<40x2xf64, count = 12>) {
// CHECK-NEXT:   %zero = arith.constant 0 : index
// CHECK-NEXT:   %one = arith.constant 1 : index
// CHECK-NEXT:   %three = arith.constant 3 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>
// CHECK-NEXT:   %r, %tape_1 = scf.for %k = %zero to %three step %one iter_args(%u = %y, %tape_2 = %tape) -> (tensor<f64>, !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %v, %s = scf.if %c -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:       %a = array.take %w, %i {axis = 0} : tensor<40x2xf64>, tensor<4xi64> -> tensor<4x2xf64>
// CHECK-NEXT:       %s_1 = array.sum %a : tensor<4x2xf64> -> tensor<f64>
// CHECK-NEXT:       %t = array.multiply %s_1, %u : tensor<f64>
// CHECK-NEXT:       scf.yield %t, %s_1 : tensor<f64>, tensor<f64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %0 = tensor.empty() : tensor<f64>
// CHECK-NEXT:       scf.yield %u, %0 : tensor<f64>, tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %u, %s : !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>
// CHECK-NEXT:     scf.yield %v, %tape_3 : tensor<f64>, !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   %r_ct = array.full {value = 1.0} : tensor<f64>
// CHECK-NEXT:   %1 = array.full {value = 0} : tensor<12xi64>
// CHECK-NEXT:   %2 = array.full {value = 0.0} : tensor<12x2xf64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %3, %w_ct_indices, %w_ct_values, %filled, %tape_4 = scf.for %back = %zero to %three step %one iter_args(%v_ct = %r_ct, %w_ct_indices_1 = %1, %w_ct_values_1 = %2, %filled_1 = %c0, %tape_5 = %tape_1) -> (tensor<f64>, tensor<12xi64>, tensor<12x2xf64>, index, !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %tape_6, %u_1, %s_2 = grad.tape_pop %tape_5 : !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>
// CHECK-NEXT:     %u_ct, %4, %5 = scf.if %c -> (tensor<f64>, tensor<4xi64>, tensor<4x2xf64>) {
// CHECK-NEXT:       %s_ct = array.multiply %v_ct, %u_1 : tensor<f64>
// CHECK-NEXT:       %u_ct_1 = array.multiply %v_ct, %s_2 : tensor<f64>
// CHECK-NEXT:       %6 = array.reshape %s_ct : tensor<f64> -> tensor<1x1xf64>
// CHECK-NEXT:       %a_ct = array.broadcast_to %6 : tensor<1x1xf64> -> tensor<4x2xf64>
// CHECK-NEXT:       %7 = array.full {value = -40} : tensor<4xi64>
// CHECK-NEXT:       %8 = array.less %i, %7 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// CHECK-NEXT:       %9 = array.full {value = 40} : tensor<4xi64>
// CHECK-NEXT:       %10 = array.add %i, %9 : tensor<4xi64>
// CHECK-NEXT:       %11 = array.where %8, %i, %10 : tensor<4xi1>, tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
// CHECK-NEXT:       %12 = array.full {value = 0} : tensor<4xi64>
// CHECK-NEXT:       %13 = array.less %i, %12 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// CHECK-NEXT:       %14 = array.where %13, %11, %i : tensor<4xi1>, tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
// CHECK-NEXT:       scf.yield %u_ct_1, %14, %a_ct : tensor<f64>, tensor<4xi64>, tensor<4x2xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %15 = array.full {value = 0} : tensor<4xi64>
// CHECK-NEXT:       %16 = array.full {value = 0.0} : tensor<4x2xf64>
// CHECK-NEXT:       scf.yield %v_ct, %15, %16 : tensor<f64>, tensor<4xi64>, tensor<4x2xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %w_ct_indices_2 = tensor.insert_slice %4 into %w_ct_indices_1[%filled_1] [4] [1] : tensor<4xi64> into tensor<12xi64>
// CHECK-NEXT:     %w_ct_values_2 = tensor.insert_slice %5 into %w_ct_values_1[%filled_1, 0] [4, 2] [1, 1] : tensor<4x2xf64> into tensor<12x2xf64>
// CHECK-NEXT:     %c4 = arith.constant 4 : index
// CHECK-NEXT:     %17 = arith.addi %filled_1, %c4 : index
// CHECK-NEXT:     scf.yield %u_ct, %w_ct_indices_2, %w_ct_values_2, %17, %tape_6 : tensor<f64>, tensor<12xi64>, tensor<12x2xf64>, index, !grad.tape<tensor<f64>, tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = grad.slices %w_ct_indices, %w_ct_values : tensor<12xi64>, tensor<12x2xf64> -> !grad.slices<40x2xf64, count = 12>
// CHECK-NEXT:   func.return %r, %w_ct : tensor<f64>, !grad.slices<40x2xf64, count = 12>
// CHECK-NEXT: }
