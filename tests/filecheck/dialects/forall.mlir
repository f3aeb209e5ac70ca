// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-fuse,gradir-bufferize" | filecheck %s --check-prefix=BUFFERS

// Running sums of rows: a loop that carries a value, and stores as it goes.
func.func @sums(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %sums = loopnest.forall [4] (%in = %x : tensor<4x5xf32>) -> (%out : tensor<4x5xf32>) {
    %i = loopnest.index 0
    %first = arith.constant 0 : i64
    %end = arith.constant 5 : i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0.0 : f32
    %all = scf.for %j = %first to %end step %one iter_args(%sum = %zero) -> (f32) : i64 {
      %element = loopnest.load %in[%i, %j] : tensor<4x5xf32> -> f32
      %next = arith.addf %sum, %element : f32
      loopnest.store %next, %out[%i, %j] : f32 to memref<4x5xf32>
      scf.yield %next : f32
    }
    loopnest.yield
  }
  func.return %sums : tensor<4x5xf32>
}

// No outer loop; columns run in the lanes of vectors; a result that nobody reads is scratch.
func.func @columns(%x: tensor<4x37xf32>) -> tensor<37xf32> {
  %sums, %y = loopnest.forall [] (%in = %x : tensor<4x37xf32>) -> (%scratch : tensor<4x37xf32>, %out : tensor<37xf32>) attributes {test.note = 1 : i64} {
    %first = arith.constant 0 : i64
    %rows = arith.constant 4 : i64
    %end = arith.constant 37 : i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0.0 : f32
    loopnest.lanes %j = %first to %end {
      %all = scf.for %i = %first to %rows step %one iter_args(%sum = %zero) -> (f32) : i64 {
        %element = loopnest.load %in[%i, %j] : tensor<4x37xf32> -> f32
        %next = arith.addf %sum, %element : f32
        loopnest.store %next, %scratch[%i, %j] : f32 to memref<4x37xf32>
        scf.yield %next : f32
      }
      %last = loopnest.load %scratch[%one, %j] : memref<4x37xf32> -> f32
      %both = arith.addf %all, %last : f32
      loopnest.store %both, %out[%j] : f32 to memref<37xf32>
      loopnest.yield
    }
    loopnest.yield
  }
  func.return %y : tensor<37xf32>
}

// CHECK:       func.func @sums(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:    %sums = loopnest.forall [4] (%in = %x : tensor<4x5xf32>) -> (%out : tensor<4x5xf32>) {
// CHECK-NEXT:      %i = loopnest.index 0 : i64
// CHECK:           %all = scf.for %j = %first to %end step %one iter_args(%sum = %zero) -> (f32) : i64 {
// CHECK-NEXT:        %element = loopnest.load %in[%i, %j] : tensor<4x5xf32> -> f32
// CHECK-NEXT:        %next = arith.addf %sum, %element : f32
// CHECK-NEXT:        loopnest.store %next, %out[%i, %j] : f32 to memref<4x5xf32>
// CHECK-NEXT:        scf.yield %next : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loopnest.yield
// CHECK-NEXT:    }
// CHECK:       func.func @columns
// CHECK-NEXT:    %sums, %y = loopnest.forall [] (%in = %x : tensor<4x37xf32>) -> (%scratch : tensor<4x37xf32>, %out : tensor<37xf32>) attributes {test.note = 1 : i64} {
// CHECK:           loopnest.lanes %j = %first to %end {

// BUFFERS:       func.func @sums(%x: memref<4x5xf32>, %result0: memref<4x5xf32>)
// BUFFERS-NEXT:    loopnest.forall [4] (%in = %x : memref<4x5xf32>) -> (%out = %result0 : memref<4x5xf32>) {
// BUFFERS:       func.func @columns(%x: memref<4x37xf32>, %result0: memref<37xf32>)
// BUFFERS-NEXT:    %sums = memref.alloc() : memref<4x37xf32>
// BUFFERS-NEXT:    loopnest.forall [] (%in = %x : memref<4x37xf32>) -> (%scratch = %sums : memref<4x37xf32>, %out = %result0 : memref<37xf32>) attributes {test.note = 1 : i64} {
