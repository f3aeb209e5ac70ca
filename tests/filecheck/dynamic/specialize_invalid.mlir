// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-specialize{function=f shapes=4x3,2}"

// expected-error @+1 {{gradir-specialize: argument 0 (%x) of @f is tensor<?x2xf64>, got the shape 4x3}}
func.func @f(%x: tensor<?x2xf64>, %y: tensor<?xf64>) {
  func.return
}

// -----

// expected-error @+1 {{gradir-specialize: argument 0 (%x) of @f has no shape, as it is f64, got 4x3}}
func.func @f(%x: f64, %y: tensor<?xf64>) {
  func.return
}

// -----

// expected-error @+1 {{gradir-specialize: @f has 1 arguments, got 2 shapes}}
func.func @f(%x: tensor<?x3xf64>) {
  func.return
}

// -----

// expected-error @+1 {{gradir-specialize: argument 2 (%z) of @f must have a static shape, got tensor<?xf64>; give its extents}}
func.func @f(%x: tensor<?x3xf64>, %y: tensor<?xf64>, %z: tensor<?xf64>) {
  func.return
}

// -----

// expected-error @+1 {{no function @f; functions: @g}}
func.func @g(%x: tensor<?x3xf64>) {
  func.return
}

// -----

// expected-error @+1 {{@f has no body}}
func.func private @f(tensor<?x3xf64>, tensor<?xf64>)

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?x?xf64> {
  %a = array.broadcast_to %y : tensor<?xf64> -> tensor<?x?xf64>
  // expected-error @+1 {{array.add: operand types must be equal, got tensor<4x3xf64> and tensor<?x2xf64>; broadcast with array.broadcast_to or convert with array.astype}}
  %b = array.add %x, %a : tensor<?x?xf64>
  func.return %b : tensor<?x?xf64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{array.matmul: inner sizes must match, got 3 and 2}}
  %a = array.matmul %x, %y : tensor<?x?xf64>, tensor<?xf64> -> tensor<?xf64>
  %b = array.mean %a : tensor<?xf64> -> tensor<f64>
  func.return %b : tensor<f64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<f64> {
  %t = array.permute_dims %x {axes = [1, 0]} : tensor<?x?xf64> -> tensor<?x?xf64>
  // expected-error @+1 {{array.add: operand types must be equal, got tensor<4x3xf64> and tensor<3x4xf64>; broadcast with array.broadcast_to or convert with array.astype}}
  %a = array.add %x, %t : tensor<?x?xf64>
  %b = array.mean %a : tensor<?x?xf64> -> tensor<f64>
  func.return %b : tensor<f64>
}

// -----

// Nothing says how many there are.
func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{array.full: extent 0 of %a does not follow from the shapes of the arguments, got tensor<?xf64>; write it}}
  %a = array.full {value = 1.0} : tensor<?xf64>
  %b = array.mean %a : tensor<?xf64> -> tensor<f64>
  func.return %b : tensor<f64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  // expected-error @+1 {{array.reshape: sizes must match, got tensor<4x3xf64> and tensor<5x2xf64>}}
  %a = array.reshape %x : tensor<?x?xf64> -> tensor<5x?xf64>
  func.return %y : tensor<?xf64>
}

// -----

// A loop keeps the shapes of what it carries.
func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %y) -> (tensor<?xf64>) {
    // expected-error @+1 {{array.concat: result type must be tensor<4xf64>, got tensor<2xf64>}}
    %b = array.concat %a, %a {axis = 0} : tensor<?xf64>, tensor<?xf64> -> tensor<?xf64>
    scf.yield %b : tensor<?xf64>
  }
  func.return %z : tensor<?xf64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  func.return %y : tensor<?xf64>
}
func.func @g(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  // expected-error @+1 {{gradir-specialize: @f is used by @g; specialize that, and what it uses follows}}
  %z = func.call @f(%x, %y) : (tensor<?x?xf64>, tensor<?xf64>) -> tensor<?xf64>
  func.return %z : tensor<?xf64>
}

// -----

// The size is known when the program runs, and not before.
func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %number = tensor.extract %y[%c0] : tensor<?xf64>
  %whole = arith.fptosi %number : f64 to i64
  %size = arith.index_cast %whole : i64 to index
  // expected-error @+1 {{tensor.empty: the size %size must follow from the shapes of the arguments; it is computed when the program runs}}
  %a = tensor.empty(%size) : tensor<?xf64>
  %b = array.add %a, %y : tensor<?xf64>
  func.return %b : tensor<?xf64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %z = func.call @g(%y) : (tensor<?xf64>) -> tensor<?xf64>
  func.return %z : tensor<?xf64>
}
func.func @g(%y: tensor<?xf64>) -> tensor<?xf64> {
  // expected-error @+1 {{func.call: @g is recursive}}
  %z = func.call @g(%y) : (tensor<?xf64>) -> tensor<?xf64>
  func.return %z : tensor<?xf64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: result 1 must be tensor<2xf64>, got tensor<f64>}}
  %z, %ct = grad.derivative @g(%y) {mode = "grad"} : (tensor<?xf64>) -> (tensor<f64>, tensor<f64>)
  func.return %z : tensor<f64>
}
func.func @g(%y: tensor<?xf64>) -> tensor<f64> {
  %z = array.mean %y : tensor<?xf64> -> tensor<f64>
  func.return %z : tensor<f64>
}

// -----

func.func @f(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<f64> {
  // expected-error @+1 {{grad.derivative: 2 operand(s) expected, got 1}}
  %z, %ct = grad.derivative @g(%y) {mode = "vjp"} : (tensor<?xf64>) -> (tensor<f64>, tensor<?xf64>)
  func.return %z : tensor<f64>
}
func.func @g(%y: tensor<?xf64>) -> tensor<f64> {
  %z = array.mean %y : tensor<?xf64> -> tensor<f64>
  func.return %z : tensor<f64>
}
