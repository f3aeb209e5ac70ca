// RUN: gradir-opt %s -p "gradir-lower,gradir-fuse,gradir-bufferize" | filecheck %s

// Results are computed in the caller's buffers; an intermediate has a buffer of its own.
func.func @results(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %v: tensor<5x2xf32>) -> tensor<4x2xf32> {
  %h = array.matmul %x, %w : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %y = array.matmul %h, %v : tensor<4x5xf32>, tensor<5x2xf32> -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
// A value that dies where one is made element for element hands over its buffer.
func.func @in_place(%w: tensor<4x4xf32>, %u: tensor<4xf32>) -> tensor<4xf32> {
  %a = array.matmul %w, %u : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = array.exp %a : tensor<4xf32>
  %c = array.matmul %w, %b : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}
// Not where the same buffer is read at other places, as itself or under another shape.
func.func @not_in_place(%w: tensor<4x4xf32>, %i: tensor<4x4xi64>) -> tensor<4x4xf32> {
  %a = array.matmul %w, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = array.reshape %a : tensor<4x4xf32> -> tensor<16xf32>
  %g = array.take %r, %i : tensor<16xf32>, tensor<4x4xi64> -> tensor<4x4xf32>
  %b = array.add %a, %g : tensor<4x4xf32>
  %c = array.matmul %w, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}
// An argument that is returned is copied; so is a value that is returned twice.
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = array.exp %x : tensor<4xf32>
  func.return %x, %y, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// A reshaped result is computed in the caller's buffer, seen under the shape of its computation.
func.func @reshaped(%x: tensor<4x3xf32>) -> tensor<12xf32> {
  %y = array.exp %x : tensor<4x3xf32>
  %z = array.reshape %y : tensor<4x3xf32> -> tensor<12xf32>
  func.return %z : tensor<12xf32>
}
// A scatter starts from zeros made in the caller's buffer; from an argument it starts from a copy.
func.func @scatter(%x: tensor<5xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %zeros = array.full {value = 0.0} : tensor<5xf32>
  %a = array.scatter_add %zeros, %i, %u : tensor<5xf32>, tensor<3xi64>, tensor<3xf32> -> tensor<5xf32>
  %b = array.scatter_add %x, %i, %u : tensor<5xf32>, tensor<3xi64>, tensor<3xf32> -> tensor<5xf32>
  func.return %a, %b : tensor<5xf32>, tensor<5xf32>
}
// A scatter into a value that it reads needs a copy too.
func.func @scatter_itself(%x: tensor<3xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %y = array.exp %x : tensor<3xf32>
  %a = array.scatter_add %y, %i, %y : tensor<3xf32>, tensor<3xi64>, tensor<3xf32> -> tensor<3xf32>
  %b = array.scatter_add %a, %i, %x : tensor<3xf32>, tensor<3xi64>, tensor<3xf32> -> tensor<3xf32>
  func.return %b : tensor<3xf32>
}
// Constants are globals.
func.func @constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = array.constant {value = dense<[1.5, -2.0]> : tensor<2xf32>} : tensor<2xf32>
  %y = array.multiply %x, %c : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

//      CHECK: func.func @results(%x: memref<4x3xf32>, %w: memref<3x5xf32>, %v: memref<5x2xf32>, %result0: memref<4x2xf32>) attributes {gradir.inputs = 3 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %h = memref.alloc() : memref<4x5xf32>
// CHECK-NEXT:   loopnest.contract [4, 5, 3] (%x[d0, d2] : memref<4x3xf32>, %w[d2, d1] : memref<3x5xf32>) acc %0: f32 -> ([d0, d1] to %h : memref<4x5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.contract [4, 2, 5] (%h[d0, d2] : memref<4x5xf32>, %v[d2, d1] : memref<5x2xf32>) acc %0: f32 -> ([d0, d1] to %result0 : memref<4x2xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @in_place(%w: memref<4x4xf32>, %u: memref<4xf32>, %result0: memref<4xf32>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %a = memref.alloc() : memref<4xf32>
// CHECK-NEXT:   loopnest.contract [4, 1, 4] (%w[d0, d2] : memref<4x4xf32>, %u[d2] : memref<4xf32>) acc %0: f32 -> ([d0] to %a : memref<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [4] (%0 = %a[d0] : memref<4xf32>) -> ([d0] to %a : memref<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.contract [4, 1, 4] (%w[d0, d2] : memref<4x4xf32>, %a[d2] : memref<4xf32>) acc %0: f32 -> ([d0] to %result0 : memref<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @not_in_place(%w: memref<4x4xf32>, %i: memref<4x4xi64>, %result0: memref<4x4xf32>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %a = memref.alloc() : memref<4x4xf32>
// CHECK-NEXT:   loopnest.contract [4, 4, 4] (%w[d0, d2] : memref<4x4xf32>, %w[d2, d1] : memref<4x4xf32>) acc %0: f32 -> ([d0, d1] to %a : memref<4x4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %0 = loopnest.reshape %a : memref<4x4xf32> -> memref<16xf32>
// CHECK-NEXT:   %b = memref.alloc() : memref<4x4xf32>
// CHECK-NEXT:   loopnest.nest [4, 4] (%1 = %0 : memref<16xf32>, %2 = %i[d0, d1] : memref<4x4xi64>, %3 = %a[d0, d1] : memref<4x4xf32>) -> ([d0, d1] to %b : memref<4x4xf32>) {
// CHECK-NEXT:     %4 = loopnest.check_index %2 bound 16 : i64 message "{{.*}}buffers.mlir:20:3: array.take"
// CHECK-NEXT:     %5 = loopnest.load %1[%4] : memref<16xf32> -> f32
// CHECK-NEXT:     %6 = arith.addf %3, %5 : f32
// CHECK-NEXT:     loopnest.yield %6 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.contract [4, 4, 4] (%w[d0, d2] : memref<4x4xf32>, %b[d2, d1] : memref<4x4xf32>) acc %1: f32 -> ([d0, d1] to %result0 : memref<4x4xf32>) {
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @copies(%x: memref<4xf32>, %result0: memref<4xf32>, %result1: memref<4xf32>, %result2: memref<4xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 3 : i64} {
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf32>) -> ([d0] to %result1 : memref<4xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf32>) -> ([d0] to %result0 : memref<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [4] (%0 = %result1[d0] : memref<4xf32>) -> ([d0] to %result2 : memref<4xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @reshaped(%x: memref<4x3xf32>, %result0: memref<12xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %0 = loopnest.reshape %result0 : memref<12xf32> -> memref<4x3xf32>
// CHECK-NEXT:   loopnest.nest [4, 3] (%1 = %x[d0, d1] : memref<4x3xf32>) -> ([d0, d1] to %0 : memref<4x3xf32>) {
// CHECK-NEXT:     %2 = math.exp %1 : f32
// CHECK-NEXT:     loopnest.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @scatter(%x: memref<5xf32>, %i: memref<3xi64>, %u: memref<3xf32>, %result0: memref<5xf32>, %result1: memref<5xf32>) attributes {gradir.inputs = 3 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   loopnest.nest [5] () -> ([d0] to %result0 : memref<5xf32>) {
// CHECK-NEXT:     %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%0 = %i[d0] : memref<3xi64>, %1 = %u[d0] : memref<3xf32>) -> (add [s0] init to %result0 : memref<5xf32>) {
// CHECK-NEXT:     %2 = loopnest.check_index %0 bound 5 : i64 message "{{.*}}buffers.mlir:39:3: array.scatter_add"
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [5] (%0 = %x[d0] : memref<5xf32>) -> ([d0] to %result1 : memref<5xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%0 = %i[d0] : memref<3xi64>, %1 = %u[d0] : memref<3xf32>) -> (add [s0] init to %result1 : memref<5xf32>) {
// CHECK-NEXT:     %2 = loopnest.check_index %0 bound 5 : i64 message "{{.*}}buffers.mlir:40:3: array.scatter_add"
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @scatter_itself(%x: memref<3xf32>, %i: memref<3xi64>, %result0: memref<3xf32>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %y = memref.alloc() : memref<3xf32>
// CHECK-NEXT:   loopnest.nest [3] (%0 = %x[d0] : memref<3xf32>) -> ([d0] to %y : memref<3xf32>) {
// CHECK-NEXT:     %1 = math.exp %0 : f32
// CHECK-NEXT:     loopnest.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%0 = %y[d0] : memref<3xf32>) -> ([d0] to %result0 : memref<3xf32>) {
// CHECK-NEXT:     loopnest.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%0 = %i[d0] : memref<3xi64>, %1 = %y[d0] : memref<3xf32>) -> (add [s0] init to %result0 : memref<3xf32>) {
// CHECK-NEXT:     %2 = loopnest.check_index %0 bound 3 : i64 message "{{.*}}buffers.mlir:46:3: array.scatter_add"
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%0 = %i[d0] : memref<3xi64>, %1 = %x[d0] : memref<3xf32>) -> (add [s0] init to %result0 : memref<3xf32>) {
// CHECK-NEXT:     %2 = loopnest.check_index %0 bound 3 : i64 message "{{.*}}buffers.mlir:47:3: array.scatter_add"
// CHECK-NEXT:     loopnest.yield %1, %2 : f32, i64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: "memref.global"() <{sym_name = "constant_constant8", type = memref<2xf32>, initial_value = dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
//      CHECK: func.func @constant(%x: memref<2xf32>, %result0: memref<2xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %0 = memref.get_global @constant_constant8 : memref<2xf32>
// CHECK-NEXT:   loopnest.nest [2] (%1 = %x[d0] : memref<2xf32>, %2 = %0[d0] : memref<2xf32>) -> ([d0] to %result0 : memref<2xf32>) {
// CHECK-NEXT:     %3 = arith.mulf %1, %2 : f32
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
