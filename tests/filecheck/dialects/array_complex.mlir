// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=parts mode=vjp},gradir-gradient{function=length mode=vjp},gradir-gradient{function=transform mode=vjp}" | filecheck %s --check-prefix=GRAD
// RUN: gradir-opt %s -p "gradir-split-complex" | filecheck %s --check-prefix=SPLIT

func.func @parts(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %z = array.complex %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
  %w = array.conj %z : tensor<3xcomplex<f64>>
  %p = array.multiply %z, %w : tensor<3xcomplex<f64>>
  %r = array.real %p : tensor<3xcomplex<f64>> -> tensor<3xf64>
  %i = array.imag %z : tensor<3xcomplex<f64>> -> tensor<3xf64>
  func.return %r, %i : tensor<3xf64>, tensor<3xf64>
}

func.func @length(%z: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %c = array.full {value = 1.5, imag = -2.0} : tensor<2xcomplex<f32>>
  %s = array.add %z, %c : tensor<2xcomplex<f32>>
  %y = array.abs %s : tensor<2xcomplex<f32>> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// The matrix of the transform is symmetric: its transpose is itself.
func.func @transform(%z: tensor<4x2xcomplex<f64>>) -> tensor<4x2xcomplex<f64>> {
  %k = array.constant {value = dense<[(1.0, 0.5), (-0.25, 2.0)]> : tensor<2xcomplex<f64>>} : tensor<2xcomplex<f64>>
  %b = array.broadcast_to %k : tensor<2xcomplex<f64>> -> tensor<4x2xcomplex<f64>>
  %t = array.fft %z {axis = 1, inverse = true} : tensor<4x2xcomplex<f64>>
  %y = array.divide %t, %b : tensor<4x2xcomplex<f64>>
  func.return %y : tensor<4x2xcomplex<f64>>
}

// Both planes are carried.
func.func @loop(%z: tensor<2xcomplex<f64>>, %n: index) -> tensor<2xcomplex<f64>> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %z) -> (tensor<2xcomplex<f64>>) {
    %w = array.multiply %v, %z : tensor<2xcomplex<f64>>
    scf.yield %w : tensor<2xcomplex<f64>>
  }
  func.return %y : tensor<2xcomplex<f64>>
}

//      CHECK: func.func @parts(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
// CHECK-NEXT:   %z = array.complex %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
// CHECK-NEXT:   %w = array.conj %z : tensor<3xcomplex<f64>>
// CHECK-NEXT:   %p = array.multiply %z, %w : tensor<3xcomplex<f64>>
// CHECK-NEXT:   %r = array.real %p : tensor<3xcomplex<f64>> -> tensor<3xf64>
// CHECK-NEXT:   %i = array.imag %z : tensor<3xcomplex<f64>> -> tensor<3xf64>
// CHECK-NEXT:   func.return %r, %i : tensor<3xf64>, tensor<3xf64>
// CHECK-NEXT: }
//      CHECK: func.func @length(%z: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
// CHECK-NEXT:   %c = array.full {value = 1.5, imag = -2.0} : tensor<2xcomplex<f32>>
// CHECK-NEXT:   %s = array.add %z, %c : tensor<2xcomplex<f32>>
// CHECK-NEXT:   %y = array.abs %s : tensor<2xcomplex<f32>> -> tensor<2xf32>
// CHECK-NEXT:   func.return %y : tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @transform(%z: tensor<4x2xcomplex<f64>>) -> tensor<4x2xcomplex<f64>> {
// CHECK-NEXT:   %k = array.constant {value = dense<[(1.000000e+00,5.000000e-01), (-2.500000e-01,2.000000e+00)]> : tensor<2xcomplex<f64>>} : tensor<2xcomplex<f64>>
// CHECK-NEXT:   %b = array.broadcast_to %k : tensor<2xcomplex<f64>> -> tensor<4x2xcomplex<f64>>
// CHECK-NEXT:   %t = array.fft %z {axis = 1, inverse = true} : tensor<4x2xcomplex<f64>>
// CHECK-NEXT:   %y = array.divide %t, %b : tensor<4x2xcomplex<f64>>
// CHECK-NEXT:   func.return %y : tensor<4x2xcomplex<f64>>
// CHECK-NEXT: }

//      GRAD: func.func @parts_vjp(%x: tensor<3xf64>, %y: tensor<3xf64>, %r_ct: tensor<3xf64>, %i_ct: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
// GRAD-NEXT:   %z = array.complex %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
// GRAD-NEXT:   %w = array.conj %z : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %p = array.multiply %z, %w : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %r = array.real %p : tensor<3xcomplex<f64>> -> tensor<3xf64>
// GRAD-NEXT:   %i = array.imag %z : tensor<3xcomplex<f64>> -> tensor<3xf64>
// GRAD-NEXT:   %0 = array.full {value = 0.0} : tensor<3xf64>
// GRAD-NEXT:   %1 = array.negative %i_ct : tensor<3xf64>
// GRAD-NEXT:   %z_ct = array.complex %0, %1 : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
// GRAD-NEXT:   %p_ct = array.complex %r_ct, %0 : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
// GRAD-NEXT:   %z_ct_1 = array.multiply %p_ct, %w : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %w_ct = array.multiply %p_ct, %z : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %z_ct_2 = array.conj %w_ct : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %z_ct_3 = grad.accumulate %z_ct, %z_ct_1, %z_ct_2 : tensor<3xcomplex<f64>>
// GRAD-NEXT:   %x_ct = array.real %z_ct_3 : tensor<3xcomplex<f64>> -> tensor<3xf64>
// GRAD-NEXT:   %2 = array.imag %z_ct_3 : tensor<3xcomplex<f64>> -> tensor<3xf64>
// GRAD-NEXT:   %y_ct = array.negative %2 : tensor<3xf64>
// GRAD-NEXT:   func.return %r, %i, %x_ct, %y_ct : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
// GRAD-NEXT: }
//      GRAD: func.func @length_vjp(%z: tensor<2xcomplex<f32>>, %y_ct: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xcomplex<f32>>) {
// GRAD-NEXT:   %c = array.full {value = 1.5, imag = -2.0} : tensor<2xcomplex<f32>>
// GRAD-NEXT:   %s = array.add %z, %c : tensor<2xcomplex<f32>>
// GRAD-NEXT:   %y = array.abs %s : tensor<2xcomplex<f32>> -> tensor<2xf32>
// GRAD-NEXT:   %0 = array.full {value = 0.0} : tensor<2xf32>
// GRAD-NEXT:   %1 = array.not_equal %y, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xi1>
// GRAD-NEXT:   %2 = array.real %s : tensor<2xcomplex<f32>> -> tensor<2xf32>
// GRAD-NEXT:   %3 = array.divide %2, %y : tensor<2xf32>
// GRAD-NEXT:   %4 = grad.gate %3, %1, %0 {smooth = false} : tensor<2xf32>, tensor<2xi1>, tensor<2xf32> -> tensor<2xf32>
// GRAD-NEXT:   %5 = array.multiply %y_ct, %4 : tensor<2xf32>
// GRAD-NEXT:   %6 = array.imag %s : tensor<2xcomplex<f32>> -> tensor<2xf32>
// GRAD-NEXT:   %7 = array.divide %6, %y : tensor<2xf32>
// GRAD-NEXT:   %8 = grad.gate %7, %1, %0 {smooth = false} : tensor<2xf32>, tensor<2xi1>, tensor<2xf32> -> tensor<2xf32>
// GRAD-NEXT:   %9 = array.multiply %y_ct, %8 : tensor<2xf32>
// GRAD-NEXT:   %10 = array.negative %9 : tensor<2xf32>
// GRAD-NEXT:   %s_ct = array.complex %5, %10 : tensor<2xf32>, tensor<2xf32> -> tensor<2xcomplex<f32>>
// GRAD-NEXT:   func.return %y, %s_ct : tensor<2xf32>, tensor<2xcomplex<f32>>
// GRAD-NEXT: }
//      GRAD: func.func @transform_vjp(%z: tensor<4x2xcomplex<f64>>, %y_ct: tensor<4x2xcomplex<f64>>) -> (tensor<4x2xcomplex<f64>>, tensor<4x2xcomplex<f64>>) {
// GRAD-NEXT:   %k = array.constant {value = dense<[(1.000000e+00,5.000000e-01), (-2.500000e-01,2.000000e+00)]> : tensor<2xcomplex<f64>>} : tensor<2xcomplex<f64>>
// GRAD-NEXT:   %b = array.broadcast_to %k : tensor<2xcomplex<f64>> -> tensor<4x2xcomplex<f64>>
// GRAD-NEXT:   %t = array.fft %z {axis = 1, inverse = true} : tensor<4x2xcomplex<f64>>
// GRAD-NEXT:   %y = array.divide %t, %b : tensor<4x2xcomplex<f64>>
// GRAD-NEXT:   %t_ct = array.divide %y_ct, %b : tensor<4x2xcomplex<f64>>
// GRAD-NEXT:   %z_ct = array.fft %t_ct {axis = 1, inverse = true} : tensor<4x2xcomplex<f64>>
// GRAD-NEXT:   func.return %y, %z_ct : tensor<4x2xcomplex<f64>>, tensor<4x2xcomplex<f64>>
// GRAD-NEXT: }

//      SPLIT: func.func @parts(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
// SPLIT-NEXT:   %w_imag = array.negative %y : tensor<3xf64>
// SPLIT-NEXT:   %0 = array.multiply %x, %x : tensor<3xf64>
// SPLIT-NEXT:   %1 = array.multiply %y, %w_imag : tensor<3xf64>
// SPLIT-NEXT:   %p_real = array.subtract %0, %1 : tensor<3xf64>
// SPLIT-NEXT:   %2 = array.multiply %x, %w_imag : tensor<3xf64>
// SPLIT-NEXT:   %3 = array.multiply %y, %x : tensor<3xf64>
// SPLIT-NEXT:   %p_imag = array.add %2, %3 : tensor<3xf64>
// SPLIT-NEXT:   func.return %p_real, %y : tensor<3xf64>, tensor<3xf64>
// SPLIT-NEXT: }
//      SPLIT: func.func @length(%z: tensor<2x2xf32>) -> tensor<2xf32> {
// SPLIT-NEXT:   %0 = array.slice %z {start = [0, 0], stop = [2, 1]} : tensor<2x2xf32> -> tensor<2x1xf32>
// SPLIT-NEXT:   %z_real = array.reshape %0 : tensor<2x1xf32> -> tensor<2xf32>
// SPLIT-NEXT:   %1 = array.slice %z {start = [0, 1], stop = [2, 2]} : tensor<2x2xf32> -> tensor<2x1xf32>
// SPLIT-NEXT:   %z_imag = array.reshape %1 : tensor<2x1xf32> -> tensor<2xf32>
// SPLIT-NEXT:   %c_real = array.full {value = 1.5} : tensor<2xf32>
// SPLIT-NEXT:   %c_imag = array.full {value = -2.0} : tensor<2xf32>
// SPLIT-NEXT:   %s_real = array.add %z_real, %c_real : tensor<2xf32>
// SPLIT-NEXT:   %s_imag = array.add %z_imag, %c_imag : tensor<2xf32>
// SPLIT-NEXT:   %y = array.hypot %s_real, %s_imag : tensor<2xf32>
// SPLIT-NEXT:   func.return %y : tensor<2xf32>
// SPLIT-NEXT: }
//      SPLIT: func.func @loop(%z: tensor<2x2xf64>, %n: index) -> tensor<2x2xf64> {
// SPLIT-NEXT:   %0 = array.slice %z {start = [0, 0], stop = [2, 1]} : tensor<2x2xf64> -> tensor<2x1xf64>
// SPLIT-NEXT:   %z_real = array.reshape %0 : tensor<2x1xf64> -> tensor<2xf64>
// SPLIT-NEXT:   %1 = array.slice %z {start = [0, 1], stop = [2, 2]} : tensor<2x2xf64> -> tensor<2x1xf64>
// SPLIT-NEXT:   %z_imag = array.reshape %1 : tensor<2x1xf64> -> tensor<2xf64>
// SPLIT-NEXT:   %c0 = arith.constant 0 : index
// SPLIT-NEXT:   %c1 = arith.constant 1 : index
// SPLIT-NEXT:   %y_real, %y_imag = scf.for %i = %c0 to %n step %c1 iter_args(%v_real = %z_real, %v_imag = %z_imag) -> (tensor<2xf64>, tensor<2xf64>) {
// SPLIT-NEXT:     %2 = array.multiply %v_real, %z_real : tensor<2xf64>
// SPLIT-NEXT:     %3 = array.multiply %v_imag, %z_imag : tensor<2xf64>
// SPLIT-NEXT:     %w_real = array.subtract %2, %3 : tensor<2xf64>
// SPLIT-NEXT:     %4 = array.multiply %v_real, %z_imag : tensor<2xf64>
// SPLIT-NEXT:     %5 = array.multiply %v_imag, %z_real : tensor<2xf64>
// SPLIT-NEXT:     %w_imag = array.add %4, %5 : tensor<2xf64>
// SPLIT-NEXT:     scf.yield %w_real, %w_imag : tensor<2xf64>, tensor<2xf64>
// SPLIT-NEXT:   }
// SPLIT-NEXT:   %y = array.stack %y_real, %y_imag {axis = 1} : tensor<2xf64>, tensor<2xf64> -> tensor<2x2xf64>
// SPLIT-NEXT:   func.return %y : tensor<2x2xf64>
// SPLIT-NEXT: }
