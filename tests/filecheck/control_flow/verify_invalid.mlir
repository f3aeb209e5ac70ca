// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @type_changes(%x: tensor<3xf64>, %w: tensor<4xf64>, %n: index) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<3xf64>) {
    // expected-error @+1 {{scf.for: carried value 0 must be tensor<3xf64>, got tensor<4xf64> from scf.yield}}
    scf.yield %w : tensor<4xf64>
  }
  func.return %y : tensor<3xf64>
}

// -----

func.func @element_changes(%x: f64, %w: f32, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    // expected-error @+1 {{scf.for: carried value 0 must be f64, got f32 from scf.yield}}
    scf.yield %w : f32
  }
  func.return %y : f64
}

// -----

func.func @too_few(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %z = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (f64, f64) {
    // expected-error @+1 {{scf.for: 2 carried value(s) expected, got 1 from scf.yield}}
    scf.yield %a : f64
  }
  func.return %y : f64
}

// -----

func.func @zero_step(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{scf.for: step must be positive, got 0}}
  %y = scf.for %i = %c0 to %n step %c0 iter_args(%a = %x) -> (f64) {
    scf.yield %a : f64
  }
  func.return %y : f64
}

// -----

func.func @negative_step(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %step = arith.constant -2 : index
  // expected-error @+1 {{scf.for: step must be positive, got -2}}
  %y = scf.for %i = %n to %c0 step %step iter_args(%a = %x) -> (f64) {
    scf.yield %a : f64
  }
  func.return %y : f64
}

// -----

func.func @while_carries(%x: tensor<2xf64>, %c: i1) -> f64 {
  %y = scf.while (%a = %x) : (tensor<2xf64>) -> f64 {
    %c0 = arith.constant 0 : index
    %e = tensor.extract %a[%c0] : tensor<2xf64>
    scf.condition(%c) %e : f64
  } do {
  ^bb0(%b: f64):
    // expected-error @+1 {{scf.while: carried value 0 must be tensor<2xf64>, got f64 from scf.yield}}
    scf.yield %b : f64
  }
  func.return %y : f64
}

// -----

func.func @while_passes(%x: f64, %c: i1) -> f64 {
  %y = scf.while (%a = %x) : (f64) -> f64 {
    // expected-error @+1 {{scf.while: passed value 0 must be f64, got i1 from scf.condition}}
    scf.condition(%c) %c : i1
  } do {
  ^bb0(%b: f64):
    scf.yield %b : f64
  }
  func.return %y : f64
}

// -----

func.func @while_body(%x: f64, %c: i1) -> f64 {
  // expected-error @+1 {{scf.while: passed value 0 must be f64, got f32 as an argument of the body}}
  %y = scf.while (%a = %x) : (f64) -> f64 {
    scf.condition(%c) %a : f64
  } do {
  ^bb0(%b: f32):
    scf.yield %x : f64
  }
  func.return %y : f64
}

// -----

func.func @while_condition(%x: f64, %c: i1) -> f64 {
  %y = scf.while (%a = %x) : (f64) -> f64 {
    // expected-error @+1 {{scf.while: the first region must end in scf.condition}}
    scf.yield %a : f64
  } do {
  ^bb0(%b: f64):
    scf.yield %x : f64
  }
  func.return %y : f64
}

// -----

func.func @no_else(%x: f64, %c: i1) -> f64 {
  // expected-error @+1 {{scf.if: an op with results needs an else branch}}
  %y = scf.if %c -> (f64) {
    scf.yield %x : f64
  }
  func.return %y : f64
}

// -----

func.func @branches_differ(%x: f64, %w: f32, %c: i1) -> f64 {
  %y = scf.if %c -> (f64) {
    scf.yield %x : f64
  } else {
    // expected-error @+1 {{scf.if: result 0 must be f64, got f32 from scf.yield}}
    scf.yield %w : f32
  }
  func.return %y : f64
}

// -----

func.func @case_yields(%x: f64, %k: index) -> f64 {
  %y = scf.index_switch %k -> f64
  case 1 {
    // expected-error @+1 {{scf.index_switch: 1 result(s) expected, got 0 from scf.yield}}
    scf.yield
  }
  default {
    scf.yield %x : f64
  }
  func.return %y : f64
}

// -----

func.func @region_yields(%x: f64, %k: index) -> f64 {
  %y = scf.execute_region -> (f64) {
    // expected-error @+1 {{scf.execute_region: result 0 must be f64, got index from scf.yield}}
    scf.yield %k : index
  }
  func.return %y : f64
}

// -----

func.func @indices(%x: tensor<2x2xf64>, %k: index) -> f64 {
  // expected-error @+1 {{tensor.extract: 2 indices expected for tensor<2x2xf64>, got 1}}
  %y = tensor.extract %x[%k] : tensor<2x2xf64>
  func.return %y : f64
}

// -----

func.func @insert_indices(%x: tensor<2x2xf64>, %v: f64) -> tensor<2x2xf64> {
  // expected-error @+1 {{tensor.insert: 2 indices expected for tensor<2x2xf64>, got 0}}
  %y = tensor.insert %v into %x[] : tensor<2x2xf64>
  func.return %y : tensor<2x2xf64>
}

// -----

func.func @slice_type(%x: tensor<4x3xf64>, %k: index) -> tensor<2xf64> {
  // expected-error @+1 {{tensor.extract_slice: a slice of sizes [1, 3] expected, got tensor<2xf64>}}
  %y = tensor.extract_slice %x[%k, 0] [1, 3] [1, 1] : tensor<4x3xf64> to tensor<2xf64>
  func.return %y : tensor<2xf64>
}

// -----

func.func @slice_outside(%x: tensor<4x3xf64>, %k: index) -> tensor<3xf64> {
  // expected-error @+1 {{tensor.extract_slice: a slice must stay inside a size of 3, got 3 elements from 1 with stride 1}}
  %y = tensor.extract_slice %x[%k, 1] [1, 3] [1, 1] : tensor<4x3xf64> to tensor<3xf64>
  func.return %y : tensor<3xf64>
}

// -----

func.func @insert_slice_offsets(%x: tensor<4x3xf64>, %r: tensor<3xf64>) -> tensor<4x3xf64> {
  // expected-error @+1 {{tensor.insert_slice: 2 offsets expected for tensor<4x3xf64>, got 1}}
  %y = tensor.insert_slice %r into %x[0] [1, 3] [1, 1] : tensor<3xf64> into tensor<4x3xf64>
  func.return %y : tensor<4x3xf64>
}

// -----

func.func @elements(%x: f64) -> tensor<2x2xf64> {
  // expected-error @+1 {{tensor.from_elements: 4 elements expected for tensor<2x2xf64>, got 2}}
  %y = "tensor.from_elements"(%x, %x) : (f64, f64) -> tensor<2x2xf64>
  func.return %y : tensor<2x2xf64>
}

// -----

func.func @slice_too_long(%x: tensor<4x3xf64>, %k: index) -> tensor<5xf64> {
  // expected-error @+1 {{tensor.extract_slice: a slice must stay inside a size of 4, got 5 elements from 0 with stride 1}}
  %y = tensor.extract_slice %x[%k, 0] [5, 1] [1, 1] : tensor<4x3xf64> to tensor<5xf64>
  func.return %y : tensor<5xf64>
}

// -----

func.func @policy_of_a_branch(%x: f64, %c: i1) -> f64 {
  // expected-error @+1 {{scf.if: grad.loop must stand on scf.for or scf.while}}
  %y = scf.if %c -> (f64) {
    scf.yield %x : f64
  } else {
    scf.yield %x : f64
  } {grad.loop = #grad.loop<every = 2>}
  func.return %y : f64
}

// -----

func.func @policy_of_an_op(%x: tensor<f64>) -> tensor<f64> {
  // expected-error @+1 {{array.sin: grad.loop must stand on scf.for or scf.while}}
  %y = array.sin %x {grad.loop = #grad.loop<every = 2>} : tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @policy_in_words(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{scf.for: grad.loop must be a policy such as #grad.loop<every = 2>, got "every"}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    scf.yield %a : f64
  } {grad.loop = "every"}
  func.return %y : f64
}
