// RUN: gradir-opt %s -p "gradir-specialize{function=partners shapes=5,2x5},gradir-specialize{function=rows shapes=4x3},gradir-specialize{function=net shapes=5x3},gradir-specialize{function=sizes shapes=6},gradir-specialize{function=branches shapes=_,4,_}" | filecheck %s

// What no operand says is said by a partner, by the number of elements, or by what is returned.
func.func @partners(%x: tensor<?xf64>, %y: tensor<?x?xf64>) -> (tensor<2x?xf64>, tensor<10xf64>) {
  %one = array.full {value = 1.0} : tensor<?xf64>
  %flat = array.reshape %y : tensor<?x?xf64> -> tensor<?xf64>
  %sum = array.add %flat, %one : tensor<?xf64>
  %line = array.broadcast_to %x : tensor<?xf64> -> tensor<?x?xf64>
  %same = array.astype %line : tensor<?x?xf64> -> tensor<?x?xf64>
  %z = array.multiply %same, %y : tensor<?x?xf64>
  %start = array.iota {axis = 0} : tensor<?xi64>
  %counts = array.permute_dims %start {axes = [0]} : tensor<?xi64> -> tensor<?xi64>
  %far = array.astype %counts : tensor<?xi64> -> tensor<?xf64>
  %all = array.add %far, %sum : tensor<?xf64>
  %wide = tensor.cast %z : tensor<?x?xf64> to tensor<2x?xf64>
  %ten = tensor.cast %all : tensor<?xf64> to tensor<10xf64>
  func.return %wide, %ten : tensor<2x?xf64>, tensor<10xf64>
}

// A loop carries rows whose number is not known; it runs as often as there are.
func.func @rows(%x: tensor<?x3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf64>
  %zero = array.full {value = 0.0} : tensor<3xf64>
  %s, %o = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %all = %x) -> (tensor<3xf64>, tensor<?x3xf64>) {
    %row = tensor.extract_slice %all[%i, 0] [1, 3] [1, 1] : tensor<?x3xf64> to tensor<3xf64>
    %a = array.add %acc, %row : tensor<3xf64>
    %t = array.sin %all : tensor<?x3xf64>
    scf.yield %a, %t : tensor<3xf64>, tensor<?x3xf64>
  }
  func.return %s, %o : tensor<3xf64>, tensor<?x3xf64>
}

// A function that is called is copied for each tuple of shapes.
func.func @net(%x: tensor<?x3xf64>, %w: tensor<3x3xf64>, %v: tensor<3x2xf64>) -> tensor<f64> {
  %v1 = tensor.cast %v : tensor<3x2xf64> to tensor<3x?xf64>
  %w1 = tensor.cast %w : tensor<3x3xf64> to tensor<3x?xf64>
  %a = func.call @layer(%x, %w1) : (tensor<?x3xf64>, tensor<3x?xf64>) -> tensor<?x?xf64>
  %b = tensor.cast %a : tensor<?x?xf64> to tensor<?x3xf64>
  %c = func.call @layer(%b, %w1) : (tensor<?x3xf64>, tensor<3x?xf64>) -> tensor<?x?xf64>
  %d = tensor.cast %c : tensor<?x?xf64> to tensor<?x3xf64>
  %e = func.call @layer(%d, %v1) : (tensor<?x3xf64>, tensor<3x?xf64>) -> tensor<?x?xf64>
  %y = array.mean %e : tensor<?x?xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
func.func @layer(%x: tensor<?x3xf64>, %w: tensor<3x?xf64>) -> tensor<?x?xf64> {
  %h = array.matmul %x, %w : tensor<?x3xf64>, tensor<3x?xf64> -> tensor<?x?xf64>
  %y = array.tanh %h : tensor<?x?xf64>
  func.return %y : tensor<?x?xf64>
}

// Sizes that a program computes from extents become constants, and then part of the types.
func.func @sizes(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?x2xf64>, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %half = arith.divsi %n, %c2 : index
  %more = arith.addi %half, %n : index
  %zero = arith.constant 0.0 : f64
  %all = tensor.splat %zero[%more] : tensor<?xf64>
  %e = tensor.empty(%half) : tensor<?x2xf64>
  %part = tensor.extract_slice %x[%half] [%half] [1] : tensor<?xf64> to tensor<?xf64>
  %y = tensor.insert_slice %part into %all[%half] [%half] [1] : tensor<?xf64> into tensor<?xf64>
  func.return %y, %e, %part : tensor<?xf64>, tensor<?x2xf64>, tensor<?xf64>
}

// Both branches, a loop that ends on a condition, and a checkpoint hand shapes through.
func.func @branches(%p: i1, %x: tensor<?xf64>, %least: f64) -> tensor<?xf64> {
  %a = scf.if %p -> (tensor<?xf64>) {
    %ones = array.full {value = 1.0} : tensor<?xf64>
    scf.yield %ones : tensor<?xf64>
  } else {
    scf.yield %x : tensor<?xf64>
  }
  %b = scf.while (%c = %a) : (tensor<?xf64>) -> tensor<?xf64> {
    %total = array.sum %c : tensor<?xf64> -> tensor<f64>
    %number = tensor.extract %total[] : tensor<f64>
    %go = arith.cmpf olt, %number, %least : f64
    scf.condition(%go) %c : tensor<?xf64>
  } do {
  ^bb0(%d: tensor<?xf64>):
    %e = grad.checkpoint -> (tensor<?xf64>) {
      %f = array.exp %d : tensor<?xf64>
      grad.yield %f : tensor<?xf64>
    }
    scf.yield %e : tensor<?xf64>
  }
  func.return %b : tensor<?xf64>
}

// CHECK: func.func @partners(%x: tensor<5xf64>, %y: tensor<2x5xf64>) -> (tensor<2x5xf64>, tensor<10xf64>) {
// CHECK-NEXT:   %one = array.full {value = 1.0} : tensor<10xf64>
// CHECK-NEXT:   %flat = array.reshape %y : tensor<2x5xf64> -> tensor<10xf64>
// CHECK-NEXT:   %sum = array.add %flat, %one : tensor<10xf64>
// CHECK-NEXT:   %line = array.broadcast_to %x : tensor<5xf64> -> tensor<2x5xf64>
// CHECK-NEXT:   %same = array.astype %line : tensor<2x5xf64> -> tensor<2x5xf64>
// CHECK-NEXT:   %z = array.multiply %same, %y : tensor<2x5xf64>
// CHECK-NEXT:   %start = array.iota {axis = 0} : tensor<10xi64>
// CHECK-NEXT:   %counts = array.permute_dims %start {axes = [0]} : tensor<10xi64> -> tensor<10xi64>
// CHECK-NEXT:   %far = array.astype %counts : tensor<10xi64> -> tensor<10xf64>
// CHECK-NEXT:   %all = array.add %far, %sum : tensor<10xf64>
// CHECK-NEXT:   func.return %z, %all : tensor<2x5xf64>, tensor<10xf64>
// CHECK-NEXT: }
// CHECK: func.func @rows(%x: tensor<4x3xf64>) -> (tensor<3xf64>, tensor<4x3xf64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %n = arith.constant 4 : index
// CHECK-NEXT:   %zero = array.full {value = 0.0} : tensor<3xf64>
// CHECK-NEXT:   %s, %o = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %all = %x) -> (tensor<3xf64>, tensor<4x3xf64>) {
// CHECK-NEXT:     %row = tensor.extract_slice %all[%i, 0] [1, 3] [1, 1] : tensor<4x3xf64> to tensor<3xf64>
// CHECK-NEXT:     %a = array.add %acc, %row : tensor<3xf64>
// CHECK-NEXT:     %t = array.sin %all : tensor<4x3xf64>
// CHECK-NEXT:     scf.yield %a, %t : tensor<3xf64>, tensor<4x3xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %s, %o : tensor<3xf64>, tensor<4x3xf64>
// CHECK-NEXT: }
// CHECK: func.func @net(%x: tensor<5x3xf64>, %w: tensor<3x3xf64>, %v: tensor<3x2xf64>) -> tensor<f64> {
// CHECK-NEXT:   %a = func.call @layer_5x3_3x3(%x, %w) : (tensor<5x3xf64>, tensor<3x3xf64>) -> tensor<5x3xf64>
// CHECK-NEXT:   %c = func.call @layer_5x3_3x3(%a, %w) : (tensor<5x3xf64>, tensor<3x3xf64>) -> tensor<5x3xf64>
// CHECK-NEXT:   %e = func.call @layer_5x3_3x2(%c, %v) : (tensor<5x3xf64>, tensor<3x2xf64>) -> tensor<5x2xf64>
// CHECK-NEXT:   %y = array.mean %e : tensor<5x2xf64> -> tensor<f64>
// CHECK-NEXT:   func.return %y : tensor<f64>
// CHECK-NEXT: }
// CHECK: func.func @layer(%x: tensor<?x3xf64>, %w: tensor<3x?xf64>) -> tensor<?x?xf64> {
// CHECK-NEXT:   %h = array.matmul %x, %w : tensor<?x3xf64>, tensor<3x?xf64> -> tensor<?x?xf64>
// CHECK-NEXT:   %y = array.tanh %h : tensor<?x?xf64>
// CHECK-NEXT:   func.return %y : tensor<?x?xf64>
// CHECK-NEXT: }
// CHECK: func.func @layer_5x3_3x2(%x: tensor<5x3xf64>, %w: tensor<3x2xf64>) -> tensor<5x2xf64> {
// CHECK-NEXT:   %h = array.matmul %x, %w : tensor<5x3xf64>, tensor<3x2xf64> -> tensor<5x2xf64>
// CHECK-NEXT:   %y = array.tanh %h : tensor<5x2xf64>
// CHECK-NEXT:   func.return %y : tensor<5x2xf64>
// CHECK-NEXT: }
// CHECK: func.func @layer_5x3_3x3(%x: tensor<5x3xf64>, %w: tensor<3x3xf64>) -> tensor<5x3xf64> {
// CHECK-NEXT:   %h = array.matmul %x, %w : tensor<5x3xf64>, tensor<3x3xf64> -> tensor<5x3xf64>
// CHECK-NEXT:   %y = array.tanh %h : tensor<5x3xf64>
// CHECK-NEXT:   func.return %y : tensor<5x3xf64>
// CHECK-NEXT: }
// CHECK: func.func @sizes(%x: tensor<6xf64>) -> (tensor<9xf64>, tensor<3x2xf64>, tensor<3xf64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %n = arith.constant 6 : index
// CHECK-NEXT:   %half = arith.constant 3 : index
// CHECK-NEXT:   %more = arith.constant 9 : index
// CHECK-NEXT:   %zero = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %all = tensor.splat %zero : tensor<9xf64>
// CHECK-NEXT:   %e = tensor.empty() : tensor<3x2xf64>
// CHECK-NEXT:   %part = tensor.extract_slice %x[%half] [3] [1] : tensor<6xf64> to tensor<3xf64>
// CHECK-NEXT:   %y = tensor.insert_slice %part into %all[%half] [3] [1] : tensor<3xf64> into tensor<9xf64>
// CHECK-NEXT:   func.return %y, %e, %part : tensor<9xf64>, tensor<3x2xf64>, tensor<3xf64>
// CHECK-NEXT: }
// CHECK: func.func @branches(%p: i1, %x: tensor<4xf64>, %least: f64) -> tensor<4xf64> {
// CHECK-NEXT:   %a = scf.if %p -> (tensor<4xf64>) {
// CHECK-NEXT:     %ones = array.full {value = 1.0} : tensor<4xf64>
// CHECK-NEXT:     scf.yield %ones : tensor<4xf64>
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %x : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = scf.while (%c = %a) : (tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:     %total = array.sum %c : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:     %number = tensor.extract %total[] : tensor<f64>
// CHECK-NEXT:     %go = arith.cmpf olt, %number, %least : f64
// CHECK-NEXT:     scf.condition(%go) %c : tensor<4xf64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%d: tensor<4xf64>):
// CHECK-NEXT:     %e = grad.checkpoint -> (tensor<4xf64>) {
// CHECK-NEXT:       %f = array.exp %d : tensor<4xf64>
// CHECK-NEXT:       grad.yield %f : tensor<4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %e : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %b : tensor<4xf64>
// CHECK-NEXT: }
