// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp},gradir-simplify,cse" | filecheck %s

// The carried value is kept before every fourth iteration. The backward loop runs a segment again,
// now with a tape, and takes it back.
func.func @f(%x: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %s = array.sin %a : tensor<f64>
    scf.yield %s : tensor<f64>
  } {grad.loop = #grad.loop<every = 4>}
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %n: index, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c4 = arith.constant 4 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<tensor<f64>>
// CHECK-NEXT:   %y, %tape_1 = scf.for %start = %c0 to %n step %c4 iter_args(%a = %x, %tape_2 = %tape) -> (tensor<f64>, !grad.tape<tensor<f64>>) {
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %a : !grad.tape<tensor<f64>>
// CHECK-NEXT:     %left = arith.subi %n, %start : index
// CHECK-NEXT:     %length = arith.minui %c4, %left : index
// CHECK-NEXT:     %end = arith.addi %start, %length : index
// CHECK-NEXT:     %0 = scf.for %i = %start to %end step %c1 iter_args(%a_1 = %a) -> (tensor<f64>) {
// CHECK-NEXT:       %s = array.sin %a_1 : tensor<f64>
// CHECK-NEXT:       scf.yield %s : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %0, %tape_3 : tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   %1 = arith.subi %n, %c1 : index
// CHECK-NEXT:   %2 = arith.divui %1, %c4 : index
// CHECK-NEXT:   %3 = arith.muli %2, %c4 : index
// CHECK-NEXT:   %x_ct, %tape_4 = scf.for %back = %c0 to %n step %c4 iter_args(%a_ct = %y_ct, %tape_5 = %tape_1) -> (tensor<f64>, !grad.tape<tensor<f64>>) {
// CHECK-NEXT:     %start_1 = arith.subi %3, %back : index
// CHECK-NEXT:     %tape_6, %a_2 = grad.tape_pop %tape_5 : !grad.tape<tensor<f64>>
// CHECK-NEXT:     %left_1 = arith.subi %n, %start_1 : index
// CHECK-NEXT:     %length_1 = arith.minui %c4, %left_1 : index
// CHECK-NEXT:     %end_1 = arith.addi %start_1, %length_1 : index
// CHECK-NEXT:     %tape_7 = grad.tape_new : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     %4, %tape_8 = scf.for %i_1 = %start_1 to %end_1 step %c1 iter_args(%a_3 = %a_2, %tape_9 = %tape_7) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>) {
// CHECK-NEXT:       %s_1 = array.sin %a_3 : tensor<f64>
// CHECK-NEXT:       %tape_10 = grad.tape_push %tape_9, %a_3 : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:       scf.yield %s_1, %tape_10 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     }
// CHECK-NEXT:     %5, %tape_11 = scf.for %back_1 = %start_1 to %end_1 step %c1 iter_args(%s_ct = %a_ct, %tape_12 = %tape_8) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>) {
// CHECK-NEXT:       %tape_13, %a_4 = grad.tape_pop %tape_12 : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:       %6 = array.cos %a_4 : tensor<f64>
// CHECK-NEXT:       %a_ct_1 = array.multiply %s_ct, %6 : tensor<f64>
// CHECK-NEXT:       scf.yield %a_ct_1, %tape_13 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %5, %tape_6 : tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// At most three snapshots at once, in rows that are a stack: the last one is run on from, or an
// iteration is taken back.
func.func @f(%x: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %s = array.sin %a : tensor<f64>
    scf.yield %s : tensor<f64>
  } {grad.loop = #grad.loop<binomial = 3>}
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<f64>, %n: index, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %count = arith.maxsi %n, %c0 : index
// CHECK-NEXT:   %at = tensor.empty() : tensor<3xi64>
// CHECK-NEXT:   %a_snapshots = tensor.empty() : tensor<3xf64>
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %at_1, %free, %y, %at_2, %a_snapshots_1 = scf.while (%at_3 = %c0, %free_1 = %c3, %a = %x, %at_4 = %at, %a_snapshots_2 = %a_snapshots) : (index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>) -> (index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:     %0 = arith.cmpi slt, %at_3, %count : index
// CHECK-NEXT:     scf.condition(%0) %at_3, %free_1, %a, %at_4, %a_snapshots_2 : index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%at_5: index, %free_2: index, %a_1: tensor<f64>, %at_6: tensor<3xi64>, %a_snapshots_3: tensor<3xf64>):
// CHECK-NEXT:     %place = arith.subi %c3, %free_2 : index
// CHECK-NEXT:     %1 = arith.index_cast %at_5 : index to i64
// CHECK-NEXT:     %at_7 = tensor.insert %1 into %at_6[%place] : tensor<3xi64>
// CHECK-NEXT:     %a_snapshots_4 = tensor.insert_slice %a_1 into %a_snapshots_3[%place] [1] [1] : tensor<f64> into tensor<3xf64>
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %free_3 = arith.subi %free_2, %c1 : index
// CHECK-NEXT:     %length = arith.subi %count, %at_5 : index
// CHECK-NEXT:     %2 = arith.cmpi eq, %free_3, %c0 : index
// CHECK-NEXT:     %3 = arith.cmpi eq, %length, %c1 : index
// CHECK-NEXT:     %4 = arith.ori %2, %3 : i1
// CHECK-NEXT:     %steps = scf.if %4 -> (index) {
// CHECK-NEXT:       scf.yield %length : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %5 = arith.addi %free_2, %c1 : index
// CHECK-NEXT:       %t, %beta = scf.while (%t_1 = %c1, %beta_1 = %5) : (index, index) -> (index, index) {
// CHECK-NEXT:         %6 = arith.cmpi slt, %beta_1, %length : index
// CHECK-NEXT:         scf.condition(%6) %t_1, %beta_1 : index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%t_2: index, %beta_2: index):
// CHECK-NEXT:         %t_3 = arith.addi %t_2, %c1 : index
// CHECK-NEXT:         %7 = arith.addi %free_2, %t_3 : index
// CHECK-NEXT:         %8 = arith.muli %beta_2, %7 : index
// CHECK-NEXT:         %9 = arith.divsi %8, %t_3 : index
// CHECK-NEXT:         scf.yield %t_3, %9 : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       %10 = arith.addi %free_2, %t : index
// CHECK-NEXT:       %11 = arith.muli %beta, %free_2 : index
// CHECK-NEXT:       %12 = arith.divsi %11, %10 : index
// CHECK-NEXT:       %13 = arith.muli %beta, %t : index
// CHECK-NEXT:       %14 = arith.divsi %13, %10 : index
// CHECK-NEXT:       %15 = arith.subi %t, %c1 : index
// CHECK-NEXT:       %16 = arith.muli %14, %15 : index
// CHECK-NEXT:       %17 = arith.subi %10, %c1 : index
// CHECK-NEXT:       %18 = arith.divsi %16, %17 : index
// CHECK-NEXT:       %19 = arith.subi %length, %12 : index
// CHECK-NEXT:       %20 = arith.maxsi %18, %19 : index
// CHECK-NEXT:       %21 = arith.maxsi %20, %c1 : index
// CHECK-NEXT:       scf.yield %21 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %here = arith.addi %at_5, %steps : index
// CHECK-NEXT:     %22 = scf.for %i = %at_5 to %here step %c1 iter_args(%a_2 = %a_1) -> (tensor<f64>) {
// CHECK-NEXT:       %s = array.sin %a_2 : tensor<f64>
// CHECK-NEXT:       scf.yield %s : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %here, %free_3, %22, %at_7, %a_snapshots_4 : index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %left, %free_4, %a_ct, %at_8, %a_snapshots_5 = scf.while (%left_1 = %count, %free_5 = %free, %a_ct_1 = %y_ct, %at_9 = %at_2, %a_snapshots_6 = %a_snapshots_1) : (index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>) -> (index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:     %23 = arith.cmpi sgt, %left_1, %c0 : index
// CHECK-NEXT:     scf.condition(%23) %left_1, %free_5, %a_ct_1, %at_9, %a_snapshots_6 : index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%left_2: index, %free_6: index, %a_ct_2: tensor<f64>, %at_10: tensor<3xi64>, %a_snapshots_7: tensor<3xf64>):
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %place_1 = arith.subi %c2, %free_6 : index
// CHECK-NEXT:     %24 = tensor.extract %at_10[%place_1] : tensor<3xi64>
// CHECK-NEXT:     %at_11 = arith.index_cast %24 : i64 to index
// CHECK-NEXT:     %a_3 = tensor.extract_slice %a_snapshots_7[%place_1] [1] [1] : tensor<3xf64> to tensor<f64>
// CHECK-NEXT:     %length_1 = arith.subi %left_2, %at_11 : index
// CHECK-NEXT:     %c1_1 = arith.constant 1 : index
// CHECK-NEXT:     %is_single = arith.cmpi eq, %length_1, %c1_1 : index
// CHECK-NEXT:     %25 = arith.cmpi eq, %free_6, %c0 : index
// CHECK-NEXT:     %takes_back = arith.ori %is_single, %25 : i1
// CHECK-NEXT:     %26 = arith.subi %length_1, %c1_1 : index
// CHECK-NEXT:     %slots = arith.addi %free_6, %c1_1 : index
// CHECK-NEXT:     %steps_1 = scf.if %takes_back -> (index) {
// CHECK-NEXT:       scf.yield %26 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %27 = arith.addi %slots, %c1_1 : index
// CHECK-NEXT:       %t_4, %beta_3 = scf.while (%t_5 = %c1_1, %beta_4 = %27) : (index, index) -> (index, index) {
// CHECK-NEXT:         %28 = arith.cmpi slt, %beta_4, %length_1 : index
// CHECK-NEXT:         scf.condition(%28) %t_5, %beta_4 : index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%t_6: index, %beta_5: index):
// CHECK-NEXT:         %t_7 = arith.addi %t_6, %c1_1 : index
// CHECK-NEXT:         %29 = arith.addi %slots, %t_7 : index
// CHECK-NEXT:         %30 = arith.muli %beta_5, %29 : index
// CHECK-NEXT:         %31 = arith.divsi %30, %t_7 : index
// CHECK-NEXT:         scf.yield %t_7, %31 : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       %32 = arith.addi %slots, %t_4 : index
// CHECK-NEXT:       %33 = arith.muli %beta_3, %slots : index
// CHECK-NEXT:       %34 = arith.divsi %33, %32 : index
// CHECK-NEXT:       %35 = arith.muli %beta_3, %t_4 : index
// CHECK-NEXT:       %36 = arith.divsi %35, %32 : index
// CHECK-NEXT:       %37 = arith.subi %t_4, %c1_1 : index
// CHECK-NEXT:       %38 = arith.muli %36, %37 : index
// CHECK-NEXT:       %39 = arith.subi %32, %c1_1 : index
// CHECK-NEXT:       %40 = arith.divsi %38, %39 : index
// CHECK-NEXT:       %41 = arith.subi %length_1, %34 : index
// CHECK-NEXT:       %42 = arith.maxsi %40, %41 : index
// CHECK-NEXT:       %43 = arith.maxsi %42, %c1_1 : index
// CHECK-NEXT:       scf.yield %43 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %here_1 = arith.addi %at_11, %steps_1 : index
// CHECK-NEXT:     %a_4 = scf.for %i_1 = %at_11 to %here_1 step %c1_1 iter_args(%a_5 = %a_3) -> (tensor<f64>) {
// CHECK-NEXT:       %s_1 = array.sin %a_5 : tensor<f64>
// CHECK-NEXT:       scf.yield %s_1 : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %at_12, %a_snapshots_8 = scf.if %takes_back -> (tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:       scf.yield %at_10, %a_snapshots_7 : tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %place_2 = arith.subi %c3, %free_6 : index
// CHECK-NEXT:       %44 = arith.index_cast %here_1 : index to i64
// CHECK-NEXT:       %at_13 = tensor.insert %44 into %at_10[%place_2] : tensor<3xi64>
// CHECK-NEXT:       %a_snapshots_9 = tensor.insert_slice %a_4 into %a_snapshots_7[%place_2] [1] [1] : tensor<f64> into tensor<3xf64>
// CHECK-NEXT:       scf.yield %at_13, %a_snapshots_9 : tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %left_3, %a_ct_3 = scf.if %takes_back -> (index, tensor<f64>) {
// CHECK-NEXT:       %45 = array.cos %a_4 : tensor<f64>
// CHECK-NEXT:       %a_ct_4 = array.multiply %a_ct_2, %45 : tensor<f64>
// CHECK-NEXT:       scf.yield %here_1, %a_ct_4 : index, tensor<f64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %left_2, %a_ct_2 : index, tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %46 = arith.subi %free_6, %c1_1 : index
// CHECK-NEXT:     %47 = arith.select %takes_back, %free_6, %46 : index
// CHECK-NEXT:     %48 = arith.select %is_single, %slots, %47 : index
// CHECK-NEXT:     scf.yield %left_3, %48, %a_ct_3, %at_12, %a_snapshots_8 : index, index, tensor<f64>, tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %a_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// How often a scf.while runs is known at its end. %at are the iterations of the three snapshots, in
// order, and %order the rows in which they are. Where all rows are full, the last snapshot gives way
// that leaves no gap too long, which may be the new one; then the backward code goes on as above.
func.func @f(%x: tensor<4xf64>, %end: tensor<f64>) -> tensor<4xf64> {
  %y = scf.while (%a = %x) : (tensor<4xf64>) -> tensor<4xf64> {
    %s = array.sum %a : tensor<4xf64> -> tensor<f64>
    %p = tensor.extract %s[] : tensor<f64>
    %q = tensor.extract %end[] : tensor<f64>
    %more = arith.cmpf ogt, %p, %q : f64
    scf.condition(%more) %a : tensor<4xf64>
  } do {
  ^bb0(%a: tensor<4xf64>):
    %s = array.sin %a : tensor<4xf64>
    scf.yield %s : tensor<4xf64>
  } attributes {grad.loop = #grad.loop<online = 3>}
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %end: tensor<f64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<f64>) {
// CHECK-NEXT:   %at = tensor.empty() : tensor<5xi64>
// CHECK-NEXT:   %0 = tensor.empty() : tensor<4xi64>
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %order = scf.for %slot = %c0 to %c3 step %c1 iter_args(%order_1 = %0) -> (tensor<4xi64>) {
// CHECK-NEXT:     %1 = arith.index_cast %slot : index to i64
// CHECK-NEXT:     %order_2 = tensor.insert %1 into %order_1[%slot] : tensor<4xi64>
// CHECK-NEXT:     scf.yield %order_2 : tensor<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %a_snapshots = tensor.empty() : tensor<3x4xf64>
// CHECK-NEXT:   %y, %count, %times, %at_1, %order_3, %a_snapshots_1 = scf.while (%a = %x, %count_1 = %c0, %times_1 = %c1, %at_2 = %at, %order_4 = %order, %a_snapshots_2 = %a_snapshots) : (tensor<4xf64>, index, index, tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>) -> (tensor<4xf64>, index, index, tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>) {
// CHECK-NEXT:     %s = array.sum %a : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:     %p = tensor.extract %s[] : tensor<f64>
// CHECK-NEXT:     %q = tensor.extract %end[] : tensor<f64>
// CHECK-NEXT:     %more = arith.cmpf ogt, %p, %q : f64
// CHECK-NEXT:     scf.condition(%more) %a, %count_1, %times_1, %at_2, %order_4, %a_snapshots_2 : tensor<4xf64>, index, index, tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%a_1: tensor<4xf64>, %count_2: index, %times_2: index, %at_3: tensor<5xi64>, %order_5: tensor<4xi64>, %a_snapshots_3: tensor<3x4xf64>):
// CHECK-NEXT:     %held = arith.minsi %count_2, %c3 : index
// CHECK-NEXT:     %2 = arith.index_cast %count_2 : index to i64
// CHECK-NEXT:     %at_4 = tensor.insert %2 into %at_3[%held] : tensor<5xi64>
// CHECK-NEXT:     %3 = arith.addi %count_2, %c1 : index
// CHECK-NEXT:     %4 = arith.addi %held, %c1 : index
// CHECK-NEXT:     %5 = arith.index_cast %3 : index to i64
// CHECK-NEXT:     %at_5 = tensor.insert %5 into %at_4[%4] : tensor<5xi64>
// CHECK-NEXT:     %is_full = arith.cmpi eq, %held, %c3 : index
// CHECK-NEXT:     %place, %times_3 = scf.if %is_full -> (index, index) {
// CHECK-NEXT:       %most = arith.addi %times_2, %c1 : index
// CHECK-NEXT:       %place_1, %times_4, %most_1 = scf.while (%place_2 = %c3, %times_5 = %times_2, %most_2 = %most) : (index, index, index) -> (index, index, index) {
// CHECK-NEXT:         %6 = arith.subi %place_2, %c1 : index
// CHECK-NEXT:         %7 = arith.addi %place_2, %c1 : index
// CHECK-NEXT:         %start = tensor.extract %at_5[%6] : tensor<5xi64>
// CHECK-NEXT:         %end_1 = tensor.extract %at_5[%7] : tensor<5xi64>
// CHECK-NEXT:         %8 = arith.subi %end_1, %start : i64
// CHECK-NEXT:         %gap = arith.index_cast %8 : i64 to index
// CHECK-NEXT:         %9 = arith.cmpi sgt, %gap, %most_2 : index
// CHECK-NEXT:         scf.condition(%9) %place_2, %times_5, %most_2 : index, index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%place_3: index, %times_6: index, %most_3: index):
// CHECK-NEXT:         %is_first = arith.cmpi eq, %place_3, %c1 : index
// CHECK-NEXT:         %place_4, %times_7, %most_4 = scf.if %is_first -> (index, index, index) {
// CHECK-NEXT:           %times_8 = arith.addi %times_6, %c1 : index
// CHECK-NEXT:           %most_5 = arith.addi %times_8, %c1 : index
// CHECK-NEXT:           scf.yield %c3, %times_8, %most_5 : index, index, index
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %place_5 = arith.subi %place_3, %c1 : index
// CHECK-NEXT:           %c4 = arith.constant 4 : index
// CHECK-NEXT:           %usable = arith.subi %c4, %place_5 : index
// CHECK-NEXT:           %10 = arith.addi %usable, %times_6 : index
// CHECK-NEXT:           %11 = arith.muli %most_3, %10 : index
// CHECK-NEXT:           %most_6 = arith.divsi %11, %usable : index
// CHECK-NEXT:           scf.yield %place_5, %times_6, %most_6 : index, index, index
// CHECK-NEXT:         }
// CHECK-NEXT:         scf.yield %place_4, %times_7, %most_4 : index, index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       scf.yield %place_1, %times_4 : index, index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %held, %times_2 : index, index
// CHECK-NEXT:     }
// CHECK-NEXT:     %is_kept = arith.cmpi slt, %place, %c3 : index
// CHECK-NEXT:     %at_6, %order_6, %a_snapshots_4 = scf.if %is_kept -> (tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>) {
// CHECK-NEXT:       %12 = tensor.extract %order_5[%place] : tensor<4xi64>
// CHECK-NEXT:       %slot_1 = arith.index_cast %12 : i64 to index
// CHECK-NEXT:       %13 = arith.index_cast %slot_1 : index to i64
// CHECK-NEXT:       %order_7 = tensor.insert %13 into %order_5[%held] : tensor<4xi64>
// CHECK-NEXT:       %at_7, %order_8 = scf.for %place_6 = %place to %held step %c1 iter_args(%at_8 = %at_5, %order_9 = %order_7) -> (tensor<5xi64>, tensor<4xi64>) {
// CHECK-NEXT:         %14 = arith.addi %place_6, %c1 : index
// CHECK-NEXT:         %15 = tensor.extract %at_8[%14] : tensor<5xi64>
// CHECK-NEXT:         %16 = arith.index_cast %15 : i64 to index
// CHECK-NEXT:         %17 = arith.index_cast %16 : index to i64
// CHECK-NEXT:         %at_9 = tensor.insert %17 into %at_8[%place_6] : tensor<5xi64>
// CHECK-NEXT:         %18 = tensor.extract %order_9[%14] : tensor<4xi64>
// CHECK-NEXT:         %19 = arith.index_cast %18 : i64 to index
// CHECK-NEXT:         %20 = arith.index_cast %19 : index to i64
// CHECK-NEXT:         %order_10 = tensor.insert %20 into %order_9[%place_6] : tensor<4xi64>
// CHECK-NEXT:         scf.yield %at_9, %order_10 : tensor<5xi64>, tensor<4xi64>
// CHECK-NEXT:       }
// CHECK-NEXT:       %a_snapshots_5 = tensor.insert_slice %a_1 into %a_snapshots_3[%slot_1, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<3x4xf64>
// CHECK-NEXT:       scf.yield %at_7, %order_8, %a_snapshots_5 : tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %at_5, %order_5, %a_snapshots_3 : tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %s_1 = array.sin %a_1 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %s_1, %3, %times_3, %at_6, %order_6, %a_snapshots_4 : tensor<4xf64>, index, index, tensor<5xi64>, tensor<4xi64>, tensor<3x4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %held_1 = arith.minsi %count, %c3 : index
// CHECK-NEXT:   %free = arith.subi %c3, %held_1 : index
// CHECK-NEXT:   %left, %free_1, %a_ct, %at_10, %a_snapshots_6 = scf.while (%left_1 = %count, %free_2 = %free, %a_ct_1 = %y_ct, %at_11 = %at_1, %a_snapshots_7 = %a_snapshots_1) : (index, index, tensor<4xf64>, tensor<5xi64>, tensor<3x4xf64>) -> (index, index, tensor<4xf64>, tensor<5xi64>, tensor<3x4xf64>) {
// CHECK-NEXT:     %21 = arith.cmpi sgt, %left_1, %c0 : index
// CHECK-NEXT:     scf.condition(%21) %left_1, %free_2, %a_ct_1, %at_11, %a_snapshots_7 : index, index, tensor<4xf64>, tensor<5xi64>, tensor<3x4xf64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%left_2: index, %free_3: index, %a_ct_2: tensor<4xf64>, %at_12: tensor<5xi64>, %a_snapshots_8: tensor<3x4xf64>):
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %place_7 = arith.subi %c2, %free_3 : index
// CHECK-NEXT:     %22 = tensor.extract %at_12[%place_7] : tensor<5xi64>
// CHECK-NEXT:     %at_13 = arith.index_cast %22 : i64 to index
// CHECK-NEXT:     %23 = tensor.extract %order_3[%place_7] : tensor<4xi64>
// CHECK-NEXT:     %slot_2 = arith.index_cast %23 : i64 to index
// CHECK-NEXT:     %a_2 = tensor.extract_slice %a_snapshots_8[%slot_2, 0] [1, 4] [1, 1] : tensor<3x4xf64> to tensor<4xf64>
// CHECK-NEXT:     %length = arith.subi %left_2, %at_13 : index
// CHECK-NEXT:     %is_single = arith.cmpi eq, %length, %c1 : index
// CHECK-NEXT:     %24 = arith.cmpi eq, %free_3, %c0 : index
// CHECK-NEXT:     %takes_back = arith.ori %is_single, %24 : i1
// CHECK-NEXT:     %25 = arith.subi %length, %c1 : index
// CHECK-NEXT:     %slots = arith.addi %free_3, %c1 : index
// CHECK-NEXT:     %steps = scf.if %takes_back -> (index) {
// CHECK-NEXT:       scf.yield %25 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %26 = arith.addi %slots, %c1 : index
// CHECK-NEXT:       %t, %beta = scf.while (%t_1 = %c1, %beta_1 = %26) : (index, index) -> (index, index) {
// CHECK-NEXT:         %27 = arith.cmpi slt, %beta_1, %length : index
// CHECK-NEXT:         scf.condition(%27) %t_1, %beta_1 : index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%t_2: index, %beta_2: index):
// CHECK-NEXT:         %t_3 = arith.addi %t_2, %c1 : index
// CHECK-NEXT:         %28 = arith.addi %slots, %t_3 : index
// CHECK-NEXT:         %29 = arith.muli %beta_2, %28 : index
// CHECK-NEXT:         %30 = arith.divsi %29, %t_3 : index
// CHECK-NEXT:         scf.yield %t_3, %30 : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       %31 = arith.addi %slots, %t : index
// CHECK-NEXT:       %32 = arith.muli %beta, %slots : index
// CHECK-NEXT:       %33 = arith.divsi %32, %31 : index
// CHECK-NEXT:       %34 = arith.muli %beta, %t : index
// CHECK-NEXT:       %35 = arith.divsi %34, %31 : index
// CHECK-NEXT:       %36 = arith.subi %t, %c1 : index
// CHECK-NEXT:       %37 = arith.muli %35, %36 : index
// CHECK-NEXT:       %38 = arith.subi %31, %c1 : index
// CHECK-NEXT:       %39 = arith.divsi %37, %38 : index
// CHECK-NEXT:       %40 = arith.subi %length, %33 : index
// CHECK-NEXT:       %41 = arith.maxsi %39, %40 : index
// CHECK-NEXT:       %42 = arith.maxsi %41, %c1 : index
// CHECK-NEXT:       scf.yield %42 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %here = arith.addi %at_13, %steps : index
// CHECK-NEXT:     %a_3 = scf.for %43 = %at_13 to %here step %c1 iter_args(%a_4 = %a_2) -> (tensor<4xf64>) {
// CHECK-NEXT:       %s_2 = array.sin %a_4 : tensor<4xf64>
// CHECK-NEXT:       scf.yield %s_2 : tensor<4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %at_14, %a_snapshots_9 = scf.if %takes_back -> (tensor<5xi64>, tensor<3x4xf64>) {
// CHECK-NEXT:       scf.yield %at_12, %a_snapshots_8 : tensor<5xi64>, tensor<3x4xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %place_8 = arith.subi %c3, %free_3 : index
// CHECK-NEXT:       %44 = tensor.extract %order_3[%place_8] : tensor<4xi64>
// CHECK-NEXT:       %slot_3 = arith.index_cast %44 : i64 to index
// CHECK-NEXT:       %45 = arith.index_cast %here : index to i64
// CHECK-NEXT:       %at_15 = tensor.insert %45 into %at_12[%place_8] : tensor<5xi64>
// CHECK-NEXT:       %a_snapshots_10 = tensor.insert_slice %a_3 into %a_snapshots_8[%slot_3, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<3x4xf64>
// CHECK-NEXT:       scf.yield %at_15, %a_snapshots_10 : tensor<5xi64>, tensor<3x4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %left_3, %a_ct_3 = scf.if %takes_back -> (index, tensor<4xf64>) {
// CHECK-NEXT:       %46 = array.cos %a_3 : tensor<4xf64>
// CHECK-NEXT:       %a_ct_4 = array.multiply %a_ct_2, %46 : tensor<4xf64>
// CHECK-NEXT:       scf.yield %here, %a_ct_4 : index, tensor<4xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %left_2, %a_ct_2 : index, tensor<4xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %47 = arith.subi %free_3, %c1 : index
// CHECK-NEXT:     %48 = arith.select %takes_back, %free_3, %47 : index
// CHECK-NEXT:     %49 = arith.select %is_single, %slots, %48 : index
// CHECK-NEXT:     scf.yield %left_3, %49, %a_ct_3, %at_14, %a_snapshots_9 : index, index, tensor<4xf64>, tensor<5xi64>, tensor<3x4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %end_ct = grad.zero : tensor<f64>
// CHECK-NEXT:   func.return %y, %a_ct, %end_ct : tensor<4xf64>, tensor<4xf64>, tensor<f64>
// CHECK-NEXT: }
