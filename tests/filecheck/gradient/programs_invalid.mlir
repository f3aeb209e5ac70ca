// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f mode=vjp}"

// expected-error @+1 {{no function @f; functions: @g}}
module {
  func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {
    func.return %x : tensor<4xf64>
  }
}

// -----

// expected-error @+1 {{@f has no body, so that it has no derivative}}
func.func private @f(tensor<4xf64>) -> tensor<4xf64>

// -----

// expected-error @+1 {{@f has several blocks; write branches and loops with scf}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  cf.br ^next
^next:
  func.return %x : tensor<4xf64>
}

// -----

// Every op without a derivative is listed, with the path that leads to it.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %square = array.square %x : tensor<4xf64>
  // expected-error @+2 {{arith.bitcast: it has no derivative, and its result depends on wrt and reaches a target; wrap it in grad.no_grad to leave it out}}
  // expected-note @+1 {{reached by %x -> %square -> %once}}
  %once = arith.bitcast %square : tensor<4xf64> to tensor<4xf64>
  // expected-note @+1 {{arith.bitcast: it has no derivative, and its result depends on wrt and reaches a target; reached by %x -> %square -> %once -> %twice}}
  %twice = arith.bitcast %once : tensor<4xf64> to tensor<4xf64>
  func.return %twice : tensor<4xf64>
}

// -----

// A long path is shortened.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a = array.exp %x : tensor<4xf64>
  %b = array.exp %a : tensor<4xf64>
  %c = array.exp %b : tensor<4xf64>
  %d = array.exp %c : tensor<4xf64>
  %e = array.exp %d : tensor<4xf64>
  // expected-error @+2 {{arith.bitcast: it has no derivative}}
  // expected-note @+1 {{reached by %x -> %a -> %b -> ... -> %e -> %y}}
  %y = arith.bitcast %e : tensor<4xf64> to tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+2 {{scf.parallel: its regions cannot be differentiated, and its result depends on wrt and reaches a target}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = "scf.parallel"(%c0, %c1, %c1, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    scf.reduce(%x : f64) {
    ^bb0(%a: f64, %b: f64):
      %s = arith.addf %a, %b : f64
      scf.reduce.return %s : f64
    }
  }) : (index, index, index, f64) -> f64
  func.return %y : f64
}

// -----

func.func @f(%x: tensor<4x3xf64>, %t: tensor<4xi64>, %w: tensor<3xf64>) -> tensor<f64> {
  // expected-error @+2 {{nn.nll_loss: no derivative in operand 2 (%w)}}
  // expected-note @+1 {{reached by %w -> %y}}
  %y = nn.nll_loss %x, %t, %w : tensor<4x3xf64>, tensor<4xi64>, tensor<3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

// expected-error @+1 {{@f_vjp exists already; rename it, or differentiate once}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @f_vjp(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{func.call: @f is recursive; only calls without recursion can be differentiated}}
  %y = func.call @f(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @f(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{func.call: @g is recursive; only calls without recursion can be differentiated}}
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func private @g(tensor<4xf64>) -> tensor<4xf64>
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{func.call: @g has no body, so that it has no derivative}}
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

// What cannot be differentiated in a callee is reported there.
func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+2 {{arith.bitcast: it has no derivative}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = arith.bitcast %x : tensor<4xf64> to tensor<4xf64>
  // expected-note @+1 {{arith.bitcast: it has no derivative}}
  %z = arith.bitcast %y : tensor<4xf64> to tensor<4xf64>
  func.return %z : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

// expected-error @+1 {{@f: only functions of tensors can be differentiated, got memref<4xf64> for argument 1}}
func.func @f(%x: tensor<4xf64>, %m: memref<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// What is written to memory would come back without a cotangent.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %m = memref.alloc() : memref<4xf64>
  %y = array.sin %x : tensor<4xf64>
  // expected-error @+1 {{bufferization.materialize_in_destination: an op with effects has no derivative, and it reads %y, which depends on wrt}}
  bufferization.materialize_in_destination %y in restrict writable %m : (tensor<4xf64>, memref<4xf64>) -> ()
  %z = bufferization.to_tensor %m restrict : memref<4xf64> to tensor<4xf64>
  func.return %z : tensor<4xf64>
}

// -----

// Of what does not depend on wrt it may be written.
func.func @f(%x: tensor<4xf64>, %c: tensor<4xf64> {grad.inactive}) -> tensor<4xf64> {
  %m = memref.alloc() : memref<4xf64>
  bufferization.materialize_in_destination %c in restrict writable %m : (tensor<4xf64>, memref<4xf64>) -> ()
  func.return %x : tensor<4xf64>
}
