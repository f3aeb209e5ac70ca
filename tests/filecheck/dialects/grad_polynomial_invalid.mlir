// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3xf64>) {
  // expected-error @+1 {{grad.polynomial: coefficients must be two floats or more, got [1.000000e+00 : f64]}}
  %y = grad.polynomial %x {coefficients = [1.0]} : tensor<3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @+1 {{grad.polynomial: coefficients must be two floats or more, got [1 : i64, 2 : i64]}}
  %y = grad.polynomial %x {coefficients = [1, 2]} : tensor<3xf64>
  func.return
}
