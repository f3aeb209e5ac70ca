// As ode.mlir, with a state kept every 316 steps only.
func.func @main(%y0: f64, %w: f64) -> f64 {
  %first = arith.constant 0 : index
  %steps = arith.constant 100000 : index
  %one = arith.constant 1 : index
  %h = arith.constant 1.0e-4 : f64
  %y = scf.for %i = %first to %steps step %one iter_args(%y1 = %y0) -> (f64) {
    %s = math.sin %y1 : f64
    %ws = arith.mulf %w, %s : f64
    %slope = arith.subf %ws, %y1 : f64
    %change = arith.mulf %h, %slope : f64
    %y2 = arith.addf %y1, %change : f64
    scf.yield %y2 : f64
  } {grad.loop = #grad.loop<every = 316>}
  func.return %y : f64
}
