// RUN: gradir-opt %s -p "gradir-lower,gradir-fuse" | filecheck %s

// A chain of elementwise ops is one nest; what is read outside of it is an output of it.
func.func @chain(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %a = array.multiply %x, %y : tensor<4x3xf32>
  %b = array.tanh %a : tensor<4x3xf32>
  %c = array.add %b, %x : tensor<4x3xf32>
  func.return %a, %c : tensor<4x3xf32>, tensor<4x3xf32>
}
// Into a reduction, and two reductions of the same dimension.
func.func @reductions(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = array.exp %x : tensor<4x3xf32>
  %s = array.sum %a {axis = 1} : tensor<4x3xf32> -> tensor<4xf32>
  %m = array.max %a {axis = 1} : tensor<4x3xf32> -> tensor<4xf32>
  func.return %s, %m : tensor<4xf32>, tensor<4xf32>
}
// Reductions of other dimensions are nests of their own.
func.func @rows_and_columns(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %s = array.sum %x {axis = 1} : tensor<4x3xf32> -> tensor<4xf32>
  %m = array.sum %x {axis = 0} : tensor<4x3xf32> -> tensor<3xf32>
  func.return %s, %m : tensor<4xf32>, tensor<3xf32>
}
// A reduction's result is complete after its nest: its readers come later.
func.func @normalize(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %a = array.exp %x : tensor<4x3xf32>
  %s = array.sum %a {axis = 1, keepdims = true} : tensor<4x3xf32> -> tensor<4x1xf32>
  %b = array.broadcast_to %s : tensor<4x1xf32> -> tensor<4x3xf32>
  %y = array.divide %a, %b : tensor<4x3xf32>
  %z = array.negative %a : tensor<4x3xf32>
  func.return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}
// Views are read through: no copy of the transpose, of the row, of the padding.
func.func @views(%x: tensor<4x3xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %t = array.permute_dims %w {axes = [1, 0]} : tensor<3x4xf32> -> tensor<4x3xf32>
  %r = array.broadcast_to %b : tensor<3xf32> -> tensor<4x3xf32>
  %s = array.slice %x {start = [1, 0], stop = [4, 3]} : tensor<4x3xf32> -> tensor<3x3xf32>
  %p = array.pad %s {low = [0, 0], high = [1, 0], value = 0.0} : tensor<3x3xf32> -> tensor<4x3xf32>
  %y = grad.accumulate %t, %r, %p : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
// Equal computations in one nest are made once.
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = array.exp %x : tensor<4xf32>
  %c = array.exp %x : tensor<4xf32>
  %y = array.add %a, %c : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// A barrier keeps them apart, and nests that read the same tensor on both sides of it.
func.func @barrier(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = array.exp %x : tensor<4xf32>
  %b = grad.barrier %x : tensor<4xf32>
  %c = array.exp %b : tensor<4xf32>
  %d = array.sin %b : tensor<4xf32>
  func.return %a, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// What reads a value at other places cannot run with what makes it.
func.func @other_places(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = array.exp %x : tensor<4xf32>
  %f = array.flip %a : tensor<4xf32> -> tensor<4xf32>
  %y = array.add %a, %f : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// Nor can two nests of which one needs the other through a third.
func.func @path(%x: tensor<4xf32>, %w: tensor<4x4xf32>) -> tensor<4xf32> {
  %a = array.exp %x : tensor<4xf32>
  %m = array.matmul %w, %a : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %y = array.add %a, %m : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// The same number for two tensors is no reason to make one nest: it is read once either way.
func.func @one_number(%x: tensor<64xf32>, %y: tensor<64xf32>, %c: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %b = array.broadcast_to %c : tensor<f32> -> tensor<64xf32>
  %a = array.multiply %x, %b : tensor<64xf32>
  %d = array.multiply %y, %b : tensor<64xf32>
  func.return %a, %d : tensor<64xf32>, tensor<64xf32>
}

//      CHECK: func.func @chain(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT:   %a, %c = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>, %1 = %y[d0, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<4x3xf32>, [d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT:     %3 = math.tanh %2 : f32
// CHECK-NEXT:     %4 = arith.addf %3, %0 : f32
// CHECK-NEXT:     loopnest.yield %2, %4 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %a, %c : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @reductions(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %s, %m = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>) -> (add [d0] : tensor<4xf32>, maximum [d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1, %1 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s, %m : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @rows_and_columns(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %s = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>) -> (add [d0] : tensor<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %m = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>) -> (add [d1] : tensor<3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s, %m : tensor<4xf32>, tensor<3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @normalize(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT:   %a, %s, %z = loopnest.nest [4, 3] (%0 = %x[d0, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<4x3xf32>, add [d0, 0] : tensor<4x1xf32>, [d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     %2 = arith.negf %1 : f32
// CHECK-NEXT:     loopnest.yield %1, %1, %2 : f32, f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [4, 3] (%0 = %a[d0, d1] : tensor<4x3xf32>, %1 = %s[d0, 0] : tensor<4x1xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     %2 = arith.divf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @views(%x: tensor<4x3xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT:   %s = loopnest.nest [3, 3] (%0 = %x[d0 + 1, d1] : tensor<4x3xf32>) -> ([d0, d1] : tensor<3x3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [4, 3] (%0 = %w[d1, d0] : tensor<3x4xf32>, %1 = %b[d1] : tensor<3xf32>, %2 = %s[d0, d1] pad 0.000000e+00 : f32 : tensor<3x3xf32>) -> ([d0, d1] : tensor<4x3xf32>) {
// CHECK-NEXT:     %3 = arith.addf %0, %1 : f32
// CHECK-NEXT:     %4 = arith.addf %3, %2 : f32
// CHECK-NEXT:     loopnest.yield %4 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %y = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     %2 = arith.addf %1, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @barrier(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %a = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = loopnest.barrier %x : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %c, %d = loopnest.nest [4] (%0 = %b[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>, [d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     %2 = math.sin %0 : f32
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %a, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @other_places(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %a = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [4] (%0 = %a[d0] : tensor<4xf32>, %1 = %a[-1 * d0 + 3] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @path(%x: tensor<4xf32>, %w: tensor<4x4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %a = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %m = loopnest.contract [4, 1, 4] (%w[d0, d2] : tensor<4x4xf32>, %a[d2] : tensor<4xf32>) acc %0: f32 -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.nest [4] (%0 = %a[d0] : tensor<4xf32>, %1 = %m[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @one_number(
// CHECK-NEXT:   %a = loopnest.nest [64] (%0 = %x[d0] : tensor<64xf32>, %1 = %c[] : tensor<f32>) -> ([d0] : tensor<64xf32>) {
//      CHECK:   %d = loopnest.nest [64] (%0 = %y[d0] : tensor<64xf32>, %1 = %c[] : tensor<f32>) -> ([d0] : tensor<64xf32>) {
//      CHECK:   func.return %a, %d : tensor<64xf32>, tensor<64xf32>
