// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p 'gradir-train-step{function=f wrt=0,w carry="m=1"}'

// expected-error @+1 {{no function @f; functions: @update}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{no function @update; functions: @f}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<2xf64>, tensor<i64>) {
  // expected-error @+1 {{gradir-train-step: result 0 of @f is the loss and must be a floating number of rank 0, got tensor<2xf64>; reduce it, as by array.mean}}
  %l = array.exp %w : tensor<2xf64>
  func.return %l, %m : tensor<2xf64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{wrt: 0 of @f must be floating, got tensor<3xi64>}}
func.func @f(%a: tensor<3xi64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{wrt: no value of @f is named 'w'; names: m, %a, %v, %m}}
func.func @f(%a: tensor<3xf64>, %v: tensor<2xf64>, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %v : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// An optimizer updates arguments, not what is computed.
func.func @f(%a: tensor<3xf64>, %v: tensor<2xf64>, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  // expected-error @+1 {{gradir-train-step: a step has new values of arguments, got 'w', which is computed}}
  %w = grad.name %v {name = "w"} : tensor<2xf64>
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{gradir-train-step: argument 1 (%w) of @f must be a parameter (wrt) or carried, got both: result 2 is its new value}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w", grad.in_out = 2 : i64}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>, tensor<2xf64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m, %w : tensor<f64>, tensor<i64>, tensor<2xf64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{carry: no value of @f is named 'm'; names: w, %a, %w, %n}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %n: tensor<i64>) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %n : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{gradir-train-step: argument 2 (%m) of @f is carried and must have the type of its new value, result 1, which is tensor<i64>, got tensor<i32>}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i32> {grad.name = "m"}, %n: tensor<i64>) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %n : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{gradir-train-step: argument 2 (%m) of @f is carried and must have its new value in a result behind the loss, got index 1 of 1}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

// expected-error @+1 {{gradir-train-step: carry: each result and argument must be paired once, got result 1 and argument 2 (%m) of @f, one of them again}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}, %n: tensor<i64> {grad.in_out = 1 : i64}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: @update must be (params, grads, state...) -> (params', state'...) of 2 parameters of @f, got 3 arguments and 2 results; wrt= chooses the parameters}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>) -> (tensor<3xf64>, tensor<2xf64>) {
  func.return %a, %w : tensor<3xf64>, tensor<2xf64>
}

// -----

// A state without its new value.
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{of 2 parameters of @f, got 5 arguments and 2 results}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>) {
  func.return %a, %w : tensor<3xf64>, tensor<2xf64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: argument 0 (%w) of @update is argument 0 (%a) of @f and must be tensor<3xf64>, got tensor<2xf64>}}
func.func @update(%w: tensor<2xf64>, %a: tensor<3xf64>, %w_grad: tensor<2xf64>, %a_grad: tensor<3xf64>) -> (tensor<2xf64>, tensor<3xf64>) {
  func.return %w, %a : tensor<2xf64>, tensor<3xf64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: argument 3 (%w_grad) of @update is the gradient of argument 1 (%w) of @f and must be tensor<2xf64>, got tensor<2xf32>}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf32>) -> (tensor<3xf64>, tensor<2xf64>) {
  func.return %a, %w : tensor<3xf64>, tensor<2xf64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: result 2 of @update is the new value of argument 4 (%s) of @update and must be tensor<f64>, got tensor<2xf64>}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<2xf64>) {
  func.return %a, %w, %w : tensor<3xf64>, tensor<2xf64>, tensor<2xf64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}
// expected-error @+1 {{gradir-train-step: @f_step exists already; choose another name with into=}}
func.func @f_step() {
  func.return
}

// -----

// expected-error @+1 {{@f_grad exists already; rename it, or differentiate once}}
func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}
func.func @f_grad() {
  func.return
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: names of arguments must differ, got 'w' in @f and in @update; change one grad.name}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64> {grad.name = "w"}) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (tensor<f64>, tensor<i64>) {
  %l = array.sum %w : tensor<2xf64> -> tensor<f64>
  func.return %l, %m : tensor<f64>, tensor<i64>
}
// expected-error @+1 {{gradir-train-step: one argument of @update, behind the gradients, may have grad.loss_scale, and must be a floating number, got argument 4 (%s) of @update: tensor<2xf64>}}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<2xf64> {grad.loss_scale}) -> (tensor<3xf64>, tensor<2xf64>, tensor<2xf64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<2xf64>
}

// -----

func.func @f(%a: tensor<3xf64>, %w: tensor<2xf64> {grad.name = "w"}, %m: tensor<i64> {grad.name = "m"}) -> (f64, tensor<i64>) {
  %i = arith.constant 1 : index
  // expected-error @+1 {{gradir-train-step: with grad.loss_scale the loss and its factor must be tensors, got f64 and tensor<f64>}}
  %l = tensor.extract %w[%i] : tensor<2xf64>
  func.return %l, %m : f64, tensor<i64>
}
func.func @update(%a: tensor<3xf64>, %w: tensor<2xf64>, %a_grad: tensor<3xf64>, %w_grad: tensor<2xf64>, %s: tensor<f64> {grad.loss_scale}) -> (tensor<3xf64>, tensor<2xf64>, tensor<f64>) {
  func.return %a, %w, %s : tensor<3xf64>, tensor<2xf64>, tensor<f64>
}
