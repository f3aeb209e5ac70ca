// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

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
// CHECK-NEXT:     %0 = grad.tape_push %tape_2, %a : !grad.tape<tensor<f64>>
// CHECK-NEXT:     %1 = arith.addi %start, %c4 : index
// CHECK-NEXT:     %end = arith.minsi %1, %n : index
// CHECK-NEXT:     %2 = scf.for %i = %start to %end step %c1 iter_args(%a_1 = %a) -> (tensor<f64>) {
// CHECK-NEXT:       %s = array.sin %a_1 : tensor<f64>
// CHECK-NEXT:       scf.yield %s : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %2, %0 : tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   %c4_1 = arith.constant 4 : index
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %3 = arith.subi %n, %c1_1 : index
// CHECK-NEXT:   %4 = arith.divsi %3, %c4_1 : index
// CHECK-NEXT:   %5 = arith.muli %4, %c4_1 : index
// CHECK-NEXT:   %x_ct, %tape_3 = scf.for %back = %c0 to %n step %c4_1 iter_args(%a_ct = %y_ct, %tape_4 = %tape_1) -> (tensor<f64>, !grad.tape<tensor<f64>>) {
// CHECK-NEXT:     %6, %7 = grad.tape_pop %tape_4 : !grad.tape<tensor<f64>>
// CHECK-NEXT:     %8 = arith.subi %5, %back : index
// CHECK-NEXT:     %9 = arith.addi %8, %c4_1 : index
// CHECK-NEXT:     %end_1 = arith.minsi %9, %n : index
// CHECK-NEXT:     %tape_5 = grad.tape_new : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     %10, %tape_6 = scf.for %i_1 = %8 to %end_1 step %c1 iter_args(%a_2 = %7, %tape_7 = %tape_5) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>) {
// CHECK-NEXT:       %s_1 = array.sin %a_2 : tensor<f64>
// CHECK-NEXT:       %tape_8 = grad.tape_push %tape_7, %a_2 : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:       scf.yield %s_1, %tape_8 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     }
// CHECK-NEXT:     %11, %tape_9 = scf.for %back_1 = %8 to %end_1 step %c1 iter_args(%s_ct = %a_ct, %tape_10 = %tape_6) -> (tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>) {
// CHECK-NEXT:       %tape_11, %a_3 = grad.tape_pop %tape_10 : !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:       %12 = array.cos %a_3 : tensor<f64>
// CHECK-NEXT:       %a_ct_1 = array.multiply %s_ct, %12 : tensor<f64>
// CHECK-NEXT:       scf.yield %a_ct_1, %tape_11 : tensor<f64>, !grad.tape<tensor<f64>, capacity = 4>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %11, %6 : tensor<f64>, !grad.tape<tensor<f64>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }

// -----

// At most three snapshots at once, on a tape that is a stack: the last one is run on from, or an
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
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %0 = arith.addi %n, %c1 : index
// CHECK-NEXT:   %c1_1 = arith.constant 1 : index
// CHECK-NEXT:   %1 = arith.subi %0, %c1_1 : index
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %2 = arith.maxsi %1, %c0 : index
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:   %c0_1 = arith.constant 0 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %at, %free, %y, %tape_1 = scf.while (%at_1 = %c0_1, %free_1 = %c3, %a = %x, %tape_2 = %tape) : (index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>) -> (index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %3 = arith.cmpi slt, %at_1, %2 : index
// CHECK-NEXT:     scf.condition(%3) %at_1, %free_1, %a, %tape_2 : index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%at_2: index, %free_2: index, %a_1: tensor<f64>, %tape_3: !grad.tape<index, tensor<f64>, capacity = 3>):
// CHECK-NEXT:     %4 = grad.tape_push %tape_3, %at_2, %a_1 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     %c1_2 = arith.constant 1 : index
// CHECK-NEXT:     %5 = arith.subi %free_2, %c1_2 : index
// CHECK-NEXT:     %6 = arith.subi %2, %at_2 : index
// CHECK-NEXT:     %c0_2 = arith.constant 0 : index
// CHECK-NEXT:     %7 = arith.cmpi eq, %5, %c0_2 : index
// CHECK-NEXT:     %c1_3 = arith.constant 1 : index
// CHECK-NEXT:     %8 = arith.cmpi eq, %6, %c1_3 : index
// CHECK-NEXT:     %9 = arith.ori %7, %8 : i1
// CHECK-NEXT:     %steps = scf.if %9 -> (index) {
// CHECK-NEXT:       scf.yield %6 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %c1_4 = arith.constant 1 : index
// CHECK-NEXT:       %10 = arith.addi %free_2, %c1_4 : index
// CHECK-NEXT:       %t, %beta = scf.while (%t_1 = %c1_4, %beta_1 = %10) : (index, index) -> (index, index) {
// CHECK-NEXT:         %11 = arith.cmpi slt, %beta_1, %6 : index
// CHECK-NEXT:         scf.condition(%11) %t_1, %beta_1 : index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%t_2: index, %beta_2: index):
// CHECK-NEXT:         %c1_5 = arith.constant 1 : index
// CHECK-NEXT:         %12 = arith.addi %t_2, %c1_5 : index
// CHECK-NEXT:         %13 = arith.addi %free_2, %12 : index
// CHECK-NEXT:         %14 = arith.muli %beta_2, %13 : index
// CHECK-NEXT:         %15 = arith.divsi %14, %12 : index
// CHECK-NEXT:         scf.yield %12, %15 : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       %16 = arith.addi %free_2, %t : index
// CHECK-NEXT:       %17 = arith.muli %beta, %free_2 : index
// CHECK-NEXT:       %18 = arith.divsi %17, %16 : index
// CHECK-NEXT:       %19 = arith.muli %beta, %t : index
// CHECK-NEXT:       %20 = arith.divsi %19, %16 : index
// CHECK-NEXT:       %c1_6 = arith.constant 1 : index
// CHECK-NEXT:       %21 = arith.subi %t, %c1_6 : index
// CHECK-NEXT:       %22 = arith.muli %20, %21 : index
// CHECK-NEXT:       %c1_7 = arith.constant 1 : index
// CHECK-NEXT:       %23 = arith.subi %16, %c1_7 : index
// CHECK-NEXT:       %24 = arith.divsi %22, %23 : index
// CHECK-NEXT:       %25 = arith.subi %6, %18 : index
// CHECK-NEXT:       %26 = arith.maxsi %24, %25 : index
// CHECK-NEXT:       %27 = arith.maxsi %26, %c1_4 : index
// CHECK-NEXT:       scf.yield %27 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %28 = arith.addi %at_2, %steps : index
// CHECK-NEXT:     %c1_8 = arith.constant 1 : index
// CHECK-NEXT:     %29 = scf.for %i = %at_2 to %28 step %c1_8 iter_args(%a_2 = %a_1) -> (tensor<f64>) {
// CHECK-NEXT:       %s = array.sin %a_2 : tensor<f64>
// CHECK-NEXT:       scf.yield %s : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %28, %5, %29, %4 : index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   %left, %free_3, %a_ct, %tape_4 = scf.while (%left_1 = %2, %free_4 = %free, %a_ct_1 = %y_ct, %tape_5 = %tape_1) : (index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>) -> (index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:     %c0_3 = arith.constant 0 : index
// CHECK-NEXT:     %30 = arith.cmpi sgt, %left_1, %c0_3 : index
// CHECK-NEXT:     scf.condition(%30) %left_1, %free_4, %a_ct_1, %tape_5 : index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0(%left_2: index, %free_5: index, %a_ct_2: tensor<f64>, %tape_6: !grad.tape<index, tensor<f64>, capacity = 3>):
// CHECK-NEXT:     %31, %32, %33 = grad.tape_pop %tape_6 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     %34 = arith.subi %left_2, %32 : index
// CHECK-NEXT:     %c1_9 = arith.constant 1 : index
// CHECK-NEXT:     %35 = arith.cmpi eq, %34, %c1_9 : index
// CHECK-NEXT:     %c0_4 = arith.constant 0 : index
// CHECK-NEXT:     %36 = arith.cmpi eq, %free_5, %c0_4 : index
// CHECK-NEXT:     %37 = arith.ori %35, %36 : i1
// CHECK-NEXT:     %c1_10 = arith.constant 1 : index
// CHECK-NEXT:     %38 = arith.subi %34, %c1_10 : index
// CHECK-NEXT:     %c1_11 = arith.constant 1 : index
// CHECK-NEXT:     %39 = arith.addi %free_5, %c1_11 : index
// CHECK-NEXT:     %steps_1 = scf.if %37 -> (index) {
// CHECK-NEXT:       scf.yield %38 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %c1_12 = arith.constant 1 : index
// CHECK-NEXT:       %40 = arith.addi %39, %c1_12 : index
// CHECK-NEXT:       %t_3, %beta_3 = scf.while (%t_4 = %c1_12, %beta_4 = %40) : (index, index) -> (index, index) {
// CHECK-NEXT:         %41 = arith.cmpi slt, %beta_4, %34 : index
// CHECK-NEXT:         scf.condition(%41) %t_4, %beta_4 : index, index
// CHECK-NEXT:       } do {
// CHECK-NEXT:       ^bb0(%t_5: index, %beta_5: index):
// CHECK-NEXT:         %c1_13 = arith.constant 1 : index
// CHECK-NEXT:         %42 = arith.addi %t_5, %c1_13 : index
// CHECK-NEXT:         %43 = arith.addi %39, %42 : index
// CHECK-NEXT:         %44 = arith.muli %beta_5, %43 : index
// CHECK-NEXT:         %45 = arith.divsi %44, %42 : index
// CHECK-NEXT:         scf.yield %42, %45 : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:       %46 = arith.addi %39, %t_3 : index
// CHECK-NEXT:       %47 = arith.muli %beta_3, %39 : index
// CHECK-NEXT:       %48 = arith.divsi %47, %46 : index
// CHECK-NEXT:       %49 = arith.muli %beta_3, %t_3 : index
// CHECK-NEXT:       %50 = arith.divsi %49, %46 : index
// CHECK-NEXT:       %c1_14 = arith.constant 1 : index
// CHECK-NEXT:       %51 = arith.subi %t_3, %c1_14 : index
// CHECK-NEXT:       %52 = arith.muli %50, %51 : index
// CHECK-NEXT:       %c1_15 = arith.constant 1 : index
// CHECK-NEXT:       %53 = arith.subi %46, %c1_15 : index
// CHECK-NEXT:       %54 = arith.divsi %52, %53 : index
// CHECK-NEXT:       %55 = arith.subi %34, %48 : index
// CHECK-NEXT:       %56 = arith.maxsi %54, %55 : index
// CHECK-NEXT:       %57 = arith.maxsi %56, %c1_12 : index
// CHECK-NEXT:       scf.yield %57 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %i_1 = arith.addi %32, %steps_1 : index
// CHECK-NEXT:     %c1_16 = arith.constant 1 : index
// CHECK-NEXT:     %a_3 = scf.for %i_2 = %32 to %i_1 step %c1_16 iter_args(%a_4 = %33) -> (tensor<f64>) {
// CHECK-NEXT:       %s_1 = array.sin %a_4 : tensor<f64>
// CHECK-NEXT:       scf.yield %s_1 : tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %tape_7 = scf.if %35 -> (!grad.tape<index, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:       scf.yield %31 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %58 = grad.tape_push %31, %32, %33 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:       scf.yield %58 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     }
// CHECK-NEXT:     %tape_8 = scf.if %37 -> (!grad.tape<index, tensor<f64>, capacity = 3>) {
// CHECK-NEXT:       scf.yield %tape_7 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %59 = grad.tape_push %tape_7, %i_1, %a_3 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:       scf.yield %59 : !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:     }
// CHECK-NEXT:     %left_3, %a_ct_3 = scf.if %37 -> (index, tensor<f64>) {
// CHECK-NEXT:       %60 = array.cos %a_3 : tensor<f64>
// CHECK-NEXT:       %a_ct_4 = array.multiply %a_ct_2, %60 : tensor<f64>
// CHECK-NEXT:       scf.yield %i_1, %a_ct_4 : index, tensor<f64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %left_2, %a_ct_2 : index, tensor<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %c1_17 = arith.constant 1 : index
// CHECK-NEXT:     %61 = arith.addi %free_5, %c1_17 : index
// CHECK-NEXT:     %c1_18 = arith.constant 1 : index
// CHECK-NEXT:     %62 = arith.subi %free_5, %c1_18 : index
// CHECK-NEXT:     %63 = arith.select %37, %free_5, %62 : index
// CHECK-NEXT:     %64 = arith.select %35, %61, %63 : index
// CHECK-NEXT:     scf.yield %left_3, %64, %a_ct_3, %tape_8 : index, index, tensor<f64>, !grad.tape<index, tensor<f64>, capacity = 3>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %a_ct : tensor<f64>, tensor<f64>
// CHECK-NEXT: }
