// RUN: gradir-opt %s -p 'gradir-decompose,gradir-lower,dce' | filecheck %s

// A call starts at its place and is waited for where its result is read. f16 is summed in f32.
func.func @f(%x: tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<2x6xf16>) {
  %y = comm.all_reduce %x {ranks = 2} : tensor<2x3xf16>
  %z = comm.all_gather %x {axis = 1, ranks = 2, group = "rows"} : tensor<2x3xf16> -> tensor<2x6xf16>
  %unread = comm.broadcast %x {root = 1, ranks = 2} : tensor<2x3xf16>
  comm.barrier
  func.return %y, %z : tensor<2x3xf16>, tensor<2x6xf16>
}

// Ordered: all values, and sums of neighbours.
func.func @ordered(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = comm.all_reduce %x {ranks = 3, ordered = true} : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

func.func @numbers() -> (tensor<i64>, tensor<i64>) {
  %rank = comm.rank : tensor<i64>
  %size = comm.size : tensor<i64>
  func.return %rank, %size : tensor<i64>, tensor<i64>
}

//      CHECK: func.func @f(%x: tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<2x6xf16>) {
// CHECK-NEXT:   %0 = loopnest.nest [2, 3] (%1 = %x[d0, d1] : tensor<2x3xf16>) -> ([d0, d1] : tensor<2x3xf32>) {
// CHECK-NEXT:     %2 = arith.extf %1 : f16 to f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %1 = grad.host_call %0 {callee = "comm.all_reduce:world:2", exec = "started"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %y = loopnest.nest [2, 3] (%2 = %1[d0, d1] : tensor<2x3xf32>) -> ([d0, d1] : tensor<2x3xf16>) {
// CHECK-NEXT:     %3 = arith.truncf %2 : f32 to f16
// CHECK-NEXT:     loopnest.yield %3 : f16
// CHECK-NEXT:   }
// CHECK-NEXT:   %2 = grad.host_call %x {callee = "comm.all_gather:rows:2", exec = "started"} : (tensor<2x3xf16>) -> tensor<2x2x3xf16>
// CHECK-NEXT:   %3 = loopnest.nest [2, 2, 3] (%4 = %2[d1, d0, d2] : tensor<2x2x3xf16>) -> ([d0, d1, d2] : tensor<2x2x3xf16>) {
// CHECK-NEXT:     loopnest.yield %4 : f16
// CHECK-NEXT:   }
// CHECK-NEXT:   %z = loopnest.reshape %3 : tensor<2x2x3xf16> -> tensor<2x6xf16>
// CHECK-NEXT:   %unread = grad.host_call %x {callee = "comm.broadcast:world:2:1", exec = "started"} : (tensor<2x3xf16>) -> tensor<2x3xf16>
// CHECK-NEXT:   grad.host_call {callee = "comm.barrier:world", exec = "started"} : () -> ()
// CHECK-NEXT:   func.return %y, %z : tensor<2x3xf16>, tensor<2x6xf16>
// CHECK-NEXT: }

//      CHECK: func.func @ordered(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT:   %0 = grad.host_call %x {callee = "comm.all_gather:world:3", exec = "started"} : (tensor<3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:   %1 = loopnest.nest [1, 3] (%2 = %0[d0, d1] : tensor<3x3xf32>) -> ([d0, d1] : tensor<1x3xf32>) {
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %2 = loopnest.nest [3] (%3 = %1[0, d0] : tensor<1x3xf32>) -> ([d0] : tensor<3xf32>) {
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %3 = loopnest.nest [1, 3] (%4 = %0[d0 + 1, d1] : tensor<3x3xf32>) -> ([d0, d1] : tensor<1x3xf32>) {
// CHECK-NEXT:     loopnest.yield %4 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %4 = loopnest.nest [3] (%5 = %3[0, d0] : tensor<1x3xf32>) -> ([d0] : tensor<3xf32>) {
// CHECK-NEXT:     loopnest.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %5 = loopnest.nest [1, 3] (%6 = %0[d0 + 2, d1] : tensor<3x3xf32>) -> ([d0, d1] : tensor<1x3xf32>) {
// CHECK-NEXT:     loopnest.yield %6 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %6 = loopnest.nest [3] (%7 = %5[0, d0] : tensor<1x3xf32>) -> ([d0] : tensor<3xf32>) {
// CHECK-NEXT:     loopnest.yield %7 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %7 = loopnest.nest [3] (%8 = %2[d0] : tensor<3xf32>, %9 = %4[d0] : tensor<3xf32>) -> ([d0] : tensor<3xf32>) {
// CHECK-NEXT:     %10 = arith.addf %8, %9 : f32
// CHECK-NEXT:     loopnest.yield %10 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [3] (%8 = %7[d0] : tensor<3xf32>, %9 = %6[d0] : tensor<3xf32>) -> ([d0] : tensor<3xf32>) {
// CHECK-NEXT:     %10 = arith.addf %8, %9 : f32
// CHECK-NEXT:     loopnest.yield %10 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @numbers() -> (tensor<i64>, tensor<i64>) {
// CHECK-NEXT:   %rank = grad.host_call {callee = "comm.rank:world", exec = "started", pure} : () -> tensor<i64>
// CHECK-NEXT:   %size = grad.host_call {callee = "comm.size:world", exec = "started", pure} : () -> tensor<i64>
// CHECK-NEXT:   func.return %rank, %size : tensor<i64>, tensor<i64>
// CHECK-NEXT: }
