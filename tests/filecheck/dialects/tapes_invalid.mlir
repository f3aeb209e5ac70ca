// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @columns(%t: !grad.tape<f64>, %x: f32) -> !grad.tape<f64> {
  // expected-error @+1 {{grad.tape_push: a record of f64 expected, got f32}}
  %y = "grad.tape_push"(%t, %x) : (!grad.tape<f64>, f32) -> !grad.tape<f64>
  func.return %y : !grad.tape<f64>
}

// -----

func.func @count(%t: !grad.tape<f64, i64>) -> f64 {
  // expected-error @+1 {{grad.tape_pop: a record of f64, i64 expected, got f64}}
  %u, %y = "grad.tape_pop"(%t) : (!grad.tape<f64, i64>) -> (!grad.tape<f64, i64>, f64)
  func.return %y : f64
}

// -----

func.func @other(%t: !grad.tape<f64>, %x: f64) -> !grad.tape<f64, capacity = 2> {
  // expected-error @+1 {{grad.tape_push: the tape must stay a !grad.tape<f64>, got !grad.tape<f64, capacity = 2>}}
  %y = "grad.tape_push"(%t, %x) : (!grad.tape<f64>, f64) -> !grad.tape<f64, capacity = 2>
  func.return %y : !grad.tape<f64, capacity = 2>
}
