// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s

func.func @elementwise(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xi1>) {
  %a = array.multiply %x, %y : tensor<4x3xf32>
  %b = array.less %a, %y : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xi1>
  func.return %a, %b : tensor<4x3xf32>, tensor<4x3xi1>
}
func.func @half(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = array.square %x : tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}
func.func @reductions(%x: tensor<4x3xf16>) -> (tensor<4x1xf16>, tensor<3xf16>) {
  %s = array.sum %x {axis = 1, keepdims = true} : tensor<4x3xf16> -> tensor<4x1xf16>
  %m = array.max %x {axis = 0} : tensor<4x3xf16> -> tensor<3xf16>
  func.return %s, %m : tensor<4x1xf16>, tensor<3xf16>
}
func.func @movements(%x: tensor<4x3xf32>, %v: tensor<1x3xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x2xf32>, tensor<5x4xf32>, tensor<12xf32>, tensor<4x1x3xf32>) {
  %t = array.permute_dims %x {axes = [1, 0]} : tensor<4x3xf32> -> tensor<3x4xf32>
  %b = array.broadcast_to %v : tensor<1x3xf32> -> tensor<4x3xf32>
  %f = array.flip %x {axis = 0} : tensor<4x3xf32> -> tensor<4x3xf32>
  %s = array.slice %x {start = [1, 0], stop = [4, 3], step = [2, 2]} : tensor<4x3xf32> -> tensor<2x2xf32>
  %p = array.pad %x {low = [1, 0], high = [0, 1], value = 1.0} : tensor<4x3xf32> -> tensor<5x4xf32>
  %r = array.reshape %x : tensor<4x3xf32> -> tensor<12xf32>
  %e = array.reshape %x : tensor<4x3xf32> -> tensor<4x1x3xf32>
  func.return %t, %b, %f, %s, %p, %r, %e : tensor<3x4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x2xf32>, tensor<5x4xf32>, tensor<12xf32>, tensor<4x1x3xf32>
}
func.func @concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %z = array.concat %x, %y : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  func.return %z : tensor<5xf32>
}
func.func @indexing(%x: tensor<5x4xf32>, %i: tensor<3xi32>, %u: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<5x4xf32>) {
  %t = array.take %x, %i {axis = 0} : tensor<5x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
  %s = array.scatter_add %x, %i, %u {axis = 0} : tensor<5x4xf32>, tensor<3xi32>, tensor<3x4xf32> -> tensor<5x4xf32>
  func.return %t, %s : tensor<3x4xf32>, tensor<5x4xf32>
}
func.func @matmul(%x: tensor<2x3x4xf32>, %y: tensor<1x4x5xf32>) -> tensor<2x3x5xf32> {
  %z = array.matmul %x, %y : tensor<2x3x4xf32>, tensor<1x4x5xf32> -> tensor<2x3x5xf32>
  func.return %z : tensor<2x3x5xf32>
}
// Markers are gone from here on; a barrier stays, for fusion.
func.func @markers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = grad.name %x {name = "a"} : tensor<4xf32>
  %b = grad.barrier %a : tensor<4xf32>
  %c = array.exp %b : tensor<4xf32>
  %z = grad.zero : tensor<4xf32>
  %s = grad.accumulate %c, %x, %z : tensor<4xf32>
  func.return %s : tensor<4xf32>
}

//      CHECK: func.func @elementwise(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xi1>) {
// CHECK-NEXT:   %a = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>, %1 = %y[d0, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = loopnest.nest [4, 3] (%0 = %a[d0, d1] : tensor<4x3xf32>, %1 = %y[d0, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<4x3xi1>) {
// CHECK-NEXT:     %2 = arith.cmpf olt, %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %a, %b : tensor<4x3xf32>, tensor<4x3xi1>
// CHECK-NEXT: }
//      CHECK: func.func @half(%x: tensor<4xbf16>) -> tensor<4xbf16> {
// CHECK-NEXT:   %y = loopnest.nest [4] (%0 = %x[d0] : tensor<4xbf16>) -> ([d0] : tensor<4xbf16>) {
// CHECK-NEXT:     %1 = arith.extf %0 : bf16 to f32
// CHECK-NEXT:     %2 = arith.mulf %1, %1 : f32
// CHECK-NEXT:     %3 = arith.truncf %2 : f32 to bf16
// CHECK-NEXT:     loopnest.yield %3 : bf16
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xbf16>
// CHECK-NEXT: }
//      CHECK: func.func @reductions(%x: tensor<4x3xf16>) -> (tensor<4x1xf16>, tensor<3xf16>) {
// CHECK-NEXT:   %s = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf16>) -> (add [d0, 0] : tensor<4x1xf16>) {
// CHECK-NEXT:     %1 = arith.extf %0 : f16 to f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %m = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf16>) -> (maximum [d1] : tensor<3xf16>) {
// CHECK-NEXT:     %1 = arith.extf %0 : f16 to f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s, %m : tensor<4x1xf16>, tensor<3xf16>
// CHECK-NEXT: }
//      CHECK: func.func @movements(%x: tensor<4x3xf32>, %v: tensor<1x3xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x2xf32>, tensor<5x4xf32>, tensor<12xf32>, tensor<4x1x3xf32>) {
// CHECK-NEXT:   %t = loopnest.nest [3, 4] (%0 = %x[d1, d0] : tensor<4x3xf32>) -> ([d0, d1] : tensor<3x4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = loopnest.nest [4, 3] (%0 = %v[0, d1] : tensor<1x3xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = loopnest.nest [4, 3] (%0 = %x[-1 * d0 + 3, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %s = loopnest.nest [2, 2] (%0 = %x[2 * d0 + 1, 2 * d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<2x2xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %p = loopnest.nest [5, 4] (%0 = %x[d0 + -1, d1] pad 1.000000e+00 : f32 : tensor<4x3xf32>) -> ([d0, d1] : tensor<5x4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %r = loopnest.reshape %x : tensor<4x3xf32> -> tensor<12xf32>
// CHECK-NEXT:   %e = loopnest.nest [4, 1, 3] (%0 = %x[d0, d2] : tensor<4x3xf32>) -> ([d0, d1, d2] : tensor<4x1x3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %t, %b, %f, %s, %p, %r, %e : tensor<3x4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x2xf32>, tensor<5x4xf32>, tensor<12xf32>, tensor<4x1x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
// CHECK-NEXT:   %z = loopnest.nest [5] (%0 = %x[d0] pad 0.000000e+00 : f32 : tensor<2xf32>, %1 = %y[d0 + -2] pad 0.000000e+00 : f32 : tensor<3xf32>) -> ([d0] : tensor<5xf32>) {
// CHECK-NEXT:     %2 = loopnest.index 0 : i64
// CHECK-NEXT:     %3 = arith.constant 2 : i64
// CHECK-NEXT:     %4 = arith.cmpi sge, %2, %3 : i64
// CHECK-NEXT:     %5 = arith.select %4, %1, %0 : f32
// CHECK-NEXT:     loopnest.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %z : tensor<5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @indexing(%x: tensor<5x4xf32>, %i: tensor<3xi32>, %u: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<5x4xf32>) {
// CHECK-NEXT:   %t = loopnest.nest [3, 4] (%0 = %x : tensor<5x4xf32>, %1 = %i[d0] : tensor<3xi32>) -> ([d0, d1] : tensor<3x4xf32>) {
// CHECK-NEXT:     %2 = arith.extsi %1 : i32 to i64
// CHECK-NEXT:     %3 = loopnest.check_index %2 bound 5 : i64 message "{{.*}}nests.mlir:32:3: array.take"
// CHECK-NEXT:     %4 = loopnest.index 1 : i64
// CHECK-NEXT:     %5 = loopnest.load %0[%3, %4] : tensor<5x4xf32> -> f32
// CHECK-NEXT:     loopnest.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %s = loopnest.nest [3, 4] (%0 = %i[d0] : tensor<3xi32>, %1 = %u[d0, d1] : tensor<3x4xf32>) -> (add [s0, d1] init %x : tensor<5x4xf32>) {
// CHECK-NEXT:     %2 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:     %3 = loopnest.check_index %2 bound 5 : i64 message "{{.*}}nests.mlir:33:3: array.scatter_add"
// CHECK-NEXT:     loopnest.yield %1, %3 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %t, %s : tensor<3x4xf32>, tensor<5x4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @matmul(%x: tensor<2x3x4xf32>, %y: tensor<1x4x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT:   %z = loopnest.contract [2, 3, 5, 4] (%x[d0, d1, d3] : tensor<2x3x4xf32>, %y[0, d3, d2] : tensor<1x4x5xf32>) acc %0: f32 -> ([d0, d1, d2] : tensor<2x3x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %z : tensor<2x3x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @markers(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %b = loopnest.barrier %x : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %c = loopnest.nest [4] (%0 = %b[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %z = loopnest.nest [4] () -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %0 = loopnest.index 0 : i64
// CHECK-NEXT:     %1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %0 = loopnest.nest [4] (%1 = %c[d0] : tensor<4xf32>, %2 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %3 = arith.addf %1, %2 : f32
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %s = loopnest.nest [4] (%1 = %0[d0] : tensor<4xf32>, %2 = %z[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %3 = arith.addf %1, %2 : f32
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s : tensor<4xf32>
// CHECK-NEXT: }
