// RUN: gradir-opt %s --verify-diagnostics --split-input-file --trust-input

func.func @blocks(%x: memref<64x4xf32>) {
  // expected-error @+1 {{loopnest.rows: blocks must be smaller than the rows and divide chunks and their rows, got 64 rows by 5 and chunks of 10}}
  loopnest.rows 64 by 5 chunk 10 (%x : memref<64x4xf32>) -> (%x : memref<64x4xf32>) {
  ^bb0(%0: memref<5x4xf32>, %1: memref<5x4xf32>):
    loopnest.yield
  }
  func.return
}

// -----

func.func @parts(%x: memref<64x4xf32>) {
  // expected-error @+1 {{loopnest.rows: 8 of 64 rows expected of memref<64x4xf32>, got memref<8x3xf32>}}
  loopnest.rows 64 by 8 (%x : memref<64x4xf32>) -> (: ) {
  ^bb0(%0: memref<8x3xf32>):
    loopnest.yield
  }
  func.return
}

// -----

func.func @arguments(%x: memref<64x4xf32>) {
  // expected-error @+1 {{loopnest.rows: the body must have an argument for each buffer}}
  loopnest.rows 64 by 8 (%x : memref<64x4xf32>) -> (: ) {
    loopnest.yield
  }
  func.return
}
