// RUN: gradir-opt %s -p 'gradir-gradient{function=f}' | filecheck %s --check-prefix=SPLIT
// RUN: gradir-opt %s -p 'gradir-gradient{function=f policy=keep_none}' | filecheck %s --check-prefix=NONE
// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=grad}' | filecheck %s --check-prefix=GRAD
// RUN: gradir-opt %s -p 'gradir-gradient{function=elementwise mode=grad}' | filecheck %s --check-prefix=FUSED
// RUN: gradir-opt %s -p 'gradir-gradient{function=loop mode=grad}' | filecheck %s --check-prefix=LOOP
// RUN: gradir-opt %s -p 'gradir-gradient{function=stage mode=grad}' | filecheck %s --check-prefix=STAGE

// A mask is kept as bits, or drawn again from key and counter alone.
func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> tensor<f32> {
  %h = array.sin %x : tensor<8x8xf32>
  %d, %mask = nn.dropout %h, %key, %key : tensor<8x8xf32>, tensor<i64>, tensor<i64> -> (tensor<8x8xf32>, tensor<8x8xi1>)
  %z = array.matmul %d, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %t = array.tanh %z : tensor<8x8xf32>
  %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

// Nothing waits for the whole mask: it is read while it is drawn.
func.func @elementwise(%x: tensor<8x8xf32>, %key: tensor<i64>) -> tensor<f32> {
  %d, %mask = nn.dropout %x, %key, %key : tensor<8x8xf32>, tensor<i64>, tensor<i64> -> (tensor<8x8xf32>, tensor<8x8xi1>)
  %t = array.tanh %d : tensor<8x8xf32>
  %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

// The tape holds bits.
func.func @loop(%x: tensor<8x8xf32>, %key: tensor<i64>) -> tensor<f32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %y, %last = scf.for %i = %zero to %three step %one iter_args(%h = %x, %k = %key) -> (tensor<8x8xf32>, tensor<i64>) {
    %d, %mask = nn.dropout %h, %k, %key : tensor<8x8xf32>, tensor<i64>, tensor<i64> -> (tensor<8x8xf32>, tensor<8x8xi1>)
    %next = array.add %k, %k : tensor<i64>
    scf.yield %d, %next : tensor<8x8xf32>, tensor<i64>
  }
  %loss = array.sum %y : tensor<8x8xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

// A stage with a policy keeps bits too.
func.func @stage(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> tensor<f32> {
  %e = grad.checkpoint policy "keep_all" -> (tensor<8x8xf32>) {
    %d, %mask = nn.dropout %x, %key, %key : tensor<8x8xf32>, tensor<i64>, tensor<i64> -> (tensor<8x8xf32>, tensor<8x8xi1>)
    %z = array.matmul %d, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    grad.yield %z : tensor<8x8xf32>
  }
  %loss = array.sum %e : tensor<8x8xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

//      SPLIT: func.func @f_fwd(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi8>, tensor<8x8xf32>, tensor<8x8xf32>) {
// SPLIT-NEXT:   %h = array.sin %x : tensor<8x8xf32>
// SPLIT-NEXT:   %mask = grad.dropout_mask %key, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// SPLIT-NEXT:   %mask_bits = grad.pack_bits %mask : tensor<8x8xi1> -> tensor<8xi8>
// SPLIT-NEXT:   %d = grad.drop %h, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// SPLIT-NEXT:   %z = array.matmul %d, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %t_point = grad.tanh_point %z : tensor<8x8xf32>
// SPLIT-NEXT:   %t = grad.tanh_at %t_point : tensor<8x8xf32>
// SPLIT-NEXT:   %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
// SPLIT-NEXT:   func.return %loss, %x, %w, %mask_bits, %d, %t_point : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi8>, tensor<8x8xf32>, tensor<8x8xf32>
// SPLIT-NEXT: }
//      SPLIT: func.func @f_bwd(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %mask_bits: tensor<8xi8>, %d: tensor<8x8xf32>, %t_point: tensor<8x8xf32>, %loss_ct: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// SPLIT-NEXT:   %0 = array.reshape %loss_ct : tensor<f32> -> tensor<1x1xf32>
// SPLIT-NEXT:   %t_ct = array.broadcast_to %0 : tensor<1x1xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %1 = grad.tanh_slope_at %t_point : tensor<8x8xf32>
// SPLIT-NEXT:   %t_point_ct = array.multiply %t_ct, %1 : tensor<8x8xf32>
// SPLIT-NEXT:   %2 = array.permute_dims %w {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %d_ct = array.matmul %t_point_ct, %2 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %3 = array.permute_dims %d {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %w_ct = array.matmul %3, %t_point_ct : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   %mask = grad.unpack_bits %mask_bits : tensor<8xi8> -> tensor<8x8xi1>
// SPLIT-NEXT:   %h_ct = grad.drop %d_ct, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// SPLIT-NEXT:   %4 = array.cos %x : tensor<8x8xf32>
// SPLIT-NEXT:   %5 = array.multiply %h_ct, %4 : tensor<8x8xf32>
// SPLIT-NEXT:   %6 = array.full {value = 0.0} : tensor<8x8xf32>
// SPLIT-NEXT:   %x_ct = grad.gate %5, %mask, %6 : tensor<8x8xf32>, tensor<8x8xi1>, tensor<8x8xf32> -> tensor<8x8xf32>
// SPLIT-NEXT:   func.return %x_ct, %w_ct : tensor<8x8xf32>, tensor<8x8xf32>
// SPLIT-NEXT: }

//      NONE: func.func @f_fwd(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<i64>) {
// NONE-NEXT:   %h = array.sin %x : tensor<8x8xf32>
// NONE-NEXT:   %mask = grad.dropout_mask %key, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// NONE-NEXT:   %d = grad.drop %h, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// NONE-NEXT:   %z = array.matmul %d, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %t_point = grad.tanh_point %z : tensor<8x8xf32>
// NONE-NEXT:   %t = grad.tanh_at %t_point : tensor<8x8xf32>
// NONE-NEXT:   %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
// NONE-NEXT:   func.return %loss, %x, %w, %key : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<i64>
// NONE-NEXT: }
//      NONE: func.func @f_bwd(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>, %loss_ct: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// NONE-NEXT:   %0 = array.reshape %loss_ct : tensor<f32> -> tensor<1x1xf32>
// NONE-NEXT:   %t_ct = array.broadcast_to %0 : tensor<1x1xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %x_1 = grad.barrier %x : tensor<8x8xf32>
// NONE-NEXT:   %h_remat = array.sin %x_1 : tensor<8x8xf32>
// NONE-NEXT:   %key_1 = grad.barrier %key : tensor<i64>
// NONE-NEXT:   %mask_remat = grad.dropout_mask %key_1, %key_1 {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// NONE-NEXT:   %d_remat = grad.drop %h_remat, %mask_remat {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// NONE-NEXT:   %w_1 = grad.barrier %w : tensor<8x8xf32>
// NONE-NEXT:   %z_remat = array.matmul %d_remat, %w_1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %t_point_remat = grad.tanh_point %z_remat : tensor<8x8xf32>
// NONE-NEXT:   %1 = grad.tanh_slope_at %t_point_remat : tensor<8x8xf32>
// NONE-NEXT:   %t_point_ct = array.multiply %t_ct, %1 : tensor<8x8xf32>
// NONE-NEXT:   %2 = array.permute_dims %w {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %d_ct = array.matmul %t_point_ct, %2 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %3 = array.permute_dims %d_remat {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %w_ct = array.matmul %3, %t_point_ct : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   %h_ct = grad.drop %d_ct, %mask_remat {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// NONE-NEXT:   %4 = array.cos %x : tensor<8x8xf32>
// NONE-NEXT:   %5 = array.multiply %h_ct, %4 : tensor<8x8xf32>
// NONE-NEXT:   %6 = array.full {value = 0.0} : tensor<8x8xf32>
// NONE-NEXT:   %x_ct = grad.gate %5, %mask_remat, %6 : tensor<8x8xf32>, tensor<8x8xi1>, tensor<8x8xf32> -> tensor<8x8xf32>
// NONE-NEXT:   func.return %x_ct, %w_ct : tensor<8x8xf32>, tensor<8x8xf32>
// NONE-NEXT: }

//      GRAD: func.func @f_grad(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// GRAD-NEXT:   %h = array.sin %x : tensor<8x8xf32>
// GRAD-NEXT:   %mask = grad.dropout_mask %key, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// GRAD-NEXT:   %mask_bits = grad.pack_bits %mask : tensor<8x8xi1> -> tensor<8xi8>
// GRAD-NEXT:   %d = grad.drop %h, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// GRAD-NEXT:   %z = array.matmul %d, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   %t_point = grad.tanh_point %z : tensor<8x8xf32>
// GRAD-NEXT:   %t = grad.tanh_at %t_point : tensor<8x8xf32>
// GRAD-NEXT:   %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
// GRAD-NEXT:   %t_point_ct = grad.tanh_slope_at %t_point : tensor<8x8xf32>
// GRAD-NEXT:   %0 = array.permute_dims %w {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   %d_ct = array.matmul %t_point_ct, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   %1 = array.permute_dims %d {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   %w_ct = array.matmul %1, %t_point_ct : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   %mask_1 = grad.unpack_bits %mask_bits : tensor<8xi8> -> tensor<8x8xi1>
// GRAD-NEXT:   %h_ct = grad.drop %d_ct, %mask_1 {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// GRAD-NEXT:   %2 = array.cos %x : tensor<8x8xf32>
// GRAD-NEXT:   %3 = array.multiply %h_ct, %2 : tensor<8x8xf32>
// GRAD-NEXT:   %4 = array.full {value = 0.0} : tensor<8x8xf32>
// GRAD-NEXT:   %x_ct = grad.gate %3, %mask_1, %4 : tensor<8x8xf32>, tensor<8x8xi1>, tensor<8x8xf32> -> tensor<8x8xf32>
// GRAD-NEXT:   func.return %loss, %x_ct, %w_ct : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
// GRAD-NEXT: }

//      FUSED: func.func @elementwise_grad(%x: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>) {
// FUSED-NEXT:   %mask = grad.dropout_mask %key, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// FUSED-NEXT:   %d = grad.drop %x, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// FUSED-NEXT:   %t_point = grad.tanh_point %d : tensor<8x8xf32>
// FUSED-NEXT:   %t = grad.tanh_at %t_point : tensor<8x8xf32>
// FUSED-NEXT:   %loss = array.sum %t : tensor<8x8xf32> -> tensor<f32>
// FUSED-NEXT:   %t_point_ct = grad.tanh_slope_at %t_point : tensor<8x8xf32>
// FUSED-NEXT:   %x_ct = grad.drop %t_point_ct, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// FUSED-NEXT:   func.return %loss, %x_ct : tensor<f32>, tensor<8x8xf32>
// FUSED-NEXT: }

//      LOOP: func.func @loop_grad(%x: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>) {
// LOOP-NEXT:   %zero = arith.constant 0 : index
// LOOP-NEXT:   %one = arith.constant 1 : index
// LOOP-NEXT:   %three = arith.constant 3 : index
// LOOP-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<8xi8>, capacity = 3>
// LOOP-NEXT:   %y, %last, %tape_1 = scf.for %i = %zero to %three step %one iter_args(%h = %x, %k = %key, %tape_2 = %tape) -> (tensor<8x8xf32>, tensor<i64>, !grad.tape<tensor<8xi8>, capacity = 3>) {
// LOOP-NEXT:     %mask = grad.dropout_mask %k, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// LOOP-NEXT:     %mask_bits = grad.pack_bits %mask : tensor<8x8xi1> -> tensor<8xi8>
// LOOP-NEXT:     %d = grad.drop %h, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// LOOP-NEXT:     %next = array.add %k, %k : tensor<i64>
// LOOP-NEXT:     %tape_3 = grad.tape_push %tape_2, %mask_bits : !grad.tape<tensor<8xi8>, capacity = 3>
// LOOP-NEXT:     scf.yield %d, %next, %tape_3 : tensor<8x8xf32>, tensor<i64>, !grad.tape<tensor<8xi8>, capacity = 3>
// LOOP-NEXT:   }
// LOOP-NEXT:   %loss = array.sum %y : tensor<8x8xf32> -> tensor<f32>
// LOOP-NEXT:   %y_ct = array.full {value = 1.0} : tensor<8x8xf32>
// LOOP-NEXT:   %x_ct, %tape_4 = scf.for %back = %zero to %three step %one iter_args(%d_ct = %y_ct, %tape_5 = %tape_1) -> (tensor<8x8xf32>, !grad.tape<tensor<8xi8>, capacity = 3>) {
// LOOP-NEXT:     %tape_6, %mask_bits_1 = grad.tape_pop %tape_5 : !grad.tape<tensor<8xi8>, capacity = 3>
// LOOP-NEXT:     %mask_1 = grad.unpack_bits %mask_bits_1 : tensor<8xi8> -> tensor<8x8xi1>
// LOOP-NEXT:     %h_ct = grad.drop %d_ct, %mask_1 {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// LOOP-NEXT:     scf.yield %h_ct, %tape_6 : tensor<8x8xf32>, !grad.tape<tensor<8xi8>, capacity = 3>
// LOOP-NEXT:   }
// LOOP-NEXT:   func.return %loss, %x_ct : tensor<f32>, tensor<8x8xf32>
// LOOP-NEXT: }

//      STAGE: func.func @stage_grad(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %key: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>) {
// STAGE-NEXT:   %e, %d, %mask_bits = grad.checkpoint policy "keep_all" -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi8>) {
// STAGE-NEXT:     %mask = grad.dropout_mask %key, %key {p = 0.5} : tensor<i64>, tensor<i64> -> tensor<8x8xi1>
// STAGE-NEXT:     %mask_bits_1 = grad.pack_bits %mask : tensor<8x8xi1> -> tensor<8xi8>
// STAGE-NEXT:     %d_1 = grad.drop %x, %mask {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// STAGE-NEXT:     %z = array.matmul %d_1, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// STAGE-NEXT:     grad.yield %z, %d_1, %mask_bits_1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi8>
// STAGE-NEXT:   }
// STAGE-NEXT:   %loss = array.sum %e : tensor<8x8xf32> -> tensor<f32>
// STAGE-NEXT:   %e_ct = array.full {value = 1.0} : tensor<8x8xf32>
// STAGE-NEXT:   %w_ct, %x_ct = grad.checkpoint -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// STAGE-NEXT:     %mask_1 = grad.unpack_bits %mask_bits : tensor<8xi8> -> tensor<8x8xi1>
// STAGE-NEXT:     %0 = array.permute_dims %w {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// STAGE-NEXT:     %d_ct = array.matmul %e_ct, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// STAGE-NEXT:     %1 = array.permute_dims %d {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// STAGE-NEXT:     %w_ct_1 = array.matmul %1, %e_ct : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
// STAGE-NEXT:     %x_ct_1 = grad.drop %d_ct, %mask_1 {p = 0.5} : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32>
// STAGE-NEXT:     grad.yield %w_ct_1, %x_ct_1 : tensor<8x8xf32>, tensor<8x8xf32>
// STAGE-NEXT:   }
// STAGE-NEXT:   func.return %loss, %x_ct, %w_ct : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
// STAGE-NEXT: }
