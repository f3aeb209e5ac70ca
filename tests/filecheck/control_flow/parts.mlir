// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=parts mode=vjp}" | filecheck %s

// Parts of a tensor from outside that are together as large as it: they are read again, without a tape.
func.func @parts(%xs: tensor<8x4xf64> {grad.inactive}, %w: tensor<4xf64>) -> tensor<f64> {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant 8 : index
  %zero = array.full {value = 0.0} : tensor<4xf64>
  %h = scf.for %t = %first to %last step %one iter_args(%h1 = %zero) -> (tensor<4xf64>) {
    %x = tensor.extract_slice %xs[%t, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
    %p = array.multiply %x, %w : tensor<4xf64>
    %h2 = array.add %h1, %p : tensor<4xf64>
    scf.yield %h2 : tensor<4xf64>
  }
  %y = array.sum %h : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

//      CHECK: func.func @parts_vjp(%xs: tensor<8x4xf64> {grad.inactive}, %w: tensor<4xf64>, %y_ct: tensor<f64>) -> (tensor<f64>, tensor<4xf64>) {
// CHECK-NEXT:   %first = arith.constant 0 : index
// CHECK-NEXT:   %one = arith.constant 1 : index
// CHECK-NEXT:   %last = arith.constant 8 : index
// CHECK-NEXT:   %zero = array.full {value = 0.0} : tensor<4xf64>
// CHECK-NEXT:   %h = scf.for %t = %first to %last step %one iter_args(%h1 = %zero) -> (tensor<4xf64>) {
// CHECK-NEXT:     %x = tensor.extract_slice %xs[%t, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
// CHECK-NEXT:     %p = array.multiply %x, %w : tensor<4xf64>
// CHECK-NEXT:     %h2 = array.add %h1, %p : tensor<4xf64>
// CHECK-NEXT:     scf.yield %h2 : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = array.sum %h : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:   %0 = array.reshape %y_ct : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:   %h_ct = array.broadcast_to %0 : tensor<1xf64> -> tensor<4xf64>
// CHECK-NEXT:   %w_ct = grad.zero : tensor<4xf64>
// CHECK-NEXT:   %w_ct_1 = scf.for %back = %first to %last step %one iter_args(%w_ct_2 = %w_ct) -> (tensor<4xf64>) {
// CHECK-NEXT:     %c7 = arith.constant 7 : index
// CHECK-NEXT:     %t_1 = arith.subi %c7, %back : index
// CHECK-NEXT:     %x_1 = tensor.extract_slice %xs[%t_1, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
// CHECK-NEXT:     %w_ct_3 = array.multiply %h_ct, %x_1 : tensor<4xf64>
// CHECK-NEXT:     %w_ct_4 = grad.accumulate %w_ct_2, %w_ct_3 : tensor<4xf64>
// CHECK-NEXT:     scf.yield %w_ct_4 : tensor<4xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %w_ct_1 : tensor<f64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// One number of each value of a loop: the number is kept, not the tensor.
func.func @parts(%x: tensor<64xf64>, %n: index) -> tensor<64xf64> {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %y = scf.for %t = %first to %last step %one iter_args(%a = %x) -> (tensor<64xf64>) {
    %early = arith.cmpi slt, %t, %n : index
    %s = scf.if %early -> (f64) {
      %e = tensor.extract %a[%t] : tensor<64xf64>
      %square = arith.mulf %e, %e : f64
      scf.yield %square : f64
    } else {
      scf.yield %zero : f64
    }
    %b = tensor.insert %s into %a[%first] : tensor<64xf64>
    scf.yield %b : tensor<64xf64>
  }
  func.return %y : tensor<64xf64>
}

//      CHECK: func.func @parts_vjp(%x: tensor<64xf64>, %n: index, %y_ct: tensor<64xf64>) -> (tensor<64xf64>, tensor<64xf64>) {
// CHECK-NEXT:   %first = arith.constant 0 : index
// CHECK-NEXT:   %one = arith.constant 1 : index
// CHECK-NEXT:   %last = arith.constant 8 : index
// CHECK-NEXT:   %zero = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   %tape = grad.tape_new : !grad.tape<f64, capacity = 8>
// CHECK-NEXT:   %y, %tape_1 = scf.for %t = %first to %last step %one iter_args(%a = %x, %tape_2 = %tape) -> (tensor<64xf64>, !grad.tape<f64, capacity = 8>) {
// CHECK-NEXT:     %early = arith.cmpi slt, %t, %n : index
// CHECK-NEXT:     %s, %e = scf.if %early -> (f64, f64) {
// CHECK-NEXT:       %e_1 = tensor.extract %a[%t] : tensor<64xf64>
// CHECK-NEXT:       %square = arith.mulf %e_1, %e_1 : f64
// CHECK-NEXT:       scf.yield %square, %e_1 : f64, f64
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %0 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       scf.yield %zero, %0 : f64, f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %b = tensor.insert %s into %a[%first] : tensor<64xf64>
// CHECK-NEXT:     %tape_3 = grad.tape_push %tape_2, %e : !grad.tape<f64, capacity = 8>
// CHECK-NEXT:     scf.yield %b, %tape_3 : tensor<64xf64>, !grad.tape<f64, capacity = 8>
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct, %tape_4 = scf.for %back = %first to %last step %one iter_args(%b_ct = %y_ct, %tape_5 = %tape_1) -> (tensor<64xf64>, !grad.tape<f64, capacity = 8>) {
// CHECK-NEXT:     %tape_6, %e_2 = grad.tape_pop %tape_5 : !grad.tape<f64, capacity = 8>
// CHECK-NEXT:     %c7 = arith.constant 7 : index
// CHECK-NEXT:     %t_1 = arith.subi %c7, %back : index
// CHECK-NEXT:     %early_1 = arith.cmpi slt, %t_1, %n : index
// CHECK-NEXT:     %1 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %s_ct = tensor.extract %b_ct[%first] : tensor<64xf64>
// CHECK-NEXT:     %a_ct = tensor.insert %1 into %b_ct[%first] : tensor<64xf64>
// CHECK-NEXT:     %a_ct_1 = scf.if %early_1 -> (tensor<64xf64>) {
// CHECK-NEXT:       %e_ct = arith.mulf %s_ct, %e_2 : f64
// CHECK-NEXT:       %e_ct_1 = arith.mulf %s_ct, %e_2 : f64
// CHECK-NEXT:       %e_ct_2 = arith.addf %e_ct, %e_ct_1 : f64
// CHECK-NEXT:       %2 = tensor.extract %a_ct[%t_1] : tensor<64xf64>
// CHECK-NEXT:       %3 = arith.addf %2, %e_ct_2 : f64
// CHECK-NEXT:       %a_ct_2 = tensor.insert %3 into %a_ct[%t_1] : tensor<64xf64>
// CHECK-NEXT:       scf.yield %a_ct_2 : tensor<64xf64>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %a_ct : tensor<64xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %a_ct_1, %tape_6 : tensor<64xf64>, !grad.tape<f64, capacity = 8>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y, %x_ct : tensor<64xf64>, tensor<64xf64>
// CHECK-NEXT: }
