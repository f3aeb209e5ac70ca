// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.layer_norm: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.layer_norm %n : tensor<4x3xi64> -> tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.rms_norm: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.rms_norm %n : tensor<4x3xi64> -> tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.group_norm: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.group_norm %n {groups = 1} : tensor<4x3xi64> -> tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3x2xi64>) {
  // expected-error @+1 {{nn.instance_norm: elements must be floating, got tensor<4x3x2xi64>}}
  %0 = nn.instance_norm %n : tensor<4x3x2xi64> -> tensor<4x3x2xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{nn.layer_norm: scale must be tensor<3xf32>, got tensor<4xf32>}}
  %0 = nn.layer_norm %x, %s : tensor<4x3xf32>, tensor<4xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf64>) {
  // expected-error @+1 {{nn.layer_norm: bias must be tensor<3xf32>, got tensor<3xf64>}}
  %0 = nn.layer_norm %x, %s, %b : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{nn.rms_norm: bias must be tensor<3xf32>, got tensor<4xf32>}}
  %0 = nn.rms_norm %x, %b {operandSegmentSizes = array<i32: 1, 0, 1>} : tensor<4x3xf32>, tensor<4xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.layer_norm: axes must be in [-2, 2), got 2}}
  %0 = nn.layer_norm %x {axes = [2]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.layer_norm: axes must name each axis once, got [1, -1]}}
  %0 = nn.layer_norm %x {axes = [1, -1]} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.layer_norm: eps must be finite and not negative, got -1.0}}
  %0 = nn.layer_norm %x {eps = -1.0} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.layer_norm: unknown attribute epsilon; known: axes, eps, operandSegmentSizes}}
  %0 = nn.layer_norm %x {epsilon = 1.0} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.group_norm: groups must be one integer, got nothing}}
  %0 = nn.group_norm %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.group_norm: groups must divide the channels of tensor<4x3xf32>, got 2}}
  %0 = nn.group_norm %x {groups = 2} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.group_norm: layout must be one of NCHW, NHWC, got CHWN}}
  %0 = nn.group_norm %x {groups = 1, layout = "CHWN"} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{nn.group_norm: x must have a batch and a channel axis, got tensor<4xf32>}}
  %0 = nn.group_norm %x {groups = 1} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.instance_norm: x must have a batch, a channel and spatial axes, got tensor<4x3xf32>}}
  %0 = nn.instance_norm %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xi64>, %s: tensor<3xi64>, %v: tensor<3xi64>) {
  // expected-error @+1 {{nn.batch_norm: elements must be floating, got tensor<4x3xi64>}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v : tensor<4x3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64> -> (tensor<4x3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>)
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{nn.batch_norm: var must be tensor<3xf32>, got tensor<4xf32>}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{nn.batch_norm: x must have a batch and a channel axis, got tensor<3xf32>}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{nn.batch_norm: momentum must be in [0, 1], got 2.0}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v {momentum = 2.0} : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{nn.batch_norm: eps must be finite and not negative, got -1.0}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v {eps = -1.0} : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{nn.batch_norm: training must be true or false, got 1 : i64}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v {training = 1} : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<1x3xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{nn.batch_norm: training needs more than one element per channel, got tensor<1x3xf32>}}
  %0:5 = nn.batch_norm %x, %s, %s, %s, %v {training = true} : tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

