// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @nest(%x: tensor<4x5xf32>, %bias: tensor<5xf32>) -> (tensor<4x5xf32>, tensor<4xf32>) {
  %y, %s = loopnest.nest [4, 5] (%a = %x[d0, d1] : tensor<4x5xf32>, %b = %bias[d1] : tensor<5xf32>) -> ([d0, d1] : tensor<4x5xf32>, maximum [d0] : tensor<4xf32>) {
    %sum = arith.addf %a, %b : f32
    loopnest.yield %sum, %sum : f32, f32
  }
  func.return %y, %s : tensor<4x5xf32>, tensor<4xf32>
}
func.func @affine(%x: tensor<8xf32>) -> tensor<2x3xf32> {
  %y = loopnest.nest [2, 3] (%a = %x[2 * d0 + -1 * d1 + 3] pad 0.500000e+00 : f32 : tensor<8xf32>) -> ([d0, d1] : tensor<2x3xf32>) {
    %at = loopnest.index 1 : i64
    %factor = arith.sitofp %at : i64 to f32
    %scaled = arith.mulf %a, %factor : f32
    loopnest.yield %scaled : f32
  }
  func.return %y : tensor<2x3xf32>
}
func.func @rank_zero(%x: tensor<f64>) -> tensor<f64> {
  %y = loopnest.nest [] (%a = %x[] : tensor<f64>) -> ([] : tensor<f64>) {
    %b = math.exp %a : f64
    loopnest.yield %b : f64
  }
  func.return %y : tensor<f64>
}
func.func @whole(%x: tensor<8x5xf32>, %i: tensor<3xi64>) -> tensor<3x5xf32> {
  %y = loopnest.nest [3, 5] (%table = %x : tensor<8x5xf32>, %at = %i[d0] : tensor<3xi64>) -> ([d0, d1] : tensor<3x5xf32>) {
    %row = loopnest.check_index %at bound 8 : i64 message "model.mlir:3:3: array.take"
    %column = loopnest.index 1 : i64
    %element = loopnest.load %table[%row, %column] : tensor<8x5xf32> -> f32
    loopnest.yield %element : f32
  }
  func.return %y : tensor<3x5xf32>
}
func.func @scatter(%x: tensor<8x5xf32>, %u: tensor<3x5xf32>, %i: tensor<3xi64>) -> tensor<8x5xf32> {
  %y = loopnest.nest [3, 5] (%a = %u[d0, d1] : tensor<3x5xf32>, %at = %i[d0] : tensor<3xi64>) -> (add [s0, d1] init %x : tensor<8x5xf32>) {
    %row = loopnest.check_index %at bound 8 : i64 message "array.scatter_add"
    loopnest.yield %a, %row : f32, i64
  }
  func.return %y : tensor<8x5xf32>
}
func.func @contract(%x: tensor<4x3xbf16>, %w: tensor<3x5xbf16>, %bias: tensor<5xf32>) -> tensor<4x5xf32> {
  %y = loopnest.contract [4, 5, 3] (%x[d0, d2] : tensor<4x3xbf16>, %w[d2, d1] : tensor<3x5xbf16>, %b = %bias[d1] : tensor<5xf32>) acc %acc: f32 -> ([d0, d1] : tensor<4x5xf32>) {
    %sum = arith.addf %acc, %b : f32
    loopnest.yield %sum : f32
  }
  func.return %y : tensor<4x5xf32>
}
func.func @reshape(%x: tensor<4x3xui8>) -> tensor<12xui8> {
  %y = loopnest.reshape %x : tensor<4x3xui8> -> tensor<12xui8>
  %z = loopnest.nest [12] (%a = %y[d0] : tensor<12xui8>) -> ([d0] : tensor<12xui8>) attributes {test.note = 1 : i64} {
    %one = arith.constant 1 : i8
    %b = arith.addi %a, %one : i8
    loopnest.yield %b : i8
  }
  func.return %z : tensor<12xui8>
}
// At buffer level there are no results: outputs are written to buffers, or added to what is in them.
func.func @buffers(%x: memref<4x5xf32>, %y: memref<4x5xf32>, %s: memref<4xf32>, %p: memref<64xi8>) {
  loopnest.nest [4, 5] (%a = %x[d0, d1] : memref<4x5xf32>) -> ([d0, d1] to %y : memref<4x5xf32>, add [d0] init to %s : memref<4xf32>) {
    %b = math.tanh %a : f32
    loopnest.yield %b, %b : f32, f32
  }
  loopnest.contract [4, 4, 5] (%x[d0, d2] : memref<4x5xf32>, %x[d1, d2] : memref<4x5xf32>) acc %acc: f32 -> ([d0, d1] to %y : memref<4x5xf32>) scratch %p : memref<64xi8> {
    loopnest.yield %acc : f32
  }
  func.return
}

//      CHECK: func.func @nest(%x: tensor<4x5xf32>, %bias: tensor<5xf32>) -> (tensor<4x5xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %y, %s = loopnest.nest [4, 5] (%a = %x[d0, d1] : tensor<4x5xf32>, %b = %bias[d1] : tensor<5xf32>) -> ([d0, d1] : tensor<4x5xf32>, maximum [d0] : tensor<4xf32>) {
// CHECK-NEXT:     %sum = arith.addf %a, %b : f32
// CHECK-NEXT:     loopnest.yield %sum, %sum : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %s : tensor<4x5xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @affine(%x: tensor<8xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %y = loopnest.nest [2, 3] (%a = %x[2 * d0 + -1 * d1 + 3] pad 5.000000e-01 : f32 : tensor<8xf32>) -> ([d0, d1] : tensor<2x3xf32>) {
// CHECK-NEXT:     %at = loopnest.index 1 : i64
// CHECK-NEXT:     %factor = arith.sitofp %at : i64 to f32
// CHECK-NEXT:     %scaled = arith.mulf %a, %factor : f32
// CHECK-NEXT:     loopnest.yield %scaled : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @rank_zero(%x: tensor<f64>) -> tensor<f64> {
// CHECK-NEXT:   %y = loopnest.nest [] (%a = %x[] : tensor<f64>) -> ([] : tensor<f64>) {
// CHECK-NEXT:     %b = math.exp %a : f64
// CHECK-NEXT:     loopnest.yield %b : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<f64>
// CHECK-NEXT: }
//      CHECK: func.func @whole(%x: tensor<8x5xf32>, %i: tensor<3xi64>) -> tensor<3x5xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 5] (%table = %x : tensor<8x5xf32>, %at = %i[d0] : tensor<3xi64>) -> ([d0, d1] : tensor<3x5xf32>) {
// CHECK-NEXT:     %row = loopnest.check_index %at bound 8 : i64 message "model.mlir:3:3: array.take"
// CHECK-NEXT:     %column = loopnest.index 1 : i64
// CHECK-NEXT:     %element = loopnest.load %table[%row, %column] : tensor<8x5xf32> -> f32
// CHECK-NEXT:     loopnest.yield %element : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<3x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @scatter(%x: tensor<8x5xf32>, %u: tensor<3x5xf32>, %i: tensor<3xi64>) -> tensor<8x5xf32> {
// CHECK-NEXT:   %y = loopnest.nest [3, 5] (%a = %u[d0, d1] : tensor<3x5xf32>, %at = %i[d0] : tensor<3xi64>) -> (add [s0, d1] init %x : tensor<8x5xf32>) {
// CHECK-NEXT:     %row = loopnest.check_index %at bound 8 : i64 message "array.scatter_add"
// CHECK-NEXT:     loopnest.yield %a, %row : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<8x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @contract(%x: tensor<4x3xbf16>, %w: tensor<3x5xbf16>, %bias: tensor<5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %y = loopnest.contract [4, 5, 3] (%x[d0, d2] : tensor<4x3xbf16>, %w[d2, d1] : tensor<3x5xbf16>, %b = %bias[d1] : tensor<5xf32>) acc %acc: f32 -> ([d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     %sum = arith.addf %acc, %b : f32
// CHECK-NEXT:     loopnest.yield %sum : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reshape(%x: tensor<4x3xui8>) -> tensor<12xui8> {
// CHECK-NEXT:   %y = loopnest.reshape %x : tensor<4x3xui8> -> tensor<12xui8>
// CHECK-NEXT:   %z = loopnest.nest [12] (%a = %y[d0] : tensor<12xui8>) -> ([d0] : tensor<12xui8>) attributes {test.note = 1 : i64} {
// CHECK-NEXT:     %one = arith.constant 1 : i8
// CHECK-NEXT:     %b = arith.addi %a, %one : i8
// CHECK-NEXT:     loopnest.yield %b : i8
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %z : tensor<12xui8>
// CHECK-NEXT: }
//      CHECK: func.func @buffers(%x: memref<4x5xf32>, %y: memref<4x5xf32>, %s: memref<4xf32>, %p: memref<64xi8>) {
// CHECK-NEXT:   loopnest.nest [4, 5] (%a = %x[d0, d1] : memref<4x5xf32>) -> ([d0, d1] to %y : memref<4x5xf32>, add [d0] init to %s : memref<4xf32>) {
// CHECK-NEXT:     %b = math.tanh %a : f32
// CHECK-NEXT:     loopnest.yield %b, %b : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.contract [4, 4, 5] (%x[d0, d2] : memref<4x5xf32>, %x[d1, d2] : memref<4x5xf32>) acc %acc: f32 -> ([d0, d1] to %y : memref<4x5xf32>) scratch %p : memref<64xi8> {
// CHECK-NEXT:     loopnest.yield %acc : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
