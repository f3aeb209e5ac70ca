// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=vjp req="w=add"}' | filecheck %s
// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=split req="w=add"}' | filecheck %s --check-prefix=SPLIT
// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=vjp req="w=add"},gradir-lower,gradir-fuse,gradir-bufferize' | filecheck %s --check-prefix=BUFFERS

// What the caller's array holds before comes in as an argument; on buffers it is the result's.
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  %y = array.multiply %x, %w : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}, %y_ct: tensor<4xf64>, %w_before: tensor<4xf64> {grad.in_out = 2 : i64}) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y = array.multiply %x, %w : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %w : tensor<4xf64>
// CHECK-NEXT:   %w_ct = array.multiply %y_ct, %x : tensor<4xf64>
// CHECK-NEXT:   %w_ct_1 = grad.accumulate %w_before, %w_ct : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct_1 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

//      SPLIT: func.func @f_bwd(%x: tensor<4xf64>, %w: tensor<4xf64>, %y_ct: tensor<4xf64>, %w_before: tensor<4xf64> {grad.in_out = 1 : i64}) -> (tensor<4xf64>, tensor<4xf64>) {
// SPLIT-NEXT:   %x_ct = array.multiply %y_ct, %w : tensor<4xf64>
// SPLIT-NEXT:   %w_ct = array.multiply %y_ct, %x : tensor<4xf64>
// SPLIT-NEXT:   %w_ct_1 = grad.accumulate %w_before, %w_ct : tensor<4xf64>
// SPLIT-NEXT:   func.return %x_ct, %w_ct_1 : tensor<4xf64>, tensor<4xf64>
// SPLIT-NEXT: }

//      BUFFERS: func.func @f_vjp(%x: memref<4xf64>, %w: memref<4xf64>, %y_ct: memref<4xf64>, %result0: memref<4xf64>, %result1: memref<4xf64>, %result2: memref<4xf64>) attributes {gradir.inputs = 3 : i64, gradir.results = 3 : i64, gradir.read_results = array<i64: 2>} {
// BUFFERS-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>, %1 = %w[d0] : memref<4xf64>, %2 = %y_ct[d0] : memref<4xf64>, %3 = %result2[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>, [d0] to %result1 : memref<4xf64>, [d0] to %result2 : memref<4xf64>) {
// BUFFERS-NEXT:     %4 = arith.mulf %0, %1 : f64
// BUFFERS-NEXT:     %5 = arith.mulf %2, %1 : f64
// BUFFERS-NEXT:     %6 = arith.mulf %2, %0 : f64
// BUFFERS-NEXT:     %7 = arith.addf %3, %6 : f64
// BUFFERS-NEXT:     loopnest.yield %4, %5, %7 : f64, f64, f64
// BUFFERS-NEXT:   }
// BUFFERS-NEXT:   func.return
// BUFFERS-NEXT: }
