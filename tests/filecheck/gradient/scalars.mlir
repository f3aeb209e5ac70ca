// RUN: gradir-opt %s -p "gradir-gradient{function=f}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=repeated mode=grad}" | filecheck %s --check-prefix=SUM
// RUN: gradir-opt %s -p "gradir-gradient{function=elements mode=vjp}" | filecheck %s --check-prefix=ELEMENTS
// RUN: gradir-opt %s -p "gradir-gradient{function=square mode=grad},gradir-gradient{function=square_grad of=1 mode=grad}" | filecheck %s --check-prefix=SECOND

// Scalar code gives scalar code; constants are made again in the backward function.
func.func @f(%x: f32, %y: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %e = math.exp %x : f32
  %h = arith.mulf %e, %half : f32
  %z = arith.mulf %h, %y : f32
  func.return %z : f32
}

// Cotangents of scalars are added by arith.addf.
func.func @repeated(%x: f64) -> f64 {
  %s = arith.mulf %x, %x : f64
  %y = arith.addf %s, %x : f64
  func.return %y : f64
}

// The transpose of reading an element is writing it, and the other way round.
func.func @elements(%t: tensor<2x3xf32>, %i: index) -> (f32, tensor<2x3xf32>) {
  %a = tensor.extract %t[%i, %i] : tensor<2x3xf32>
  %u = tensor.insert %a into %t[%i, %i] : tensor<2x3xf32>
  func.return %a, %u : f32, tensor<2x3xf32>
}

func.func @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}

//      CHECK: func.func @f_fwd(%x: f32, %y: f32) -> (f32, f32, f32, f32) {
// CHECK-NEXT:   %half = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:   %e = math.exp %x : f32
// CHECK-NEXT:   %h = arith.mulf %e, %half : f32
// CHECK-NEXT:   %z = arith.mulf %h, %y : f32
// CHECK-NEXT:   func.return %z, %y, %e, %h : f32, f32, f32, f32
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%y: f32, %e: f32, %h: f32, %z_ct: f32) -> (f32, f32) {
// CHECK-NEXT:   %h_ct = arith.mulf %z_ct, %y : f32
// CHECK-NEXT:   %y_ct = arith.mulf %z_ct, %h : f32
// CHECK-NEXT:   %half = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:   %e_ct = arith.mulf %h_ct, %half : f32
// CHECK-NEXT:   %x_ct = arith.mulf %e_ct, %e : f32
// CHECK-NEXT:   func.return %x_ct, %y_ct : f32, f32
// CHECK-NEXT: }

//      SUM: func.func @repeated_grad(%x: f64) -> (f64, f64) {
// SUM-NEXT:   %s = arith.mulf %x, %x : f64
// SUM-NEXT:   %y = arith.addf %s, %x : f64
// SUM-NEXT:   %y_ct = arith.constant 1.000000e+00 : f64
// SUM-NEXT:   %0 = arith.addf %y_ct, %x : f64
// SUM-NEXT:   %x_ct = arith.addf %0, %x : f64
// SUM-NEXT:   func.return %y, %x_ct : f64, f64
// SUM-NEXT: }

//      ELEMENTS: func.func @elements_vjp(%t: tensor<2x3xf32>, %i: index, %a_ct: f32, %u_ct: tensor<2x3xf32>) -> (f32, tensor<2x3xf32>, tensor<2x3xf32>) {
// ELEMENTS-NEXT:   %a = tensor.extract %t[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   %u = tensor.insert %a into %t[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   %0 = arith.constant 0.000000e+00 : f32
// ELEMENTS-NEXT:   %a_ct_1 = tensor.extract %u_ct[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   %t_ct = tensor.insert %0 into %u_ct[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   %a_ct_2 = arith.addf %a_ct, %a_ct_1 : f32
// ELEMENTS-NEXT:   %1 = tensor.extract %t_ct[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   %2 = arith.addf %1, %a_ct_2 : f32
// ELEMENTS-NEXT:   %t_ct_1 = tensor.insert %2 into %t_ct[%i, %i] : tensor<2x3xf32>
// ELEMENTS-NEXT:   func.return %a, %u, %t_ct_1 : f32, tensor<2x3xf32>, tensor<2x3xf32>
// ELEMENTS-NEXT: }

//      SECOND: func.func @square_grad_grad(%x: f64) -> (f64, f64, f64) {
// SECOND-NEXT:   %y = arith.mulf %x, %x : f64
// SECOND-NEXT:   %x_ct = arith.addf %x, %x : f64
// SECOND-NEXT:   %x_ct_ct = arith.constant 1.000000e+00 : f64
// SECOND-NEXT:   %x_ct_1 = arith.addf %x_ct_ct, %x_ct_ct : f64
// SECOND-NEXT:   func.return %y, %x_ct, %x_ct_1 : f64, f64, f64
// SECOND-NEXT: }
