// RUN: gradir-opt %s -p "gradir-lower,gradir-scalarize,gradir-fuse,gradir-bufferize" | filecheck %s

// With a capacity, a column is a buffer and the tape a number. What is pushed is computed in its row.
func.func @planned(%x: tensor<4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = grad.tape_new : !grad.tape<tensor<4xf64>, f64, capacity = 8>
  %y, %u = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %x, %s = %t) -> (tensor<4xf64>, !grad.tape<tensor<4xf64>, f64, capacity = 8>) {
    %e = tensor.extract %a[%c1] : tensor<4xf64>
    %b = array.exp %a : tensor<4xf64>
    %v = grad.tape_push %s, %b, %e : !grad.tape<tensor<4xf64>, f64, capacity = 8>
    scf.yield %b, %v : tensor<4xf64>, !grad.tape<tensor<4xf64>, f64, capacity = 8>
  }
  %z, %w = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %y, %s = %u) -> (tensor<4xf64>, !grad.tape<tensor<4xf64>, f64, capacity = 8>) {
    %v, %p, %q = grad.tape_pop %s : !grad.tape<tensor<4xf64>, f64, capacity = 8>
    %b = array.multiply %a, %p : tensor<4xf64>
    %c = tensor.insert %q into %b[%c0] : tensor<4xf64>
    scf.yield %c, %v : tensor<4xf64>, !grad.tape<tensor<4xf64>, f64, capacity = 8>
  }
  func.return %z : tensor<4xf64>
}
// Without one the records grow, one after the other; a tensor of one element is a number.
func.func @growing(%x: tensor<f64>, %n: index) -> (tensor<f64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = grad.tape_new : !grad.tape<tensor<f64>, i1, limit = 1000>
  %true = arith.constant true
  %y, %u = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %s = %t) -> (tensor<f64>, !grad.tape<tensor<f64>, i1, limit = 1000>) {
    %b = array.add %a, %a : tensor<f64>
    %v = grad.tape_push %s, %b, %true : !grad.tape<tensor<f64>, i1, limit = 1000>
    scf.yield %b, %v : tensor<f64>, !grad.tape<tensor<f64>, i1, limit = 1000>
  }
  %k = grad.tape_size %u : !grad.tape<tensor<f64>, i1, limit = 1000>
  %w, %p, %q = grad.tape_pop %u : !grad.tape<tensor<f64>, i1, limit = 1000>
  func.return %p, %k : tensor<f64>, index
}

//      CHECK: func.func @planned(%x: memref<4xf64>, %result0: memref<4xf64>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %t = memref.alloc() : memref<8x4xf64>
// CHECK-NEXT:   %t_1 = memref.alloc() : memref<8xf64>
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c8 = arith.constant 8 : index
// CHECK-NEXT:   loopnest.nest [4] (%1 = %x[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:     loopnest.yield %1 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %u = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %0) -> (index) {
// CHECK-NEXT:     %e = memref.load %result0[%c1] : memref<4xf64>
// CHECK-NEXT:     loopnest.nest [4] (%1 = %result0[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       %2 = math.exp %1 : f64
// CHECK-NEXT:       loopnest.yield %2 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = loopnest.check_offset %s bound 8 : i64 plain message "{{.*}}tapes.mlir:12:5: grad.tape_push: the tape holds 8 records"
// CHECK-NEXT:     %2 = arith.constant 4 : index
// CHECK-NEXT:     %3 = arith.muli %1, %2 : index
// CHECK-NEXT:     %4 = loopnest.window %t at %3 : memref<8x4xf64> -> memref<4xf64>
// CHECK-NEXT:     loopnest.nest [4] (%5 = %result0[d0] : memref<4xf64>) -> ([d0] to %4 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %5 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %5 = loopnest.window %t_1 at %1 : memref<8xf64> -> memref<f64>
// CHECK-NEXT:     memref.store %e, %5[] : memref<f64>
// CHECK-NEXT:     %6 = arith.constant 1 : index
// CHECK-NEXT:     %7 = arith.addi %s, %6 : index
// CHECK-NEXT:     scf.yield %7 : index
// CHECK-NEXT:   }
// CHECK-NEXT:   %w = scf.for %i_1 = %c0 to %c8 step %c1 iter_args(%s_1 = %u) -> (index) {
// CHECK-NEXT:     %8 = arith.constant -1 : index
// CHECK-NEXT:     %9 = arith.addi %s_1, %8 : index
// CHECK-NEXT:     %10 = loopnest.check_offset %9 bound 8 : i64 plain message "{{.*}}tapes.mlir:16:5: grad.tape_pop: the tape has no records left"
// CHECK-NEXT:     %11 = arith.constant 4 : index
// CHECK-NEXT:     %12 = arith.muli %10, %11 : index
// CHECK-NEXT:     %13 = loopnest.window %t at %12 : memref<8x4xf64> -> memref<4xf64>
// CHECK-NEXT:     %14 = loopnest.window %t_1 at %10 : memref<8xf64> -> memref<f64>
// CHECK-NEXT:     %q = memref.load %14[] : memref<f64>
// CHECK-NEXT:     loopnest.nest [4] (%15 = %result0[d0] : memref<4xf64>, %16 = %13[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       %17 = arith.mulf %15, %16 : f64
// CHECK-NEXT:       loopnest.yield %17 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     memref.store %q, %result0[%c0] : memref<4xf64>
// CHECK-NEXT:     scf.yield %10 : index
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @growing(%x: memref<f64>, %n: memref<index>, %result0: memref<f64>, %result1: memref<index>) attributes {gradir.inputs = 2 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   %n_1 = memref.load %n[] : memref<index>
// CHECK-NEXT:   %t = loopnest.records stride 16 : i64 size 9 : i64 limit 1000 : i64 : memref<?xi8>
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = memref.load %x[] : memref<f64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %true = arith.constant true
// CHECK-NEXT:   %c0_1 = arith.constant 0 : index
// CHECK-NEXT:   %2 = arith.maxsi %n_1, %c0_1 : index
// CHECK-NEXT:   %3 = arith.addi %0, %2 : index
// CHECK-NEXT:   %4 = arith.constant -1 : index
// CHECK-NEXT:   %5 = arith.addi %3, %4 : index
// CHECK-NEXT:   %6 = loopnest.reserve %t[%5] message "{{.*}}tapes.mlir:31:5: grad.tape_push: the tape" : memref<?xi8>
// CHECK-NEXT:   %7 = loopnest.bound_if_room %t, %c0, %n_1 : memref<?xi8>, index
// CHECK-NEXT:   %y, %u = scf.for %i = %c0 to %7 step %c1 iter_args(%a = %1, %s = %0) -> (f64, index) {
// CHECK-NEXT:     %8 = arith.addf %a, %a : f64
// CHECK-NEXT:     %9 = loopnest.reserve %t[%s] message "{{.*}}tapes.mlir:31:5: grad.tape_push: the tape" : memref<?xi8>
// CHECK-NEXT:     %10 = arith.constant 16 : index
// CHECK-NEXT:     %11 = arith.muli %9, %10 : index
// CHECK-NEXT:     %12 = loopnest.window %t at %11 : memref<?xi8> -> memref<f64>
// CHECK-NEXT:     memref.store %8, %12[] : memref<f64>
// CHECK-NEXT:     %13 = arith.constant 16 : index
// CHECK-NEXT:     %14 = arith.muli %9, %13 : index
// CHECK-NEXT:     %15 = arith.constant 8 : index
// CHECK-NEXT:     %16 = arith.addi %14, %15 : index
// CHECK-NEXT:     %17 = loopnest.window %t at %16 : memref<?xi8> -> memref<i1>
// CHECK-NEXT:     memref.store %true, %17[] : memref<i1>
// CHECK-NEXT:     %18 = arith.constant 1 : index
// CHECK-NEXT:     %19 = arith.addi %9, %18 : index
// CHECK-NEXT:     scf.yield %8, %19 : f64, index
// CHECK-NEXT:   }
// CHECK-NEXT:   %20 = arith.constant -1 : index
// CHECK-NEXT:   %21 = arith.addi %u, %20 : index
// CHECK-NEXT:   %22 = loopnest.check_offset %21 bound 281474976710656 : i64 plain message "{{.*}}tapes.mlir:35:3: grad.tape_pop: the tape has no records left"
// CHECK-NEXT:   %23 = arith.constant 16 : index
// CHECK-NEXT:   %24 = arith.muli %22, %23 : index
// CHECK-NEXT:   %25 = loopnest.window %t at %24 : memref<?xi8> -> memref<f64>
// CHECK-NEXT:   %p = memref.load %25[] : memref<f64>
// CHECK-NEXT:   %26 = arith.constant 16 : index
// CHECK-NEXT:   %27 = arith.muli %22, %26 : index
// CHECK-NEXT:   %28 = arith.constant 8 : index
// CHECK-NEXT:   %29 = arith.addi %27, %28 : index
// CHECK-NEXT:   %30 = loopnest.window %t at %29 : memref<?xi8> -> memref<i1>
// CHECK-NEXT:   %q = memref.load %30[] : memref<i1>
// CHECK-NEXT:   memref.store %p, %result0[] : memref<f64>
// CHECK-NEXT:   memref.store %u, %result1[] : memref<index>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
