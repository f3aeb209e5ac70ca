// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: bounds must not be negative, got [-1]}}
  %y = loopnest.nest [-1] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: subscripts must stay inside tensor<4xf32> over bounds [5], got [d0]}}
  %y = loopnest.nest [5] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<5xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: subscripts must stay inside tensor<4xf32> over bounds [4], got [d0 + -1]}}
  %y = loopnest.nest [4] (%a = %x[d0 + -1] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: subscripts must stay inside tensor<4xf32> over bounds [4], got [2 * d0]}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> ([2 * d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one of d0 ... d0, got d1}}
  %y = loopnest.nest [4] (%a = %x[d1] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: 1 subscripts over 1 loops expected for tensor<4xf32>, got [d0, d0] over 1}}
  %y = loopnest.nest [4] (%a = %x[d0, d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: unknown combiner first; known: add, multiply, maximum, minimum}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> (first [d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the subscripts of an output: `[d0, ...]`}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> (d0 : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a tensor or memref type}}
  %y = loopnest.nest [4] (%a = %x[d0] : f32) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected `%name = %value[...]` for an input of the body}}
  %y = loopnest.nest [4] (%x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: the body must yield 1 values and 0 indices, got 2}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a, %a : f32, f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: the body must yield 1 values and 1 indices, got 1}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> (add [s0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    // expected-error @+1 {{func.return: 'func.return' expects parent op 'func.func'}}
    func.return
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: (d0 floordiv 2) is not linear in the loop dimensions}}
  %y = "loopnest.nest"(%x) <{bounds = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0 floordiv 2)>], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["none"], init_outputs = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%a: f32):
    "loopnest.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: one access and pad per input expected}}
  %y = "loopnest.nest"(%x) <{bounds = array<i64: 4>, input_maps = [], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["none"], init_outputs = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%a: f32):
    "loopnest.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: one access and combiner per output expected}}
  %y = "loopnest.nest"(%x) <{bounds = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>], pads = [unit], output_maps = [], combiners = ["none"], init_outputs = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%a: f32):
    "loopnest.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: body arguments must be (f32), got (f64)}}
  %y = "loopnest.nest"(%x) <{bounds = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["none"], init_outputs = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%a: f64):
    "loopnest.yield"(%a) : (f64) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.contract: two subscripted factors over m, n, k expected}}
  %y = loopnest.contract [4, 4] (%x[d0] : tensor<4xf32>, %x[d1] : tensor<4xf32>) acc %a: f32 -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.contract: two subscripted factors over m, n, k expected}}
  %y = loopnest.contract [4, 1, 4] (%x[d0] : tensor<4xf32>) acc %a: f32 -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.contract: two subscripted factors over m, n, k expected}}
  %y = loopnest.contract [4, 1, 4] (%x[d0] : tensor<4xf32>, %x : tensor<4xf32>) acc %a: f32 -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{Expected 'acc'}}
  %y = loopnest.contract [4, 1, 4] (%x[d0] : tensor<4xf32>, %x[d2] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.reshape: sizes must match, got tensor<4xf32> and tensor<5xf32>}}
  %y = loopnest.reshape %x : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.reshape: elements must agree, got tensor<4xf32> and tensor<4xf64>}}
  %y = loopnest.reshape %x : tensor<4xf32> -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: i64) {
  // expected-error @+1 {{loopnest.load: 1 indices expected, got 2}}
  %y = loopnest.load %x[%i, %i] : tensor<4xf32> -> f32
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: loopnest.index must be below 1, got 1}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xi64>) {
    %0 = loopnest.index 1 : i64
    loopnest.yield %0 : i64
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{loopnest.contract: roles must be 3 of b, m, n, and k for those at the end, got mkn}}
  %y = loopnest.contract [4, 3, 4] (%x[d0, d1] : tensor<4x3xf32>, %x[d2, d1] : tensor<4x3xf32>) acc %a: f32 roles mkn -> ([d0, d2] : tensor<4x4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{loopnest.contract: roles must be 3 of b, m, n, and k for those at the end, got mnkk}}
  %y = loopnest.contract [4, 4, 3] (%x[d0, d2] : tensor<4x3xf32>, %x[d1, d2] : tensor<4x3xf32>) acc %a: f32 roles mnkk -> ([d0, d1] : tensor<4x4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xi8>, %i: i64) {
  // expected-error @+1 {{loopnest.load: expected a result of i8 from tensor<4xi8>, got f64}}
  %y = loopnest.load %x[%i] : tensor<4xi8> -> f64
  func.return
}

// -----

func.func @f(%i: i64) {
  // expected-error @+1 {{loopnest.check_index: bound must be positive and below 2**63, got 0}}
  %y = loopnest.check_index %i bound 0 : i64 message "here"
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: only subscripts of outputs can be symbols}}
  %y = loopnest.nest [4] (%a = %x[s0] : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: pad must be a number of type f32, got 0.000000e+00 : f64}}
  %y = loopnest.nest [4] (%a = %x[d0 + 1] pad 0.0 : f64 : tensor<4xf32>) -> ([d0] : tensor<4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: the body must yield i64, or a wider number, for tensor<4xi64>, got f32}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xi64>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{loopnest.nest: the body must yield indices of i64, got i32}}
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf32>, %k = %i[d0] : tensor<4xi32>) -> (add [s0] : tensor<4xf32>) {
    loopnest.yield %a, %k : f32, i32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<2xf32>) {
  // expected-error @+1 {{loopnest.nest: outputs must start from (tensor<4xf32>), got (tensor<2xf32>)}}
  %y = "loopnest.nest"(%x, %z) <{bounds = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["none"], init_outputs = array<i64: 0>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> ({
  ^bb0(%a: f32):
    "loopnest.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.nest: outputs with a start must be some of 1, got [7]}}
  %y = "loopnest.nest"(%x, %x) <{bounds = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["none"], init_outputs = array<i64: 7>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> ({
  ^bb0(%a: f32):
    "loopnest.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{loopnest.nest: bounds must come to less than 2**62 iterations, got [4294967296, 4294967296]}}
  %y = loopnest.nest [4294967296, 4294967296] (%a = %x[] : tensor<f32>) -> (add [] : tensor<f32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x4xi32>) {
  // expected-error @+1 {{loopnest.contract: factors and accumulator must be all floats or all integers, got f32, i32, f32}}
  %z = loopnest.contract [4, 4, 3] (%x[d0, d2] : tensor<4x3xf32>, %y[d2, d1] : tensor<3x4xi32>) acc %a: f32 -> ([d0, d1] : tensor<4x4xf32>) {
    loopnest.yield %a : f32
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x3xi64>, %y: tensor<3x4xi32>) {
  // expected-error @+1 {{loopnest.contract: the accumulator must hold the factors, got i32 for i64 and i32}}
  %z = loopnest.contract [4, 4, 3] (%x[d0, d2] : tensor<4x3xi64>, %y[d2, d1] : tensor<3x4xi32>) acc %a: i32 -> ([d0, d1] : tensor<4x4xi32>) {
    loopnest.yield %a : i32
  }
  func.return
}

// -----

// expected-note @+1 {{%x is defined here}}
func.func @f(%x: tensor<4xf64>) -> tensor<2xf64> {
  %y = loopnest.nest [2] (%a = %x[d0] : tensor<4xf64>) -> ([d0] : tensor<2xf64>) {
    %n = arith.constant 0 : i64
    // expected-error @+1 {{loopnest.load: %x is defined outside of loopnest.nest, which lets no value in}}
    %v = loopnest.load %x[%n] : tensor<4xf64> -> f64
    loopnest.yield %v : f64
  }
  func.return %y : tensor<2xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-note @+1 {{%two is defined here}}
  %two = arith.constant 2.0 : f64
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf64>) -> ([d0] : tensor<4xf64>) {
    // expected-error @+1 {{arith.mulf: %two is defined outside of loopnest.nest, which lets no value in}}
    %b = arith.mulf %a, %two : f64
    loopnest.yield %b : f64
  }
  func.return %y : tensor<4xf64>
}
