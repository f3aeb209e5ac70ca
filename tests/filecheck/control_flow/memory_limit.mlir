// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad memory_limit=300}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad memory_limit=300}" --explain-saved | filecheck %s --check-prefix=SAVED
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad memory_limit=100}" --explain-saved | filecheck %s --check-prefix=LESS

// 40 steps leave 40 records of 8 bytes; 7 states and the records of 6 steps are less.

func.func @f(%x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 40 : index
  %y = scf.for %i = %c0 to %steps step %c1 iter_args(%a = %x) -> (f64) {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}

//      CHECK: func.func @f_grad(%x: f64) -> (f64, f64) attributes {grad.memory_limit = 300 : i64, grad.peak_bytes = 112 : i64, grad.loops = [#grad.loop<every = 6>]} {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %steps = arith.constant 40 : index
// CHECK-NEXT:   %c6 = arith.constant 6 : index
// CHECK-NEXT:   %a_snapshots = tensor.empty() : tensor<7xf64>
// CHECK-NEXT:   %y, %a_snapshots_1 = scf.for %start = %c0 to %steps step %c6 iter_args(%a = %x, %a_snapshots_2 = %a_snapshots) -> (f64, tensor<7xf64>) {
// CHECK-NEXT:     %segment = arith.divui %start, %c6 : index
// CHECK-NEXT:     %a_snapshots_3 = tensor.insert %a into %a_snapshots_2[%segment] : tensor<7xf64>
// CHECK-NEXT:     %left = arith.subi %steps, %start : index
// CHECK-NEXT:     %length = arith.minui %c6, %left : index
// CHECK-NEXT:     %end = arith.addi %start, %length : index
// CHECK-NEXT:     %0 = scf.for %i = %start to %end step %c1 iter_args(%a_1 = %a) -> (f64) {
// CHECK-NEXT:       %s = math.sin %a_1 : f64
// CHECK-NEXT:       scf.yield %s : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %0, %a_snapshots_3 : f64, tensor<7xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y_ct = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:   %c6_1 = arith.constant 6 : index
// CHECK-NEXT:   %x_ct = scf.for %back = %c0 to %steps step %c6_1 iter_args(%a_ct = %y_ct) -> (f64) {
// CHECK-NEXT:     %c36 = arith.constant 36 : index
// CHECK-NEXT:     %start_1 = arith.subi %c36, %back : index
// CHECK-NEXT:     %segment_1 = arith.divui %start_1, %c6_1 : index
// CHECK-NEXT:     %a_2 = tensor.extract %a_snapshots_1[%segment_1] : tensor<7xf64>
// CHECK-NEXT:     %left_1 = arith.subi %steps, %start_1 : index
// CHECK-NEXT:     %length_1 = arith.minui %c6_1, %left_1 : index
// CHECK-NEXT:     %end_1 = arith.addi %start_1, %length_1 : index
// CHECK-NEXT:     %tape = grad.tape_new : !grad.tape<f64, capacity = 6>
// CHECK-NEXT:     %1, %tape_1 = scf.for %i_1 = %start_1 to %end_1 step %c1 iter_args(%a_3 = %a_2, %tape_2 = %tape) -> (f64, !grad.tape<f64, capacity = 6>) {
// CHECK-NEXT:       %s_1 = math.sin %a_3 : f64
// CHECK-NEXT:       %tape_3 = grad.tape_push %tape_2, %a_3 : !grad.tape<f64, capacity = 6>
// CHECK-NEXT:       scf.yield %s_1, %tape_3 : f64, !grad.tape<f64, capacity = 6>
// CHECK-NEXT:     }
// CHECK-NEXT:     %2, %tape_4 = scf.for %back_1 = %start_1 to %end_1 step %c1 iter_args(%s_ct = %a_ct, %tape_5 = %tape_1) -> (f64, !grad.tape<f64, capacity = 6>) {
// CHECK-NEXT:       %tape_6, %a_4 = grad.tape_pop %tape_5 : !grad.tape<f64, capacity = 6>
// CHECK-NEXT:       %3 = math.cos %a_4 : f64
// CHECK-NEXT:       %a_ct_1 = arith.mulf %s_ct, %3 : f64
// CHECK-NEXT:       scf.yield %a_ct_1, %tape_6 : f64, !grad.tape<f64, capacity = 6>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %2 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : f64, f64
// CHECK-NEXT: }

//      SAVED: @f: 1 values are kept, 56 bytes of them beside arguments
// SAVED-NEXT: bytes value made read first to recompute
// SAVED-NEXT: 56 %a_snapshots scf.for at 11:3 tensor.extract at 11:3 700 flops, 0 bytes
// SAVED-NEXT: scf.for at 11:3: #grad.loop<every = 6>

//      LESS: @f: 3 values are kept, 64 bytes of them beside arguments
// LESS-NEXT: bytes value made read first to recompute
// LESS-NEXT: 0 %free scf.while at 11:3 scf.while at 11:3 21022000 flops, 0 bytes
// LESS-NEXT: 32 %at scf.while at 11:3 scf.while at 11:3 21022000 flops, 0 bytes
// LESS-NEXT: 32 %a_snapshots scf.while at 11:3 scf.while at 11:3 21022000 flops, 0 bytes
// LESS-NEXT: scf.for at 11:3: #grad.loop<binomial = 4>
