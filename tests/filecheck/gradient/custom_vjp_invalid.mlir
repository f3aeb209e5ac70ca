// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f mode=jvp}"

// expected-error @+1 {{grad.custom_vjp: expected functions, got @g_forward, which is not defined}}
grad.custom_vjp @f, @g_forward, @f
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: @f_forward must take the arguments of @f (tensor<4xf64>), got tensor<5xf64>}}
grad.custom_vjp @f, @f_forward, @f
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
// expected-note @+1 {{@f_forward is defined here}}
func.func @f_forward(%x: tensor<5xf64>) -> tensor<5xf64> {
  func.return %x : tensor<5xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: @f_forward must return first what is returned by @f (tensor<4xf64>), got none}}
grad.custom_vjp @f, @f_forward, @f
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
// expected-note @+1 {{@f_forward is defined here}}
func.func @f_forward(%x: tensor<4xf64>) {
  func.return
}

// -----

// expected-error @+1 {{grad.custom_vjp: @f_backward must take the residuals and the cotangents of the floating results of @f (tensor<4xi64>, tensor<4xf64>), got tensor<4xf64>}}
grad.custom_vjp @f, @f_forward, @f_backward
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>) {
  func.return %x, %n : tensor<4xf64>, tensor<4xi64>
}
func.func @f_forward(%x: tensor<4xf64>, %n: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xi64>) {
  func.return %x, %n, %n : tensor<4xf64>, tensor<4xi64>, tensor<4xi64>
}
// expected-note @+1 {{@f_backward is defined here}}
func.func @f_backward(%y_ct: tensor<4xf64>) -> tensor<4xf64> {
  func.return %y_ct : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: @f_backward must return the cotangents of the floating arguments of @f (tensor<4xf64>), got tensor<4xf64>, tensor<4xf64>}}
grad.custom_vjp @f, @f_forward, @f_backward
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @f_forward(%x: tensor<4xf64>, %n: tensor<4xi64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
// expected-note @+1 {{@f_backward is defined here}}
func.func @f_backward(%y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %y_ct, %y_ct : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-note @+1 {{the first is here}}
grad.custom_vjp @f, @f, @f
// expected-error @+1 {{grad.custom_vjp: a function must have one derivative, got another for @f}}
grad.custom_vjp @f, @f, @f
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{grad.custom_vjp: 'grad.custom_vjp' expects parent op 'builtin.module'}}
  grad.custom_vjp @f, @f, @f
  func.return %x : tensor<4xf64>
}

// -----

// expected-note @+1 {{the vjp of @g is declared here}}
grad.custom_vjp @g, @g, @g
func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{func.call: @g has a vjp of its own and no jvp; use reverse mode, or take the jvp of its vjp}}
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: @push must take the arguments and the tangents of the floating ones of @f (tensor<4xf64>, i64, tensor<4xf64>), got tensor<4xf64>, i64}}
grad.custom_vjp @f, @f, @back jvp @push
func.func @f(%x: tensor<4xf64>, %n: i64) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @back(%y_ct: tensor<4xf64>) -> tensor<4xf64> {
  func.return %y_ct : tensor<4xf64>
}
// expected-note @+1 {{@push is defined here}}
func.func @push(%x: tensor<4xf64>, %n: i64) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: @push must return the results and the tangents of the floating ones of @f (tensor<4xf64>, tensor<4xf64>), got tensor<4xf64>}}
grad.custom_vjp @f, @f, @f jvp @push
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
// expected-note @+1 {{@push is defined here}}
func.func @push(%x: tensor<4xf64>, %x_tangent: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{grad.custom_vjp: expected functions, got @push, which is not defined}}
grad.custom_vjp @f, @f, @f jvp @push
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
