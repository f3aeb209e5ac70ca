// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-append-loss{function=f loss=l joined=0,1}"

// expected-error @+1 {{no function @f; functions: @l}}
func.func @l(%x: tensor<4xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

// expected-error @+1 {{no function @l; functions: @f}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
// expected-error @+1 {{@l has no body}}
func.func private @l(tensor<4xf64>) -> tensor<f64>

// -----

// expected-error @+1 {{gradir-append-loss: joined: @f has 1 results, got index 1}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
// expected-error @+1 {{gradir-append-loss: @l must take the 2 joined results of @f, got 1 arguments}}
func.func @l(%x: tensor<4xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  // expected-note @+1 {{@f returns it here}}
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
// expected-error @+1 {{gradir-append-loss: argument 1 (%t) of @l takes result 1 of @f and must be tensor<4xf64>, got tensor<4xf32>; change one of the types, or choose other results with joined=}}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf32>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

// An extent that is not known is not one that is.
func.func @f(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>) {
  // expected-note @+1 {{@f returns it here}}
  func.return %x, %x : tensor<?xf64>, tensor<?xf64>
}
// expected-error @+1 {{argument 0 (%x) of @l takes result 0 of @f and must be tensor<?xf64>, got tensor<4xf64>}}
func.func @l(%x: tensor<4xf64>, %t: tensor<?xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{gradir-append-loss: result 0 of @l is the loss and must be a floating number of rank 0, got tensor<4xf64>; reduce it, as by array.mean}}
  %y = array.subtract %x, %t : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) -> tensor<i64> {
  // expected-error @+1 {{result 0 of @l is the loss and must be a floating number of rank 0, got tensor<i64>}}
  %y = array.argmax %x : tensor<4xf64> -> tensor<i64>
  func.return %y : tensor<i64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
// expected-error @+1 {{result 0 of @l is the loss and must be a floating number, got no result}}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) {
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
// expected-error @+1 {{gradir-append-loss: @f_loss exists already; choose another name with into=}}
func.func @f_loss() {
  func.return
}

// -----

// expected-error @+1 {{gradir-append-loss: argument 0 (%x) of @f is tied to result 1 (grad.in_out), which @l takes; return the value once more, or leave out grad.in_out}}
func.func @f(%x: tensor<4xf64> {grad.in_out = 1 : i64}) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<4xf64> {grad.name = "x"}) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %x, %x : tensor<4xf64>, tensor<4xf64>
}
// expected-error @+1 {{gradir-append-loss: names of arguments must differ, got 'x' in @f and in @l; change one grad.name}}
func.func @l(%x: tensor<4xf64>, %t: tensor<4xf64>, %u: f64 {grad.name = "x"}) -> tensor<f64> {
  %y = array.mean %x : tensor<4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
