// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<3x3xf64>, %x: tensor<3x1xf64>, %w: tensor<3xf64>) {
  // expected-error @+1 {{grad.eigen_solve: columns must list where runs start and stop, ascending, up to 3, got [3, 2]}}
  %y = grad.eigen_solve %a, %x, %w, %a {columns = [3, 2]} : tensor<3x3xf64>, tensor<3x1xf64>, tensor<3xf64>, tensor<3x3xf64> -> tensor<3x1xf64>
  func.return
}

// -----

func.func @f(%a: tensor<3x3xf64>, %x: tensor<3x1xf64>, %w: tensor<3xf64>) {
  // expected-error @+1 {{grad.eigen_solve: x must be tensor<3x3xf64>, got tensor<3x1xf64>}}
  %y = grad.eigen_solve %a, %x, %w, %a : tensor<3x3xf64>, tensor<3x1xf64>, tensor<3xf64>, tensor<3x3xf64> -> tensor<3x1xf64>
  func.return
}

// -----

func.func @f(%a: tensor<4x3xf64>, %x: tensor<4x1xf64>, %z: tensor<3x2xf64>, %s: tensor<3xf64>, %vh: tensor<3x3xf64>) {
  // expected-error @+1 {{grad.singular_solve: x2 must be tensor<3x1xf64>, got tensor<3x2xf64>}}
  %y, %t = grad.singular_solve %a, %x, %z, %a, %s, %vh {columns = [0, 1]} : tensor<4x3xf64>, tensor<4x1xf64>, tensor<3x2xf64>, tensor<4x3xf64>, tensor<3xf64>, tensor<3x3xf64> -> (tensor<4x1xf64>, tensor<3x1xf64>)
  func.return
}

// -----

func.func @f(%h: tensor<3x3xf64>, %w: tensor<2xf64>) {
  // expected-error @+1 {{grad.lyapunov: w must be tensor<3xf64>, got tensor<2xf64>}}
  %y = grad.lyapunov %h, %h, %w, %h : tensor<3x3xf64>, tensor<3x3xf64>, tensor<2xf64>, tensor<3x3xf64> -> tensor<3x3xf64>
  func.return
}

// -----

func.func @f(%a: tensor<3x4xf64>) {
  // expected-error @+1 {{grad.polar: a must have no more columns than rows, got tensor<3x4xf64>}}
  %u, %norm, %w, %v = grad.polar %a : tensor<3x4xf64> -> (tensor<3x4xf64>, tensor<f64>, tensor<4xf64>, tensor<4x4xf64>)
  func.return
}

// -----

func.func @f(%a: tensor<3x3xf64>, %q: tensor<3x2xf64>) {
  // expected-error @+1 {{grad.sylvester: q must be like a, got tensor<3x2xf64> and tensor<3x3xf64>}}
  %y = grad.sylvester %a, %q : tensor<3x3xf64>, tensor<3x2xf64> -> tensor<3x2xf64>
  func.return
}

// -----

func.func @f(%a: tensor<3x3xf64>, %e: tensor<3x2xf64>) {
  // expected-error @+1 {{grad.cofactor_slope: e must be like a, got tensor<3x2xf64> and tensor<3x3xf64>}}
  %y = grad.cofactor_slope %a, %e : tensor<3x3xf64>, tensor<3x2xf64> -> tensor<3x2xf64>
  func.return
}

// -----

func.func @no_function(%a: tensor<3x3xf64>, %w: tensor<3xf64>) {
  // expected-error @+1 {{grad.spectral: expected a, w, v, f and 1 directions, got 4 operands}}
  %y = grad.spectral %a, %w, %a, %w {order = 1} : tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3xf64> -> tensor<3x3xf64>
  func.return
}

// -----

func.func @odd_run(%a: tensor<3x3xf64>, %w: tensor<3xf64>) {
  // expected-error @+1 {{grad.spectral_trace: run must be a start and a stop up to 3, got [2, 4]}}
  %y = grad.spectral_trace %a, %w, %a, %w {run = [2, 4]} : tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3xf64> -> tensor<f64>
  func.return
}

// -----

func.func @odd_values(%a: tensor<3x3xf64>, %w: tensor<2xf64>) {
  // expected-error @+1 {{grad.spectral: operands must be tensor<3xf64>, got tensor<2xf64>}}
  %y = grad.spectral %a, %w, %a, %w : tensor<3x3xf64>, tensor<2xf64>, tensor<3x3xf64>, tensor<2xf64> -> tensor<3x3xf64>
  func.return
}
