// RUN: gradir-opt %s -p "gradir-stages{until=gradir-bufferize},gradir-group-rows{threads=1}" | filecheck %s

// Three nests over rows become one op; what they hand on is as large as a block of rows.
func.func @softmax(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %y = nn.softmax %x {axis = 1} : tensor<64x256xf32>
  func.return %y : tensor<64x256xf32>
}
// Sums over rows go on from block to block of a chunk: here of 32 rows, as without blocks.
func.func @sums(%x: tensor<128x512xf32>) -> (tensor<512xf32>, tensor<128x512xf32>) {
  %m = array.max %x {axis = 1, keepdims = true} : tensor<128x512xf32> -> tensor<128x1xf32>
  %b = array.broadcast_to %m : tensor<128x1xf32> -> tensor<128x512xf32>
  %y = array.subtract %x, %b : tensor<128x512xf32>
  %s = array.sum %y {axis = 0} : tensor<128x512xf32> -> tensor<512xf32>
  func.return %s, %y : tensor<512xf32>, tensor<128x512xf32>
}
// Dimensions that lead in all buffers are rows together; a part of a buffer is read whole as well.
func.func @lead(%x: tensor<4x16x512xf32>) -> tensor<4x16x512xf32> {
  %m = array.max %x {axis = 2, keepdims = true} : tensor<4x16x512xf32> -> tensor<4x16x1xf32>
  %b = array.broadcast_to %m : tensor<4x16x1xf32> -> tensor<4x16x512xf32>
  %y = array.subtract %x, %b : tensor<4x16x512xf32>
  func.return %y : tensor<4x16x512xf32>
}
// Not where a nest reads other rows than its own.
func.func @other_rows(%x: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %y = array.exp %x : tensor<128x128xf32>
  %t = array.permute_dims %y {axes = [1, 0]} : tensor<128x128xf32> -> tensor<128x128xf32>
  %z = array.add %y, %t : tensor<128x128xf32>
  func.return %y, %z : tensor<128x128xf32>, tensor<128x128xf32>
}

//      CHECK: func.func @softmax(%x: memref<64x256xf32>, %result0: memref<64x256xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   loopnest.rows 64 by 16 (%x : memref<64x256xf32>) -> (%result0 : memref<64x256xf32>) {
// CHECK-NEXT:   ^bb0(%x_1: memref<16x256xf32>, %result0_1: memref<16x256xf32>, %0: memref<16x1xf32>, %1: memref<16x256xf32>, %2: memref<16x1xf32>):
// CHECK-NEXT:     loopnest.nest [16, 256] (%3 = %x_1[d0, d1] : memref<16x256xf32>) -> (maximum [d0, 0] to %0 : memref<16x1xf32>) {
// CHECK-NEXT:       loopnest.yield %3 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [16, 256] (%3 = %x_1[d0, d1] : memref<16x256xf32>, %4 = %0[d0, 0] : memref<16x1xf32>) -> ([d0, d1] to %1 : memref<16x256xf32>, add [d0, 0] to %2 : memref<16x1xf32>) {
// CHECK-NEXT:       %5 = arith.subf %3, %4 : f32
// CHECK-NEXT:       %6 = math.exp %5 : f32
// CHECK-NEXT:       loopnest.yield %6, %6 : f32, f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [16, 256] (%3 = %1[d0, d1] : memref<16x256xf32>, %4 = %2[d0, 0] : memref<16x1xf32>) -> ([d0, d1] to %result0_1 : memref<16x256xf32>) {
// CHECK-NEXT:       %5 = arith.divf %3, %4 : f32
// CHECK-NEXT:       loopnest.yield %5 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @sums(%x: memref<128x512xf32>, %result0: memref<512xf32>, %result1: memref<128x512xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   loopnest.rows 128 by 8 chunk 32 (%x : memref<128x512xf32>) -> (%result1, %result0 : memref<128x512xf32>, memref<512xf32>) {
// CHECK-NEXT:   ^bb0(%x_1: memref<8x512xf32>, %result1_1: memref<8x512xf32>, %result0_1: memref<512xf32>, %m: memref<8x1xf32>):
// CHECK-NEXT:     loopnest.nest [8, 512] (%0 = %x_1[d0, d1] : memref<8x512xf32>) -> (maximum [d0, 0] to %m : memref<8x1xf32>) {
// CHECK-NEXT:       loopnest.yield %0 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [8, 512] (%0 = %x_1[d0, d1] : memref<8x512xf32>, %1 = %m[d0, 0] : memref<8x1xf32>) -> ([d0, d1] to %result1_1 : memref<8x512xf32>, add [d1] to %result0_1 : memref<512xf32>) {
// CHECK-NEXT:       %2 = arith.subf %0, %1 : f32
// CHECK-NEXT:       loopnest.yield %2, %2 : f32, f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @lead(%x: memref<4x16x512xf32>, %result0: memref<4x16x512xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   loopnest.rows 64 by 8 (%x : memref<4x16x512xf32>) -> (%result0 : memref<4x16x512xf32>) {
// CHECK-NEXT:   ^bb0(%x_1: memref<8x512xf32>, %result0_1: memref<8x512xf32>, %m: memref<8x1xf32>):
// CHECK-NEXT:     loopnest.nest [8, 512] (%0 = %x_1[d0, d1] : memref<8x512xf32>) -> (maximum [d0, 0] to %m : memref<8x1xf32>) {
// CHECK-NEXT:       loopnest.yield %0 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [8, 512] (%0 = %x_1[d0, d1] : memref<8x512xf32>, %1 = %m[d0, 0] : memref<8x1xf32>) -> ([d0, d1] to %result0_1 : memref<8x512xf32>) {
// CHECK-NEXT:       %2 = arith.subf %0, %1 : f32
// CHECK-NEXT:       loopnest.yield %2 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @other_rows(%x: memref<128x128xf32>, %result0: memref<128x128xf32>, %result1: memref<128x128xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   loopnest.nest [128, 128] (%0 = %x[d0, d1] : memref<128x128xf32>) -> ([d0, d1] to %result0 : memref<128x128xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [128, 128] (%0 = %result0[d0, d1] : memref<128x128xf32>, %1 = %result0[d1, d0] : memref<128x128xf32>) -> ([d0, d1] to %result1 : memref<128x128xf32>) {
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
