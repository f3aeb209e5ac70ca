// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f mode=grad},gradir-to-stablehlo{function=f_grad}"

// All ops without a form are named at once, by the names that they have in the program.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{comm.all_reduce: it belongs to ranks of gradir's, which a StableHLO program does not have}}
  %y = comm.all_reduce %x {ranks = 2} : tensor<4xf64>
  // expected-note @+1 {{grad.host_call: a function of the host has no form in StableHLO}}
  %n = grad.host_call %y {callee = "count", pure} : (tensor<4xf64>) -> tensor<4xi64>
  %z = array.astype %n : tensor<4xi64> -> tensor<4xf64>
  %w = array.add %y, %z : tensor<4xf64>
  func.return %w : tensor<4xf64>
}

// -----

// expected-note @+2 {{grad.derivative: its derivative waits for shapes: run gradir-specialize first}}
// expected-error @+1 {{@f_grad: shapes must be known, got tensor<?xf64>; write the extents, or run gradir-specialize}}
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.sin %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// -----

func.func @f(%x: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{scf.for: a tape that grows while the program runs has no form in StableHLO; give the loop a policy whose snapshots have a fixed size: #grad.loop<online = 8> for a scf.while, #grad.loop<binomial = 8> for a scf.for}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<f64>) {
    %s = array.sin %a : tensor<f64>
    scf.yield %s : tensor<f64>
  }
  func.return %y : tensor<f64>
}
