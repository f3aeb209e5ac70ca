// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.reshape: sizes must match, got tensor<4x3xf32> and tensor<11xf32>}}
  %0 = array.reshape %x : tensor<4x3xf32> -> tensor<11xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.reshape: elements must agree, got tensor<4x3xf32> and tensor<12xf64>}}
  %0 = array.reshape %x : tensor<4x3xf32> -> tensor<12xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.permute_dims: axes must name each axis once, got [0, 0]}}
  %0 = array.permute_dims %x {axes = [0, 0]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.permute_dims: axes must name all 2 axes, got [0]}}
  %0 = array.permute_dims %x {axes = [0]} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.permute_dims: axes must be in [-2, 2), got 2}}
  %0 = array.permute_dims %x {axes = [1, 2]} : tensor<4x3xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.permute_dims: axes must name all 2 axes, got []}}
  %0 = array.permute_dims %x : tensor<4x3xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.permute_dims: result type must be tensor<3x4xf32>, got tensor<4x3xf32>}}
  %0 = array.permute_dims %x {axes = [1, 0]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.broadcast_to: shapes must broadcast, got [4, 3] and [4, 4]}}
  %0 = array.broadcast_to %x : tensor<4x3xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.broadcast_to: tensor<4x3xf32> does not broadcast to tensor<3xf32>}}
  %0 = array.broadcast_to %x : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.broadcast_to: elements must agree, got tensor<4x3xf32> and tensor<4x3xf64>}}
  %0 = array.broadcast_to %x : tensor<4x3xf32> -> tensor<4x3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.broadcast_to: tensor<4x3xf32> does not broadcast to tensor<1x3xf32>}}
  %0 = array.broadcast_to %x : tensor<4x3xf32> -> tensor<1x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.expand_dims: axis must be in [-3, 3), got 3}}
  %0 = array.expand_dims %x {axis = 3} : tensor<4x3xf32> -> tensor<4x3x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.expand_dims: axis must name each axis once, got [0, 0]}}
  %0 = array.expand_dims %x {axis = [0, 0]} : tensor<4x3xf32> -> tensor<1x1x4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.expand_dims: result type must be tensor<1x4x3xf32>, got tensor<4x1x3xf32>}}
  %0 = array.expand_dims %x {axis = 0} : tensor<4x3xf32> -> tensor<4x1x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.squeeze: axis 0 must have extent 1, got tensor<4x3xf32>}}
  %0 = array.squeeze %x {axis = 0} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.squeeze: axis must be in [-2, 2), got 2}}
  %0 = array.squeeze %x {axis = 2} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.flip: axis must be in [-2, 2), got 2}}
  %0 = array.flip %x {axis = 2} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: start must have 2 entries, got 1}}
  %0 = array.slice %x {start = [0], stop = [4, 3]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: axis 0: start and stop must satisfy 0 <= start <= stop <= 4, got 0 and 5}}
  %0 = array.slice %x {start = [0, 2], stop = [5, 3]} : tensor<4x3xf32> -> tensor<4x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: axis 0: start and stop must satisfy 0 <= start <= stop <= 4, got 3 and 2}}
  %0 = array.slice %x {start = [3, 0], stop = [2, 3]} : tensor<4x3xf32> -> tensor<0x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: step must be positive, got [0, 1]; reverse with array.flip}}
  %0 = array.slice %x {step = [0, 1]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: step must be positive, got [-1, 1]; reverse with array.flip}}
  %0 = array.slice %x {step = [-1, 1]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.slice: result type must be tensor<2x3xf32>, got tensor<4x3xf32>}}
  %0 = array.slice %x {start = [0, 0], stop = [4, 3], step = [2, 1]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.pad: high must have 2 entries, got 1}}
  %0 = array.pad %x {low = [1, 0], high = [0]} : tensor<4x3xf32> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.pad: high must be >= 0, got [-1, 0]; cut with array.slice}}
  %0 = array.pad %x {low = [1, 0], high = [-1, 0]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.pad: high must have 2 entries, got 0}}
  %0 = array.pad %x {low = [1, 0]} : tensor<4x3xf32> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.pad: value must be a number, got "0"}}
  %0 = array.pad %x {low = [1, 0], high = [0, 0], value = "0"} : tensor<4x3xf32> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.pad: result type must be tensor<5x3xf32>, got tensor<4x3xf32>}}
  %0 = array.pad %x {low = [1, 0], high = [0, 0], value = 0.0} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.pad: value must be an integer in [-9223372036854775808, 9223372036854775808) for tensor<4x3xi64>, got 0.5}}
  %0 = array.pad %n {low = [1, 0], high = [0, 0], value = 0.5} : tensor<4x3xi64> -> tensor<5x3xi64>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.concat: at least one operand expected, got none}}
  %0 = "array.concat"() {axis = 0} : () -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{array.concat: ranks and elements must agree, got tensor<4x3xf32> and tensor<3xf32>}}
  %0 = array.concat %x, %v {axis = 0} : tensor<4x3xf32>, tensor<3xf32> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.concat: ranks and elements must agree, got tensor<4x3xf32> and tensor<4x3xi64>}}
  %0 = array.concat %x, %n {axis = 0} : tensor<4x3xf32>, tensor<4x3xi64> -> tensor<8x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{array.concat: shapes must agree but for axis 0, got tensor<4x3xf32> and tensor<4x2xf32>}}
  %0 = array.concat %x, %y {axis = 0} : tensor<4x3xf32>, tensor<4x2xf32> -> tensor<8x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.concat: axis must be in [-2, 2), got 2}}
  %0 = array.concat %x, %x {axis = 2} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.concat: result type must be tensor<4x6xf32>, got tensor<8x3xf32>}}
  %0 = array.concat %x, %x {axis = 1} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  func.return
}
