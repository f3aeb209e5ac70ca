// RUN: gradir-opt %s | filecheck %s
// RUN: gradir-opt %s --print-op-generic | gradir-opt | filecheck %s

func.func @records(%x: tensor<4xf64>, %k: index) -> (tensor<4xf64>, index, index) {
  %t = grad.tape_new : !grad.tape<tensor<4xf64>, index, capacity = 10>
  %t1 = grad.tape_push %t, %x, %k : !grad.tape<tensor<4xf64>, index, capacity = 10>
  %n = grad.tape_size %t1 : !grad.tape<tensor<4xf64>, index, capacity = 10>
  %t2, %y, %j = grad.tape_pop %t1 : !grad.tape<tensor<4xf64>, index, capacity = 10>
  func.return %y, %j, %n : tensor<4xf64>, index, index
}

//      CHECK: func.func @records(%x: tensor<4xf64>, %k: index) -> (tensor<4xf64>, index, index) {
// CHECK-NEXT:   %t = grad.tape_new : !grad.tape<tensor<4xf64>, index, capacity = 10>
// CHECK-NEXT:   %t1 = grad.tape_push %t, %x, %k : !grad.tape<tensor<4xf64>, index, capacity = 10>
// CHECK-NEXT:   %n = grad.tape_size %t1 : !grad.tape<tensor<4xf64>, index, capacity = 10>
// CHECK-NEXT:   %t2, %y, %j = grad.tape_pop %t1 : !grad.tape<tensor<4xf64>, index, capacity = 10>
// CHECK-NEXT:   func.return %y, %j, %n : tensor<4xf64>, index, index
// CHECK-NEXT: }

func.func @unbounded(%x: f64) -> f64 {
  %t = grad.tape_new : !grad.tape<f64, limit = 1000>
  %t1 = grad.tape_push %t, %x : !grad.tape<f64, limit = 1000>
  %t2, %y = grad.tape_pop %t1 : !grad.tape<f64, limit = 1000>
  func.return %y : f64
}

//      CHECK: func.func @unbounded(%x: f64) -> f64 {
// CHECK-NEXT:   %t = grad.tape_new : !grad.tape<f64, limit = 1000>
// CHECK-NEXT:   %t1 = grad.tape_push %t, %x : !grad.tape<f64, limit = 1000>
// CHECK-NEXT:   %t2, %y = grad.tape_pop %t1 : !grad.tape<f64, limit = 1000>
// CHECK-NEXT:   func.return %y : f64
// CHECK-NEXT: }

func.func @policies(%x: f64, %n: index) -> f64 {
  %one = arith.constant 1 : index
  %y = scf.for %i = %one to %n step %one iter_args(%a = %x) -> (f64) {
    scf.yield %a : f64
  } {grad.loop = #grad.loop<every = 4>}
  %z = scf.for %i = %one to %n step %one iter_args(%a = %y) -> (f64) {
    scf.yield %a : f64
  } {grad.loop = #grad.loop<binomial = 12>}
  %v = scf.for %i = %one to %n step %one iter_args(%a = %z) -> (f64) {
    scf.yield %a : f64
  } {grad.loop = #grad.loop<store_all>}
  func.return %v : f64
}

// CHECK: grad.loop = #grad.loop<every = 4>
// CHECK: grad.loop = #grad.loop<binomial = 12>
// CHECK: grad.loop = #grad.loop<store_all>
