// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f}"

// The types of residuals are not known.
func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{gradir-gradient: mode split needs static shapes, as the residuals of @f depend on them at array.mean; run gradir-specialize first}}
  %y = array.mean %x : tensor<?xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

// What has no derivative is refused at once, not when the shapes are known.
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  // expected-error @+2 {{test.op: it has no derivative, and its result depends on wrt and reaches a target; wrap it in grad.no_grad to leave it out}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = "test.op"(%x) : (tensor<?xf64>) -> tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: mode must be vjp, grad or jvp, got "split"}}
  %y = grad.derivative @f(%x) {mode = "split"} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: unknown attribute modes; known: mode, wrt, of, policy, memory_limit, req}}
  %y = grad.derivative @f(%x) {modes = "grad"} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: wrt must be indices or names, got [1.500000e+00 : f64]}}
  %y = grad.derivative @f(%x) {mode = "grad", wrt = [1.5]} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: policy must be a string or a number, got true}}
  %y = grad.derivative @f(%x) {mode = "grad", policy = true} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: callee must be a function, got @g, which is not defined}}
  %y = grad.derivative @g(%x) {mode = "grad"} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+2 {{grad.derivative: operand 0 of @g must be tensor<?x3xf64>, got tensor<?xf64>}}
  // expected-note @+4 {{@g is defined here}}
  %y = grad.derivative @g(%x) {mode = "grad"} : (tensor<?xf64>) -> tensor<f64>
  func.return %y : tensor<f64>
}
func.func @g(%x: tensor<?x3xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<?x3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<?xf64>) {
  // expected-error @+2 {{grad.derivative: at least the 1 result(s) of @g expected, got 0}}
  // expected-note @+4 {{@g is defined here}}
  "grad.derivative"(%x) {callee = @g, mode = "grad"} : (tensor<?xf64>) -> ()
  func.return
}
func.func @g(%x: tensor<?xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<?xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
