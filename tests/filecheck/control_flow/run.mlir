// RUN: gradir-run %s --function collatz | filecheck %s
// RUN: gradir-run %s --function collatz --interpret | filecheck %s
// RUN: gradir-run %s --function primes | filecheck %s --check-prefix=PRIMES
// RUN: gradir-run %s --function primes --interpret | filecheck %s --check-prefix=PRIMES

// The steps from 27 to 1, and the largest number on the way: a while loop with an if inside.
func.func @collatz() -> (i64, i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %start = arith.constant 27 : i64
  %last, %steps, %largest = scf.while (%n = %start, %k = %zero, %m = %start) : (i64, i64, i64) -> (i64, i64, i64) {
    %more = arith.cmpi ne, %n, %one : i64
    scf.condition(%more) %n, %k, %m : i64, i64, i64
  } do {
  ^bb0(%n: i64, %k: i64, %m: i64):
    %low = arith.andi %n, %one : i64
    %is_odd = arith.cmpi eq, %low, %one : i64
    %next = scf.if %is_odd -> (i64) {
      %t = arith.muli %n, %three : i64
      %u = arith.addi %t, %one : i64
      scf.yield %u : i64
    } else {
      %h = arith.divsi %n, %two : i64
      scf.yield %h : i64
    }
    %j = arith.addi %k, %one : i64
    %max = arith.maxsi %m, %next : i64
    scf.yield %next, %j, %max : i64, i64, i64
  }
  func.return %steps, %largest : i64, i64
}
//      CHECK: result0: int64[] = 111  // %steps
// CHECK-NEXT: result1: int64[] = 9232  // %largest

// A sieve: a tensor of bools that nested loops strike out in place.
func.func @primes() -> (tensor<20xi1>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant 20 : index
  %true = arith.constant true
  %false = arith.constant false
  %all = tensor.splat %true : tensor<20xi1>
  %not0 = tensor.insert %false into %all[%c0] : tensor<20xi1>
  %not1 = tensor.insert %false into %not0[%c1] : tensor<20xi1>
  %left = scf.for %i = %c2 to %n step %c1 iter_args(%a = %not1) -> (tensor<20xi1>) {
    %is_prime = tensor.extract %a[%i] : tensor<20xi1>
    %b = scf.if %is_prime -> (tensor<20xi1>) {
      %first = arith.muli %i, %i : index
      %c = scf.for %j = %first to %n step %i iter_args(%s = %a) -> (tensor<20xi1>) {
        %t = tensor.insert %false into %s[%j] : tensor<20xi1>
        scf.yield %t : tensor<20xi1>
      }
      scf.yield %c : tensor<20xi1>
    } else {
      scf.yield %a : tensor<20xi1>
    }
    scf.yield %b : tensor<20xi1>
  }
  %count = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
    %is_prime = tensor.extract %left[%i] : tensor<20xi1>
    %m = scf.if %is_prime -> (index) {
      %j = arith.addi %k, %c1 : index
      scf.yield %j : index
    } else {
      scf.yield %k : index
    }
    scf.yield %m : index
  }
  func.return %left, %count : tensor<20xi1>, index
}
//      PRIMES: result0: bool[20]  // %left
// PRIMES-NEXT: [False False  True  True False  True False  True False False False  True False  True False False
// PRIMES-NEXT:  False  True False  True]
// PRIMES-NEXT: result1: int64[] = 8  // %count
