// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// Branches leave what they have to keep in results that they share. %x is used outside too: the sum
// for it goes through the branches.
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64>, %c: i1) -> tensor<4xf64> {
  %y = scf.if %c -> (tensor<4xf64>) {
    %h = array.multiply %w, %x : tensor<4xf64>
    %t = array.tanh %h : tensor<4xf64>
    scf.yield %t : tensor<4xf64>
  } else {
    %e = array.exp %x : tensor<4xf64>
    %s = array.sin %e : tensor<4xf64>
    scf.yield %s : tensor<4xf64>
  }
  %z = array.multiply %y, %x : tensor<4xf64>
  func.return %z : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %w: tensor<4xf64>, %c: i1, %z_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = scf.if %c -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:     %h = array.multiply %w, %x : tensor<4xf64>
// CHECK-NEXT:     %t_point_1 = grad.tanh_point %h : tensor<4xf64>
// CHECK-NEXT:     %t = grad.tanh_at %t_point_1 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %t, %t_point_1 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %e = array.exp %x : tensor<4xf64>
// CHECK-NEXT:     %s = array.sin %e : tensor<4xf64>
// CHECK-NEXT:     scf.yield %s, %e : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %z = array.multiply %y, %x : tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.multiply %z_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %z_ct, %y : tensor<4xf64>
// CHECK-NEXT:   %w_ct, %x_ct_1 = scf.if %c -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:     %0 = grad.tanh_slope_at %t_point : tensor<4xf64>
// CHECK-NEXT:     %t_point_ct = array.multiply %y_ct, %0 : tensor<4xf64>
// CHECK-NEXT:     %w_ct_1 = array.multiply %t_point_ct, %x : tensor<4xf64>
// CHECK-NEXT:     %x_ct_2 = array.multiply %t_point_ct, %w : tensor<4xf64>
// CHECK-NEXT:     %x_ct_3 = grad.accumulate %x_ct, %x_ct_2 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %w_ct_1, %x_ct_3 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %1 = array.cos %t_point : tensor<4xf64>
// CHECK-NEXT:     %e_ct = array.multiply %y_ct, %1 : tensor<4xf64>
// CHECK-NEXT:     %x_ct_4 = array.multiply %e_ct, %t_point : tensor<4xf64>
// CHECK-NEXT:     %w_ct_2 = grad.zero : tensor<4xf64>
// CHECK-NEXT:     %x_ct_5 = grad.accumulate %x_ct, %x_ct_4 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %w_ct_2, %x_ct_5 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %z, %x_ct_1, %w_ct : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// One side passes a value on, the other makes a new one.
func.func @f(%x: tensor<f64>, %w: tensor<f64>, %k: index) -> tensor<f64> {
  %y = scf.index_switch %k -> tensor<f64>
  case 2 {
    scf.yield %x : tensor<f64>
  }
  default {
    %p = array.multiply %w, %w : tensor<f64>
    scf.yield %p : tensor<f64>
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %w: tensor<f64>, %k: index, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %y = scf.index_switch %k -> tensor<f64>
// CHECK-NEXT:   case 2 {
// CHECK-NEXT:     scf.yield %x : tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   default {
// CHECK-NEXT:     %p = array.multiply %w, %w : tensor<f64>
// CHECK-NEXT:     scf.yield %p : tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct, %x_ct = scf.index_switch %k -> tensor<f64>, tensor<f64>
// CHECK-NEXT:   case 2 {
// CHECK-NEXT:     %w_ct_1 = grad.zero : tensor<f64>
// CHECK-NEXT:     scf.yield %w_ct_1, %y_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   default {
// CHECK-NEXT:     %w_ct_2 = array.multiply %y_ct, %w : tensor<f64>
// CHECK-NEXT:     %w_ct_3 = array.multiply %y_ct, %w : tensor<f64>
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<f64>
// CHECK-NEXT:     %x_ct_1 = grad.zero : tensor<f64>
// CHECK-NEXT:     scf.yield %w_ct_4, %x_ct_1 : tensor<f64>, tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct : tensor<f64>, tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// The ops of an execute_region join those around it.
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = scf.execute_region -> (tensor<f64>) {
    %s = array.sin %x : tensor<f64>
    scf.yield %s : tensor<f64>
  }
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %s = array.sin %x : tensor<f64>
// CHECK-NEXT:   %0 = array.cos %x : tensor<f64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %0 : tensor<f64>
// CHECK-NEXT:   func.return %s, %x_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// What branches keep in tensors of different shapes goes into the row that the largest fills; what a
// branch has no value for stays undefined.
func.func @f(%x: tensor<4xf64>, %c: i1) -> tensor<4xf64> {
  %y = scf.if %c -> (tensor<4xf64>) {
    %e = array.exp %x : tensor<4xf64>
    %t = array.multiply %e, %x : tensor<4xf64>
    scf.yield %t : tensor<4xf64>
  } else {
    %h = array.sum %x : tensor<4xf64> -> tensor<f64>
    %r = array.reshape %h : tensor<f64> -> tensor<1xf64>
    %s = array.sin %r : tensor<1xf64>
    %t = array.broadcast_to %s : tensor<1xf64> -> tensor<4xf64>
    scf.yield %t : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %c: i1, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %e = scf.if %c -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:     %e_1 = array.exp %x : tensor<4xf64>
// CHECK-NEXT:     %t = array.multiply %e_1, %x : tensor<4xf64>
// CHECK-NEXT:     scf.yield %t, %e_1 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %h = array.sum %x : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:     %r = array.reshape %h : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:     %s = array.sin %r : tensor<1xf64>
// CHECK-NEXT:     %t_1 = array.broadcast_to %s : tensor<1xf64> -> tensor<4xf64>
// CHECK-NEXT:     %0 = array.reshape %h : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:     %1 = tensor.empty() : tensor<4xf64>
// CHECK-NEXT:     %2 = tensor.insert_slice %0 into %1[0] [1] [1] : tensor<1xf64> into tensor<4xf64>
// CHECK-NEXT:     scf.yield %t_1, %2 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct = scf.if %c -> (tensor<4xf64>) {
// CHECK-NEXT:     %e_ct = array.multiply %y_ct, %x : tensor<4xf64>
// CHECK-NEXT:     %x_ct_1 = array.multiply %y_ct, %e : tensor<4xf64>
// CHECK-NEXT:     %x_ct_2 = array.multiply %e_ct, %e : tensor<4xf64>
// CHECK-NEXT:     %x_ct_3 = grad.accumulate %x_ct_1, %x_ct_2 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %x_ct_3 : tensor<4xf64>
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %3 = tensor.extract_slice %e[0] [1] [1] : tensor<4xf64> to tensor<1xf64>
// CHECK-NEXT:     %h_1 = array.reshape %3 : tensor<1xf64> -> tensor<f64>
// CHECK-NEXT:     %r_1 = array.reshape %h_1 : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:     %4 = array.sum %y_ct {axis = [0]} : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:     %s_ct = array.reshape %4 : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:     %5 = array.cos %r_1 : tensor<1xf64>
// CHECK-NEXT:     %r_ct = array.multiply %s_ct, %5 : tensor<1xf64>
// CHECK-NEXT:     %x_ct_4 = array.broadcast_to %r_ct : tensor<1xf64> -> tensor<4xf64>
// CHECK-NEXT:     scf.yield %x_ct_4 : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
