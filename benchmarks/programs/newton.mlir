// The square root of %a by Newton's iteration, until x * x is within 1e-12 of it.
func.func @main(%a: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %tolerance = arith.constant 1.0e-12 : f64
  %root = scf.while (%x = %a) : (f64) -> f64 {
    %square = arith.mulf %x, %x : f64
    %error = arith.subf %square, %a : f64
    %size = math.absf %error : f64
    %go = arith.cmpf ogt, %size, %tolerance : f64
    scf.condition(%go) %x : f64
  } do {
  ^bb0(%x: f64):
    %quotient = arith.divf %a, %x : f64
    %sum = arith.addf %x, %quotient : f64
    %next = arith.mulf %half, %sum : f64
    scf.yield %next : f64
  }
  func.return %root : f64
}
