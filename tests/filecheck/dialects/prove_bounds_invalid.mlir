// RUN: gradir-opt %s -p gradir-prove-bounds --split-input-file --verify-diagnostics
// RUN: gradir-opt %s -p gradir-prove-bounds --split-input-file --trust-input | filecheck %s

// CHECK: func.func @load
func.func @load(%x: tensor<4xf64>, %i: tensor<2xi64>) -> tensor<2xf64> {
  %y = loopnest.nest [2] (%a = %x : tensor<4xf64>, %n = %i[d0] : tensor<2xi64>)
      -> ([d0] : tensor<2xf64>) {
    // expected-error @+1 {{loopnest.load: index 0 (%n) must be proven to be in [0, 4), got numbers from -9223372036854775808 to 9223372036854775807; check it by loopnest.check_index, or trust the text (trusted=True in gradir.parse, --trust-input) if it is your own}}
    %v = loopnest.load %a[%n] : tensor<4xf64> -> f64
    loopnest.yield %v : f64
  }
  func.return %y : tensor<2xf64>
}

// -----

func.func @scatter(%x: tensor<2xf64>, %i: tensor<2xi32>) -> tensor<4x5xf64> {
  %y = loopnest.nest [2] (%a = %x[d0] : tensor<2xf64>, %n = %i[d0] : tensor<2xi32>)
      -> (add [d0, s0] : tensor<4x5xf64>) {
    %wide = arith.extsi %n : i32 to i64
    // expected-error @+1 {{loopnest.yield: index s0 must be proven to be in [0, 5), got numbers from -2147483648 to 2147483647; check it by}}
    loopnest.yield %a, %wide : f64, i64
  }
  func.return %y : tensor<4x5xf64>
}

// -----

func.func @off_by_one(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = loopnest.forall [5] (%in = %x : tensor<4xf64>) -> (%out : tensor<4xf64>) {
    %i = loopnest.index 0
    %v = arith.constant 1.0 : f64
    // expected-error @+1 {{loopnest.store: index 0 (%i) must be proven to be in [0, 4), got numbers from 0 to 4; check it by}}
    loopnest.store %v, %out[%i] : f64 to memref<4xf64>
    loopnest.yield
  }
  func.return %y : tensor<4xf64>
}

// -----

func.func @lanes(%x: tensor<4xi64>) -> tensor<4xi64> {
  %y = loopnest.forall [] (%in = %x : tensor<4xi64>) -> (%out : tensor<4xi64>) {
    %zero = arith.constant 0 : i64
    %n = loopnest.load %in[%zero] : tensor<4xi64> -> i64
    // expected-error @+1 {{loopnest.lanes: bounds must be proven to be below 2**62, got %n; check it by loopnest.check_index, or trust}}
    loopnest.lanes %j = %zero to %n {
      loopnest.yield
    }
    loopnest.yield
  }
  func.return %y : tensor<4xi64>
}

// -----

func.func @outside(%x: tensor<4xf64>) -> f64 {
  %n = arith.constant 9 : i64
  // expected-error @+1 {{loopnest.load: must be inside of a nest or loopnest.forall}}
  %v = loopnest.load %x[%n] : tensor<4xf64> -> f64
  func.return %v : f64
}

// -----

func.func @large(%x: tensor<1x4xf64>) -> tensor<1xf64> {
  // expected-error @+1 {{loopnest.nest: subscripts must stay below 2**62 elements; trust the text}}
  %y = loopnest.nest [1] (%a = %x[2305843009213693952 * d0, 0] pad 0.0 : f64 : tensor<1x4xf64>) -> ([d0] : tensor<1xf64>) {
    loopnest.yield %a : f64
  }
  func.return %y : tensor<1xf64>
}

// -----

func.func @open(%x: tensor<?xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{loopnest.forall: is proven on tensors of static shape only, got tensor<?xf64>; trust the text}}
  %y = loopnest.forall [4] (%in = %x : tensor<?xf64>) -> (%out : tensor<4xf64>) {
    loopnest.yield
  }
  func.return %y : tensor<4xf64>
}

// -----

// expected-error @+1 {{func.func: no op on buffers is proven to be safe; trust the text}}
func.func @buffer(%x: memref<4xf64>) {
  func.return
}

// -----

func.func @alloc() {
  // expected-error @+1 {{memref.alloc: no op on buffers is proven to be safe; trust the text}}
  %x = memref.alloc() : memref<4xf64>
  func.return
}

// -----

// expected-error @+1 {{func.func: gradir.arena is what passes say of their own results; leave it out, or trust the text}}
func.func @arena() attributes {gradir.arena = 0} {
  func.return
}
