// RUN: gradir-opt %s -p "gradir-simplify,gradir-dce" | filecheck %s

// A carried value that does not change is what it starts from.
func.func @unchanged(%x: f64, %w: f64, %n: index) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %v = %w) -> (f64, f64) {
    %b = arith.mulf %a, %v : f64
    scf.yield %b, %v : f64, f64
  }
  func.return %y#0, %y#1 : f64, f64
}
func.func @unchanged_while(%x: f64, %w: f64) -> (f64, f64) {
  %y:2 = scf.while (%a = %x, %v = %w) : (f64, f64) -> (f64, f64) {
    %more = arith.cmpf olt, %a, %v : f64
    scf.condition(%more) %a, %v : f64, f64
  } do {
  ^bb0(%a: f64, %v: f64):
    %b = arith.mulf %a, %v : f64
    scf.yield %b, %v : f64, f64
  }
  func.return %y#0, %y#1 : f64, f64
}
// A region that runs once is written out, one that never runs is not.
func.func @known(%x: f64) -> (f64, f64, f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %once = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (f64) {
    %b = arith.addf %a, %a : f64
    scf.yield %b : f64
  }
  %never = scf.for %i = %c1 to %c0 step %c1 iter_args(%a = %x) -> (f64) {
    %b = arith.subf %a, %a : f64
    scf.yield %b : f64
  }
  %if = scf.if %true -> (f64) {
    %b = arith.mulf %x, %x : f64
    scf.yield %b : f64
  } else {
    scf.yield %x : f64
  }
  %region = scf.execute_region -> (f64) {
    %b = arith.negf %x : f64
    scf.yield %b : f64
  }
  func.return %once, %never, %if, %region : f64, f64, f64, f64
}
// What both branches hand back is no result.
func.func @same(%x: f64, %c: i1) -> (f64, f64) {
  %y:2 = scf.if %c -> (f64, f64) {
    %b = arith.negf %x : f64
    scf.yield %x, %b : f64, f64
  } else {
    scf.yield %x, %x : f64, f64
  }
  func.return %y#0, %y#1 : f64, f64
}

//      CHECK: func.func @unchanged(%x: f64, %w: f64, %n: index) -> (f64, f64) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
// CHECK-NEXT:     %b = arith.mulf %a, %w : f64
// CHECK-NEXT:     scf.yield %b : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %w : f64, f64
// CHECK-NEXT: }
//      CHECK: func.func @unchanged_while(%x: f64, %w: f64) -> (f64, f64) {
// CHECK-NEXT:   %y = scf.while (%a = %x) : (f64) -> f64 {
// CHECK-NEXT:     %more = arith.cmpf olt, %a, %w : f64
// CHECK-NEXT:     scf.condition(%more) %a : f64
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%a_1: f64):
// CHECK-NEXT:     %b = arith.mulf %a_1, %w : f64
// CHECK-NEXT:     scf.yield %b : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %w : f64, f64
// CHECK-NEXT: }
//      CHECK: func.func @known(%x: f64) -> (f64, f64, f64, f64) {
// CHECK-NEXT:   %b = arith.addf %x, %x : f64
// CHECK-NEXT:   %b_1 = arith.mulf %x, %x : f64
// CHECK-NEXT:   %b_2 = arith.negf %x : f64
// CHECK-NEXT:   func.return %b, %x, %b_1, %b_2 : f64, f64, f64, f64
// CHECK-NEXT: }
//      CHECK: func.func @same(%x: f64, %c: i1) -> (f64, f64) {
// CHECK-NEXT:   %y = scf.if %c -> (f64) {
// CHECK-NEXT:     %b = arith.negf %x : f64
// CHECK-NEXT:     scf.yield %b : f64
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %x : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %x, %y : f64, f64
// CHECK-NEXT: }
