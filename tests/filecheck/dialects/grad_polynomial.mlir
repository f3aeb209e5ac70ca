// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s --check-prefix=GRAD

func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = grad.polynomial %x {coefficients = [1.0, -2.0, 0.5]} : tensor<3xf64>
  func.return %y : tensor<3xf64>
}

// CHECK: %y = grad.polynomial %x {coefficients = [1.0, -2.0, 0.5]} : tensor<3xf64>

// GRAD: func.func @f_vjp
// GRAD: grad.polynomial %x {coefficients = [-2.0, 1.0]} : tensor<3xf64>
