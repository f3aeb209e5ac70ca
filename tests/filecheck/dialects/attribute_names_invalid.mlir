// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @loop(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{scf.for: unknown attribute grad.lop; known here: grad.loop, grad.tape_limit}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    scf.yield %a : f64
  } {grad.lop = #grad.loop<every = 3>}
  func.return %y : f64
}

// -----

// expected-error @+1 {{%x: unknown attribute grad.inactiv; known here: grad.inactive, grad.in_out, grad.name}}
func.func @argument(%x: tensor<4xf64> {grad.inactiv}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{func.func: grad.inactive must stand on an argument of func.func}}
func.func @function(%x: tensor<4xf64>) -> tensor<4xf64> attributes {grad.inactive} {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{result 0: grad.name must stand on an argument of func.func}}
func.func private @result(tensor<4xf64>) -> (tensor<4xf64> {grad.name = "y"})

// -----

func.func @op(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{array.sin: unknown attribute grad.memory_limits; known elsewhere: grad.memory_limit, }}
  %y = array.sin %x {grad.memory_limits = 3} : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
