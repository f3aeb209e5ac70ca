// RUN: gradir-opt %s -p "gradir-lower,gradir-fuse,gradir-bufferize" | filecheck %s

// A carried tensor has one buffer, here that of the result, which the body updates in place.
func.func @carried(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
    %b = array.exp %a : tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
// A product reads all of the old value, so that it is made beside it and copied.
func.func @product(%w: tensor<4x4xf64>, %x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
    %b = array.matmul %w, %a : tensor<4x4xf64>, tensor<4xf64> -> tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
// Values that change places go through a third buffer.
func.func @swapped(%x: tensor<4xf64>, %y: tensor<4xf64>, %n: index) -> (tensor<4xf64>, tensor<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf64>, tensor<4xf64>) {
    scf.yield %b, %a : tensor<4xf64>, tensor<4xf64>
  }
  func.return %r#0, %r#1 : tensor<4xf64>, tensor<4xf64>
}
// What a row of a result is computed from goes straight to that row.
func.func @rows(%x: tensor<8x4xf64>) -> tensor<8x4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8x4xf64>
  %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %e) -> (tensor<8x4xf64>) {
    %r = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
    %s = array.exp %r : tensor<4xf64>
    %b = tensor.insert_slice %s into %a[%i, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<8x4xf64>
    scf.yield %b : tensor<8x4xf64>
  }
  func.return %y : tensor<8x4xf64>
}
// Both branches fill the buffer of the result; one that hands on the value it updates costs nothing.
func.func @branches(%x: tensor<4xf64>, %v: f64, %k: index, %c: i1) -> tensor<4xf64> {
  %z = array.exp %x : tensor<4xf64>
  %y = scf.if %c -> (tensor<4xf64>) {
    %a = tensor.insert %v into %z[%k] : tensor<4xf64>
    scf.yield %a : tensor<4xf64>
  } else {
    scf.yield %z : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
// Numbers stay in registers; a number that goes into a tensor of rank 0 has a slot of the stack.
func.func @while(%x: f64, %limit: f64) -> (f64, tensor<2xf64>) {
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %more = arith.cmpf olt, %a, %limit : f64
    scf.condition(%more) %a : f64
  } do {
  ^bb0(%a: f64):
    %b = arith.addf %a, %a : f64
    scf.yield %b : f64
  }
  %t = tensor.splat %y : tensor<2xf64>
  func.return %y, %t : f64, tensor<2xf64>
}
// A value of each case, and an element that is read behind it.
func.func @switch(%x: tensor<4xf64>, %k: index) -> f64 {
  %y = scf.index_switch %k -> tensor<4xf64>
  case 2 {
    %a = array.exp %x : tensor<4xf64>
    scf.yield %a : tensor<4xf64>
  }
  default {
    scf.yield %x : tensor<4xf64>
  }
  %e = tensor.extract %y[%k] : tensor<4xf64>
  func.return %e : f64
}

//      CHECK: func.func @carried(%x: memref<4xf64>, %n: memref<index>, %result0: memref<4xf64>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %n_1 = memref.load %n[] : memref<index>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:     loopnest.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.for %i = %c0 to %n_1 step %c1 {
// CHECK-NEXT:     loopnest.nest [4] (%0 = %result0[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       %1 = math.exp %0 : f64
// CHECK-NEXT:       loopnest.yield %1 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @product(%w: memref<4x4xf64>, %x: memref<4xf64>, %n: memref<index>, %result0: memref<4xf64>) attributes {gradir.inputs = 3 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %n_1 = memref.load %n[] : memref<index>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:     loopnest.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.for %i = %c0 to %n_1 step %c1 {
// CHECK-NEXT:     %b = memref.alloc() : memref<4xf64>
// CHECK-NEXT:     loopnest.contract [4, 1, 4] (%w[d0, d2] : memref<4x4xf64>, %result0[d2] : memref<4xf64>) acc %0: f64 -> ([d0] to %b : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [4] (%0 = %b[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @swapped(%x: memref<4xf64>, %y: memref<4xf64>, %n: memref<index>, %result0: memref<4xf64>, %result1: memref<4xf64>) attributes {gradir.inputs = 3 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   %n_1 = memref.load %n[] : memref<index>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:     loopnest.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [4] (%0 = %y[d0] : memref<4xf64>) -> ([d0] to %result1 : memref<4xf64>) {
// CHECK-NEXT:     loopnest.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.for %i = %c0 to %n_1 step %c1 {
// CHECK-NEXT:     %aside = memref.alloc() : memref<4xf64>
// CHECK-NEXT:     loopnest.nest [4] (%0 = %result1[d0] : memref<4xf64>) -> ([d0] to %aside : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [4] (%0 = %result0[d0] : memref<4xf64>) -> ([d0] to %result1 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     loopnest.nest [4] (%0 = %aside[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @rows(%x: memref<8x4xf64>, %result0: memref<8x4xf64>) attributes {gradir.inputs = 1 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c8 = arith.constant 8 : index
// CHECK-NEXT:   scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:     %0 = arith.constant 4 : index
// CHECK-NEXT:     %1 = arith.muli %i, %0 : index
// CHECK-NEXT:     %2 = loopnest.window %x at %1 : memref<8x4xf64> -> memref<4xf64>
// CHECK-NEXT:     %3 = arith.constant 4 : index
// CHECK-NEXT:     %4 = arith.muli %i, %3 : index
// CHECK-NEXT:     %5 = loopnest.window %result0 at %4 : memref<8x4xf64> -> memref<4xf64>
// CHECK-NEXT:     loopnest.nest [4] (%6 = %2[d0] : memref<4xf64>) -> ([d0] to %5 : memref<4xf64>) {
// CHECK-NEXT:       %7 = math.exp %6 : f64
// CHECK-NEXT:       loopnest.yield %7 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @branches(%x: memref<4xf64>, %v: memref<f64>, %k: memref<index>, %c: memref<i1>, %result0: memref<4xf64>) attributes {gradir.inputs = 4 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %v_1 = memref.load %v[] : memref<f64>
// CHECK-NEXT:   %k_1 = memref.load %k[] : memref<index>
// CHECK-NEXT:   %c_1 = memref.load %c[] : memref<i1>
// CHECK-NEXT:   %z = memref.alloc() : memref<4xf64>
// CHECK-NEXT:   loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %z : memref<4xf64>) {
// CHECK-NEXT:     %1 = math.exp %0 : f64
// CHECK-NEXT:     loopnest.yield %1 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.if %c_1 {
// CHECK-NEXT:     %0 = loopnest.check_offset %k_1 bound 4 : i64 message "{{.*}}bufferize.mlir:50:5: tensor.insert"
// CHECK-NEXT:     memref.store %v_1, %z[%0] : memref<4xf64>
// CHECK-NEXT:     loopnest.nest [4] (%1 = %z[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %1 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   } else {
// CHECK-NEXT:     loopnest.nest [4] (%1 = %z[d0] : memref<4xf64>) -> ([d0] to %result0 : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %1 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @while(%x: memref<f64>, %limit: memref<f64>, %result0: memref<f64>, %result1: memref<2xf64>) attributes {gradir.inputs = 2 : i64, gradir.results = 2 : i64} {
// CHECK-NEXT:   %x_1 = memref.load %x[] : memref<f64>
// CHECK-NEXT:   %limit_1 = memref.load %limit[] : memref<f64>
// CHECK-NEXT:   %y = scf.while (%a = %x_1) : (f64) -> f64 {
// CHECK-NEXT:     %more = arith.cmpf olt, %a, %limit_1 : f64
// CHECK-NEXT:     scf.condition(%more) %a : f64
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%a_1: f64):
// CHECK-NEXT:     %b = arith.addf %a_1, %a_1 : f64
// CHECK-NEXT:     scf.yield %b : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %0 = memref.alloca() : memref<f64>
// CHECK-NEXT:   memref.store %y, %0[] : memref<f64>
// CHECK-NEXT:   loopnest.nest [2] (%1 = %0[] : memref<f64>) -> ([d0] to %result1 : memref<2xf64>) {
// CHECK-NEXT:     loopnest.yield %1 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   memref.store %y, %result0[] : memref<f64>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @switch(%x: memref<4xf64>, %k: memref<index>, %result0: memref<f64>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// CHECK-NEXT:   %k_1 = memref.load %k[] : memref<index>
// CHECK-NEXT:   %y = memref.alloc() : memref<4xf64>
// CHECK-NEXT:   scf.index_switch %k_1
// CHECK-NEXT:   case 2 {
// CHECK-NEXT:     loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %y : memref<4xf64>) {
// CHECK-NEXT:       %1 = math.exp %0 : f64
// CHECK-NEXT:       loopnest.yield %1 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   default {
// CHECK-NEXT:     loopnest.nest [4] (%0 = %x[d0] : memref<4xf64>) -> ([d0] to %y : memref<4xf64>) {
// CHECK-NEXT:       loopnest.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   %0 = loopnest.check_offset %k_1 bound 4 : i64 message "{{.*}}bufferize.mlir:80:3: tensor.extract"
// CHECK-NEXT:   %e = memref.load %y[%0] : memref<4xf64>
// CHECK-NEXT:   memref.store %e, %result0[] : memref<f64>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
