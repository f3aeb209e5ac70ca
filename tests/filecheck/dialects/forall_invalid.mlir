// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.forall: bounds must not be negative, got [-1]}}
  %y = loopnest.forall [-1] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected `%name = %value` for an input of the body}}
  %y = loopnest.forall [4] (%x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.forall: body arguments must be (tensor<4xf32>, memref<4xf32>), got (tensor<4xf32>)}}
  %y = "loopnest.forall"(%x) <{bounds = array<i64: 4>, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%in: tensor<4xf32>):
    "loopnest.yield"() : () -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.forall: loopnest.index must be below 1, got 1}}
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %i = loopnest.index 1
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.forall: a program cannot contain array.exp}}
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %z = array.exp %in : tensor<4xf32>
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{loopnest.forall: the body must end in loopnest.yield of nothing}}
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %one = arith.constant 1.0 : f32
    loopnest.yield %one : f32
  }
  func.return
}

// -----

func.func @f(%x: memref<4xf32>, %r: memref<4xf32>) {
  // expected-error @+1 {{loopnest.forall: loopnest.store must write to a result}}
  loopnest.forall [4] (%in = %x : memref<4xf32>) -> (%out = %r : memref<4xf32>) {
    %i = loopnest.index 0
    %one = arith.constant 1.0 : f32
    loopnest.store %one, %in[%i] : f32 to memref<4xf32>
    loopnest.yield
  }
  func.return
}

// -----

// expected-note @+1 {{%other is defined here}}
func.func @f(%x: tensor<4xf32>, %other: tensor<4xf32>) {
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %i = loopnest.index 0
    // expected-error @+1 {{loopnest.load: %other is defined outside of loopnest.forall, which lets no value in}}
    %element = loopnest.load %other[%i] : tensor<4xf32> -> f32
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %i = loopnest.index 0
    %one = arith.constant 1.0 : f64
    // expected-error @+1 {{loopnest.store: expected a value of f32 for memref<4xf32>, got f64}}
    loopnest.store %one, %out[%i] : f64 to memref<4xf32>
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %one = arith.constant 1.0 : f32
    // expected-error @+1 {{loopnest.store: 1 indices expected, got 0}}
    loopnest.store %one, %out[] : f32 to memref<4xf32>
    loopnest.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = loopnest.forall [4] (%in = %x : tensor<4xf32>) -> (%out : tensor<4xf32>) {
    %i = loopnest.index 0
    // expected-error @+1 {{loopnest.lanes: the body must end in loopnest.yield of nothing}}
    loopnest.lanes %j = %i to %i {
      loopnest.yield %j : i64
    }
    loopnest.yield
  }
  func.return
}
