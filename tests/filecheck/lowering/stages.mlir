// RUN: gradir-opt %s -p "gradir-stages{until=gradir-lower}" | filecheck %s --check-prefix=LOWERED
// RUN: gradir-opt %s -p "gradir-stages{threads=1}" | filecheck %s
// RUN: not gradir-opt %s -p "gradir-stages{until=fuse}" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: gradir-stages: until must be one of gradir-inline, {{.*}}, gradir-plan-memory, got 'fuse'

func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = func.call @square(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = func.call @square(%h) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}
func.func private @square(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = array.matmul %x, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}

// LOWERED:       func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
// LOWERED-NEXT:    %y = loopnest.contract [8, 8, 8] (%x[d0, d2] : tensor<8x8xf32>, %x[d2, d1] : tensor<8x8xf32>)
// CHECK:       func.func @f(%arena: memref<256xi8>, %x: memref<8x8xf32>, %result0: memref<8x8xf32>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64, gradir.arena = 256 : i64} {
// CHECK:         -> ([d0, d1] to %result0 : memref<8x8xf32>) attributes {gradir.threads = 1 : i64} {
