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
