// RUN: gradir-opt %s -p "gradir-gradient{function=layer mode=vjp},gradir-inline-checkpoints,cse,canonicalize,gradir-simplify,gradir-dce" | filecheck %s --check-prefix=MERGED
// RUN: gradir-opt %s -p "gradir-gradient{function=layer mode=vjp},gradir-inline-checkpoints,gradir-simplify,cse,gradir-dce,gradir-lower,gradir-fuse,gradir-schedule,gradir-bufferize" | filecheck %s --check-prefix=BUFFERS

// Recomputation survives every pass that merges equal computations: it reads its inputs through
// barriers, which cost nothing on buffers. A view of an input is not stored for the replay.
func.func @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %bias = array.broadcast_to %b : tensor<8xf32> -> tensor<4x8xf32>
  %s = grad.start_checkpoint %x : tensor<4x8xf32>
  %m = array.matmul %s, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h = array.add %m, %bias : tensor<4x8xf32>
  %t = array.tanh %h : tensor<4x8xf32>
  %u = array.matmul %t, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y = grad.end_checkpoint %u : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

//      MERGED: func.func @layer_vjp(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %y_ct: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
// MERGED-NEXT:   %bias = array.broadcast_to %b : tensor<8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %m = array.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %h = array.add %m, %bias : tensor<4x8xf32>
// MERGED-NEXT:   %t = array.tanh %h : tensor<4x8xf32>
// MERGED-NEXT:   %u = array.matmul %t, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %0 = array.permute_dims %w {axes = [1, 0]} : tensor<8x8xf32> -> tensor<8x8xf32>
// MERGED-NEXT:   %t_ct = array.matmul %y_ct, %0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %x_1 = grad.barrier %x : tensor<4x8xf32>
// MERGED-NEXT:   %w_1 = grad.barrier %w : tensor<8x8xf32>
// MERGED-NEXT:   %m_remat = array.matmul %x_1, %w_1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %1 = grad.barrier %b : tensor<8xf32>
// MERGED-NEXT:   %bias_1 = array.broadcast_to %1 : tensor<8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %h_remat = array.add %m_remat, %bias_1 : tensor<4x8xf32>
// MERGED-NEXT:   %t_remat = array.tanh %h_remat : tensor<4x8xf32>
// MERGED-NEXT:   %2 = array.permute_dims %t_remat {axes = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
// MERGED-NEXT:   %w_ct = array.matmul %2, %y_ct : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
// MERGED-NEXT:   %3 = array.multiply %t_remat, %t_remat : tensor<4x8xf32>
// MERGED-NEXT:   %4 = array.full {value = 1.0} : tensor<4x8xf32>
// MERGED-NEXT:   %5 = array.subtract %4, %3 : tensor<4x8xf32>
// MERGED-NEXT:   %h_ct = array.multiply %t_ct, %5 : tensor<4x8xf32>
// MERGED-NEXT:   %x_ct = array.matmul %h_ct, %0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// MERGED-NEXT:   %6 = array.permute_dims %x {axes = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
// MERGED-NEXT:   %w_ct_1 = array.matmul %6, %h_ct : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
// MERGED-NEXT:   %w_ct_2 = grad.accumulate %w_ct, %w_ct_1 : tensor<8x8xf32>
// MERGED-NEXT:   %b_ct = array.sum %h_ct {axis = [0]} : tensor<4x8xf32> -> tensor<8xf32>
// MERGED-NEXT:   func.return %u, %x_ct, %w_ct_2, %b_ct : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>
// MERGED-NEXT: }

//      BUFFERS: func.func @layer_vjp(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %b: memref<8xf32>, %y_ct: memref<4x8xf32>, %result0: memref<4x8xf32>, %result1: memref<4x8xf32>, %result2: memref<8x8xf32>, %result3: memref<8xf32>) attributes {gradir.inputs = 4 : i64, gradir.results = 4 : i64} {
// BUFFERS-NEXT:   %t = memref.alloc() : memref<4x8xf32>
// BUFFERS-NEXT:   loopnest.contract [4, 8, 8] (%x[d0, d2] : memref<4x8xf32>, %w[d2, d1] : memref<8x8xf32>, %0 = %b[d1] : memref<8xf32>) acc %1: f32 -> ([d0, d1] to %t : memref<4x8xf32>) {
// BUFFERS-NEXT:     %2 = arith.addf %1, %0 : f32
// BUFFERS-NEXT:     %3 = math.tanh %2 : f32
// BUFFERS-NEXT:     loopnest.yield %3 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   loopnest.contract [4, 8, 8] (%t[d0, d2] : memref<4x8xf32>, %w[d2, d1] : memref<8x8xf32>) acc %0: f32 -> ([d0, d1] to %result0 : memref<4x8xf32>) {
// BUFFERS-NEXT:     loopnest.yield %0 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   %t_ct = memref.alloc() : memref<4x8xf32>
// BUFFERS-NEXT:   loopnest.contract [4, 8, 8] (%y_ct[d0, d2] : memref<4x8xf32>, %w[d1, d2] : memref<8x8xf32>) acc %0: f32 -> ([d0, d1] to %t_ct : memref<4x8xf32>) {
// BUFFERS-NEXT:     loopnest.yield %0 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   %h_ct = memref.alloc() : memref<4x8xf32>
// BUFFERS-NEXT:   loopnest.contract [4, 8, 8] (%x[d0, d2] : memref<4x8xf32>, %w[d2, d1] : memref<8x8xf32>, %0 = %b[d1] : memref<8xf32>, %1 = %t_ct[d0, d1] : memref<4x8xf32>) acc %2: f32 -> ([d0, d1] to %t_ct : memref<4x8xf32>, [d0, d1] to %h_ct : memref<4x8xf32>) {
// BUFFERS-NEXT:     %3 = arith.addf %2, %0 : f32
// BUFFERS-NEXT:     %4 = math.tanh %3 : f32
// BUFFERS-NEXT:     %5 = arith.mulf %4, %4 : f32
// BUFFERS-NEXT:     %6 = arith.constant 1.000000e+00 : f32
// BUFFERS-NEXT:     %7 = arith.subf %6, %5 : f32
// BUFFERS-NEXT:     %8 = arith.mulf %1, %7 : f32
// BUFFERS-NEXT:     loopnest.yield %4, %8 : f32, f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   loopnest.contract [4, 8, 8] (%h_ct[d0, d2] : memref<4x8xf32>, %w[d1, d2] : memref<8x8xf32>) acc %0: f32 -> ([d0, d1] to %result1 : memref<4x8xf32>) {
// BUFFERS-NEXT:     loopnest.yield %0 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   %w_ct = memref.alloc() : memref<8x8xf32>
// BUFFERS-NEXT:   loopnest.contract [8, 8, 4] (%t_ct[d2, d0] : memref<4x8xf32>, %y_ct[d2, d1] : memref<4x8xf32>) acc %0: f32 -> ([d0, d1] to %w_ct : memref<8x8xf32>) {
// BUFFERS-NEXT:     loopnest.yield %0 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   loopnest.contract [8, 8, 4] (%x[d2, d0] : memref<4x8xf32>, %h_ct[d2, d1] : memref<4x8xf32>, %0 = %w_ct[d0, d1] : memref<8x8xf32>) acc %1: f32 -> ([d0, d1] to %result2 : memref<8x8xf32>) {
// BUFFERS-NEXT:     %2 = arith.addf %0, %1 : f32
// BUFFERS-NEXT:     loopnest.yield %2 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   loopnest.nest [4, 8] (%0 = %h_ct[d0, d1] : memref<4x8xf32>) -> (add [d1] to %result3 : memref<8xf32>) {
// BUFFERS-NEXT:     loopnest.yield %0 : f32
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   func.return
// BUFFERS-NEXT: }
