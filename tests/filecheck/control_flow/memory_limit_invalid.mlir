// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f mode=grad memory_limit=50}"

// The least for 40 steps is a binomial schedule with one slot.

// expected-error @+1 {{gradir-gradient: memory_limit of 50 bytes is infeasible: minimum is 72 bytes}}
func.func @f(%x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 40 : index
  %y = scf.for %i = %c0 to %steps step %c1 iter_args(%a = %x) -> (f64) {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}

// -----

// A loop that says every itself keeps the records of two iterations and all snapshots, of which
// nobody knows how many there will be.

// expected-error @+1 {{gradir-gradient: memory_limit of 50 bytes is infeasible: minimum is 192 bytes and what grows on tapes}}
func.func @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %k = scf.while (%a = %x, %i = %c0) : (tensor<8xf64>, index) -> (tensor<8xf64>, index) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %a, %i : tensor<8xf64>, index
  } do {
  ^bb0(%b: tensor<8xf64>, %j: index):
    %s = array.sin %b : tensor<8xf64>
    %next = arith.addi %j, %c1 : index
    scf.yield %s, %next : tensor<8xf64>, index
  } attributes {grad.loop = #grad.loop<every = 2>}
  func.return %y : tensor<8xf64>
}
