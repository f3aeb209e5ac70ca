// RUN: gradir-opt %s -p "gradir-gradient{function=sequential},gradir-gradient{function=consecutive},gradir-gradient{function=tree},gradir-gradient{function=nested},gradir-gradient{function=named wrt=b}" | filecheck %s

// The backward code of a stage is a stage: it runs the ops again whose values it reads, each at its
// first use. The output of the first stage is read outside, so it is kept. Only %c is recomputed.
func.func @sequential(%x: tensor<3x3xf32>) -> tensor<f32> {
  %s = grad.start_checkpoint %x : tensor<3x3xf32>
  %a = array.sin %s : tensor<3x3xf32>
  %ae = grad.end_checkpoint %a : tensor<3x3xf32>
  %b = array.sin %ae : tensor<3x3xf32>
  %t = grad.start_checkpoint %b : tensor<3x3xf32>
  %c = array.sin %t : tensor<3x3xf32>
  %d = array.sin %c : tensor<3x3xf32>
  %loss = array.sum %d : tensor<3x3xf32> -> tensor<f32>
  %le = grad.end_checkpoint %loss : tensor<f32>
  func.return %le : tensor<f32>
}
// %a and %c are recomputed; %b, between the stages, is kept.
func.func @consecutive(%x: tensor<3x3xf32>) -> tensor<f32> {
  %s = grad.start_checkpoint %x : tensor<3x3xf32>
  %a = array.sin %s : tensor<3x3xf32>
  %b = array.sin %a : tensor<3x3xf32>
  %be = grad.end_checkpoint %b : tensor<3x3xf32>
  %t = grad.start_checkpoint %be : tensor<3x3xf32>
  %c = array.sin %t : tensor<3x3xf32>
  %d = array.sin %c : tensor<3x3xf32>
  %de = grad.end_checkpoint %d : tensor<3x3xf32>
  %loss = array.sum %de : tensor<3x3xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}
// Nothing is recomputed: the product reads the outputs of both stages, so they are kept.
func.func @tree(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<f32> {
  %a = array.multiply %x, %y : tensor<3xf32>
  %as = grad.start_checkpoint %a : tensor<3xf32>
  %zs = grad.start_checkpoint %z : tensor<3xf32>
  %b = array.multiply %as, %zs : tensor<3xf32>
  %be = grad.end_checkpoint %b : tensor<3xf32>
  %us = grad.start_checkpoint %u : tensor<3xf32>
  %vs = grad.start_checkpoint %v : tensor<3xf32>
  %c = array.multiply %us, %vs : tensor<3xf32>
  %ce = grad.end_checkpoint %c : tensor<3xf32>
  %d = array.multiply %be, %ce : tensor<3xf32>
  %loss = array.sum %d : tensor<3xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}
// Kept are %x and %e. The replay of the outer stage makes %a to %d; the inner one makes %b again.
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %a = array.sin %s : tensor<4xf32>
  %a2 = array.sin %a : tensor<4xf32>
  %t = grad.start_checkpoint %a2 : tensor<4xf32>
  %b = array.sin %t : tensor<4xf32>
  %c = array.sin %b : tensor<4xf32>
  %ce = grad.end_checkpoint %c : tensor<4xf32>
  %d = array.sin %ce : tensor<4xf32>
  %e = array.sin %d : tensor<4xf32>
  %ee = grad.end_checkpoint %e : tensor<4xf32>
  %f = array.sin %ee : tensor<4xf32>
  func.return %f : tensor<4xf32>
}
// A stage around a value that was asked for is dissolved: its values are kept.
func.func @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %a = array.sin %s : tensor<4xf32>
  %b = grad.name %a {name = "b"} : tensor<4xf32>
  %c = array.sin %b : tensor<4xf32>
  %d = array.sin %c : tensor<4xf32>
  %e = grad.end_checkpoint %d : tensor<4xf32>
  func.return %e : tensor<4xf32>
}

//      CHECK: func.func @sequential_fwd(%x: tensor<3x3xf32>) -> (tensor<f32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT:   %ae = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %a : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = array.sin %ae : tensor<3x3xf32>
// CHECK-NEXT:   %le = grad.checkpoint -> (tensor<f32>) {
// CHECK-NEXT:     %c = array.sin %b : tensor<3x3xf32>
// CHECK-NEXT:     %d = array.sin %c : tensor<3x3xf32>
// CHECK-NEXT:     %loss = array.sum %d : tensor<3x3xf32> -> tensor<f32>
// CHECK-NEXT:     grad.yield %loss : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %le, %x, %ae, %b : tensor<f32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @sequential_bwd(%x: tensor<3x3xf32>, %ae: tensor<3x3xf32>, %b: tensor<3x3xf32>, %le_ct: tensor<f32>) -> tensor<3x3xf32> {
// CHECK-NEXT:   %b_ct = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %0 = array.reshape %le_ct : tensor<f32> -> tensor<1x1xf32>
// CHECK-NEXT:     %d_ct = array.broadcast_to %0 : tensor<1x1xf32> -> tensor<3x3xf32>
// CHECK-NEXT:     %b_1 = grad.barrier %b : tensor<3x3xf32>
// CHECK-NEXT:     %c_remat = array.sin %b_1 : tensor<3x3xf32>
// CHECK-NEXT:     %1 = array.cos %c_remat : tensor<3x3xf32>
// CHECK-NEXT:     %c_ct = array.multiply %d_ct, %1 : tensor<3x3xf32>
// CHECK-NEXT:     %2 = array.cos %b : tensor<3x3xf32>
// CHECK-NEXT:     %b_ct_1 = array.multiply %c_ct, %2 : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %b_ct_1 : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %3 = array.cos %ae : tensor<3x3xf32>
// CHECK-NEXT:   %ae_ct = array.multiply %b_ct, %3 : tensor<3x3xf32>
// CHECK-NEXT:   %x_ct = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %4 = array.cos %x : tensor<3x3xf32>
// CHECK-NEXT:     %x_ct_1 = array.multiply %ae_ct, %4 : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %x_ct_1 : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x_ct : tensor<3x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @consecutive_fwd(%x: tensor<3x3xf32>) -> (tensor<f32>, tensor<3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT:   %be = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<3x3xf32>
// CHECK-NEXT:     %b = array.sin %a : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %b : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %de = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %c = array.sin %be : tensor<3x3xf32>
// CHECK-NEXT:     %d = array.sin %c : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %d : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %loss = array.sum %de : tensor<3x3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %loss, %x, %be : tensor<f32>, tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @consecutive_bwd(%x: tensor<3x3xf32>, %be: tensor<3x3xf32>, %loss_ct: tensor<f32>) -> tensor<3x3xf32> {
// CHECK-NEXT:   %0 = array.reshape %loss_ct : tensor<f32> -> tensor<1x1xf32>
// CHECK-NEXT:   %de_ct = array.broadcast_to %0 : tensor<1x1xf32> -> tensor<3x3xf32>
// CHECK-NEXT:   %be_ct = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %be_1 = grad.barrier %be : tensor<3x3xf32>
// CHECK-NEXT:     %c_remat = array.sin %be_1 : tensor<3x3xf32>
// CHECK-NEXT:     %1 = array.cos %c_remat : tensor<3x3xf32>
// CHECK-NEXT:     %c_ct = array.multiply %de_ct, %1 : tensor<3x3xf32>
// CHECK-NEXT:     %2 = array.cos %be : tensor<3x3xf32>
// CHECK-NEXT:     %be_ct_1 = array.multiply %c_ct, %2 : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %be_ct_1 : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct = grad.checkpoint -> (tensor<3x3xf32>) {
// CHECK-NEXT:     %x_1 = grad.barrier %x : tensor<3x3xf32>
// CHECK-NEXT:     %a_remat = array.sin %x_1 : tensor<3x3xf32>
// CHECK-NEXT:     %3 = array.cos %a_remat : tensor<3x3xf32>
// CHECK-NEXT:     %a_ct = array.multiply %be_ct, %3 : tensor<3x3xf32>
// CHECK-NEXT:     %4 = array.cos %x : tensor<3x3xf32>
// CHECK-NEXT:     %x_ct_1 = array.multiply %a_ct, %4 : tensor<3x3xf32>
// CHECK-NEXT:     grad.yield %x_ct_1 : tensor<3x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x_ct : tensor<3x3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @tree_fwd(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %a = array.multiply %x, %y : tensor<3xf32>
// CHECK-NEXT:   %be = grad.checkpoint -> (tensor<3xf32>) {
// CHECK-NEXT:     %b = array.multiply %a, %z : tensor<3xf32>
// CHECK-NEXT:     grad.yield %b : tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %ce = grad.checkpoint -> (tensor<3xf32>) {
// CHECK-NEXT:     %c = array.multiply %u, %v : tensor<3xf32>
// CHECK-NEXT:     grad.yield %c : tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %d = array.multiply %be, %ce : tensor<3xf32>
// CHECK-NEXT:   %loss = array.sum %d : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %loss, %x, %y, %z, %u, %v, %a, %be, %ce : tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @tree_bwd(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>, %a: tensor<3xf32>, %be: tensor<3xf32>, %ce: tensor<3xf32>, %loss_ct: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %0 = array.reshape %loss_ct : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %d_ct = array.broadcast_to %0 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %be_ct = array.multiply %d_ct, %ce : tensor<3xf32>
// CHECK-NEXT:   %ce_ct = array.multiply %d_ct, %be : tensor<3xf32>
// CHECK-NEXT:   %u_ct, %v_ct = grad.checkpoint -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %u_ct_1 = array.multiply %ce_ct, %v : tensor<3xf32>
// CHECK-NEXT:     %v_ct_1 = array.multiply %ce_ct, %u : tensor<3xf32>
// CHECK-NEXT:     grad.yield %u_ct_1, %v_ct_1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %a_ct, %z_ct = grad.checkpoint -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %a_ct_1 = array.multiply %be_ct, %z : tensor<3xf32>
// CHECK-NEXT:     %z_ct_1 = array.multiply %be_ct, %a : tensor<3xf32>
// CHECK-NEXT:     grad.yield %a_ct_1, %z_ct_1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct = array.multiply %a_ct, %y : tensor<3xf32>
// CHECK-NEXT:   %y_ct = array.multiply %a_ct, %x : tensor<3xf32>
// CHECK-NEXT:   func.return %x_ct, %y_ct, %z_ct, %u_ct, %v_ct : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @nested_fwd(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %ee = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     %a2 = array.sin %a : tensor<4xf32>
// CHECK-NEXT:     %ce = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:       %b = array.sin %a2 : tensor<4xf32>
// CHECK-NEXT:       %c = array.sin %b : tensor<4xf32>
// CHECK-NEXT:       grad.yield %c : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %d = array.sin %ce : tensor<4xf32>
// CHECK-NEXT:     %e = array.sin %d : tensor<4xf32>
// CHECK-NEXT:     grad.yield %e : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = array.sin %ee : tensor<4xf32>
// CHECK-NEXT:   func.return %f, %x, %ee : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @nested_bwd(%x: tensor<4xf32>, %ee: tensor<4xf32>, %f_ct: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %0 = array.cos %ee : tensor<4xf32>
// CHECK-NEXT:   %ee_ct = array.multiply %f_ct, %0 : tensor<4xf32>
// CHECK-NEXT:   %x_ct = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %x_1 = grad.barrier %x : tensor<4xf32>
// CHECK-NEXT:     %a_remat = array.sin %x_1 : tensor<4xf32>
// CHECK-NEXT:     %a2_remat = array.sin %a_remat : tensor<4xf32>
// CHECK-NEXT:     %ce_remat = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:       %b = array.sin %a2_remat : tensor<4xf32>
// CHECK-NEXT:       %c = array.sin %b : tensor<4xf32>
// CHECK-NEXT:       grad.yield %c : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %d_remat = array.sin %ce_remat : tensor<4xf32>
// CHECK-NEXT:     %1 = array.cos %d_remat : tensor<4xf32>
// CHECK-NEXT:     %d_ct = array.multiply %ee_ct, %1 : tensor<4xf32>
// CHECK-NEXT:     %2 = array.cos %ce_remat : tensor<4xf32>
// CHECK-NEXT:     %ce_ct = array.multiply %d_ct, %2 : tensor<4xf32>
// CHECK-NEXT:     %a2_ct = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:       %a2 = grad.barrier %a2_remat : tensor<4xf32>
// CHECK-NEXT:       %b_remat = array.sin %a2 : tensor<4xf32>
// CHECK-NEXT:       %3 = array.cos %b_remat : tensor<4xf32>
// CHECK-NEXT:       %b_ct = array.multiply %ce_ct, %3 : tensor<4xf32>
// CHECK-NEXT:       %4 = array.cos %a2_remat : tensor<4xf32>
// CHECK-NEXT:       %a2_ct_1 = array.multiply %b_ct, %4 : tensor<4xf32>
// CHECK-NEXT:       grad.yield %a2_ct_1 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %5 = array.cos %a_remat : tensor<4xf32>
// CHECK-NEXT:     %a_ct = array.multiply %a2_ct, %5 : tensor<4xf32>
// CHECK-NEXT:     %6 = array.cos %x : tensor<4xf32>
// CHECK-NEXT:     %x_ct_1 = array.multiply %a_ct, %6 : tensor<4xf32>
// CHECK-NEXT:     grad.yield %x_ct_1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x_ct : tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @named_fwd(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %a = array.sin %x : tensor<4xf32>
// CHECK-NEXT:   %b = grad.name %a {name = "b"} : tensor<4xf32>
// CHECK-NEXT:   %c = array.sin %b : tensor<4xf32>
// CHECK-NEXT:   %d = array.sin %c : tensor<4xf32>
// CHECK-NEXT:   func.return %d, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @named_bwd(%b: tensor<4xf32>, %c: tensor<4xf32>, %e_ct: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %0 = array.cos %c : tensor<4xf32>
// CHECK-NEXT:   %c_ct = array.multiply %e_ct, %0 : tensor<4xf32>
// CHECK-NEXT:   %1 = array.cos %b : tensor<4xf32>
// CHECK-NEXT:   %b_ct = array.multiply %c_ct, %1 : tensor<4xf32>
// CHECK-NEXT:   func.return %b_ct : tensor<4xf32>
// CHECK-NEXT: }
