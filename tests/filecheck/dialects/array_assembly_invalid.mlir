// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{array.stack: at least one operand expected, got none}}
  %0 = "array.stack"() : () -> tensor<1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{array.stack: operand types must be equal, got tensor<2xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.stack %x, %y : tensor<2xf32>, tensor<3xf32> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{array.stack: axis must be in [-2, 2), got 2}}
  %0 = array.stack %x, %x {axis = 2} : tensor<2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.split: sizes must add up to 5, the extent of axis 0, got [2, 2]}}
  %0, %1 = array.split %x {sizes = [2, 2]} : tensor<5xf32> -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.split: sizes must be one or more numbers >= 0, got [6, -1]}}
  %0, %1 = array.split %x {sizes = [6, -1]} : tensor<5xf32> -> (tensor<6xf32>, tensor<1xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.split: sizes must be one or more numbers >= 0, got nothing}}
  %0 = array.split %x : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.split: 2 results expected, got 1}}
  %0 = array.split %x {sizes = [2, 3]} : tensor<5xf32> -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.split: axis must be in [-1, 1), got 1}}
  %0 = array.split %x {axis = 1, sizes = [5]} : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5x2xf32>) {
  // expected-error @+1 {{array.roll: shift must be one number where axis is absent, got [1, 2]}}
  %0 = array.roll %x {shift = [1, 2]} : tensor<5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5x2xf32>) {
  // expected-error @+1 {{array.roll: shift must be one number where axis is absent, got nothing}}
  %0 = array.roll %x : tensor<5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5x2xf32>) {
  // expected-error @+1 {{array.roll: shift and axis must have equal lengths, got 2 and 1}}
  %0 = array.roll %x {shift = [1, 2], axis = 0} : tensor<5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5x2xf32>) {
  // expected-error @+1 {{array.roll: axis must name each axis once, got [0, -2]}}
  %0 = array.roll %x {shift = 1, axis = [0, -2]} : tensor<5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.tile: repeats must be numbers >= 0, got [-1]}}
  %0 = array.tile %x {repeats = -1} : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.tile: repeats must be numbers >= 0, got nothing}}
  %0 = array.tile %x : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.tile: result type must be tensor<2x5xf32>, got tensor<10xf32>}}
  %0 = array.tile %x {repeats = [2, 1]} : tensor<5xf32> -> tensor<10xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.repeat: count must be >= 0, got -2}}
  %0 = array.repeat %x {count = -2} : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.repeat: count must be one integer, got nothing}}
  %0 = array.repeat %x {axis = 0} : tensor<5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{array.repeat: axis must be in [0, 0), got 0}}
  %0 = array.repeat %x {count = 2, axis = 0} : tensor<f32> -> tensor<2xf32>
  func.return
}
