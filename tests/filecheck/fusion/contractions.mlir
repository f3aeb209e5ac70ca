// RUN: gradir-opt %s -p "gradir-decompose,gradir-lower,gradir-fuse" | filecheck %s

// The bias, the activation and what else reads the product element for element are its epilogue.
func.func @epilogue(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %h = nn.linear %x, %w, %b : tensor<4x3xf32>, tensor<5x3xf32>, tensor<5xf32> -> tensor<4x5xf32>
  %y = array.tanh %h : tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}
// The other operand may be made before or after the product.
func.func @residual(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %u: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %n = array.tanh %u : tensor<4x5xf32>
  %c = array.matmul %x, %w : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %y = array.add %c, %n : tensor<4x5xf32>
  func.return %y, %n : tensor<4x5xf32>, tensor<4x5xf32>
}
// A reduction or a padded read would change the order of the sums: it stays a nest.
func.func @apart(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %u: tensor<2x5xf32>) -> (tensor<5xf32>, tensor<4x5xf32>) {
  %c = array.matmul %x, %w : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %s = array.sum %c {axis = 0} : tensor<4x5xf32> -> tensor<5xf32>
  %p = array.pad %u {low = [1, 0], high = [1, 0], value = 0.0} : tensor<2x5xf32> -> tensor<4x5xf32>
  %y = array.add %c, %p : tensor<4x5xf32>
  func.return %s, %y : tensor<5xf32>, tensor<4x5xf32>
}
// Read transposed alone, a product is made transposed, if the left factor's rows then lie as columns
// of the right one.
func.func @turned(%x: tensor<3x4xf32>, %w: tensor<3x5xf32>, %u: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %t = array.permute_dims %x {axes = [1, 0]} : tensor<3x4xf32> -> tensor<4x3xf32>
  %c = array.matmul %t, %w : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %p = array.permute_dims %c {axes = [1, 0]} : tensor<4x5xf32> -> tensor<5x4xf32>
  %y = array.add %u, %p : tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}
// Factors are read where they lie, transposed or not; what is computed first is made first.
func.func @factors(%x: tensor<3x4xf32>, %w: tensor<5x3xf32>) -> tensor<4x5xf32> {
  %t = array.permute_dims %x {axes = [1, 0]} : tensor<3x4xf32> -> tensor<4x3xf32>
  %e = array.exp %w : tensor<5x3xf32>
  %u = array.permute_dims %e {axes = [1, 0]} : tensor<5x3xf32> -> tensor<3x5xf32>
  %y = array.matmul %t, %u : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}
// Of a part of a tensor, a product reads the tensor itself.
func.func @part(%x: tensor<8x3xf32>, %w: tensor<4x3x5xf32>) -> tensor<4x5xf32> {
  %p = array.slice %x {start = [4, 0], stop = [8, 3]} : tensor<8x3xf32> -> tensor<4x3xf32>
  %q = array.slice %w {start = [2, 0, 0], stop = [3, 3, 5]} : tensor<4x3x5xf32> -> tensor<1x3x5xf32>
  %r = array.reshape %q : tensor<1x3x5xf32> -> tensor<3x5xf32>
  %y = array.matmul %p, %r : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}

//      CHECK: func.func @epilogue(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %y = loopnest.contract [4, 5, 3] (%x[d0, d2] : tensor<4x3xf32>, %w[d1, d2] : tensor<5x3xf32>, %0 = %b[d1] : tensor<5xf32>) acc %1: f32 -> ([d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     %2 = arith.addf %1, %0 : f32
// CHECK-NEXT:     %3 = math.tanh %2 : f32
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @residual(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %u: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
// CHECK-NEXT:   %n, %y = loopnest.contract [4, 5, 3] (%x[d0, d2] : tensor<4x3xf32>, %w[d2, d1] : tensor<3x5xf32>, %0 = %u[d0, d1] : tensor<4x5xf32>) acc %1: f32 -> ([d0, d1] : tensor<4x5xf32>, [d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     %2 = math.tanh %0 : f32
// CHECK-NEXT:     %3 = arith.addf %1, %2 : f32
// CHECK-NEXT:     loopnest.yield %2, %3 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %n : tensor<4x5xf32>, tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @apart(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %u: tensor<2x5xf32>) -> (tensor<5xf32>, tensor<4x5xf32>) {
// CHECK-NEXT:   %c = loopnest.contract [4, 5, 3] (%x[d0, d2] : tensor<4x3xf32>, %w[d2, d1] : tensor<3x5xf32>) acc %0: f32 -> ([d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %s, %y = loopnest.nest [4, 5] (%0 = %c[d0, d1] : tensor<4x5xf32>, %1 = %u[d0 + -1, d1] pad 0.000000e+00 : f32 : tensor<2x5xf32>) -> (add [d1] : tensor<5xf32>, [d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %0, %2 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s, %y : tensor<5xf32>, tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @turned
// CHECK-NEXT:   %y = loopnest.contract [5, 4, 3] (%w[d2, d0] : tensor<3x5xf32>, %x[d2, d1] : tensor<3x4xf32>, %0 = %u[d0, d1] : tensor<5x4xf32>) acc %1: f32 -> ([d0, d1] : tensor<5x4xf32>) {
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<5x4xf32>
//      CHECK: func.func @factors(%x: tensor<3x4xf32>, %w: tensor<5x3xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %u = loopnest.nest [3, 5] (%0 = %w[d1, d0] : tensor<5x3xf32>) -> ([d0, d1] : tensor<3x5xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = loopnest.contract [4, 5, 3] (%x[d2, d0] : tensor<3x4xf32>, %u[d2, d1] : tensor<3x5xf32>) acc %0: f32 -> ([d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @part(%x: tensor<8x3xf32>, %w: tensor<4x3x5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %y = loopnest.contract [4, 5, 3] (%x[d0 + 4, d2] : tensor<8x3xf32>, %w[2, d2, d1] : tensor<4x3x5xf32>) acc %0: f32 -> ([d0, d1] : tensor<4x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4x5xf32>
// CHECK-NEXT: }
