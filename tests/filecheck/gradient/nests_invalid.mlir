// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f wrt=0}"

func.func @f(%x: tensor<4xf64>, %i: tensor<4xi64>) -> tensor<3xf64> {
  // expected-error @+2 {{loopnest.nest: no derivative of output 0, whose subscripts are yielded by the body; put it into a function with a derivative of its own (grad.custom_vjp); wrap it in grad.no_grad to leave it out}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf64>, %1 = %i[d0] : tensor<4xi64>)
      -> (add [s0] : tensor<3xf64>) {
    %2 = loopnest.check_index %1 bound 3 message "i"
    loopnest.yield %0, %2 : f64, i64
  }
  func.return %y : tensor<3xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<f64> {
  // expected-error @+2 {{loopnest.nest: no derivative of output 0, which is combined by maximum; put it}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf64>) -> (maximum [] : tensor<f64>) {
    loopnest.yield %0 : f64
  }
  func.return %y : tensor<f64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<2xf64> {
  // expected-error @+2 {{loopnest.nest: no derivative of output 0, unless each element is written at most once; put it}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [2, 2] (%0 = %x[d0 * 2 + d1] : tensor<4xf64>) -> ([d0] : tensor<2xf64>) {
    loopnest.yield %0 : f64
  }
  func.return %y : tensor<2xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+2 {{loopnest.nest: no derivative in input 0, which is handed to the body whole; put it}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [4] (%all = %x : tensor<4xf64>) -> ([d0] : tensor<4xf64>) {
    %i = loopnest.index 0
    %0 = loopnest.load %all[%i] : tensor<4xf64> -> f64
    loopnest.yield %0 : f64
  }
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+2 {{loopnest.nest: no derivative in input 0, whose reads span more than 2**40 elements; put it}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [4, 4] (%0 = %x[d0 * 1000000000000 + d1] pad 0.0 : f64 : tensor<4xf64>)
      -> (add [d0] : tensor<4xf64>) {
    loopnest.yield %0 : f64
  }
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf16> {
  // expected-error @+2 {{loopnest.nest: arith.bitcast in its body has no derivative; put it}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = loopnest.nest [4] (%0 = %x[d0] : tensor<4xf32>) -> ([d0] : tensor<4xf16>) {
    %1 = arith.truncf %0 : f32 to bf16
    %2 = arith.bitcast %1 : bf16 to f16
    loopnest.yield %2 : f16
  }
  func.return %y : tensor<4xf16>
}

// -----

func.func @f(%x: tensor<2x3xf64>, %y: tensor<3x2xf64>) -> tensor<2x2xf64> {
  // expected-error @+2 {{loopnest.contract: no derivative; write it as array.matmul or as loopnest.nest; put it}}
  // expected-note @+1 {{reached by %x -> %z}}
  %z = loopnest.contract [2, 2, 3] (%x[d0, d2] : tensor<2x3xf64>, %y[d2, d1] : tensor<3x2xf64>)
      acc %acc : f64 -> ([d0, d1] : tensor<2x2xf64>) {
    loopnest.yield %acc : f64
  }
  func.return %z : tensor<2x2xf64>
}
