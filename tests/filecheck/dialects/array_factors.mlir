// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=values mode=vjp}" | filecheck %s --check-prefix=GRAD
// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s --check-prefix=CALL

func.func @factors(%a: tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x3x4xf64>) {
  %q, %r = array.qr %a : tensor<2x4x3xf64> -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>)
  %u, %s, %vh = array.svd %a : tensor<2x4x3xf64> -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>)
  %y = array.pinv %a {rcond = 1.000000e-09} : tensor<2x4x3xf64> -> tensor<2x3x4xf64>
  func.return %q, %r, %s, %y : tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x3x4xf64>
}
func.func @values(%a: tensor<3x3xf32>) -> tensor<3xf32> {
  %w, %v = array.eigh %a : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3x3xf32>)
  func.return %w : tensor<3xf32>
}

//      CHECK:   %q, %r = array.qr %a : tensor<2x4x3xf64> -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>)
// CHECK-NEXT:   %u, %s, %vh = array.svd %a : tensor<2x4x3xf64> -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>)
// CHECK-NEXT:   %y = array.pinv %a {rcond = 1.000000e-09 : f64} : tensor<2x4x3xf64> -> tensor<2x3x4xf64>
//      CHECK:   %w, %v = array.eigh %a : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3x3xf32>)

// Values alone need the vectors, and no differences of values.
//      GRAD: func.func @values_vjp(%a: tensor<3x3xf32>, %w_ct: tensor<3xf32>)
// GRAD-NEXT:   %w, %v = array.eigh %a
// GRAD-NEXT:   %0 = array.permute_dims %v
// GRAD-NEXT:   %1 = array.reshape %w_ct : tensor<3xf32> -> tensor<1x3xf32>
// GRAD-NEXT:   %2 = array.broadcast_to %1
// GRAD-NEXT:   %3 = array.multiply %v, %2
// GRAD-NEXT:   %4 = array.matmul %3, %0
// GRAD-NEXT:   %5 = array.permute_dims %4
// GRAD-NEXT:   %6 = array.add %4, %5
// GRAD-NEXT:   array.full {value = 0.5}
// GRAD-NEXT:   %a_ct = array.multiply

//      CALL:   %q, %r = grad.host_call %a {callee = "lapack.qr", pure} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>)
// CALL-NEXT:   %u, %s, %vh = grad.host_call %a {callee = "lapack.svd", pure}
// CALL-NEXT:   %0 = array.full {value = 1.000000e-09 : f64} : tensor<f64>
// CALL-NEXT:   %y = grad.host_call %a, %0 {callee = "lapack.pinv", pure} : (tensor<2x4x3xf64>, tensor<f64>) -> tensor<2x3x4xf64>
//      CALL:   %w, %v = grad.host_call %a {callee = "lapack.eigh", pure}
